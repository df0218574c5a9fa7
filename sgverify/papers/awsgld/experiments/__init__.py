"""The experiments of awsgld: exploring a space of many modes, and how soon samplers reach a global minimum.

`settings` are what the paper prints, `functions` the multimodal functions with their scales, `contenders` the samplers
that are compared. `exploration` shows which modes were visited (`visiting`), `hitting` how many iterations are needed; `intervals`
are exact ones of medians and chances.
"""

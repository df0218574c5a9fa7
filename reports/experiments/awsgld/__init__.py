"""The experiments of awsgld: exploring a space of many modes, and how soon samplers reach a global minimum.

`settings` are the numbers that the paper prints, the multimodal functions with their scales and `minima`, and exact intervals of
medians and chances. `exploration` shows which modes were visited (`visiting`), `hitting` the samplers compared and the iterations
that they need (`first_hits`).
"""

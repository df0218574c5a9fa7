"""Adaptively weighted samplers without sampling.

`masses` of energy regions, the `fixed_point` theta* of the mean field, `piecewise` invariant laws; `line_chain` and
`line_weights` follow state and weights on the line, or the weights alone.
"""

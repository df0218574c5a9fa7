"""How does a definition run on tensors of many chains?

`carrier` has the values, `constants` what all chains share, `binding` joins them to a step.
`arithmetic` keeps roots, sums, and sums of products over coordinates the same whatever is batched.
`tape` records a step as tensor operations, `motion` takes steps by the definition or by its tape, with the metric's ingredient.
`elementary` has exp, log, sin and the like with bits that depend on nothing but the argument: `double_precision`
defines them by operations of `floating_point`, which has their coefficients.
"""

"""What is the law of one step of torch code, from its intercepted draws?

`nodes` runs a step at the nodes of quadratures for its draws, by the rules of `draw_rules`. On a `gaussian_setting`, a
dynamics with its numbers on a Gaussian target, `step_rows` runs it at many states and draws, and `one_step_map` reads its
affine map, the gain of each draw and the covariance of its noise, each with a bound of its error, `gradient_gain` that of the
noise of gradient estimates. `torch_chain` puts them together to the chain of a subject, at every step size; beyond
Gaussians `galerkin` finds the invariant law.
"""

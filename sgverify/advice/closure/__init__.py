"""The invariant law of a chain near a mode, approximated by a Gaussian one.

`gaussian_closure`: the law and whether to trust it. It is the `fixed_point` of one step: mean, covariance and third cumulants
after a step, from `gradient_calls` (the step as an affine map of its gradients' values) and `gradient_fit` (gradient and noise
averaged over a Gaussian law). `linear_chain`: invariant covariance and autocorrelations, third cumulants of target and chain,
and the mixing of iterates that finds a fixed point in few rounds. `shape`: how far is the target from a Gaussian, is there a mode
far from it, and what mends it?
"""

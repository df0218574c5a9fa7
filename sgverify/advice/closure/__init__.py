"""The invariant law of a chain near a mode, approximated by a Gaussian one.

`gaussian_closure`: the law and whether to trust it. It is the fixed point (`fixed_point`, in few rounds by `mixing`) of `one_step`:
mean, covariance and third cumulants after a step, from `gradient_calls` (the step as an affine map of its gradients' values) and
`gradient_fit` (gradient and noise averaged over a Gaussian law). `third_cumulants` of target and chain, `linear_chain`: invariant
covariance and autocorrelations.
"""

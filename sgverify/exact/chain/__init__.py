"""Affine chains with independent noise, and quadratic test functions.

`chain` is the chain, `lyapunov` solves its equations, `ergodic` has stationary law and bias and compares Gaussian laws, `mse`
the mean square error at any length and the autocorrelation time, `expansion` the bias at h = 0 and `two_scales` the same with
memory. Changing steps: `varying_steps`, by `block_recursion` in float64 with bounds.
"""

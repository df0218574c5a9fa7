"""The affine interpreter: one step of a scheme on a quadratic potential as an exact affine map.

`carrier` reads a step as X_1 = M X_0 + c + sum_k B_k xi_k with scalars of `field` and matrices of `matrices`; `noise` adds
the estimator's. `model` is the input of the exact engines, `marginal` that of the coordinates that matter, `step_series` its
expansion at h = 0, `expanded_step` tells whether a step at h is that series and finds the limit under a biased gradient,
`stability` finds the largest stable step.
"""

"""Rates in the step size and in the length: bias, mean square error, and the distance of the invariant law.

`stationary_bias`, `invariant_law` (covariance and Wasserstein-2), `finite_time` (bias and mean square error along a
schedule) and `gradient_bias` each answer a claim. `engines` names the exact engine that reaches a subject; beyond
Gaussians `carried` answers by what is proved of a step, and `transfer` from transfer operators, by the powers of h that
`leading_bias` reads off them. Where samples are asked for, the room `sampled` draws chains. For torch code, from the affine
map of a step: `torch_law` (bias, covariance and Wasserstein-2) and `torch_lengths` (bias and mean square error at L), by the
powers of h at `halvings` of the step; on other targets `beyond_gaussians`.
"""

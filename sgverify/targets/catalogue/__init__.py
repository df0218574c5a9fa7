"""The targets that ship with sgverify, one potential a file.

Gaussian: `gaussian`, `gaussian_mean`, `linear_regression`. Conjugate: `beta_bernoulli`, `gamma_poisson`,
`dirichlet_multinomial`. Others: `logistic_regression`, `double_well`, `quartic`, `mixture`, `tied_means`.
"""

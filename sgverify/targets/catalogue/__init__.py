"""The targets that ship with sgverify, one potential a file.

Gaussian: `gaussian`, `gaussian_mean`, `linear_regression`. Conjugate: `beta_bernoulli`, `gamma_poisson`,
`dirichlet_multinomial`, `expanded_simplex`. Other regressions: `logistic_regression`, `poisson_regression`,
`robust_regression`. Others: `double_well`, `quartic`, `mixture`, `tied_means`.
"""

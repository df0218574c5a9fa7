"""Released SG-MCMC samplers of other libraries as steps: the library's own code, its parameters mapped to h, T and D.

Each library has a file: `posteriors`, `devinterp`, `torch_sgld`, `torch_uncertainty`, `sghmc`, `blackjax`, `sgmcmcjax` and
`jax_sgmc`. `jax_steps` makes steps of code on JAX by sgverify's adapter, `tempering` judges at any temperature what knows none.
"""

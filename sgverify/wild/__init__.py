"""What do released SG-MCMC samplers of other libraries do, as they are installed?

Each library has a file here, in which its samplers are steps: the library's own code, its parameters mapped to h, T and D. The
files are `posteriors`, `devinterp`, `torch_sgld`, `torch_uncertainty`, `sghmc`, `blackjax`, `sgmcmcjax` and `jax_sgmc`;
`jax_code` runs JAX code on torch's draws, `tempering` judges at any temperature what knows none. `libraries` lists them, and
`suite` is the suite that `sgverify report --suite wild` asks, of those that are installed. No verdict is held here.
"""

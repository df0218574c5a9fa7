"""Samplers of other libraries as steps that can be judged: one file or folder for each kind.

Each file or folder has an `ADAPTER`, which `sgverify.schemes.adapting` lists by its place. An adapter states the library's
conventions (its parameters in h, T and D), runs the library's code unchanged, and hands its draws, its gradient and what it keeps
between calls to the checks of torch code.

`posteriors`: transforms of posteriors, their builders, and what is beside a step there (starts, steps in place).
`optimizers`: subclasses of torch.optim.Optimizer, constructed by their class. `plain`: functions, modules and classes that nobody
wrote for this package. `training`: torch functions with a loss and minibatches of their own. `jax_code`: a JAX function of a key
and a state; `blackjax` and `sgmcmcjax`: the samplers of these libraries; all by `jax_draws`, which takes the draws out of a jaxpr.
"""

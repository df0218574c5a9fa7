import sys
from collections import namedtuple
from types import ModuleType, SimpleNamespace

import jax

sys.modules.setdefault("jax.experimental.host_callback", ModuleType("host_callback"))  # names that JAX lost
jax.tree_flatten, jax.tree_unflatten = jax.tree_util.tree_flatten, jax.tree_util.tree_unflatten
jax.named_call = lambda function, name: function
from jax_sgmc import solver

Chain = namedtuple("Chain", "position potential variance")
_, update, _ = solver.parallel_tempering((None, lambda chain, schedule: chain, None))
pair = (Chain(0.0, 9.0, 0.0), Chain(1.0, 1.0, 0.0))  # the cold chain has the higher energy
at = [SimpleNamespace(temperature=T) for T in (1.0, 2.0)]
moved = [update((*pair, 0.0, 1.0, 0, jax.random.PRNGKey(k)), *at)[0][0].position for k in range(20)]
found, expected = float(sum(moved)) / 20, 1.0  # the share of swaps, min(1, exp((1/1 - 1/2)(9 - 1)))

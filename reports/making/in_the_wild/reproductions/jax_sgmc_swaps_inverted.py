from collections import namedtuple
from types import SimpleNamespace

import jax

from reports.making.in_the_wild.samplers.jax_sgmc import solver  # jax_sgmc.solver

Chain = namedtuple("Chain", "position potential variance")
_, update, _ = solver.parallel_tempering((None, lambda chain, schedule: chain, None))
pair = (Chain(0.0, 9.0, 0.0), Chain(1.0, 1.0, 0.0))  # the cold chain has the higher energy
at = [SimpleNamespace(temperature=T) for T in (1.0, 2.0)]
moved = [update((*pair, 0.0, 1.0, 0, jax.random.PRNGKey(k)), *at)[0][0].position for k in range(20)]
found, expected = float(sum(moved)) / 20, 1.0  # the share of swaps, min(1, exp((1/1 - 1/2)(9 - 1)))

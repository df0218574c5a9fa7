from types import SimpleNamespace

import jax
import jax.numpy as jnp

from reports.making.in_the_wild.samplers.jax_sgmc import BATCH, integrator  # and BATCH of no data

flat = lambda sample, batch, state=None: (0.0 * jnp.sum(sample), state)  # noqa: E731
init, update, _ = integrator.friction_leapfrog(flat, BATCH, steps=1, friction=4.0)
moved = update(init(jnp.zeros(100_000), key=jax.random.PRNGKey(0)), SimpleNamespace(step_size=0.01))
found, expected = (
    float(moved.momentum.var()),
    (1 - 0.04) ** 2 + 2 * 4.0 * 0.01,
)  # p' = (1 - hD) p + sqrt(2hD) z

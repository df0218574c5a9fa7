import sys
from types import ModuleType, SimpleNamespace

import jax
import jax.numpy as jnp

sys.modules.setdefault("jax.experimental.host_callback", ModuleType("host_callback"))  # names that JAX lost
jax.tree_flatten, jax.tree_unflatten = jax.tree_util.tree_flatten, jax.tree_util.tree_unflatten
jax.named_call = lambda function, name: function
from jax_sgmc import integrator

no_data = (lambda **given: None, lambda state, information=False: (state, None), lambda: None)
init, update, _ = integrator.friction_leapfrog(
    lambda sample, batch, state=None: (0.0 * jnp.sum(sample), state), no_data, steps=1, friction=4.0
)
moved = update(init(jnp.zeros(100_000), key=jax.random.PRNGKey(0)), SimpleNamespace(step_size=0.01))
found = float(moved.momentum.var())
expected = (1 - 0.04) ** 2 + 2 * 4.0 * 0.01  # p' = (1 - h D) p + sqrt(2 h D) z

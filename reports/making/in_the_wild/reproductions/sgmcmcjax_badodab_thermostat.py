import jax
import jax.numpy as jnp
from sgmcmcjax import diffusions

init, (first, second), get_params = diffusions.badodab(0.1, a=0.0)
state = init(jnp.zeros(1))
state = state._replace(packed_state=([jnp.zeros(1), 2 * jnp.ones(1), 0.0],))
_, v, alpha = first(0, jax.random.PRNGKey(0), jnp.zeros(1), state).packed_state[0]
due = 0.05 * (2.0**2 - 1) + 0.05 * (float(v[0]) ** 2 - 1)  # d alpha = (v.v - n) dt in both halves
found, expected = float(alpha) / due, 1.0

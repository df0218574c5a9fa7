import jax
import jax.numpy as jnp
from sgmcmcjax import diffusions

zero = jnp.zeros(100_000)
init, (first, second), get_params = diffusions.baoab(0.1, 1.0, tau=4.0)
state = first(0, jax.random.PRNGKey(0), zero, init(zero))
v = state.packed_state[0][1]
found, expected = float(v.var() / (1 - jnp.exp(-0.2))), 4.0  # v is N(0, tau (1 - exp(-2 gamma dt)))

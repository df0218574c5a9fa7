import jax
import jax.numpy as jnp

from reports.making.in_the_wild.samplers.sgmcmcjax import kernels  # sgmcmcjax.kernels, for this JAX

init, kernel, get_params = kernels.build_badodab_kernel(
    0.1, lambda x, datum: 0.0, lambda x: -jnp.sum(x**2) / 2, (jnp.zeros((1, 1)),), 1
)
state = kernel(0, jax.random.PRNGKey(1), init(jax.random.PRNGKey(0), jnp.ones(1)))
found, expected = float(get_params(state)[0] == 1.0), 0.0  # does x stay where it is, with noise in v?

import sys
from types import ModuleType

import jax
import jax.numpy as jnp

sys.modules.setdefault(
    "jax.experimental.host_callback", ModuleType("host_callback")
)  # gone: draws progress bars
from sgmcmcjax import kernels

init, kernel, get_params = kernels.build_baoab_kernel(
    0.1, lambda x, datum: 0.0, lambda x: -jnp.sum(x**2) / 2, (jnp.zeros((1, 1)),), 1, gamma=0.0
)
state = kernel(0, jax.random.PRNGKey(1), init(jax.random.PRNGKey(0), jnp.ones(1)))
found, expected = float(get_params(state)[0]), 1 - 0.1**2 / 2  # x + h (v + h/2 grad log pi(x)), no friction

import blackjax
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
sampler = blackjax.sgld(lambda position, minibatch: -position)
moved = sampler.step(jax.random.key(0), jnp.ones(1, jnp.float32), None, 0.1)
found, expected = 8 * moved.dtype.itemsize, 32  # bits of the position, which came in 32

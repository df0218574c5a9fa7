import blackjax
import jax
import jax.numpy as jnp

sampler = blackjax.sghmc(lambda position, minibatch: jnp.zeros_like(position), num_integration_steps=1)
moved = sampler.step(jax.random.key(0), jnp.zeros(100_000), None, 0.1, temperature=4.0)
found, expected = float(moved.var()) / 0.1**2, 4.0  # the variance of the refreshed momentum is T

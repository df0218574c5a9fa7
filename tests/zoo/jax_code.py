"""Steps that are written with JAX, as a user has them: right ones, and ones with a bug."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def sgld(key: Any, theta: Any, *, grad: Any, step_size: Any, temperature: Any) -> Any:
    """Stochastic gradient Langevin dynamics."""
    noise = jax.random.normal(key, theta.shape, theta.dtype)
    return theta - step_size * grad(theta) + jnp.sqrt(2 * temperature * step_size) * noise


def weak(key: Any, theta: Any, grad_log_density: Any, lr: Any, T: Any) -> Any:
    """The 2 in sqrt(2 T h) is forgotten."""
    return theta + lr * grad_log_density(theta) + jnp.sqrt(T * lr) * jax.random.normal(key, theta.shape)


def looped(key: Any, theta: Any, p: Any, log_density: Any, h: Any, gamma: Any, temperature: Any) -> Any:
    """Two steps of SGHMC in a loop, each of a half."""
    h = h / 2

    def body(state: Any, key: Any) -> Any:
        theta, p = state
        noise = jnp.sqrt(2 * gamma * temperature * h) * jax.random.normal(key, p.shape)
        return (theta + h * p, p + h * jax.grad(log_density)(theta) - h * gamma * p + noise), None

    return jax.lax.scan(body, (theta, p), jax.random.split(key, 2))[0]


@jax.jit
def _ones_by(key: Any, theta: Any) -> Any:
    """Takes a key, as an estimator on all data does, and does not draw by it."""
    return jnp.ones_like(theta)


def handed(key: Any, theta: Any, *, grad: Any, step_size: Any, temperature: Any) -> Any:
    """Stochastic gradient Langevin dynamics, in which a compiled function is handed a key that it does not use."""
    noise = jax.random.normal(key, theta.shape, theta.dtype) * _ones_by(key, theta)
    return theta - step_size * grad(theta) + jnp.sqrt(2 * temperature * step_size) * noise


def symmetric(key: Any, theta: Any, p: Any, *, grad: Any, h: Any, D: Any, T: Any) -> Any:
    """The splitting BOAOB with a key for each of its draws."""
    return _boaob(*jax.random.split(key), theta, p, grad, h, D, T)


def one_key(key: Any, theta: Any, p: Any, *, grad: Any, h: Any, D: Any, T: Any) -> Any:
    """The same splitting with one key for both of its draws."""
    return _boaob(key, key, theta, p, grad, h, D, T)


def own_key(key: Any, theta: Any, *, grad: Any, h: Any, T: Any) -> Any:
    """Every step draws from the same key, not from the one that it is given."""
    return (
        theta - h * grad(theta) + jnp.sqrt(2 * T * h) * jax.random.normal(jax.random.PRNGKey(0), theta.shape)
    )


def narrow(key: Any, theta: Any, *, grad: Any, h: Any, T: Any) -> Any:
    """The noise is scaled in float32."""
    size = jnp.sqrt(2 * jnp.asarray(T, jnp.float32) * h.astype(jnp.float32))
    return theta - h * grad(theta) + size * jax.random.normal(key, theta.shape, theta.dtype)


def bits(key: Any, theta: Any, *, grad: Any, h: Any, T: Any) -> Any:
    """Noise from random bits, by a quantile function that is spelled out."""
    number = jax.random.bits(key, theta.shape, jnp.uint64) / 2.0**64
    return theta - h * grad(theta) + jnp.sqrt(2 * T * h) * jax.scipy.special.ndtri(number)


def decides(key: Any, theta: Any, *, grad: Any, h: Any, T: Any) -> Any:
    """A step that asks in Python for the size of its step."""
    if h > 1e9:
        return theta
    return sgld(key, theta, grad=grad, step_size=h, temperature=T)


def computed_key(key: Any, theta: Any, *, grad: Any, h: Any, T: Any) -> Any:
    """The key depends on the state."""
    key = jax.random.fold_in(key, jnp.floor(theta[0]).astype(int))
    return sgld(key, theta, grad=grad, step_size=h, temperature=T)


def _boaob(one: Any, other: Any, theta: Any, p: Any, grad: Any, h: Any, D: Any, T: Any) -> Any:
    kept, size = jnp.exp(-D * h / 2), jnp.sqrt(T * -jnp.expm1(-D * h))
    p = p - h / 2 * grad(theta)
    p = kept * p + size * jax.random.normal(one, p.shape)
    theta = theta + h * p
    p = kept * p + size * jax.random.normal(other, p.shape)
    return theta, p - h / 2 * grad(theta)


def doubled(key: Any, theta: Any, *, grad: Any, h: Any) -> Any:
    """Another shape than the state's."""
    return jnp.concatenate([theta, theta])


def curved(key: Any, theta: Any, *, log_density: Any, h: Any) -> Any:
    """Second derivatives of the log density, which is a gradient here."""
    return theta - h * jax.hessian(log_density)(theta) @ theta


def valued(key: Any, theta: Any, *, log_density: Any, h: Any) -> Any:
    """The value of the log density, of which a gradient is known only."""
    return theta + h * log_density(theta)


def half(key: Any, theta: Any, *, grad: Any, h: Any) -> Any:
    """The gradient at a part of the position."""
    return theta - h * grad(theta[:1])


def leaf_keys(key: Any, params: Any, *, grad: Any, step_size: Any, temperature: Any) -> Any:
    """A step of pytrees with a key for each leaf."""
    leaves, structure = jax.tree_util.tree_flatten(params)
    keys = jax.tree_util.tree_unflatten(structure, list(jax.random.split(key, len(leaves))))
    return jax.tree_util.tree_map(
        lambda value, force, own: sgld(
            own, value, grad=lambda _: force, step_size=step_size, temperature=temperature
        ),
        params,
        grad(params),
        keys,
    )


def leaf_sizes(key: Any, params: Any, *, grad: Any, step_size: Any, temperature: Any) -> Any:
    """A step of pytrees whose leaves of one size share their key."""
    return jax.tree_util.tree_map(
        lambda value, force: sgld(
            jax.random.fold_in(key, value.size),
            value,
            grad=lambda _: force,
            step_size=step_size,
            temperature=temperature,
        ),
        params,
        grad(params),
    )


def leaf_rows(key: Any, theta: Any, *, score: Any, h: Any) -> Any:
    """A step of pytrees without a temperature, with one draw for each row of a matrix."""
    leaves, structure = jax.tree_util.tree_flatten(theta)
    keys = jax.random.split(key, len(leaves))
    moved = [
        value
        + h * force
        + jnp.sqrt(2 * h) * jax.random.normal(own, (*value.shape[:1], *[1] * (value.ndim - 1)))
        for value, force, own in zip(leaves, jax.tree_util.tree_leaves(score(theta)), keys, strict=True)
    ]
    return jax.tree_util.tree_unflatten(structure, moved)


def half_steps(key: Any, theta: Any, *, score: Any, step_size: Any) -> Any:
    """Half a step along the score with noise of variance step_size, without a temperature (Welling and Teh 2011)."""
    return theta + step_size / 2 * score(theta) + jnp.sqrt(step_size) * jax.random.normal(key, theta.shape)


def cold_float32(key: Any, theta: Any, *, grad: Any, h: Any, T: Any) -> Any:
    """Half of the noise in float32."""
    size = 1.0 if theta.dtype == jnp.float64 else 0.5
    return (
        theta
        - h * grad(theta)
        + size * jnp.sqrt(2 * h * T) * jax.random.normal(key, theta.shape, theta.dtype)
    )


def uncalled(key: Any, theta: Any, *, grad: Any, h: Any, T: Any) -> Any:
    """The gradient taken for a vector."""
    return theta - h * grad + jnp.sqrt(2 * h * T) * jax.random.normal(key, theta.shape)

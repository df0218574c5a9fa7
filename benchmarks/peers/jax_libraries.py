"""The samplers of blackjax and SGMCMCJax: the step under vmap over chains, the steps under scan, all under jit."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers.problems import (
    ALPHA,
    BATCH,
    EDGES,
    FRICTION,
    HIDDEN,
    OFFSET,
    SIZE,
    Absent,
    Answer,
    Task,
    why_absent,
)

Start = Callable[[Any, Any], Any]
Step = Callable[[Any, Any, Any], Any]
"""A state from (key, theta), and the next one from (key, its number, state)."""


def make_blackjax(task: Task) -> Callable[[int], Answer]:
    """blackjax; raises `Absent` for what it does not have."""
    jax = _jax(task.dtype)
    try:
        import blackjax
        from blackjax.sgmcmc import csgld, diffusions, gradients
    except Exception as error:
        raise Absent(why_absent(error)) from error
    if task.problem.ladder or task.problem.name == "saga":
        raise Absent("has no such algorithm")
    jnp: Any = jax.numpy
    problem, data = task.problem, jnp.asarray(task.data())
    prior, likelihood = _densities(jnp, task)
    if likelihood is None:
        density = lambda theta, rows: prior(theta)  # noqa: E731
        estimate: Any = jax.grad(density)
    elif problem.kind == "full":
        full = lambda theta, rows: prior(theta) + jnp.sum(jax.vmap(lambda x: likelihood(theta, x))(rows))  # noqa: E731
        estimate = jax.grad(full)
    else:
        estimate = gradients.grad_estimator(prior, likelihood, SIZE)

    def chosen(key: Any) -> Any:
        if problem.kind == "full":
            return data
        return data[jax.random.randint(key, (BATCH,), 0, SIZE)]

    if problem.name == "csgld":
        kernel = csgld.build_kernel(len(EDGES), EDGES[1] - EDGES[0], EDGES[0])

        def contour(key: Any, number: Any, state: Any) -> Any:
            omega = 1 / ((number + 1.0) ** ALPHA + OFFSET)
            return kernel(key, state, density, estimate, data, problem.h, omega)

        begin: Start = lambda key, theta: csgld.init(theta, len(EDGES))  # noqa: E731
        return _loop(jax, task, begin, contour, lambda state: state.position)
    if problem.scheme == "sghmc-euler-explicit":
        euler = diffusions.sghmc(alpha=FRICTION)

        def kinetic(key: Any, number: Any, state: Any) -> Any:
            own, other = jax.random.split(key)
            return euler(other, *state, estimate(state[0], chosen(own)), problem.h)

        return _loop(jax, task, lambda key, theta: (theta, jnp.zeros_like(theta)), kinetic, lambda s: s[0])
    sgld = blackjax.sgld(estimate)

    def step(key: Any, number: Any, theta: Any) -> Any:
        own, other = jax.random.split(key)
        return sgld.step(other, theta, chosen(own), problem.h)

    return _loop(jax, task, lambda key, theta: theta, step, lambda theta: theta)


def make_sgmcmcjax(task: Task) -> Callable[[int], Answer]:
    """SGMCMCJax; raises `Absent` for what it does not have."""
    jax = _jax(task.dtype)
    try:
        from sgmcmcjax import kernels
    except Exception as error:
        raise Absent(why_absent(error)) from error
    if task.problem.ladder or task.problem.name in ("saga", "csgld"):
        raise Absent("has no such algorithm")
    if task.problem.scheme == "sghmc-euler-explicit":
        raise Absent("its SGHMC returns the last of its steps only")
    if not _has_data(task):
        raise Absent("samples posteriors of data only")
    prior, likelihood = _densities(jax.numpy, task)
    batch = SIZE if task.problem.kind == "full" else BATCH
    init, kernel, params = kernels.build_sgld_kernel(
        task.problem.h, likelihood, prior, (jax.numpy.asarray(task.data()),), batch
    )
    return _loop(jax, task, init, lambda key, number, state: kernel(number, key, state), params)


def _loop(
    jax: Any, task: Task, init: Start, step: Step, theta_of: Callable[[Any], Any]
) -> Callable[[int], Answer]:
    """Chunks of steps, each one call of a compiled function; what it needs of the last one is carried."""
    jnp: Any = jax.numpy

    def chunk(key: Any, first: Any, state: Any, mean: Any) -> Any:
        def one(carried: Any, number: Any) -> Any:
            state, mean = carried
            state = step(jax.random.fold_in(key, number), number, state)
            # A float32 sum of so many squares would round; its mean is updated instead.
            mean = mean + (theta_of(state)[0] ** 2 - mean) / (number + 1)
            return (state, mean), None

        def several(carried: Any, number: Any) -> Any:
            carried, _ = jax.lax.scan(one, carried, number + jnp.arange(task.thinning))
            return carried, theta_of(carried[0])

        if task.thinning:
            numbers = first + task.thinning * jnp.arange(task.chunk // task.thinning)
            return jax.lax.scan(several, (state, mean), numbers)
        return jax.lax.scan(one, (state, mean), first + jnp.arange(task.chunk))

    many = jax.jit(jax.vmap(chunk, in_axes=(0, None, 0, 0)))
    begin = jax.jit(jax.vmap(init))
    seeds = iter(range(1, 1 << 30))

    def run(steps: int) -> Answer:
        keys = jax.random.split(jax.random.key(next(seeds)), task.chains)
        state = begin(keys, jnp.asarray(task.starts()))
        mean, kept = jnp.zeros(task.chains, task.dtype), []
        for first in range(0, steps, task.chunk):
            (state, mean), draws = many(keys, first, state, mean)
            if task.thinning:
                kept.append(np.asarray(draws))
        taken = -(-steps // task.chunk) * task.chunk
        averages = np.asarray(mean, dtype=np.float64)
        if task.thinning:
            draws = np.concatenate(kept, axis=1)
            averages = np.square(draws[:, :, 0], dtype=np.float64).mean(1)
        return Answer(taken, averages, np.asarray(jax.vmap(theta_of)(state)))

    return run


def _has_data(task: Task) -> bool:
    return task.problem.target != "double-well"


def _densities(jnp: Any, task: Task) -> tuple[Any, Any]:
    """log prior(theta) and log likelihood(theta, x) of one datum; None without data."""
    name = task.problem.target
    normal = lambda theta: -0.5 * jnp.sum(theta**2)  # noqa: E731
    if name == "double-well":
        return (
            lambda theta: (
                -((theta[0] ** 2 - 1) ** 2 + 0.25 * theta[0] + 0.5 * (jnp.sum(theta**2) - theta[0] ** 2))
            ),
            None,
        )
    if name == "gaussian-mean":
        return normal, lambda theta, x: -0.5 * jnp.sum((x - theta) ** 2)
    if name == "logistic-regression":

        def logistic(theta: Any, x: Any) -> Any:
            score = jnp.dot(theta, x[:-1])
            return x[-1] * score - jnp.logaddexp(0, score)

        return normal, logistic
    first = HIDDEN * 10

    def network(theta: Any, x: Any) -> Any:
        hidden = jnp.tanh(theta[:first].reshape(HIDDEN, 10) @ x[:10] + theta[first : first + HIDDEN])
        found = hidden @ theta[first + HIDDEN : first + 2 * HIDDEN] + theta[-1]
        return -((found - x[10]) ** 2)

    return normal, network


def _jax(dtype: str) -> Any:
    """jax on one thread."""
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    try:
        import jax
    except Exception as error:
        raise Absent(why_absent(error)) from error
    jax.config.update("jax_enable_x64", dtype == "float64")
    return jax

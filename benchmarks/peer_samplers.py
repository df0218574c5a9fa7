"""The samplers of other libraries on the posterior of a mean, as fast as their documentation lets them be.

Each maker returns a function that runs the chains anew and gives the average of theta_0^2 of each, shape (C,): the same
steps, each chain with minibatches of its own, all compiled before it is timed. `Absent` says why there is none.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

FRICTION = 20.0


class Absent(Exception):
    """The library is not installed, or does not import."""


@dataclass(frozen=True)
class Task:
    """What is sampled: SGLD, or SGHMC by explicit Euler steps, on N data, prior and noise precision 1.

    `batch` data are drawn with replacement for every chain and step. All start at `start`, at rest.
    """

    scheme: str
    data: np.ndarray
    start: np.ndarray
    step: float
    batch: int
    chains: int
    length: int
    dtype: str


def make_posteriors(task: Task) -> Callable[[], np.ndarray]:
    """posteriors: all chains in one tensor, their log densities summed, states updated in place."""
    try:
        import posteriors
    except Exception as error:
        raise Absent(_why(error)) from error

    dtype = getattr(torch, task.dtype)
    data = torch.tensor(task.data, dtype=dtype)
    size = len(data)

    def log_posterior(theta: torch.Tensor, chosen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        likelihood = -0.5 * ((chosen - theta[:, None]) ** 2).sum() * (size / task.batch)
        return likelihood - 0.5 * (theta**2).sum(), torch.empty(0)

    def run() -> np.ndarray:
        torch.manual_seed(1)
        theta = torch.tensor(task.start, dtype=dtype).repeat(task.chains, 1)
        if task.scheme == "sgld":
            transform = posteriors.sgmcmc.sgld.build(log_posterior, lr=task.step)
            state = transform.init(theta)
        else:
            transform = posteriors.sgmcmc.sghmc.build(log_posterior, lr=task.step, alpha=FRICTION)
            state = transform.init(theta, momenta=0.0)
        total = torch.zeros(task.chains, dtype=torch.float64)
        for _ in range(task.length):
            chosen = data[torch.randint(size, (task.chains, task.batch))]
            state, _ = transform.update(state, chosen, inplace=True)
            total += state.params[:, 0].double() ** 2
        return (total / task.length).numpy()

    return run


def make_blackjax(task: Task) -> Callable[[], np.ndarray]:
    """blackjax: the step under vmap, the steps under scan, all under jit."""
    jax = _jax(task.dtype)
    try:
        import blackjax
        from blackjax.sgmcmc import diffusions, gradients
    except Exception as error:
        raise Absent(_why(error)) from error
    jnp: Any = jax.numpy
    data = jnp.asarray(task.data, task.dtype)
    size = len(task.data)
    estimate = gradients.grad_estimator(
        lambda theta: -0.5 * jnp.sum(theta**2), lambda theta, x: -0.5 * jnp.sum((x - theta) ** 2), size
    )
    sgld, euler = blackjax.sgld(estimate), diffusions.sghmc(alpha=FRICTION)

    def move(key: Any, state: Any) -> Any:
        theta, p = state
        own, other = jax.random.split(key)
        chosen = data[jax.random.randint(own, (task.batch,), 0, size)]
        if task.scheme == "sgld":
            return sgld.step(other, theta, chosen, task.step), p
        return euler(other, theta, p, estimate(theta, chosen), task.step)

    def chain(key: Any) -> Any:
        start = jnp.asarray(task.start, task.dtype)

        def step(carried: Any, number: Any) -> Any:
            state, total = carried
            state = move(jax.random.fold_in(key, number), state)
            # A float32 sum of so many squares would round; its mean is updated instead.
            return (state, total + (state[0][0] ** 2 - total) / (number + 1)), None

        begin = ((start, jnp.zeros_like(start)), jnp.zeros((), task.dtype))
        (_, total), _ = jax.lax.scan(step, begin, jnp.arange(task.length))
        return total

    everything = jax.jit(jax.vmap(chain))
    keys = jax.random.split(jax.random.key(1), task.chains)
    np.asarray(everything(keys))
    return lambda: np.asarray(everything(keys), dtype=np.float64)


def make_sgmcmcjax(task: Task) -> Callable[[], np.ndarray]:
    """SGMCMCJax: its kernel under vmap, the steps under scan, all under jit."""
    jax = _jax(task.dtype)
    try:
        from sgmcmcjax import kernels
    except Exception as error:
        raise Absent(_why(error)) from error
    jnp: Any = jax.numpy
    data = (jnp.asarray(task.data, task.dtype),)
    densities = (lambda theta, x: -0.5 * jnp.sum((x - theta) ** 2), lambda theta: -0.5 * jnp.sum(theta**2))
    if task.scheme == "sgld":
        init, kernel, params = kernels.build_sgld_kernel(task.step, *densities, data, task.batch)
    else:
        # v = h p: dt = h^2, alpha = D h; the momentum is drawn again at the start of the run alone.
        h = task.step
        init, kernel, params = kernels.build_sghmc_kernel(
            h * h, task.length, *densities, data, task.batch, alpha=FRICTION * h
        )
        raise Absent("its SGHMC returns the last of its steps only")

    def chain(key: Any) -> Any:
        first, rest = jax.random.split(key)
        state = init(first, jnp.asarray(task.start, task.dtype))

        def step(carried: Any, number: Any) -> Any:
            now, total = carried
            now = kernel(number, jax.random.fold_in(rest, number), now)
            return (now, total + (params(now)[0] ** 2 - total) / (number + 1)), None

        (_, total), _ = jax.lax.scan(step, (state, jnp.zeros((), task.dtype)), jnp.arange(task.length))
        return total

    everything = jax.jit(jax.vmap(chain))
    keys = jax.random.split(jax.random.key(1), task.chains)
    np.asarray(everything(keys))
    return lambda: np.asarray(everything(keys), dtype=np.float64)


def make_jax_normals(shape: tuple[int, ...], dtype: str, times: int) -> Callable[[], Any]:
    """jax's own normal numbers, so many times, under jit."""
    jax = _jax(dtype)

    def draw(key: Any) -> Any:
        body = lambda number, total: total + jax.random.normal(jax.random.fold_in(key, number), shape, dtype)  # noqa: E731
        return jax.lax.fori_loop(0, times, body, jax.numpy.zeros(shape, dtype))

    compiled = jax.jit(draw)
    key = jax.random.key(1)
    compiled(key).block_until_ready()
    return lambda: compiled(key).block_until_ready()


def make_torch_normals(shape: tuple[int, ...], dtype: str, times: int) -> Callable[[], Any]:
    """torch's own normal numbers, so many times, into one tensor."""
    room = torch.empty(shape, dtype=getattr(torch, dtype))

    def draw() -> torch.Tensor:
        for _ in range(times):
            room.normal_()
        return room

    return draw


PEERS: dict[str, Callable[[Task], Callable[[], np.ndarray]]] = {
    "posteriors": make_posteriors,
    "blackjax": make_blackjax,
    "SGMCMCJax": make_sgmcmcjax,
}


def _jax(dtype: str) -> Any:
    """jax on one thread."""
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    try:
        import jax
    except Exception as error:
        raise Absent(_why(error)) from error
    jax.config.update("jax_enable_x64", dtype == "float64")
    return jax


def _why(error: Exception) -> str:
    reason = str(error).split(" (")[0]
    return (
        f"not installed: {reason}" if isinstance(error, ModuleNotFoundError) else f"does not import: {reason}"
    )

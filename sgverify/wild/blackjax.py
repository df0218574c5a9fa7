"""blackjax: its SG-MCMC kernels, called as its documentation calls them, with the step's own gradient as `grad_estimator`."""

from __future__ import annotations

from typing import Any

import blackjax
from blackjax.sgmcmc import diffusions
from blackjax.sgmcmc.sgnht import SGNHTState
from torch import Tensor

from sgverify.schemes.dynamics import kinetic, langevin, thermostat
from sgverify.wild.jax_code import KEY, advance, jax_step

STEPS = 3
"""The steps between two refreshments of the momentum."""


def _estimator(gradient: Any) -> Any:
    """`grad_estimator(position, minibatch)`: the gradient of the log density."""
    return lambda position, minibatch: -gradient(position)


def _sgld(theta: Any, *, gradient: Any, h: float, T: float) -> tuple[Any]:
    return (blackjax.sgld(_estimator(gradient)).step(KEY, theta, None, h, T),)


@jax_step(langevin, order=1)
def sgld(theta: Tensor, *, h: float, grad: Any, T: float) -> tuple[Tensor, ...]:
    """`blackjax.sgld`: step_size = h, temperature = T."""
    return advance(_sgld, (theta,), grad, h=h, T=T)


def _sghmc_step(theta: Any, p: Any, *, gradient: Any, h: float, D: float, T: float) -> tuple[Any, ...]:
    return tuple(diffusions.sghmc(alpha=D)(KEY, theta, p, -gradient(theta), h, T))


@jax_step(kinetic, order=1)
def sghmc_step(theta: Tensor, p: Tensor, *, h: float, grad: Any, D: float, T: float) -> tuple[Tensor, ...]:
    """`diffusions.sghmc`, the step within `blackjax.sghmc`: step_size = h, temperature = T, alpha = D."""
    return advance(_sghmc_step, (theta, p), grad, h=h, D=D, T=T)


def _sghmc(theta: Any, *, gradient: Any, h: float, T: float) -> tuple[Any]:
    given = _estimator(lambda position: STEPS / (STEPS - 1) * gradient(position))
    sampler = blackjax.sghmc(given, num_integration_steps=STEPS, alpha=1.0)
    return (sampler.step(KEY, theta, None, h, T),)


@jax_step(langevin, order={"invariant": 1})
def sghmc(theta: Tensor, *, h: float, grad: Any, T: float) -> tuple[Tensor, ...]:
    """`blackjax.sghmc` with a new momentum every L = 3 steps: step_size = h, temperature = T, alpha = 1.

    L explicit Euler steps from a new momentum move by h L p - h^2 L(L-1)/2 grad U: as h -> 0 the variance is L/(L-1) times the
    target's, by the algorithm and not by this code. The gradient is multiplied by L/(L-1), so that the refreshment alone is judged.
    """
    return advance(_sghmc, (theta,), grad, h=h, T=T)


def _sgnht(theta: Any, p: Any, xi: Any, *, gradient: Any, h: float, D: float, T: float) -> tuple[Any, ...]:
    state = SGNHTState(theta, p, xi.reshape(()))
    return tuple(blackjax.sgnht(_estimator(gradient), alpha=D).step(KEY, state, None, h, T))


@jax_step(thermostat, order=1)
def sgnht(
    theta: Tensor, p: Tensor, xi: Tensor, *, h: float, grad: Any, D: float, T: float
) -> tuple[Tensor, ...]:
    """`blackjax.sgnht`: step_size = h, temperature = T, alpha = D; xi is its thermostat."""
    return advance(_sgnht, (theta, p, xi), grad, h=h, D=D, T=T)

"""blackjax: its SG-MCMC kernels, called as its documentation calls them, with the step's own gradient as `grad_estimator`."""

from __future__ import annotations

from typing import Any

import blackjax
from blackjax.sgmcmc import diffusions
from blackjax.sgmcmc.sgnht import SGNHTState

from reports.making.in_the_wild.samplers.jax_steps import jax_step
from sgverify.schemes.dynamics import kinetic, langevin, thermostat

STEPS = 3
"""The steps between two refreshments of the momentum."""


def _estimator(grad: Any) -> Any:
    """`grad_estimator(position, minibatch)`: the gradient of the log density."""
    return lambda position, minibatch: -grad(position)


@jax_step(langevin, order=1, wide=True)
def sgld(key: Any, theta: Any, given: Any) -> tuple[Any, ...]:
    """`blackjax.sgld`: step_size = h, temperature = T."""
    return (blackjax.sgld(_estimator(given.grad)).step(key, theta, None, given.h, given.numbers["T"]),)


@jax_step(kinetic, order=1, wide=True)
def sghmc_step(key: Any, theta: Any, p: Any, given: Any) -> tuple[Any, ...]:
    """`diffusions.sghmc`, the step within `blackjax.sghmc`: step_size = h, temperature = T, alpha = D."""
    move = diffusions.sghmc(alpha=given.numbers["D"])
    return tuple(move(key, theta, p, -given.grad(theta), given.h, given.numbers["T"]))


@jax_step(langevin, order={"invariant": 1}, wide=True)
def sghmc(key: Any, theta: Any, given: Any) -> tuple[Any, ...]:
    """`blackjax.sghmc` with a new momentum every L = 3 steps: step_size = h, temperature = T, alpha = 1.

    L explicit Euler steps from a new momentum move by h L p - h^2 L(L-1)/2 grad U: as h -> 0 the variance is L/(L-1) times the
    target's, by the algorithm and not by this code. The gradient is multiplied by L/(L-1), so that the refreshment alone is judged.
    """
    estimator = _estimator(lambda position: STEPS / (STEPS - 1) * given.grad(position))
    sampler = blackjax.sghmc(estimator, num_integration_steps=STEPS, alpha=1.0)
    return (sampler.step(key, theta, None, given.h, given.numbers["T"]),)


@jax_step(thermostat, order=1, wide=True)
def sgnht(key: Any, theta: Any, p: Any, xi: Any, given: Any) -> tuple[Any, ...]:
    """`blackjax.sgnht`: step_size = h, temperature = T, alpha = D; xi is its thermostat."""
    sampler = blackjax.sgnht(_estimator(given.grad), alpha=given.numbers["D"])
    return tuple(sampler.step(key, SGNHTState(theta, p, xi), None, given.h, given.numbers["T"]))

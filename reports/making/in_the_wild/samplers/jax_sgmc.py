"""JaxSGMC: its integrators; the potential's gradient is the step's own, and a batch holds nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch import Tensor

from reports.making.in_the_wild.samplers.jax_steps import first_draw, import_of, jax_step, log_density
from reports.making.in_the_wild.samplers.tempering import with_momentum
from sgverify.schemes.dynamics import kinetic, langevin

integrator = import_of("jax_sgmc.integrator")
solver = import_of("jax_sgmc.solver")

BATCH = (lambda **given: None, lambda state, information=False: (state, None), lambda: None)
"""A random data function (init, get, release) of no data."""


def _potential(grad: Any) -> Any:
    """The stochastic potential: value, and (likelihoods, state of the model) as its auxiliary."""
    value = log_density(grad)

    def stochastic(sample: Any, batch: Any, state: Any = None, likelihoods: bool = False) -> Any:
        return -value(sample), ((jnp.zeros(1), state) if likelihoods else state)

    return stochastic


@jax_step(langevin, order=1)
def sgld(key: Any, theta: Any, given: Any) -> tuple[Any, ...]:
    """`integrator.langevin_diffusion`: step_size = h, temperature = T."""
    init, update, get = integrator.langevin_diffusion(_potential(given.grad), BATCH)
    moved = update(init(theta, key=key), SimpleNamespace(step_size=given.h, temperature=given.numbers["T"]))
    return (get(moved)["variables"],)


class _Chain(NamedTuple):
    """The fields of a chain that the solver reads: its position, the energy there, and the variance of the energy's estimate."""

    positions: Any
    potential: Any
    variance: Any


@contextmanager
def _uniform() -> Iterator[None]:
    """A context in which the solver's uniform number is torch's."""
    own = solver.random

    def drawn(key: Any) -> Any:
        return jnp.asarray(torch.rand((), dtype=torch.float64).numpy())

    solver.random = SimpleNamespace(split=own.split, uniform=drawn)
    try:
        yield
    finally:
        solver.random = own


def _swap(
    theta: Tensor, other: Tensor, *, U: Tensor, U_other: Tensor, T: float, T_other: float
) -> tuple[Tensor, Tensor]:
    still = (None, lambda chain, schedule: chain, None)
    _, update, _ = solver.parallel_tempering(still)
    pair = [
        _Chain(jnp.asarray(at.numpy()), jnp.asarray(float(energy)), jnp.asarray(0.0))
        for at, energy in ((theta, U), (other, U_other))
    ]
    state = (*pair, jnp.asarray(0.0), jnp.asarray(1.0), 0, jax.random.PRNGKey(0))
    # Its functions are new at each call: compiling them would take a second each time.
    with _uniform(), jax.disable_jit():
        (first, second, *_), _ = update(
            state, SimpleNamespace(temperature=T), SimpleNamespace(temperature=T_other)
        )
    found = [torch.from_numpy(np.array(chain.positions)).to(theta) for chain in (first, second)]
    return found[0], found[1]


tempering = replace(sgld, name="parallel_tempering", swap=_swap)
"""`solver.parallel_tempering`: its swap of two chains that have taken their steps, of known energies without noise."""


@jax_step(kinetic, order=2)
def obabo(key: Any, theta: Any, p: Any, given: Any) -> tuple[Any, ...]:
    """`integrator.obabo`, one step: step_size = h, friction = D, temperature = T."""
    D, T = given.numbers["D"], given.numbers["T"]
    init, update, _ = integrator.obabo(_potential(given.grad), BATCH, steps=1, friction=D)
    state = init(theta, key=key)._replace(momentum=p)
    moved = update(state, SimpleNamespace(step_size=given.h, temperature=T))
    return moved.positions, moved.momentum


@jax_step(kinetic, order=1)
def sghmc(key: Any, theta: Any, p: Any, given: Any) -> tuple[Any, ...]:
    """`integrator.friction_leapfrog`, one step after a new momentum: step_size = h, friction = D."""

    def take(theta: Any, p: Any, *, h: Any, grad: Any, D: Any) -> tuple[Any, ...]:
        init, update, _ = integrator.friction_leapfrog(_potential(grad), BATCH, steps=1, friction=D)
        # Its first draw is the new momentum: here it is the state's.
        with first_draw(p):
            moved = update(init(theta, key=key), SimpleNamespace(step_size=h, temperature=1.0))
        return moved.positions, moved.momentum

    return with_momentum(take, theta, p, h=given.h, grad=given.grad, **given.numbers)


@jax_step(kinetic, order=2)
def leapfrog(key: Any, theta: Any, p: Any, given: Any) -> tuple[Any, ...]:
    """`integrator.reversible_leapfrog`, one step, as AMAGOLD proposes it: step_size = h, friction = D/2."""

    def take(theta: Any, p: Any, *, h: Any, grad: Any, D: Any) -> tuple[Any, ...]:
        init, update, _ = integrator.reversible_leapfrog(_potential(grad), BATCH, steps=1, friction=D / 2)
        # The initial state draws a momentum, for which there is one already.
        with first_draw(p):
            state = init(theta, key=key)._replace(momentum=p)
        moved = update(state, SimpleNamespace(step_size=h, temperature=1.0))
        return moved.positions, moved.momentum

    return with_momentum(take, theta, p, h=given.h, grad=given.grad, **given.numbers)

"""SGMCMCJax: its kernels, and the diffusions that they are made of. It has no temperature, except that of BAOAB.

Where a kernel works with dt and v, as Chen et al. 2014, dt = h^2 and v = h p. Written for a JAX that had `host_callback`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax.numpy as jnp

from reports.making.in_the_wild.samplers.jax_steps import first_draw, import_of, jax_step, log_density
from reports.making.in_the_wild.samplers.tempering import of_potential, with_momentum
from sgverify.adapters.sgmcmcjax import unit_mass_thermostat
from sgverify.schemes.adapting import adapt
from sgverify.schemes.dynamics import kinetic, langevin, thermostat

diffusions = import_of("sgmcmcjax.diffusions")
kernels = import_of("sgmcmcjax.kernels")
types = import_of("sgmcmcjax.types")

DATA = (jnp.zeros((1, 1)),)
"""One datum, on whose likelihood nothing depends: the whole log density is handed over as that of the prior."""

NUMBER = 1
"""The number of the step; only the first, number 0, differs."""

baoab_diffusion = adapt(diffusions.baoab, order=2)
badodab_diffusion = adapt(diffusions.badodab, order=2)


def _step_of(build: Any, dt: Any, key: Any, variables: tuple[Any, ...], grad: Any) -> tuple[Any, ...]:
    """The variables of a kernel's diffusion after one step, from `build(dt, ...)` = (init, kernel, get_params)."""
    theta = variables[0]
    init, step, _ = build(dt, lambda theta, x: jnp.zeros((), theta.dtype), log_density(grad), DATA, 1)
    state = init(key, theta)
    held = types.DiffusionState([list(variables)], *state.diffusion_state[1:])
    moved = step(NUMBER, key, state._replace(diffusion_state=held, param_grad=-grad(theta)))
    return tuple(moved.diffusion_state[0][0])


@jax_step(langevin, order=1)
def sgld(key: Any, theta: Any, given: Any) -> tuple[Any, ...]:
    """`build_sgld_kernel`: dt = h."""
    T = given.numbers["T"]
    return _step_of(kernels.build_sgld_kernel, given.h * T, key, (theta,), of_potential(given.grad, T))


@jax_step(thermostat, order=1)
def sgnht(key: Any, theta: Any, p: Any, xi: Any, given: Any) -> tuple[Any, ...]:
    """`build_sgnht_kernel`: dt = h^2, a = h D, v = h p, alpha = h xi."""

    def take(theta: Any, p: Any, xi: Any, *, h: Any, grad: Any, D: Any) -> tuple[Any, ...]:
        build = partial(kernels.build_sgnht_kernel, a=h * D)
        theta, v, alpha = _step_of(build, h * h, key, (theta, h * p, h * xi), grad)
        return theta, v / h, alpha / h

    return with_momentum(take, theta, p, xi, h=given.h, grad=given.grad, **given.numbers)


@jax_step(kinetic, order=1)
def sghmc(key: Any, theta: Any, p: Any, given: Any) -> tuple[Any, ...]:
    """`build_sghmc_kernel`, one step after a new momentum: dt = h^2, alpha = h D, v = h p."""

    def take(theta: Any, p: Any, *, h: Any, grad: Any, D: Any) -> tuple[Any, ...]:
        def build(dt: Any, *more: Any) -> Any:
            return kernels.build_sghmc_kernel(dt, 1, *more, alpha=h * D, compiled_leapfrog=False)

        # Its first draw is the new momentum in units of its deviation: here it is the state's.
        with first_draw(p):
            theta, v = _step_of(build, h * h, key, (theta, jnp.zeros_like(theta)), grad)
        return theta, v / h

    return with_momentum(take, theta, p, h=given.h, grad=given.grad, **given.numbers)


@jax_step(kinetic, order=2)
def baoab(key: Any, theta: Any, p: Any, given: Any) -> tuple[Any, ...]:
    """`build_baoab_kernel`: dt = h, gamma = D, at its own tau = 1."""

    def take(theta: Any, p: Any, *, h: Any, grad: Any, D: Any) -> tuple[Any, ...]:
        return _step_of(partial(kernels.build_baoab_kernel, gamma=D), h, key, (theta, p), grad)

    return with_momentum(take, theta, p, h=given.h, grad=given.grad, **given.numbers)


@jax_step(unit_mass_thermostat, order=2)
def badodab(key: Any, theta: Any, p: Any, xi: Any, given: Any) -> tuple[Any, ...]:
    """`build_badodab_kernel`: dt = h."""
    return _step_of(kernels.build_badodab_kernel, given.h, key, (theta, p, xi), given.grad)

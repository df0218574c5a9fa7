"""SGMCMCJax: its kernels, and the diffusions that they are made of. It has no temperature, except that of BAOAB.

Where a kernel works with dt and v, as Chen et al. 2014, dt = h^2 and v = h p. Written for a JAX that had `host_callback`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from torch import Tensor

from sgverify.schemes.definition.mathematics import dot
from sgverify.schemes.dynamics import density, dynamics, kinetic, langevin, thermostat
from sgverify.wild.jax_code import KEY, advance, import_of, jax_step, jnp, potential, supply
from sgverify.wild.tempering import of_potential, with_momentum

diffusions = import_of("sgmcmcjax.diffusions")
kernels = import_of("sgmcmcjax.kernels")
types = import_of("sgmcmcjax.types")

DATA = (jnp.zeros((1, 1)),)
"""One datum, on whose likelihood nothing depends: the whole log density is handed over as that of the prior."""

NUMBER = 1
"""The number of the step; only the first, number 0, differs."""


@density(theta="vector", p="vector", xi="scalar")
def extended(theta, p, xi, *, U):
    """exp(-U - p.p/2 - (xi - 1/2)^2/2)."""
    return -U(theta) - dot(p, p) / 2 - (xi - 0.5) * (xi - 0.5) / 2


@dynamics(theta="vector", p="vector", xi="scalar", density=extended)
def adaptive(theta, p, xi, *, grad, dim):
    """Adaptive Langevin dynamics of Leimkuhler and Shang (2016), with noise and thermal mass 1, at T = 1."""
    return (p, -grad(theta) - xi * p, dot(p, p) - dim), (0, 0.5, 0)


def _step_of(kernel: Any, variables: tuple[Any, ...], gradient: Any) -> tuple[Any, ...]:
    """The variables of a kernel's diffusion after one step, from `build(...)` = (init, kernel, get_params)."""
    init, step, _ = kernel
    state = init(KEY, variables[0])
    held = types.DiffusionState([list(variables)], *state.diffusion_state[1:])
    moved = step(NUMBER, KEY, state._replace(diffusion_state=held, param_grad=-gradient(variables[0])))
    return tuple(moved.diffusion_state[0][0])


def _densities(gradient: Any) -> tuple[Any, Any]:
    """(log likelihood of one datum, log prior): the second has the gradient -gradient."""
    value = potential(gradient)
    return (lambda theta, x: jnp.zeros((), theta.dtype)), (lambda theta: -value(theta))


def _sgld(theta: Any, *, gradient: Any, h: float) -> tuple[Any, ...]:
    return _step_of(kernels.build_sgld_kernel(h, *_densities(gradient), DATA, 1), (theta,), gradient)


@jax_step(langevin, order=1)
def sgld(theta: Tensor, *, h: float, grad: Any, T: float) -> tuple[Tensor, ...]:
    """`build_sgld_kernel`: dt = h."""
    return advance(_sgld, (theta,), of_potential(grad, T), h=h * T)


def _sgnht(theta: Any, p: Any, xi: Any, *, gradient: Any, h: float, D: float) -> tuple[Any, ...]:
    kernel = kernels.build_sgnht_kernel(h * h, *_densities(gradient), DATA, 1, a=h * D)
    theta, v, alpha = _step_of(kernel, (theta, h * p, h * xi.reshape(())), gradient)
    return theta, v / h, alpha / h


@jax_step(thermostat, order=1)
def sgnht(
    theta: Tensor, p: Tensor, xi: Tensor, *, h: float, grad: Any, D: float, T: float
) -> tuple[Tensor, ...]:
    """`build_sgnht_kernel`: dt = h^2, a = h D, v = h p, alpha = h xi."""

    def take(*state: Tensor, h: float, grad: Any, D: float) -> tuple[Tensor, ...]:
        return advance(_sgnht, state, grad, h=h, D=D)

    return with_momentum(take, theta, p, xi, h=h, grad=grad, T=T, D=D)


def _sghmc(theta: Any, p: Any, *, gradient: Any, h: float, D: float) -> tuple[Any, ...]:
    build = partial(kernels.build_sghmc_kernel, compiled_leapfrog=False)
    kernel = build(h * h, 1, *_densities(gradient), DATA, 1, alpha=h * D)
    # Its first draw is the new momentum in units of its deviation: here it is the state's.
    supply(p)
    theta, v = _step_of(kernel, (theta, jnp.zeros_like(theta)), gradient)
    return theta, v / h


@jax_step(kinetic, order=1)
def sghmc(theta: Tensor, p: Tensor, *, h: float, grad: Any, D: float, T: float) -> tuple[Tensor, ...]:
    """`build_sghmc_kernel`, one step after a new momentum: dt = h^2, alpha = h D, v = h p."""

    def take(*state: Tensor, h: float, grad: Any, D: float) -> tuple[Tensor, ...]:
        return advance(_sghmc, state, grad, h=h, D=D)

    return with_momentum(take, theta, p, h=h, grad=grad, T=T, D=D)


def _baoab(theta: Any, p: Any, *, gradient: Any, h: float, D: float) -> tuple[Any, ...]:
    kernel = kernels.build_baoab_kernel(h, *_densities(gradient), DATA, 1, gamma=D)
    return _step_of(kernel, (theta, p), gradient)


@jax_step(kinetic, order=2)
def baoab(theta: Tensor, p: Tensor, *, h: float, grad: Any, D: float, T: float) -> tuple[Tensor, ...]:
    """`build_baoab_kernel`: dt = h, gamma = D, at its own tau = 1."""

    def take(*state: Tensor, h: float, grad: Any, D: float) -> tuple[Tensor, ...]:
        return advance(_baoab, state, grad, h=h, D=D)

    return with_momentum(take, theta, p, h=h, grad=grad, T=T, D=D)


def _both(pair: Any, init: Any, variables: tuple[Any, ...], gradient: Any) -> tuple[Any, ...]:
    """The variables after both halves of a splitting, its second with the gradient at the position that the first reached."""
    state = types.DiffusionState([list(variables)], *init(variables[0])[1:])
    state = pair[0](NUMBER, KEY, -gradient(variables[0]), state)
    state = pair[1](NUMBER, KEY, -gradient(state[0][0][0]), state)
    return tuple(state[0][0])


def _baoab_halves(theta: Any, p: Any, *, gradient: Any, h: float, D: float, T: float) -> tuple[Any, ...]:
    init, pair, _ = diffusions.baoab(h, D, tau=T)
    return _both(pair, init, (theta, p), gradient)


@jax_step(kinetic, order=2)
def baoab_diffusion(
    theta: Tensor, p: Tensor, *, h: float, grad: Any, D: float, T: float
) -> tuple[Tensor, ...]:
    """`diffusions.baoab`, both halves: dt = h, gamma = D, tau = T."""
    return advance(_baoab_halves, (theta, p), grad, h=h, D=D, T=T)


def _badodab(theta: Any, p: Any, xi: Any, *, gradient: Any, h: float) -> tuple[Any, ...]:
    kernel = kernels.build_badodab_kernel(h, *_densities(gradient), DATA, 1)
    return _step_of(kernel, (theta, p, xi.reshape(())), gradient)


@jax_step(adaptive, order=2)
def badodab(theta: Tensor, p: Tensor, xi: Tensor, *, h: float, grad: Any) -> tuple[Tensor, ...]:
    """`build_badodab_kernel`: dt = h."""
    return advance(_badodab, (theta, p, xi), grad, h=h)


def _badodab_halves(theta: Any, p: Any, xi: Any, *, gradient: Any, h: float) -> tuple[Any, ...]:
    init, pair, _ = diffusions.badodab(h)
    return _both(pair, init, (theta, p, xi.reshape(())), gradient)


@jax_step(adaptive, order=2)
def badodab_diffusion(theta: Tensor, p: Tensor, xi: Tensor, *, h: float, grad: Any) -> tuple[Tensor, ...]:
    """`diffusions.badodab`, both halves: dt = h."""
    return advance(_badodab_halves, (theta, p, xi), grad, h=h)

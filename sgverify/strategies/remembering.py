"""Schemes with memory: what a step needs of the one before it, as extra state.

No catalogue scheme has any, and a reading that loses a memory between two blocks of steps, or starts it anew, would
pass every test over the catalogue.
"""

from __future__ import annotations

from sgverify.schemes import Scheme, exp, expm1, kinetic, langevin, scheme, sqrt


def _first_noise(theta, *, noise):  # type: ignore[no-untyped-def]
    return noise()


def _first_force(theta, p, *, grad):  # type: ignore[no-untyped-def]
    return grad(theta)


@scheme(langevin, memory={"last": _first_noise})
def averaged_noise(theta, last, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    """The limit of BAOAB for large friction: Euler with the mean of this noise and the last one."""
    new = noise()
    return theta - h * grad(theta) + sqrt(T * h / 2) * (last + new), new


@scheme(kinetic, memory={"force": _first_force})
def kept_force(theta, p, force, *, h, grad, noise, D, T):  # type: ignore[no-untyped-def]
    """BAOAB with one gradient a step: the one at the end is kept for the half kick that begins the next step."""
    p = p - h / 2 * force
    theta = theta + h / 2 * p
    p = exp(-D * h) * p + sqrt(-T * expm1(-2 * D * h)) * noise()
    theta = theta + h / 2 * p
    force = grad(theta)
    return theta, p - h / 2 * force, force


SOURCE = "Leimkuhler and Matthews 2013, Applied Mathematics Research eXpress"

REMEMBERING: tuple[Scheme, ...] = tuple(
    item.named(item.name, source=SOURCE, reference=f"{__name__}:{item.name}")
    for item in (averaged_noise, kept_force)
)

__all__ = ["REMEMBERING"]

"""Which strategies draw schemes: the catalogue's, words of its alphabets, and schemes with memory?

A memory is extra state that a step takes from the step before it. No catalogue scheme has a memory, so that an
interpreter that loses it between two blocks of steps, or restarts it, would pass every test over the catalogue.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.errors import ConfigurationError
from sgverify.schemes import NAMED, Scheme, exp, expm1, kinetic, langevin, scheme, sqrt
from sgverify.strategies.scalars import listed
from sgverify.strategies.splittings import PARTS
from sgverify.strategies.words import words


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


AFFINE = ("langevin", "kinetic")
DYNAMICS = (*AFFINE, "thermostat", "riemannian_langevin", "riemannian_kinetic")


def schemes(
    *, dynamics: Sequence[str] = AFFINE, named: bool = True, most: int = 7, memory: bool = False
) -> SearchStrategy[Scheme]:
    """Schemes over `dynamics`, each with a `reference` for the command line: the catalogue's, then generated words.

    All are consistent methods. By default those over "langevin" and "kinetic", whose steps are affine on quadratic
    potentials; "thermostat", "riemannian_langevin" and "riemannian_kinetic" are the others. `named=False` leaves the
    catalogue out; `most` is the largest number of letters in a word (see `words`), and 0 leaves words out; `memory`
    adds schemes that carry something from step to step. Shrinks to the first of the catalogue.

    >>> from hypothesis import find
    >>> find(schemes(), lambda scheme: scheme.word is not None).reference
    'sghmc-aboba'
    >>> find(schemes(dynamics=["thermostat"]), lambda scheme: True).reference
    'sgnht-euler'
    >>> find(schemes(memory=True), lambda scheme: scheme.memory).reference
    'sgverify.strategies.schemes:averaged_noise'

    Raises `ConfigurationError` for an empty domain.
    """
    dynamics = listed("dynamics", dynamics, DYNAMICS)
    # A scheme without a stated order is in the catalogue as an example, not as a correct method.
    known = [
        item.named(name, reference=name)
        for name, item in NAMED.items()
        if item.order and item.dynamics.name in dynamics
    ]
    alternatives: list[SearchStrategy[Scheme]] = []
    if named and known:
        alternatives.append(st.sampled_from(known))
    if most:
        alternatives += [words(dynamics=name, most=most) for name in PARTS if name in dynamics]
    carrying = [item for item in REMEMBERING if memory and item.dynamics.name in dynamics]
    if carrying:
        alternatives.append(st.sampled_from(carrying))
    if not alternatives:
        raise ConfigurationError(
            f"dynamics={list(dynamics)!r}, named={named!r}, most={most!r}: no scheme is left; expected some of "
            f"{', '.join(DYNAMICS)}, of which {', '.join(PARTS)} have words"
        )
    return st.one_of(alternatives)

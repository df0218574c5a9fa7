"""Test functions: polynomials in the state, as text."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.errors import ConfigurationError
from sgverify.targets.observable import COORDINATES, Observable, parse_observable

MOST_TERMS = 4
COEFFICIENTS = (1, -1, 2, Fraction(1, 2), Fraction(-3, 2), Fraction(1, 3), -5)


def observables(
    *, dim: int = 1, state: Sequence[str] = ("theta",), degree: int | None = None, lowest: int = 1
) -> SearchStrategy[str]:
    """Polynomials of at most `degree` in theta, and in p where `state` has it, as text that the key `test_function` takes.

    `dim` is the number of coordinates; in one dimension they are called theta and p, else theta[0], p[0] and so on.
    `degree` is 2 where it is left out, 4 in one dimension without momentum. Each has 1 to 4 terms with rational
    coefficients in [-5, 2], one of them of degree `lowest` or more, so that none is constant. `state` has the names of
    the state's parts, as a dynamics has them. Shrinks to one coordinate.

    >>> from hypothesis import find
    >>> find(observables(dim=2, state=("theta", "p"), lowest=2), lambda text: "p" in text)
    'theta[0]*p[0]'

    Raises `ConfigurationError` for an empty domain.
    """
    names = [name for name in COORDINATES if name in state]
    if degree is None:
        degree = 4 if dim == 1 and len(names) == 1 else 2
    if dim < 1 or not names:
        raise ConfigurationError(
            f"dim={dim!r}, state={tuple(state)!r}: expected a coordinate of theta or p to read"
        )
    if not 1 <= lowest <= degree:
        raise ConfigurationError(f"lowest={lowest!r}, degree={degree!r}: expected 1 <= lowest <= degree")
    return _observables(dim, tuple(names), degree, lowest)


@st.composite
def _observables(draw: Any, dim: int, names: tuple[str, ...], degree: int, lowest: int) -> str:
    size = dim * len(names)
    monomials = {
        total: [
            tuple(slots.count(i) for i in range(size))
            for slots in combinations_with_replacement(range(size), total)
        ]
        for total in range(degree + 1)
    }
    leading = draw(st.sampled_from([m for total in range(lowest, degree + 1) for m in monomials[total]]))
    # The other terms are of no higher degree: else a low leading term and a high other one would be a dead end
    # for the shrinker, which can only drop the others.
    every = [m for total in range(sum(leading) + 1) for m in monomials[total] if m != leading]
    terms = {leading: Fraction(draw(st.sampled_from(COEFFICIENTS)))}
    # A fixed number of places, each drawn whether it is taken or not: a term can go, and the choices that follow it
    # stay where they are, so that the shrinker drops it in one move.
    for _ in range(MOST_TERMS - 1 if every else 0):
        monomial, coefficient, taken = (
            draw(st.sampled_from(every)),
            draw(st.sampled_from(COEFFICIENTS)),
            draw(st.booleans()),
        )
        if taken:
            terms.setdefault(monomial, Fraction(coefficient))
    # Read once more: the canonical text has its terms in the parser's order.
    return str(parse_observable(str(Observable(dim, names, terms)), dim, names))


__all__ = ["observables"]

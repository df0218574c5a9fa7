"""Test functions: polynomials in the state with exact coefficients, parsed and never evaluated as code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from sgverify.errors import ConfigurationError
from sgverify.targets.polynomial import Exponents, parse_polynomial

COORDINATES = ("theta", "p")


@dataclass(frozen=True)
class Observable:
    """phi(theta, p), a polynomial: sum over exponents a of terms[a] x^a, x = (theta_0.., p_0..).

    The coordinates of p are there only where the state has a momentum. `str` gives a canonical text, which
    parses back to an equal observable.
    """

    dim: int
    state: tuple[str, ...]
    terms: Mapping[Exponents, Fraction] = field(repr=False)

    def __hash__(self) -> int:
        return hash((self.dim, self.state, frozenset(self.terms.items())))

    def __str__(self) -> str:
        return _text(self)

    @property
    def degree(self) -> int:
        """The largest total degree of a term; 0 for a constant."""
        return max((sum(exponents) for exponents in self.terms), default=0)

    def quadratic_form(self) -> tuple[Fraction, tuple[Fraction, ...], tuple[tuple[Fraction, ...], ...]]:
        """(c, b, A) with phi(x) = c + b.x + x^T A x, A symmetric, exactly; x = (theta, p), flat.

        Raises `ConfigurationError` where the degree is above 2.
        """
        if self.degree > 2:
            raise ConfigurationError(
                f"test_function={str(self)!r} has degree {self.degree}; expected at most 2 here; lower the degree"
            )
        size = self.dim * len(self.state)
        offset, gradient = Fraction(0), [Fraction(0)] * size
        curve = [[Fraction(0)] * size for _ in range(size)]
        for exponents, coefficient in self.terms.items():
            places = [i for i, power in enumerate(exponents) for _ in range(power)]
            if not places:
                offset = coefficient
            elif len(places) == 1:
                gradient[places[0]] = coefficient
            else:
                i, j = places
                curve[i][j] += coefficient / 2
                curve[j][i] += coefficient / 2
        return offset, tuple(gradient), tuple(tuple(row) for row in curve)

    def evaluate(self, coordinates: Sequence[Any]) -> Any:
        """phi at one point, `coordinates` flat (theta, then p) in any exact arithmetic; coefficients stay exact."""
        return self._sum(lambda place: coordinates[place], exactly=True)

    def __call__(self, theta: Any, p: Any = None) -> Any:
        """phi along arrays or tensors, coordinates on the last axis. Shape (*chains, d) -> (*chains)."""
        if p is None and self.uses_momentum:
            raise ConfigurationError(
                f"test_function={str(self)!r} reads the momentum p; expected it as second argument"
            )
        return self._sum(lambda place: theta[..., place] if place < self.dim else p[..., place - self.dim])

    @cached_property
    def uses_momentum(self) -> bool:
        """Whether p occurs."""
        return any(any(exponents[self.dim :]) for exponents in self.terms)

    @cached_property
    def _plan(self) -> list[tuple[Fraction, float, list[tuple[int, int]]]]:
        return [
            (
                coefficient,
                float(coefficient),
                [(place, power) for place, power in enumerate(exponents) if power],
            )
            for exponents, coefficient in self.terms.items()
        ]

    def _sum(self, coordinate: Callable[[int], Any], exactly: bool = False) -> Any:
        total: Any = None
        for coefficient, rounded, factors in self._plan:
            weight: Any = coefficient if exactly else rounded
            term: Any = None
            for place, power in factors:
                factor = coordinate(place) if power == 1 else coordinate(place) ** power
                term = factor if term is None else term * factor
            if term is None:
                # A constant takes the shape of the rest, or of the state where it stands alone.
                total = (coordinate(0) * 0 if total is None else total) + weight
            else:
                term = term if coefficient == 1 else term * weight
                total = term if total is None else total + term
        return coordinate(0) * 0 if total is None else total


def parse_observable(text: str, dim: int, state: Sequence[str] = COORDINATES) -> Observable:
    """The test function that `text` writes, e.g. "theta**2" or "theta[0]*p[1] - 1/2", over `dim` coordinates.

    Numbers, theta, p, indices, + - *, ** with whole exponents, division by a number, parentheses. `state`
    is the scheme's; what is neither theta nor p in it is left out. Raises `ConfigurationError` for the rest.

    >>> str(parse_observable("(theta - 0.5)**2", 1))
    'theta**2 - theta + 1/4'
    """
    kept = tuple(name for name in COORDINATES if name in state)
    terms = parse_polynomial(text, dim, kept, tuple(state))
    return Observable(dim, kept, terms)


def _text(observable: Observable) -> str:
    pieces = []
    for exponents, coefficient in observable.terms.items():
        factors = []
        for place, power in enumerate(exponents):
            if power:
                name = observable.state[place // observable.dim]
                name += f"[{place % observable.dim}]" if observable.dim > 1 else ""
                factors.append(name if power == 1 else f"{name}**{power}")
        if abs(coefficient) != 1 or not factors:
            factors.insert(0, str(abs(coefficient)))
        sign = "-" if coefficient < 0 else "+"
        pieces.append((sign, "*".join(factors)))
    if not pieces:
        return "0"
    first, rest = pieces[0], pieces[1:]
    return ("-" if first[0] == "-" else "") + first[1] + "".join(f" {sign} {body}" for sign, body in rest)

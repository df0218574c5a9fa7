"""Whether a step at a given h equals its power series at h = 0: coefficients in balls against their series, term by term.

Proofs, and rates from expansions, concern h -> 0. exp(-1/h) has a zero series, and min(h, a) is h in its series and a beyond
h = a: at a configured step size such a definition computes something else than its expansion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from flint import arb

from sgverify.errors import NotAffineError
from sgverify.exact.affine.carrier import AffineStep, read_affine
from sgverify.exact.affine.field import BALLS, Scalar, coefficient, constant, number_ring, step_size
from sgverify.exact.numbers import ball
from sgverify.exact.rings.power_series import EXACT, TruncatedSeries
from sgverify.exact.rings.ring import Ring
from sgverify.schemes import Scheme, exact

TERMS = 52
"""The number of powers of s = sqrt(h) that are kept: up to h^25, beyond which the series of exp(-4) has a rest of 1e-10."""

WINDOW = 8
"""Powers of s over which the fall of the terms is measured: h^4, so that series in h^2 alone fall in every window."""

BITS = 256

ROUNDING = 2.0**-53
"""The relative precision of float64 in a coefficient: no run sees a smaller difference."""


@dataclass(frozen=True)
class SeriesDifference:
    """A coefficient `what` whose `value` at step size `step` differs from the sum `series` of its power series."""

    step: float
    what: str
    value: float
    series: float

    def __str__(self) -> str:
        return f"at h={self.step:g} {self.what} is {self.value:.6g}, where its power series at h = 0 has {self.series:.6g}"


class ExpandedStep:
    """One step of a scheme on quadratic potentials, its coefficients expanded. `parameters` are T, D, ... as numbers.

    Raises `NotAffineError` or `NotExpandableError` where the step has no coefficients or no series.
    """

    def __init__(self, scheme: Scheme, parameters: Mapping[str, Fraction]) -> None:
        self._scheme = scheme
        self._given = {name: parameters[name] for name in scheme.parameters}
        self._ring: Ring = number_ring(TERMS)
        given: dict[str, Any] = {name: constant(self._ring, value) for name, value in self._given.items()}
        read = read_affine(scheme, {"h": step_size(self._ring), **given})
        with flint.ctx.workprec(BITS):
            self._series = [
                (name, base, power, *self._coefficients(expanded))
                for name, blocks in read.rows.items()
                for base, coefficients in blocks.items()
                for power, expanded in enumerate(coefficients)
            ]

    def contracts(self, step: float) -> bool:
        """Whether the step by its series contracts at curvature 1; True where a series cannot be summed."""
        names = list(self._scheme.state)
        matrix = np.zeros((len(names), len(names)))
        with flint.ctx.workprec(BITS):
            s = ball.number(exact(step)).sqrt()
            for name, base, _, expanded, whole in self._series:
                if base[0] == "state":
                    summed = _summed(expanded, whole, s)
                    if summed is None:
                        return True
                    matrix[names.index(name), names.index(base[1])] += float(summed[0].mid())
        return bool(np.abs(np.linalg.eigvals(matrix)).max() < 1)

    def difference(self, step: float) -> SeriesDifference | None:
        """The largest difference at this h that the remainder of the series cannot explain; None where there is none."""
        with flint.ctx.workprec(BITS):
            h = ball.number(exact(step))
            given = {name: Scalar(BALLS, ball.number(value)) for name, value in self._given.items()}
            try:
                read = read_affine(self._scheme, {"h": Scalar(BALLS, h), **given})
            except (NotAffineError, ZeroDivisionError):
                return None
            found = [
                (apart, name, value, series)
                for name, value, series, rest in self._pairs(read, h.sqrt())
                if (apart := abs(value - series)) > rest + ROUNDING * abs(value)
            ]
            if not found:
                return None
            _, name, value, series = max(found, key=lambda item: float(item[0].mid()))
            return SeriesDifference(step, name, float(value.mid()), float(series.mid()))

    def _pairs(self, read: AffineStep, s: arb) -> Sequence[tuple[str, arb, arb, arb]]:
        """(name, value, value of the series, bound of its remainder) of each coefficient of which the series is summed."""
        found: list[tuple[str, arb, arb, arb]] = []
        for name, base, power, expanded, whole in self._series:
            at = read.rows[name].get(base, ())
            here: Any = at[power] if power < len(at) else 0
            value = here if isinstance(here, arb) else BALLS.number(exact(here))
            summed = _summed(expanded, whole, s)
            if summed is not None and value.is_finite():
                found.append((f"{_named(base, power)} in {name}", value, *summed))
        return found

    def _coefficients(self, series: Any) -> tuple[list[arb], bool]:
        """The known coefficients of s^0, s^1, ..., and whether the series ends with them."""
        if not isinstance(series, TruncatedSeries):
            return [BALLS.number(exact(series))], True
        whole = series.order >= EXACT
        last = max(series.terms, default=0) + 1 if whole else min(series.order, TERMS)
        return [arb(coefficient(self._ring, series, k)) for k in range(last)], whole


def _summed(coefficients: Sequence[arb], whole: bool, s: arb) -> tuple[arb, arb] | None:
    """The sum of a series and a bound of what was cut off; None where its terms do not fall fast enough to tell.

    The terms of a function that is analytic in a disc around 0 beyond s fall like a geometric series, times a cosine
    where its singularities are complex. r is the slower of the falls of the largest term over the last three
    windows of WINDOW powers: the rest is at most WINDOW/(1 - r) of the last window's if it goes on so, and ten times
    that is allowed for a fall that slows down.
    """
    terms = [c * s**k for k, c in enumerate(coefficients)]
    total = sum(terms, arb(0))
    if whole:
        return total, arb(0)
    # A coefficient that may be 0, by the intervals of floats, falls no further than their rounding.
    sizes = [0.0 if term.contains(0) else float(abs(term).mid()) for term in terms]
    if len(sizes) < 3 * WINDOW:
        return None
    late, before, early = (max(sizes[len(sizes) - (k + 1) * WINDOW :][:WINDOW]) for k in range(3))
    if late == before == early == 0:
        return total, arb(0)
    if not before or not early:
        return None
    fall = max(late / before, before / early)
    return (total, arb(10 * WINDOW * before * fall / (1 - fall))) if fall < 0.5 else None


def _named(base: Any, power: int) -> str:
    kind, which = base
    potential = {0: "", 1: " times the Hessian"}.get(power, f" times the Hessian^{power}")
    text = {"state": f"{which}", "noise": f"draw {which}", "gradient": f"gradient noise {which}"}.get(
        kind, kind
    )
    return f"the coefficient of {text}{potential}"

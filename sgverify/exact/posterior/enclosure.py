"""Certified moments of one coordinate under exp(-U/T), and averages of polynomials from these moments."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from flint import arb

from sgverify.errors import DefinitionError, Unreached
from sgverify.exact.posterior.panels import Balls, as_ball, integrals_between
from sgverify.exact.posterior.tails import Bounds, Tails, beyond, exactly
from sgverify.targets import Target, Vector
from sgverify.targets.line import Energy, Frame, find_frame

BITS = 128
MOST_DATA = 2000
"""The largest number of different data: each is evaluated some twenty times in ball arithmetic, and quadrature is faster."""
MOST_DATA_OF_PEAKS = 50
"""The largest number of data for peaks far apart: panels between them are many, and quadrature integrates each peak alone."""

_LOOKS = 80
_HEIGHT = 46.0
"""The height -log(density) = 46, e^-46 = 2^-66, at which the search for a cut begins."""
_LEFT_OUT = arb(2) ** -60
"""The largest share of the mass beyond a cut on either side."""


def enclosed_moments(target: Target, place: int, temperature: Fraction, top: int) -> tuple[arb, list[arb]]:
    """(c, [E (x - c)^k for k = 0..top]) for the coordinate x = theta[place], the others at 0, as balls.

    The integrand is scaled by its height at the mode and its tails are bounded (`tails`), so that the balls enclose
    the averages under exp(-U/T). For one coordinate, or independent ones. Raises `Unreached` where the
    potential is no formula, has too many data or tails without a bound.
    """
    different = len(_distinct(target))
    most = MOST_DATA_OF_PEAKS if target.peaks else MOST_DATA
    if different > most:
        raise Unreached(f"{different} different data, more than {most}")
    with flint.ctx.workprec(BITS):
        try:
            return _moments(target, place, temperature, top)
        except DefinitionError as error:
            raise Unreached(str(error)) from None


def enclosed_average(target: Target, terms: Mapping[tuple[int, ...], Fraction], temperature: Fraction) -> arb:
    """sum_a terms[a] E prod_i theta_i^(a_i) for one coordinate or independent ones, as a ball."""
    found = {}
    for place in range(target.dim):
        top = max((exponents[place] for exponents in terms), default=0)
        if top:
            found[place] = enclosed_moments(target, place, temperature, top)
    with flint.ctx.workprec(BITS):
        total = arb(0)
        for exponents, coefficient in terms.items():
            term = as_ball(coefficient)
            for place, power in enumerate(exponents):
                if power:
                    term = term * _raw_moment(*found[place], power)
            total = total + term
        return total


def _raw_moment(centre: arb, moments: list[arb], power: int) -> arb:
    """E x^k = sum_i C(k, i) c^(k - i) E (x - c)^i."""
    parts = (math.comb(power, i) * centre ** (power - i) * moments[i] for i in range(power + 1))
    return sum(parts, arb(0))


def _moments(target: Target, place: int, temperature: Fraction, top: int) -> tuple[arb, list[arb]]:
    line = target.energy_of_coordinate(place)

    def scaled(x: np.ndarray) -> np.ndarray:
        return np.asarray(line(x) / float(temperature))

    frame = find_frame(scaled, *target.hint(place))
    centre, width, lowest = arb(frame.centre), arb(frame.scale), arb(frame.lowest)
    on_balls = read_energy(target, place, temperature, Balls, arb(0), lowest)
    on_tails = read_energy(target, place, temperature, Tails, exactly(arb(0)), lowest)
    low, below = find_cut(on_tails, centre, width, -1, top, first_look(scaled, frame, -1))
    high, above = find_cut(on_tails, centre, width, 1, top, first_look(scaled, frame, 1))
    inside = integrals_between(on_balls, low, high, centre, top, width)
    # What is beyond a cut is at most |x - c|^k away from nothing; the mass there is not negative.
    ends = [left + right for left, right in zip(below, above, strict=True)]
    whole = [value + arb(0, end.upper()) for value, end in zip(inside, ends, strict=True)]
    if not whole[0] > 0:
        raise Unreached("the density has no mass that is certain")
    return centre, [value / whole[0] for value in whole]


def read_energy(
    target: Target, place: int, temperature: Fraction, carrier: type[Vector], zero: Any, lowest: arb
) -> Callable[[Any], Any]:
    """x -> U(x)/T less its least value, the other coordinates at 0, on one of the carriers."""
    # Equal data are evaluated once.
    rows = [(carrier(_lifted(value, zero) for value in row), count) for row, count in _distinct(target)]

    def energy(x: Any) -> Any:
        theta = carrier(x if i == place else zero for i in range(target.dim))
        total = target.prior(theta)
        for row, count in rows:
            assert target.likelihood is not None
            total = total + target.likelihood(theta, row) * count
        return total / as_ball(temperature) - lowest

    return energy


def _distinct(target: Target) -> list[tuple[list[float], int]]:
    """The different data and how often each occurs."""
    if target.data is None:
        return []
    rows, counts = np.unique(target.data, axis=0, return_counts=True)
    return list(zip(rows.tolist(), counts.tolist(), strict=True))


def _lifted(value: float, zero: Any) -> Any:
    return zero + arb(value)


def first_look(energy: Energy, frame: Frame, side: int) -> float:
    """A guess of the distance from which E stays `_HEIGHT` above its least value; a wrong guess costs time, not rigour."""
    offsets = frame.scale * 1.1 ** np.arange(-60, 80)
    with np.errstate(over="ignore", invalid="ignore"):
        low = np.flatnonzero(~(energy(frame.centre + side * offsets) > frame.lowest + _HEIGHT))
    return float(offsets[min(len(offsets) - 1, low[-1] + 1 if len(low) else 0)])


def find_cut(
    energy: Callable[[Bounds], Bounds], centre: arb, width: arb, side: int, top: int, reach: float
) -> tuple[arb, list[arb]]:
    """A cut on one side beyond which the moments around `centre` are negligible, and bounds of these moments there."""

    def centred(x: Bounds) -> Bounds:
        return energy(x + centre)

    for _ in range(_LOOKS):
        offset = arb(side * reach)
        cut = centre + offset
        found = beyond(centred, offset, side, top) if cut.is_exact() else None
        if found is not None and all(part < _LEFT_OUT * width ** (k + 1) for k, part in enumerate(found)):
            return cut, found
        reach *= 1.1
    raise Unreached("the tails of the density have no bound of the kind that is sought")


__all__ = ["enclosed_average", "enclosed_moments"]

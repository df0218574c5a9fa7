"""When do two numbers differ? Beyond the errors that are stated of them.

- Of two error bounds b, a difference up to b_old + b_new is none, with half a unit in the last place of each stored double.
- Of two standard errors s from c chains each, a difference up to t sqrt(s_old^2 + s_new^2) is none. t is the quantile of Student's
  distribution with min(c) - 1 degrees of freedom, at which the chance that any of the n sampled numbers of the whole comparison
  seems to differ, where none does, is at most `LEVEL` (Bonferroni: `LEVEL`/n each).
- Two intervals or enclosures that share a number do not differ.
- An exact number (integer, fraction) differs from every other one.
- A float of which no error is stated differs beyond `ROUNDING` of its size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sgverify.evidence.model import Found, Point

LEVEL = 0.01
"""The chance that a comparison of equal laws finds any sampled number different."""

ROUNDING = 1e-9
"""A convention: what the rounding of doubles leaves of a float after many steps, relative to its size, on another platform."""


@dataclass(frozen=True)
class NumberComparison:
    """Do two numbers differ? `share` is their distance in units of what is allowed (None where nothing is); `rule` says by what."""

    differs: bool
    share: float | None
    rule: str


def within(distance: float, allowed: float, rule: str) -> NumberComparison:
    """The comparison of two numbers at a distance, of which so much is allowed."""
    return NumberComparison(
        distance > allowed,
        distance / allowed if allowed > 0 else None,
        f"{distance:.3g} apart; {allowed:.3g} allowed by {rule}",
    )


@dataclass(frozen=True)
class SampledNumbers:
    """How many sampled numbers does a whole comparison have? Of it follows the quantile of each."""

    count: int

    def quantile(self, chains: int | None) -> float:
        """The two-sided quantile at `LEVEL`/count, of Student's distribution with chains - 1 degrees of freedom; None: normal."""
        from scipy.special import ndtri, stdtrit

        tail = 1 - LEVEL / max(self.count, 1) / 2
        return float(ndtri(tail) if chains is None or chains < 2 else stdtrit(chains - 1, tail))


def compare_points(old: Point, new: Point, sampled: SampledNumbers, chains: int | None) -> NumberComparison:
    """Compare the values of two points at one step and length; a value that is missing differs from one that is there."""
    if old.value is None or new.value is None:
        return NumberComparison(old.value is not new.value, None, "no value on one side")
    one, other = float(old.value), float(new.value)
    bounds = float(old.error_bound or 0) + float(new.error_bound or 0) + (math.ulp(one) + math.ulp(other)) / 2
    spread = math.hypot(float(old.standard_error or 0), float(new.standard_error or 0))
    if not spread:
        return within(abs(other - one), bounds, "the error bounds")
    t = sampled.quantile(chains)
    return within(abs(other - one), bounds + t * spread, f"{t:.3g} standard errors and the error bounds")


def compare_exponents(old: Found, new: Found) -> NumberComparison:
    """Compare two exponents by their intervals; an exponent without one, as of a quantity that vanishes, differs from a number."""
    if old.exponent is None or new.exponent is None:
        return NumberComparison(old.exponent is not new.exponent, None, "no exponent on one side")
    first, second = interval(old), interval(new)
    if first is None or second is None:
        return compare_floats(float(old.exponent), float(new.exponent))
    apart = max(first[0], second[0]) - min(first[1], second[1])
    allowed = max(math.ulp(float(old.exponent)), math.ulp(float(new.exponent)))
    names = " and ".join(f"[{low:.6g}, {high:.6g}]" for low, high in (first, second))
    if apart > allowed:
        return NumberComparison(True, None, f"the intervals {names} share no number")
    half = sum((high - low) / 2 for low, high in (first, second))
    middles = abs(sum(first) - sum(second)) / 2
    share = middles / half if half > 0 and math.isfinite(half) else None
    return NumberComparison(False, share, f"the intervals {names} share a number")


def interval(found: Found) -> tuple[float, float] | None:
    """The interval of an exponent, an open end infinite; None where neither end is stored."""
    if found.low is None and found.high is None:
        return None
    low = -math.inf if found.low is None else float(found.low)
    return low, math.inf if found.high is None else float(found.high)


def compare_enclosures(old: tuple[Fraction, Fraction], new: tuple[Fraction, Fraction]) -> NumberComparison:
    """Compare two balls, each a middle and a radius."""
    distance, allowed = abs(old[0] - new[0]), old[1] + new[1]
    return within(float(distance), float(allowed), "the radii of the enclosures")


def compare_floats(old: float, new: float, bound: float | None = None) -> NumberComparison:
    """Compare two floats within the sum of their bounds, or where none is stated within `ROUNDING` of their size."""
    if bound is not None:
        return within(abs(new - old), bound + (math.ulp(old) + math.ulp(new)) / 2, "the error bounds")
    return within(
        abs(new - old),
        ROUNDING * max(abs(old), abs(new)),
        f"rounding ({ROUNDING:g} of the size; no bound is stated)",
    )


def compare_exact(old: Fraction, new: Fraction) -> NumberComparison:
    """Compare two exact numbers."""
    return NumberComparison(old != new, None, "exact numbers")


def gravest(found: Sequence[NumberComparison]) -> NumberComparison:
    """The one that differs, or else the one that takes the largest share of what is allowed."""
    return max(found, key=lambda item: (item.differs, item.share or 0.0))

"""How does a measured factor depend on temperature, friction and dimension?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import log

NEAR = 1e-5
"""The relative error within which a measured factor is a number; the factors are known to 1e-7."""

MOST = 64
"""The largest denominator of a fraction that a factor is read as: such fractions are 1/4096 apart and more, far beyond `NEAR`."""


@dataclass(frozen=True)
class Scaling:
    """A factor at a base setting, with T changed, with D changed, and in dimensions 1 and 3; None where it was not measured."""

    base: float
    with_t: float | None
    with_d: float | None
    by_dimension: Mapping[int, float]
    t_ratio: float
    d_ratio: float

    @property
    def right(self) -> bool:
        """Whether the factor is 1 at every setting."""
        return all(near(value, 1.0) for value in self.values)

    @property
    def values(self) -> list[float]:
        """All measured factors."""
        return [
            value
            for value in (self.base, self.with_t, self.with_d, *self.by_dimension.values())
            if value is not None
        ]

    @property
    def number(self) -> Fraction | None:
        """The factor where it is the same fraction at every setting."""
        return fraction(self.base) if all(near(value, self.base) for value in self.values) else None

    @property
    def depends_on_t(self) -> bool:
        """Whether another temperature gives another factor."""
        return self.with_t is not None and not near(self.with_t, self.base)

    @property
    def depends_on_d(self) -> bool:
        """Whether another friction gives another factor."""
        return self.with_d is not None and not near(self.with_d, self.base)

    @property
    def depends_on_dimension(self) -> bool:
        """Whether another dimension gives another factor."""
        return any(not near(value, self.base) for value in self.by_dimension.values())

    @property
    def power_of_t(self) -> Fraction | None:
        """a where the factor goes as T^a, a multiple of 1/2."""
        return _power(self.base, self.with_t, self.t_ratio)

    @property
    def power_of_d(self) -> Fraction | None:
        """a where the factor goes as D^a, a multiple of 1/2."""
        return _power(self.base, self.with_d, self.d_ratio)


def near(value: float, other: float) -> bool:
    """Whether two factors agree within `NEAR`."""
    return abs(value - other) <= NEAR * max(1.0, abs(other))


def fraction(value: float) -> Fraction | None:
    """The simple fraction that a factor is, if it is one."""
    found = Fraction(value).limit_denominator(MOST)
    return found if near(float(found), value) else None


def _power(base: float, other: float | None, ratio: float) -> Fraction | None:
    if other is None or base <= 0 or other <= 0:
        return None
    found = log(other / base) / log(ratio)
    half = Fraction(round(2 * found), 2)
    return half if abs(found - float(half)) <= 1e-3 else None


__all__ = ["Scaling", "fraction", "near"]

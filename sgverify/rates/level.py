"""The error rate of a whole call, and what each of its sampled verdicts gets of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sgverify.errors import UserError

CALL = 0.01
"""The chance of any false violation among the sampled verdicts of one call, where the configuration leaves `level` open. A
rate that conforms is false with no larger chance; a point null that conforms says what it would have found."""

RATES = 25
"""Sampled rates that one call may ask for at most: all pairs of a claim and a quantity that is sampled (a test counts them)."""

POINT_NULLS = 100
"""Point nulls that one call may ask for at most."""

SPARED = 0.01
"""The part of the level that the point nulls share; a deterministic truth lets them be far stricter than rates."""


@dataclass(frozen=True)
class LevelShare:
    """What one verdict gets of the level of its call: by Bonferroni's inequality the parts add up to no more than it."""

    call: float

    def __post_init__(self) -> None:
        if not 0 < self.call < 0.5:
            raise UserError(f"level={self.call}: expected a chance between 0 and 1/2, e.g. {CALL}")

    @property
    def rate(self) -> float:
        """For one rate, all its forbidden orders, looks and sweeps together."""
        return (1 - SPARED) * self.call / RATES

    @property
    def point_null(self) -> float:
        """For one point null, all its components and looks together."""
        return SPARED * self.call / POINT_NULLS


def chance_of_any(levels: Sequence[float]) -> float:
    """The chance that any of these verdicts is a false violation, at most: the sum of their levels."""
    return min(1.0, float(sum(levels)))

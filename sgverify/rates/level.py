"""The error rate of a whole call, and what each of its sampled verdicts gets of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sgverify.errors import UserError
from sgverify.rates.sample import Floats

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
class Share:
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


def level_of_calls(level: float, calls: int) -> float:
    """The `level` of each of so many calls whose levels are to add up to at most `level`; those of shrinking count too."""
    if calls < 1:
        raise UserError(f"calls={calls}: expected at least 1")
    return Share(level).call / calls


def chance_of_any(levels: Sequence[float]) -> float:
    """The chance that any of these verdicts is a false violation, at most: the sum of their levels."""
    return min(1.0, float(sum(levels)))


def stand_together(chances: Sequence[float], level: float) -> list[bool]:
    """Which verdicts stand at one level for all of them, by Holm's step-down procedure (statsmodels).

    `chances` (n,): the smallest level at which each verdict alone would be what it is. The chance that any of those that
    stand is false is at most `level`, however they depend on one another (Holm 1979).
    """
    from statsmodels.stats.multitest import multipletests

    table: Floats = np.asarray(chances, dtype=np.float64)
    if table.size and not np.all((table >= 0) & (table <= 1)):
        raise UserError(f"chances={list(chances)}: expected numbers between 0 and 1")
    if not table.size:
        return []
    return [bool(stands) for stands in multipletests(table, alpha=Share(level).call, method="holm")[0]]

"""Point nulls: does a sampled quantity have exactly the value that it should have?

A rejection is a violation. An acceptance conforms only where the test could have rejected: where a deviation as large as
the stated margin would have been found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sgverify.errors import UserError
from sgverify.rates.decision import Decision
from sgverify.rates.sample import Floats
from tests.self_checks.nulls import Nulls

POWER = 0.99
"""The power against a deviation as large as the margin that an acceptance needs in order to conform."""

LOOKS = 3
"""Looks at most, each at a fresh sample."""

GROWTH = 4
"""The factor by which each look is larger than the one before."""


def thresholds(level: float, looks: int) -> list[tuple[float, float]]:
    """(reject, accept) of each look: reject at p <= `reject`, accept at p > `accept`, else draw afresh.

    beta = level / looks, gamma = beta^(1 / looks); look j = 1, ..., k rejects up to beta gamma^(1-j) and goes on up to
    gamma more. Under the null a look goes on with probability gamma, so that each rejects in all with probability beta: the
    level is exact for independent uniform p-values, and a bound for p-values that are larger. The last look never goes
    on. Gandy and Scott 2020 (arXiv 2001.06465), the sequential test; `expect_mc_test` of R's mcunit 0.3.2.
    """
    if not 0 < level < 0.5:
        raise UserError(f"level={level}: expected a chance between 0 and 1/2, e.g. 1e-6")
    if looks < 1:
        raise UserError(f"looks={looks}: expected at least 1")
    beta = level / looks
    gamma = beta ** (1 / looks)
    rejects = [beta * gamma**-j for j in range(looks)]
    return [(reject, reject + gamma) for reject in rejects[:-1]] + [(rejects[-1], rejects[-1])]


def decide_point_null(
    draw: Callable[[int], Nulls],
    *,
    first: int,
    level: float,
    margins: float | Mapping[str, float],
    looks: int = LOOKS,
    growth: int = GROWTH,
    what: str = "the sampled values",
) -> Decision:
    """Decide by growing fresh samples whether all components have their expected values, at a `level` of false violations.

    `draw(chains)` tests a *fresh* sample of so many chains: one that shares nothing with those of other sizes. It is
    asked for first, first * growth, ... chains, and most of the time for the first only. Bonferroni over the components.
    `margins`: the largest deviation that may be overlooked, for all components or by label, in the units of their
    deviations. Components with `bounds` are rejected where those reach level / looks, at any look, whatever their p-values
    say: the level is then a union bound over looks that asks nothing of the p-values, and what they alone reject at the
    last look is inconclusive. An acceptance conforms where deviations of that size would have been found with probability `POWER`,
    else it is inconclusive. Raises `UserError` for a level, looks, growth or margins out of range.
    """
    if first < 2 or growth < 2:
        raise UserError(f"first={first}, growth={growth}: expected at least 2 chains that at least double")
    planned = [first * growth**look for look in range(looks)]
    accepted = False
    for (reject, accept), chains in zip(thresholds(level, looks), planned, strict=True):
        nulls = draw(chains)
        smallest, bounded = min(1.0, nulls.smallest), nulls.bounds is not None
        if bounded:
            smallest_bound, reject = min(1.0, nulls.smallest_bound), level / looks
            rejected = smallest_bound <= reject
        else:
            smallest_bound, rejected = smallest, smallest <= reject
        accepted = not rejected and smallest > accept
        if rejected or accepted:
            break
    test = _Test(
        nulls,
        planned,
        chains,
        resolution=_resolution(nulls, level, [math.sqrt(chains / size) for size in planned]),
        margins={label: _margin(margins, label) for label in nulls.labels},
    )
    certificate = {
        "level": level,
        "looks": {"planned": planned, "taken": planned.index(chains) + 1, "fresh": True},
        "thresholds": [list(pair) for pair in thresholds(level, looks)],
        "smallest_adjusted_p": smallest,
        "components": test.components,
        "power_at_resolution": POWER,
    }
    if bounded:
        certificate["smallest_adjusted_bound"] = smallest_bound
        certificate["rejects"] = (
            "bounds up to level / looks; what p-values alone find is inconclusive, and counts as found in a resolution"
        )
    if rejected:
        return Decision("violates", test.contradiction(what, smallest_bound, reject), certificate=certificate)
    if not accepted:
        return Decision("inconclusive", test.suspicion(what, smallest_bound, reject), certificate=certificate)
    if test.coarsest is not None:
        more = test.factor(test.coarsest)
        reason = test.doubt(what, test.coarsest, more)
        return Decision("inconclusive", reason, certificate=certificate, more=more)
    return Decision(
        "conforms",
        f"{chains} chains agree with exact values; {what}: {test.agreement}",
        certificate=certificate,
    )


def rejection_chance(
    shift: float,
    *,
    level: float,
    looks: int,
    scale: Sequence[float],
    components: int = 1,
    degrees: float = math.inf,
) -> float:
    """The chance that one component off by `shift` standard errors (of a look with scale 1) is rejected.

    Look j has errors `scale[j]` times as large. Two-sided tests of normal values with the widths of Student's t. The
    recursion from the last look back: P_j = P(reject at j) + P(go on at j) P_(j+1). Other components can only add to it.
    """
    from scipy.special import ndtr, ndtri, stdtrit

    def width(p: float) -> float:
        tail = min(p / components, 1.0) / 2
        return float(-ndtri(tail) if math.isinf(degrees) else -stdtrit(degrees, tail))

    def beyond(size: float, mean: float) -> float:
        return float(ndtr(mean - size) + ndtr(-mean - size))

    chance = 0.0
    for (reject, accept), error in zip(reversed(thresholds(level, looks)), reversed(scale), strict=True):
        rejected, going = beyond(width(reject), shift / error), beyond(width(accept), shift / error)
        chance = rejected + (going - rejected) * chance
    return chance


@dataclass(frozen=True)
class _Test:
    """The result of the last look, and the deviation of each component that the whole plan would have found."""

    nulls: Nulls
    planned: list[int]
    chains: int
    resolution: dict[str, float]
    margins: dict[str, float]

    @property
    def components(self) -> dict[str, Any]:
        n = self.nulls
        return {
            label: {
                "deviation": float(n.deviations[i]),
                "standard_error": float(n.errors[i]),
                "p": float(n.p_values[i]),
                "resolution": self.resolution[label],
                "margin": self.margins[label],
                **({} if n.bounds is None else {"bound": float(n.bounds[i])}),
            }
            for i, label in enumerate(n.labels)
        }

    @property
    def seen(self) -> str:
        return self.shown(self.nulls.p_values)

    def shown(self, chances: Floats) -> str:
        return f"{self.off(chances)}, {self.chance(chances)}"

    def off(self, chances: Floats) -> str:
        n, worst = self.nulls, int(np.argmin(chances))
        return f"{n.labels[worst]} is off by {n.deviations[worst]:.3g} +- {n.errors[worst]:.2g}"

    def chance(self, chances: Floats) -> str:
        return f"p = {chances[int(np.argmin(chances))]:.2g}"

    @property
    def coarsest(self) -> str | None:
        """The component that the plan resolves worst beside its margin, None where all are resolved."""
        coarse = [name for name in self.nulls.labels if not self.resolution[name] <= self.margins[name]]
        return max(coarse, key=lambda name: self.resolution[name] / self.margins[name], default=None)

    def factor(self, label: str) -> float | None:
        """The factor by which more chains would resolve the margin; None if the errors are unknown."""
        ratio = self.resolution[label] / self.margins[label]
        return ratio**2 if math.isfinite(ratio) else None

    def contradiction(self, what: str, smallest: float, reject: float) -> str:
        count = len(self.nulls.labels)
        chances = self.nulls.p_values if self.nulls.bounds is None else self.nulls.bounds
        after = f", {smallest:.2g} for the smallest of {count}" if count > 1 else ""
        return (
            f"{self.off(chances)}; {what} contradict their exact values at {self.chains} chains: {self.chance(chances)}{after}; "
            f"rejected at {reject:.2g} or less"
        )

    def suspicion(self, what: str, smallest: float, reject: float) -> str:
        chances = self.nulls.p_values
        return (
            f"{self.off(chances)}, but rare events may explain it; {what} seem to contradict their exact values at {self.chains} "
            f"chains: {self.chance(chances)} if they are normal; the bound for every law with their moments is {smallest:.2g}, "
            f"rejected at {reject:.2g} or less; take more chains"
        )

    def doubt(self, what: str, label: str, more: float | None) -> str:
        wanted = (
            f"; take about {math.ceil(more * self.planned[0])} chains" if more and math.isfinite(more) else ""
        )
        return (
            f"{self.planned[0]} chains are too few; {what} agree with their exact values, but the smallest deviation of {label} "
            f"found {POWER:.0%} of the time is {self.resolution[label]:.3g}, and at most {self.margins[label]:.3g} is allowed"
            f"{wanted}"
        )

    @property
    def agreement(self) -> str:
        labels = self.nulls.labels
        found = ", ".join(f"{self.resolution[label]:.3g} ({label})" for label in labels)
        if len(labels) > 3:
            found = f"at most {max(self.resolution.values()):.3g} of any of the {len(labels)} components"
        return f"{self.seen}, the smallest; found {POWER:.0%} of the time: a deviation of {found}"


def _resolution(nulls: Nulls, level: float, scale: list[float]) -> dict[str, float]:
    """The deviation of each component alone that is rejected with probability `POWER`.

    The errors of looks that were not taken follow from those of the last look: they fall like 1/sqrt(chains), which `scale`
    contains.
    """
    shift = _resolved_shift(level, tuple(scale), len(nulls.labels), nulls.fewest_degrees)
    return {label: shift * float(error) for label, error in zip(nulls.labels, nulls.errors, strict=True)}


@lru_cache
def _resolved_shift(level: float, scale: tuple[float, ...], components: int, degrees: float) -> float:
    from scipy.optimize import brentq

    def lack(shift: float) -> float:
        found = rejection_chance(
            shift, level=level, looks=len(scale), scale=scale, components=components, degrees=degrees
        )
        return found - POWER

    top = 1.0
    while lack(top) < 0:
        top *= 2
    return float(brentq(lack, 0.0, top))


def _margin(margins: float | Mapping[str, float], label: str) -> float:
    margin = margins if isinstance(margins, int | float) else margins.get(label, math.nan)
    if not margin > 0:
        raise UserError(
            f"margins: {margin} for {label!r}; expected the largest deviation that may be overlooked, above 0"
        )
    return float(margin)

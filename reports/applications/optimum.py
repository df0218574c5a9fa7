"""The best setting of a grid, and the settings that are missing to know it.

An optimum is located where it has neighbours on both sides along every axis of the grid, which do not differ from it by more
than `APART` joint standard errors, and are near enough: a loss that is convex in log h, as losses are near their smallest value,
lies above the line through the best value and the neighbour on the other side, so that between two settings it may be smaller
than at the best one by what that line falls there. This `slack`, at most as many joint standard errors on each axis where the
optimum is located, is the margin within which nothing is said of two optima. An edge of the grid, a neighbour that differs or is
too far away and one with a chain that diverged leave an optimum open, and `refine` runs the settings between or beyond. The
coordinates of a setting are positive; a setting between two is their geometric mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reports.applications.statistics import Mean, joint_error, mean_of

Point = tuple[float, ...]
"""The coordinates of a setting, such as its step and its friction."""

APART = 2.0
"""The joint standard errors by which two settings differ."""

BEYOND = 2.0
"""The factor by which a setting beyond an edge of the grid lies beyond it."""


@dataclass(frozen=True)
class Optimum:
    """The setting with the smallest mean, what is `missing` to say that the optimum is there, and the settings that would tell.

    The smallest value may lie below that of the setting by `slack`.
    """

    point: Point
    missing: tuple[str, ...] = ()
    wanted: tuple[Point, ...] = ()
    slack: float = 0.0

    @property
    def located(self) -> bool:
        """Is the optimum inside of the grid, between neighbours that do not differ from it?"""
        return not self.missing


def locate(values: Mapping[Point, np.ndarray], axes: Sequence[str]) -> Optimum | None:
    """The optimum of values by setting, each with a number for each seed, NaN for a chain that diverged.

    `axes` are the names of the coordinates. None where every setting has a chain that diverged.
    """
    means = {point: mean_of(found) for point, found in values.items()}
    known = {point: mean for point, mean in means.items() if mean is not None}
    if not known:
        return None
    best = min(known, key=lambda point: known[point].value)
    if known[best].error is None:
        return Optimum(best, ("one chain has no standard error",))
    missing: list[str] = []
    wanted: list[Point] = []
    slack = 0.0
    for axis, name in enumerate(axes):
        pair = [_beside(best, means, axis, larger) for larger in (False, True)]
        for side, other in (pair, pair[::-1]):
            told = side.wrong or side.too_far(other)
            if told:
                missing.append(told.format(name=name))
                wanted.append((*best[:axis], side.between, *best[axis + 1 :]))
        slack += max(pair[0].fall(pair[1]), pair[1].fall(pair[0]))
    return Optimum(best, tuple(missing), tuple(wanted), slack if not missing else 0.0)


def unlocated(optima: Sequence[tuple[str, Optimum | None]]) -> str:
    """Why no statement can rest on these optima, in words, each with what has it; nothing where one can."""
    owners: dict[tuple[str, ...], list[str]] = {}
    for owner, found in optima:
        if found is not None and not found.located:
            owners.setdefault(found.missing, []).append(owner)
    return "; ".join(
        f"the best setting of {' and of '.join(names)} is not located: {', '.join(missing)}"
        for missing, names in owners.items()
    )


def slack_against(gap: Mean | None, first: Optimum, second: Optimum) -> float:
    """By how much the difference of two optima, first less second, may be smaller in size: the slack of the one that is worse."""
    return 0.0 if gap is None else second.slack if gap.value < 0 else first.slack


def refine(
    values: Mapping[Point, np.ndarray],
    axes: Sequence[str],
    run: Callable[[int, Sequence[Point]], Mapping[Point, np.ndarray]],
    rounds: int,
) -> Optimum | None:
    """Run the settings that are missing, round by round, until the optimum is located or the rounds are used up.

    `run(number, settings)` returns the values of the settings of a round.
    """
    held = dict(values)
    for number in range(rounds):
        found = locate(held, axes)
        if found is None or not found.wanted:
            return found
        held |= run(number, found.wanted)
    return locate(held, axes)


@dataclass(frozen=True)
class _Side:
    """The neighbour on one side of the best setting: what is `wrong` with it, and the coordinate to be run.

    `distance` is that of the logarithms, `excess` by how much it is worse, and `error` by how much it may be without differing.
    """

    word: str
    between: float
    wrong: str = ""
    distance: float = 0.0
    excess: float = 0.0
    error: float = 0.0

    def fall(self, other: _Side) -> float:
        """By how much a convex loss may be smaller than the best value on this side, given the other one."""
        return other.excess * self.distance / other.distance if other.distance else 0.0

    def too_far(self, other: _Side) -> str:
        """Is that more than settings may be apart without differing?"""
        far = not other.wrong and self.fall(other) > other.error
        return f"the next {self.word} {{name}} is too far from it" if far else ""


def _beside(best: Point, means: Mapping[Point, Mean | None], axis: int, larger: bool) -> _Side:
    """The neighbour of the best setting on one side of one axis."""
    here, word = best[axis], "larger" if larger else "smaller"
    line = [
        point for point in means if (*point[:axis], *point[axis + 1 :]) == (*best[:axis], *best[axis + 1 :])
    ]
    beside = _next([point[axis] for point in line], here, larger)
    if beside is None:
        elsewhere = _next([point[axis] for point in means], here, larger)
        if elsewhere is not None:
            return _Side(word, elsewhere, f"no {word} {{name}} was run beside it")
        edge = f"it has the {word[:-2]}est {{name}} of the grid"
        return _Side(word, here * BEYOND if larger else here / BEYOND, edge)
    mean, other = means[best], means[(*best[:axis], beside, *best[axis + 1 :])]
    between = math.sqrt(here * beside)
    if other is None:
        return _Side(word, between, f"a chain diverged at the next {word} {{name}}")
    assert mean is not None
    excess, error = other.value - mean.value, APART * (joint_error(mean, other) or 0.0)
    wrong = f"the next {word} {{name}} differs from it" if excess > error else ""
    return _Side(word, between, wrong, abs(math.log(beside / here)), excess, error)


def _next(coordinates: Sequence[float], here: float, larger: bool) -> float | None:
    """The nearest coordinate on one side."""
    beyond = [value for value in coordinates if (value > here if larger else value < here)]
    return (min(beyond) if larger else max(beyond)) if beyond else None

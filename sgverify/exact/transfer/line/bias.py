"""The bias of the invariant law at one step size: transition operators on grids that are refined and widened."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.linalg import LinAlgError

from sgverify.errors import InstabilityError, Unreached
from sgverify.exact.numbers.jets import derivatives_of, taylor_of
from sgverify.exact.numbers.quadrature import EXTENDED, MOST_GAUSSIAN
from sgverify.exact.transfer.line.operator import (
    STENCIL,
    Mass,
    Stationary,
    StepMap,
    collocate,
    escape_edges,
    stationary,
)
from sgverify.exact.transfer.result import FINE, Escape, GridAnswers, GridBias, GridLaw
from sgverify.schemes import Scheme
from sgverify.targets import Observable, Target

LEVELS = (50.0, 65.0)
"""A grid and a wider one: U/T above its minimum at their ends, e^-50 = 2e-22 of the mode's density and e^-65."""

MOST_POINTS = 2000
"""Points of a grid at most."""

_PER_SCALE = 4.0
_FEWEST = 96
_TYPICAL = 12.0
_FINER = 1.5
_NODES = {0: 1, 1: 16, 2: 10, 3: 8}
_LEAKING = 200
_FORGOTTEN = 0.05
_ROUNDED = 4 * float(np.finfo(np.float64).eps)
_NO_LEAK = 1e-16
_WIDENINGS = (1.0, 1.6, 2.5, 4.0)


class LineAnswers(GridAnswers):
    """The bias of `observable` under a scheme on a target of the line, against exp(-U/T), whose mass is `mass`.

    Gradients are full, or `noise` is the variance of the normal number that is added to each, fresh at every evaluation.
    Raises `Unreached` where scheme, target or test function are beyond the grids of one dimension.
    """

    def __init__(
        self,
        scheme: Scheme,
        target: Target,
        observable: Observable,
        temperature: Fraction | float,
        friction: Fraction | float,
        noise: float = 0.0,
        tolerances: tuple[float, float] = FINE,
    ) -> None:
        T = float(temperature)
        parameters = {"T": T, "D": float(friction)}
        known = {name: value for name, value in parameters.items() if name in scheme.parameters}
        self.motion = StepMap(scheme, target, known, noise)
        energy = target.energy_of_coordinate(0)
        self.mass = Mass.of(lambda x: energy(x) / T, *target.hint(0))
        if observable.degree == 0:
            raise Unreached("the test function is constant")
        self.observable, self.temperature, self.tolerances = observable, T, tolerances
        self._solved: dict[tuple[float, ...], _Answer] = {}
        self._intervals: dict[float, tuple[float, float]] = {}

    def forgetting(self, step: float) -> float:
        """See `GridAnswers`."""
        found = self.stationary_bias(step)
        if found.value is None:
            raise InstabilityError(f"h={step:g}: {found.note}")
        # The grid's relaxation time is h times the sum of correlations over k >= 0.
        return 2 * float(found.grid["relaxation_time"]) / step - 1

    def stationary_bias(self, step: float) -> GridBias:
        """pi_h(phi) - pi(phi) at step size h, with its changes under refinement and widening of the grid.

        Where chains can escape, pi_h is the quasi-stationary law, with its leak per step; there is no value where a chain
        escapes before it reaches that law.
        """
        edges = escape_edges(self.motion, step, self.mass.centre, self.mass.scale)
        if edges is not None and min(abs(edge - self.mass.centre) for edge in edges) < self.mass.scale:
            return _lost(
                step, Escape(edges, 1.0, _carried_off(edges)), "within a standard deviation of the mean"
            )
        intervals = self._wide_enough(step, edges)
        found = self._refined(step, intervals)
        answer = found.answer
        if edges is None:
            return GridBias(step, answer.value, found.bound, "", None, found.facts, answer.law)
        escape = Escape(edges, answer.leak if answer.leak > _NO_LEAK else 0.0, _carried_off(edges))
        if escape.leak * answer.relaxation / step > _FORGOTTEN:
            return _lost(step, escape, f"{escape.leak:.2g} of its mass per step, before it settles")
        return GridBias(step, answer.value, found.bound, _note(escape), escape, found.facts, answer.law)

    def _wide_enough(self, step: float, edges: tuple[float, float] | None) -> list[tuple[float, float]]:
        """The ends of a grid and of a wider one, so far out that no mass leaves except by an escape."""
        nodes, spacing = _NODES[self.motion.normal], self.scale / _PER_SCALE
        for widening in _WIDENINGS:
            found = [
                self.interval(level * widening, edges, trim)
                for level, trim in zip(LEVELS, (1.0, 1.03), strict=True)
            ]
            # A law with heavier tails than exp(-U/T) leaves a grid, unless its ends are where it escapes.
            leak = self._solve(step, found[0], spacing, nodes).leak
            if leak < _NO_LEAK or _ends_at(edges, found[0]):
                return found
        raise Unreached(
            f"the invariant law at h={step:.6g} reaches beyond every grid: {leak:.2g} of its mass leaves per step"
        )

    def _refined(self, step: float, intervals: list[tuple[float, float]]) -> _Refined:
        draws = self.motion.normal
        fewer, spacing = _NODES[draws], self.scale / _PER_SCALE
        if draws == 1 and self._solve(step, intervals[0], spacing, fewer).leak > _NO_LEAK:
            fewer = _LEAKING
        while True:
            more = max(1, int(fewer * _FINER))
            coarse = self._solve(step, intervals[0], spacing, fewer)
            wide = self._solve(step, intervals[1], spacing, fewer)
            fine = self._solve(step, intervals[1], spacing / _FINER, more)
            widened, refined = abs(wide.value - coarse.value), abs(fine.value - wide.value)
            # Where rounding dominates, as between modes that hardly communicate, finer grids do not help.
            relative, absolute = self.tolerances
            enough = max(relative * abs(fine.value), absolute * fine.spread, 10 * fine.rounding)
            # A quasi-stationary law is defined up to its leak only, whatever the grid.
            vague = fine.leak * fine.relaxation / step * fine.spread if fine.leak > _NO_LEAK else 0.0
            if widened + refined <= enough or vague or fine.points * _FINER > MOST_POINTS:
                break
            spacing, fewer = spacing / _FINER, min(more, MOST_GAUSSIAN)
        facts = {
            "points": [coarse.points, wide.points, fine.points],
            "nodes_of_noise": [fewer, fewer, more],
            "domain": [float(end) for end in intervals[0]],
            "wider_domain": [float(end) for end in intervals[1]],
            "change_when_widened": widened,
            "change_when_refined": refined,
            "rounding": fine.rounding,
            "leak_per_step": fine.leak if fine.leak > _NO_LEAK else 0.0,
            "vague_by_the_leak": vague,
            "relaxation_time": fine.relaxation,
        }
        return _Refined(fine, widened + refined + vague + fine.rounding, facts)

    def interval(self, level: float, edges: tuple[float, float] | None, trim: float) -> tuple[float, float]:
        """The interval where U/T is at most `level` above its minimum, cut at the edges of escape; `trim` moves cut ends."""
        if level not in self._intervals:
            self._intervals[level] = self.mass.interval(level)
        low, high = self._intervals[level]
        if edges is None:
            return low, high
        centre = self.mass.centre
        ends = [edge if trim == 1 else centre + trim * (edge - centre) for edge in edges]
        return max(low, ends[0]), min(high, ends[1])

    def _solve(self, step: float, interval: tuple[float, float], spacing: float, nodes: int) -> _Answer:
        key = (step, *interval, spacing, nodes)
        if key not in self._solved:
            self._solved[key] = self._solve_on(step, interval, spacing, nodes)
        return self._solved[key]

    def _solve_on(self, step: float, interval: tuple[float, float], spacing: float, nodes: int) -> _Answer:
        low, high = interval
        count = max(_FEWEST, STENCIL, int(np.ceil((high - low) / spacing)))
        if count > 2 * MOST_POINTS:
            raise Unreached(
                f"a grid would need {count} points, above {2 * MOST_POINTS}: the density has features of very different widths"
            )
        x = np.linspace(EXTENDED(low), EXTENDED(high), count)
        energy = taylor_of(self.motion.target, x, 0)[0] / EXTENDED(self.temperature)
        density = np.exp(energy.min() - energy)
        density = density / density.sum()
        function = np.asarray(self.observable(x[:, None]))
        operator = collocate(x, *self.motion.after(x, step, nodes))
        try:
            law = stationary(operator, step, density, function)
        except (LinAlgError, ValueError):
            raise Unreached(f"the grid's equations at h={step:.6g} are singular") from None
        return _Answer.of(law, operator.defect, x, density, function)

    @cached_property
    def scale(self) -> float:
        """The width of the finest feature: 1/sqrt of the largest |U''|/T where the mass is."""
        low, high = self.mass.interval(_TYPICAL)
        second = (
            derivatives_of(self.motion.target, np.linspace(low, high, _FEWEST * 10), 2)[2] / self.temperature
        )
        return float(1 / np.sqrt(np.abs(second).max()))


@dataclass(frozen=True)
class _Answer:
    """The result on one grid: the bias, its rounding, the standard deviation of the test function, leak, relaxation and law."""

    value: float
    rounding: float
    spread: float
    leak: float
    relaxation: float
    points: int
    law: GridLaw

    @staticmethod
    def of(
        law: Stationary, defect: float, points: np.ndarray, density: np.ndarray, function: np.ndarray
    ) -> _Answer:
        """The bias mu(phi) - pi(phi), both on one grid; constants of a definition are rounded to float64."""
        centred = function - density @ function
        value = float(law.weights @ centred)
        spread = float(np.sqrt(density @ centred**2))
        size = float(np.abs(law.weights) @ np.abs(centred))
        rounding = law.sensitivity * defect + law.residual * float(np.abs(centred).max()) + _ROUNDED * size
        on_grid = GridLaw((points,), law.weights - density, density)
        return _Answer(value, rounding, spread, law.leak, law.relaxation, len(function), on_grid)


@dataclass(frozen=True)
class _Refined:
    answer: _Answer
    bound: float
    facts: dict[str, object]


def _ends_at(edges: tuple[float, float] | None, interval: tuple[float, float]) -> bool:
    """Whether an interval ends where states escape, on every side that has such an edge."""
    return edges is not None and all(
        not np.isfinite(edge) or edge == end for edge, end in zip(edges, interval, strict=True)
    )


def _carried_off(edges: tuple[float, float]) -> str:
    sides = [
        f"{word} {edge:.6g}"
        for word, edge in zip(("below", "above"), edges, strict=True)
        if np.isfinite(edge)
    ]
    return (
        f"escape: from {' and '.join(sides)} the drift of one step overshoots and carries a state off to infinity, so the "
        "chain is transient and has no invariant law at this step size"
    )


def _note(escape: Escape | None) -> str:
    if escape is None:
        return ""
    if not escape.leak:
        return f"{escape.text}; the value is that of the quasi-stationary law, which loses less than {_NO_LEAK:g} per step"
    return (
        f"{escape.text}; the value is that of the quasi-stationary law, which loses about {escape.leak:.2g} per step and so "
        f"stands for some {1 / escape.leak:.2g} steps"
    )


def _lost(step: float, escape: Escape, how: str) -> GridBias:
    return GridBias(step, None, 0.0, f"{escape.text}; it leaves {how}, so there is no law to compare", escape)

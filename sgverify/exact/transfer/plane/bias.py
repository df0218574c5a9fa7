"""The bias of a kinetic scheme at one step size, on grids of the plane that are refined and enlarged until it converges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sgverify.errors import DefinitionError, InstabilityError, Unreached
from sgverify.exact.transfer.plane.interpreter import PlaneGrid, PlaneInterpreter, plane_grid
from sgverify.exact.transfer.plane.law import (
    LawDifference,
    difference_of_law,
    leak_of,
    plane_escapes,
    summed_over_time,
)
from sgverify.exact.transfer.plane.operator import PlaneOperator
from sgverify.exact.transfer.result import FINE, Escape, GridAnswers, GridBias, GridLaw
from sgverify.schemes import Scheme
from sgverify.targets import Observable, Target

_TOGETHER = 0.4
"""The share of the time spread/sqrt(T), in which a chain crosses the law, that one step of the iteration comprises."""
_FINER, _WIDER = 1.4, 1.2
_LARGEST = 24_000
"""Points of the largest grid."""
_LOST = 1e-3
"""The largest share of the law that may be lost within the relaxation time; with more there is no quasi-stationary law."""
_ROUNDED = 4.0
"""The largest effect of a residual on the bias, in root mean squares of psi."""


class _LostError(Exception):
    """The quasi-stationary law loses so much mass per step that it is not defined."""

    def __init__(self, leak: float) -> None:
        super().__init__(leak)
        self.leak = leak


@dataclass(frozen=True)
class _Three:
    """The law on a grid, on a finer and on a wider one, and the changes of the bias between them."""

    base: LawDifference
    finer: LawDifference
    wider: LawDifference
    value: float
    changes: tuple[float, float]
    rounding: float
    wanted: float

    @property
    def facts(self) -> dict[str, Any]:
        theta, p = self.wider.grid.theta, self.wider.grid.p
        return {
            "points": [self.finer.grid.theta.count, self.finer.grid.p.count],
            "theta": [theta.start, theta.start + theta.length],
            "p": [p.start, p.start + p.length],
            "change_under_refinement": self.changes[0],
            "change_under_enlargement": self.changes[1],
            "rounding": self.rounding,
            "iterations": self.base.iterations,
        }


class PlaneAnswers(GridAnswers):
    """pi_h(phi) - pi(phi) of a scheme of state (theta, p) on a target of one dimension; the grid of one step size starts the next.

    Gradients are full, or `noise` is the variance of the normal number that is added to each, fresh at every evaluation.
    Raises `Unreached` where the scheme, the target or its step is beyond this engine.
    """

    def __init__(
        self,
        scheme: Scheme,
        target: Target,
        observable: Observable,
        temperature: Fraction,
        friction: Fraction,
        noise: float = 0.0,
        tolerances: tuple[float, float] = FINE,
    ) -> None:
        self.reading = PlaneInterpreter(scheme, target, float(temperature), float(friction), noise)
        if observable.degree == 0:
            raise Unreached("the test function is constant")
        try:
            for move in self.reading.moves(2.0**-10):
                move(np.zeros((1, 1)), np.zeros((1, 1)))
        except DefinitionError as error:
            raise Unreached(f"the derivatives of the potential are not known: {error}") from None
        self.observable, self.tolerances = observable, tolerances
        self._grid: PlaneGrid | None = None
        self._escapes: dict[float, Escape | None] = {}
        self._known: dict[float, GridBias] = {}
        self._laws: dict[float, LawDifference] = {}
        self._memory: float | None = None

    def _effect(self, step: float, grid: PlaneGrid) -> float:
        """The root mean square of psi, psi - P psi = phi - pi(phi): the effect of a unit of mass misplaced per step."""
        if self._memory is None:
            operator, together = self._operator(step, grid)
            law = grid.law(self.reading.target, self.reading.temperature)
            self._memory = step * summed_over_time(operator, law, self._values(grid), together)[1]
        # Per unit of time it hardly depends on the step.
        return self._memory / step

    def stationary_biases(self, steps: Sequence[float]) -> list[GridBias]:
        """See `GridAnswers`."""
        self._foresee(steps)
        return super().stationary_biases(steps)

    def _foresee(self, steps: Sequence[float]) -> None:
        """Find the escapes at step sizes that will be asked for: together they take hardly longer than one."""
        new = [step for step in steps if step not in self._escapes]
        self._escapes.update(zip(new, plane_escapes(self.reading, new), strict=True))

    def stationary_bias(self, step: float) -> GridBias:
        """The bias, with the changes under refinement of the grid and under enlargement of the domain."""
        if step not in self._known:
            self._known[step] = self._found(step)
        return self._known[step]

    def forgetting(self, step: float) -> float:
        """The sum of the autocorrelations of phi over all steps: 2 <phi, (I - P)^-1 phi> / <phi, phi> - 1 in the law."""
        if self.stationary_bias(step).value is None:
            raise InstabilityError(f"h={step:g}: {self.stationary_bias(step).note}")
        found = self._laws[step]
        operator, together = self._operator(step, found.grid)
        return summed_over_time(operator, found.law + found.masses, self._values(found.grid), together)[0]

    def _found(self, step: float) -> GridBias:
        if step not in self._escapes:
            self._foresee([step])
        escape = self._escapes[step]
        try:
            found = self._settle(step, escape)
        except _LostError as lost:
            assert escape is not None
            text = f"{escape.text}; {lost.leak:.2g} of it is lost per step, too much to speak of a law"
            return GridBias(step, None, float("inf"), text, replace(escape, leak=lost.leak))
        except Unreached as reason:
            text = str(reason) if escape is None else f"{escape.text}; {reason}"
            return GridBias(step, None, float("inf"), text, escape)
        leak = 0.0
        if escape is not None:
            leak = self._leak(step, escape, found.base)
            escape = replace(escape, leak=leak)
        self._grid, self._laws[step] = found.base.grid, found.base
        bound = sum(found.changes) + found.rounding + leak * self._effect(step, found.base.grid)
        text, finer = "" if escape is None else escape.text, found.finer
        law = GridLaw(finer.grid.points, finer.masses, finer.law)
        return GridBias(step, found.value, bound, text, escape, found.facts, law)

    def _settle(self, step: float, escape: Escape | None) -> _Three:
        """Three grids on which the bias is as accurate as refinement can make it."""
        base = self._solve(
            step, self._grid or plane_grid(self.reading.target, self.reading.temperature), None
        )
        while True:
            leak = 0.0 if escape is None else self._leak(step, escape, base)
            if leak * self._forgetting / step > _LOST:
                raise _LostError(leak)
            found = self._compare(step, base)
            if max(found.changes) <= max(found.wanted, found.rounding):
                return found
            following = base.grid.enlarged(_WIDER)
            if found.changes[0] >= found.changes[1]:
                # An axis that is resolved 100 times better than the other is left alone.
                first, second = base.unresolved()
                following = base.grid.refined(_FINER, (100 * first > second, 100 * second > first))
            if following.size * _FINER * _WIDER > _LARGEST:
                if max(found.changes) > max(abs(found.value), found.wanted):
                    raise Unreached(
                        "the grids do not settle: the law reaches further, or is finer, than the largest of them"
                    )
                return found
            base = self._solve(step, following, base)

    def _compare(self, step: float, base: LawDifference) -> _Three:
        finer = self._solve(step, base.grid.refined(_FINER), base)
        wider = self._solve(step, base.grid.enlarged(_WIDER), base)
        first, value, other = (found.average(self._values(found.grid)) for found in (base, finer, wider))
        size = float((base.law * np.abs(self._values(base.grid))).sum())
        # The right side P rho - rho is itself only known to rounding.
        residual = max(finer.residual, wider.residual) + _ROUNDED * float(np.finfo(np.float64).eps)
        rounding = _ROUNDED * residual * self._effect(step, base.grid)
        changes = (abs(value - first), abs(other - first))
        relative, absolute = self.tolerances
        wanted = max(relative * abs(value), absolute * size)
        return _Three(base, finer, wider, value, changes, rounding, wanted)

    def _leak(self, step: float, escape: Escape, found: LawDifference) -> float:
        return leak_of(self.reading, step, escape, found.grid, found.law + found.masses)

    @cached_property
    def _forgetting(self) -> float:
        spread = float(self.reading.target.spread_float64(self.reading.temperature)[0])
        return spread / float(np.sqrt(self.reading.temperature))

    def _solve(self, step: float, grid: PlaneGrid, near: LawDifference | None) -> LawDifference:
        operator, together = self._operator(step, grid)
        law = grid.law(self.reading.target, self.reading.temperature)
        guess = None if near is None else near.grid.carry(near.masses, grid)
        return difference_of_law(operator, grid, law, together, guess)

    def _operator(self, step: float, grid: PlaneGrid) -> tuple[PlaneOperator, int]:
        """One step on this grid, and how many of them the iteration takes together."""
        together = max(1, round(_TOGETHER * self._forgetting / step))
        return PlaneOperator(self.reading.moves(step), grid), together

    def _values(self, grid: PlaneGrid) -> np.ndarray:
        theta, p = grid.points
        return np.asarray(self.observable(theta[..., None], p[..., None]))

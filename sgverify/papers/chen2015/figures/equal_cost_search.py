"""The best step size of a scheme at a budget of gradient evaluations, by its exact mean square error."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.optimize import minimize_scalar

from sgverify.exact.affine.model import fixed_step
from sgverify.exact.chain.mse import autocorrelation_time, mean_square_errors
from sgverify.exact.numbers.ball import Certified
from sgverify.schemes.definition.limits import evaluations
from sgverify.subject.subject import Subject

TOP = 1e-3
"""Steps are searched up to (1 - TOP) of the stability limit."""

DECADES = 5
"""How far below that they are searched."""

TOLERANCE = 1e-3
"""Relative width to which a minimum is bracketed; the error there is flat, so that its own is about TOLERANCE^2."""

End = Literal["inside", "stability limit", "smallest step"]
INSIDE: End = "inside"
LIMIT: End = "stability limit"
SMALLEST: End = "smallest step"
"""Where no step of the search is worth its error: the start is nearer to the average than what a few steps reach."""


@dataclass(frozen=True)
class Best:
    """The best step size at a budget, what it reaches, and whether it is an end of the searched step sizes.

    `budget` counts gradients of single data; `length` is the number of steps that it pays for; `error` bounds `rmse`.
    """

    budget: int
    length: int
    step: float
    rmse: float
    error: float
    end: End


@dataclass(frozen=True)
class Runner:
    """One scheme under one gradient estimator: its exact errors at any step size, and the cost of a step.

    Errors are E (phi_hat - phi_bar)^2 over L steps from the configured start; costs are gradients of single data,
    N for a full gradient and n for a minibatch of n, or whole gradients where the target has no data.
    """

    subject: Subject
    points: int = 26
    _cache: dict[tuple[float, int], Certified] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def gradients(self) -> int:
        """Gradient evaluations of a step, as `evaluations` counts them."""
        return evaluations(self.subject.scheme, minibatches=self._minibatches)

    @property
    def cost(self) -> int:
        """Gradients of single data that a step costs."""
        size = self.subject.target.size
        each = self.subject.configuration.gradient.batch if self._minibatches else size
        return self.gradients * (each or 1)

    @property
    def top(self) -> float:
        """The largest step size that is searched."""
        sizes = self.subject.step_sizes
        return sizes.limit * (1 - TOP) if math.isfinite(sizes.limit) else 1e3 * sizes.default

    @cached_property
    def grid(self) -> list[float]:
        """The step sizes of the search, evenly spaced in log h."""
        return [float(h) for h in np.geomspace(self.top * 10.0**-DECADES, self.top, self.points)]

    def length(self, budget: int) -> int:
        """The number of steps that a budget pays for; 0 where it is below one step."""
        return budget // self.cost

    def errors(self, step: float, lengths: Sequence[int]) -> list[Certified]:
        """The mean square errors at this step size, one for each length."""
        missing = [length for length in dict.fromkeys(lengths) if (step, length) not in self._cache]
        if missing:
            problem_at = self.subject.model.problem_at(fixed_step(step))
            for length, found in zip(missing, mean_square_errors(problem_at, missing), strict=True):
                self._cache[step, length] = found
        return [self._cache[step, length] for length in lengths]

    def autocorrelation_time(self, step: float) -> float:
        """IAT(h) in steps."""
        return autocorrelation_time(self.subject.model.problem_at(fixed_step(step))).value

    def best(self, budgets: Sequence[int]) -> list[Best | None]:
        """The best step size at each budget; None where the budget does not pay for one step."""
        lengths = [self.length(budget) for budget in budgets]
        paid = [length for length in lengths if length]
        # All lengths at one step size share its invariant law.
        curves = [self.errors(step, paid) for step in self.grid] if paid else []
        values = {length: [errors[k].value for errors in curves] for k, length in enumerate(paid)}
        return [
            self._best(budget, length, values[length]) if length else None
            for budget, length in zip(budgets, lengths, strict=True)
        ]

    def _best(self, budget: int, length: int, values: Sequence[float]) -> Best:
        def error_at(log_step: float) -> float:
            return self.errors(math.exp(log_step), [length])[0].value

        step = smallest(error_at, [math.log(h) for h in self.grid], values)
        (found,) = self.errors(math.exp(step), [length])
        rmse = math.sqrt(found.value)
        return Best(
            budget=budget,
            length=length,
            step=math.exp(step),
            rmse=rmse,
            error=found.error_bound / (2 * rmse),
            end=self._end(math.exp(step)),
        )

    def _end(self, step: float) -> End:
        if step >= self.top * (1 - 2 * TOLERANCE):
            return LIMIT
        return SMALLEST if step <= self.grid[0] * (1 + 2 * TOLERANCE) else INSIDE

    @property
    def _minibatches(self) -> bool:
        return self.subject.configuration.gradient.estimator.draws_data


def smallest(function: Callable[[float], float], grid: Sequence[float], values: Sequence[float]) -> float:
    """Where `function` is smallest, from its `values` on an increasing grid: a bounded search in every dip of them.

    The bracket of a dip reaches to the neighbouring grid points; a minimum at an end of the grid is that end. Finds
    the smallest of all minima where no dip falls between two grid points.
    """
    last = len(grid) - 1
    dips = [
        k
        for k in range(len(grid))
        if (k == 0 or values[k] <= values[k - 1]) and (k == last or values[k] <= values[k + 1])
    ]
    found = [
        minimize_scalar(
            function,
            bounds=(grid[max(k - 1, 0)], grid[min(k + 1, last)]),
            method="bounded",
            options={"xatol": TOLERANCE},
        )
        for k in dips
    ]
    ends = [(values[k], grid[k]) for k in dips]
    return min([*((float(one.fun), float(one.x)) for one in found), *ends])[1]

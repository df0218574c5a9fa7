"""E f(X_1) over the draws of one step of torch code, from a state that is given, with a bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sgverify.checks.draw_nodes import UNIT, StepAtNodes
from sgverify.checks.draw_rules import DrawRules, Rule
from sgverify.samplers.intercepted import BlackBox

POWERS = (1, 3)
"""The degree that a step may have as a polynomial of its draws: the least that it has; beyond, it is taken apart on panels."""

Function = Callable[[np.ndarray], np.ndarray]
"""Values at states: shapes (n, coordinates) -> (n, q)."""


@dataclass(frozen=True)
class Expected:
    """Expectations and how far off they may be. Shapes (q,)."""

    value: np.ndarray
    bound: np.ndarray


class OverDraws:
    """One step of a black box from the state x, shape (coordinates,), at step size h, its draws integrated out.

    The draws are looked at once, and two rules of quadrature are made of what is seen (`DrawRules`); the bounds hold what the
    two differ by, and rounding. Raises `BlackBoxError` or `UnreadableDrawError` where no rule stands for the draws.
    """

    def __init__(self, box: BlackBox, x: np.ndarray, h: float, *, degree: int = 2) -> None:
        """`degree`: that of the functions, as polynomials of the state."""
        step = StepAtNodes(box, np.asarray(x, dtype=float), h)
        size = max(1.0, step.reach)
        self.rounding = (step.operations + 8) * step.unit * size
        for powers in POWERS:
            rules = DrawRules(
                lambda nodes: step.after(nodes, h),
                step.laws(h),
                noise=self.rounding,
                degree=powers,
                most=step.most,
                thorough=step.together,
                straight=False,
            )
            if not rules.irregular:
                break
        self.draws, self.irregular = step.draws, len(rules.irregular)
        self._rules: tuple[Rule, Rule] = rules.pair(degree * powers + 1)
        self._after = tuple(step.after(rule.nodes, h) for rule in self._rules)

    def expectation(self, function: Function) -> Expected:
        """E f(X_1)."""
        found, sizes = [], []
        for rule, after in zip(self._rules, self._after, strict=True):
            values = np.asarray(function(after), dtype=float)
            moved = np.asarray(function(after + self.rounding), dtype=float)
            found.append(rule.weights @ values)
            sizes.append(
                np.abs(rule.weights) @ (np.abs(moved - values) + len(values) ** 0.5 * UNIT * np.abs(values))
            )
        return Expected(found[0], 2 * np.abs(found[0] - found[1]) + 2 * np.maximum(*sizes))

    def mean(self) -> Expected:
        """E X_1. Shape (coordinates,)."""
        return self.expectation(lambda x: x)

    def covariance(self) -> Expected:
        """Cov X_1. Shape (coordinates, coordinates)."""
        centre = self.mean()
        count = len(centre.value)

        def squares(x: np.ndarray) -> np.ndarray:
            apart = x - centre.value
            return (apart[:, :, None] * apart[:, None, :]).reshape(len(x), -1)

        found = self.expectation(squares)
        off = np.outer(centre.bound, centre.bound)
        return Expected(found.value.reshape(count, count), found.bound.reshape(count, count) + off)


__all__ = ["Expected", "OverDraws"]

"""How is a torch step evaluated at many states and draws of one setting, and what is its mean over the draws?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgverify.exact.numbers.panels import Panels
from sgverify.law.draw_rules import DrawRules, QuadratureRule
from sgverify.law.gaussian_setting import GaussianSetting
from sgverify.law.nodes import UNIT, StepAtNodes, StepRuns
from sgverify.samplers.intercepted import BlackBox
from sgverify.samplers.intercepted.black_box import GradientFunction
from sgverify.schemes.torch_step import TorchStep

POWERS = (1, 3)
"""The degrees, tried in turn, of a step as a polynomial of its draws; a step of higher degree is integrated on panels."""

HIGHEST = 4
"""The degree of the moments that are integrated over the draws: a mean square error contains fourth cumulants."""

Function = Callable[[np.ndarray], np.ndarray]
"""A function of states: shape (n, coordinates) gives values of shape (n, q)."""


class StepRows(StepRuns):
    """The step as a function (states, draws, h) -> states, in natural units about the mean.

    States have shape (rows, n), draws (rows, draws).
    """

    def __init__(
        self, step: TorchStep, setting: GaussianSetting, h: float, gradient: GradientFunction | None = None
    ) -> None:
        self.setting, self.step = setting, step
        given = {name: setting.parameters[name] for name in step.parameters}
        self._mean, self._spreads = setting.law[0], setting.spreads
        self._first = h
        self._integrals: dict[float, OverDraws] = {}
        self.read: dict[tuple[Any, ...], Any] = {}
        """The maps that were read from these rows (`read_one_step`)."""
        start = self._mean + 0.37 * self._spreads * (np.arange(len(self._mean)) < setting.known)
        box = BlackBox(step, gradient or setting.gradient, setting.dim, given)
        super().__init__(box, start, h, self._spreads)

    def integrated(self, h: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Mean and covariance of a step from the target's mean, over its draws, and a bound of the error of both.

        Raises `Unreached` if no quadrature rule exists for the draws.
        """
        step = self._over_draws(h)
        mean, covariance, units = step.mean(), step.covariance(), np.outer(self._spreads, self._spreads)
        off = max(float((mean.bound / self._spreads).max()), float((covariance.bound / units).max()))
        return (mean.value - self._mean) / self._spreads, covariance.value / units, off

    def cumulants(self, h: float) -> tuple[Expected, Expected]:
        """The third and fourth cumulants of a step from the target's mean, shapes (n, n^2) and (n, n^3), with bounds.

        Raises `Unreached` if no quadrature rule exists for the draws.
        """
        third, fourth = self._over_draws(h).cumulants()
        pairs = np.outer(self._spreads, self._spreads).reshape(-1)
        triples = np.outer(self._spreads, pairs).reshape(-1)
        return third.over(np.outer(self._spreads, pairs)), fourth.over(np.outer(self._spreads, triples))

    def _over_draws(self, h: float) -> OverDraws:
        if h not in self._integrals:
            # Of one step size, not of the last one: what is found does not depend on the order of the questions.
            like = None if h == self._first else self._over_draws(self._first)
            self._integrals[h] = OverDraws(self.box, self._mean, h, degree=HIGHEST, like=like)
        return self._integrals[h]

    def rounding(self, states: np.ndarray) -> float:
        """A bound, in natural units, of the accumulated rounding within a step from states as large as these.

        One operation rounds relative to numbers of the state's size; operations may combine coordinates of different units.
        """
        offset = float((np.abs(self._mean) / self._spreads).max())
        largest = max(1.0, float(np.abs(states).max(initial=0.0)))
        apart = float(self._spreads.max() / self._spreads.min())
        # Four roundings more are those of the units.
        return (self.operations + 4) * self.unit * (offset + largest) * apart

    def __call__(self, states: np.ndarray, draws: np.ndarray, h: float) -> np.ndarray:
        """The states after one step of size h."""
        after = self.moved(self._mean + self._spreads * states, draws, h)
        found: np.ndarray = (after - self._mean) / self._spreads
        return found

    def parts(self, asked: Sequence[tuple[np.ndarray, np.ndarray]], h: float) -> list[np.ndarray]:
        """The states after one step of size h of several tables of states and draws, which run as one table."""
        states, draws = (np.vstack(tables) for tables in zip(*asked, strict=True))
        ends = np.cumsum([len(table) for table, _ in asked])[:-1]
        return np.split(self(states, draws, h), ends)


@dataclass(frozen=True)
class Expected:
    """Expectations and their error bounds, each of shape (q,)."""

    value: np.ndarray
    bound: np.ndarray

    def over(self, units: np.ndarray) -> Expected:
        """The expectations in these units, of the same shape."""
        return Expected(self.value / units, self.bound / units)


class OverDraws:
    """One step of a black box from the state x, shape (coordinates,), at step size h, its draws integrated out.

    The step's dependence on its draws is examined once and gives two quadrature rules (`DrawRules`); error bounds contain the
    difference of the two rules, and rounding. Raises `Unreached` if no rule exists for the draws.
    """

    def __init__(
        self, box: BlackBox, x: np.ndarray, h: float, *, degree: int = 2, like: OverDraws | None = None
    ) -> None:
        """Prepare the rules; `degree` is the degree of the functions to integrate, as polynomials of the state.

        `like` is the same step at another step size: what was found of its draws is tried first.
        """
        step = StepAtNodes(box, np.asarray(x, dtype=float), h)
        size = max(1.0, step.reach)
        self.rounding = (step.operations + 8) * step.unit * size
        found = DrawRules(
            lambda nodes: step.after(nodes, h),
            step.laws(h),
            noise=self.rounding,
            degrees=POWERS,
            most=step.most,
            thorough=step.together,
            straight=False,
            cut=None if like is None else like.cut,
        )
        self.irregular = len(found.irregular)
        self.cut: dict[int, Panels] = found.cut
        self.rules: tuple[QuadratureRule, QuadratureRule] = found.pair(degree * found.degree + 1)
        self._after = tuple(step.after(rule.nodes, h) for rule in self.rules)

    def expectation(self, function: Function) -> Expected:
        """E f(X_1)."""
        found, sizes = [], []
        for rule, after in zip(self.rules, self._after, strict=True):
            values = np.asarray(function(after), dtype=float)
            moved = np.asarray(function(after + self.rounding), dtype=float)
            found.append(rule.weights @ values)
            sizes.append(
                np.abs(rule.weights) @ (np.abs(moved - values) + len(values) ** 0.5 * UNIT * np.abs(values))
            )
        return Expected(found[0], 2 * np.abs(found[0] - found[1]) + 2 * np.maximum(*sizes))

    def mean(self) -> Expected:
        """E X_1, shape (coordinates,)."""
        return self.expectation(lambda x: x)

    def covariance(self) -> Expected:
        """Cov X_1, shape (coordinates, coordinates)."""
        centre = self.mean()
        count = len(centre.value)

        def squares(x: np.ndarray) -> np.ndarray:
            apart = x - centre.value
            return (apart[:, :, None] * apart[:, None, :]).reshape(len(x), -1)

        found = self.expectation(squares)
        off = np.outer(centre.bound, centre.bound)
        return Expected(found.value.reshape(count, count), found.bound.reshape(count, count) + off)

    def cumulants(self) -> tuple[Expected, Expected]:
        """The third and fourth joint cumulants of X_1, shapes (n, n^2) and (n, n^3)."""
        mean, covariance = self.mean(), self.covariance()
        n, C = len(mean.value), covariance.value

        def powers(x: np.ndarray, order: int) -> np.ndarray:
            apart = found = x - mean.value
            for _ in range(order - 1):
                found = (found[:, :, None] * apart[:, None, :]).reshape(len(x), -1)
            return found

        # An error e of the mean changes third central moments by 3 C e, and fourth ones by 4 e times third ones, to first order.
        largest, off = float(np.abs(C).max()), float(mean.bound.max())
        third = self.expectation(lambda x: powers(x, 3))
        skew = float(np.abs(third.value).max())
        third = Expected(third.value.reshape(n, -1), third.bound.reshape(n, -1) + 6 * largest * off)
        fourth = self.expectation(lambda x: powers(x, 4))
        pairs = (
            np.einsum("ij,kl->ijkl", C, C) + np.einsum("ik,jl->ijkl", C, C) + np.einsum("il,jk->ijkl", C, C)
        )
        error = 8 * skew * off + 12 * largest * float(covariance.bound.max())
        return third, Expected(
            fourth.value.reshape(n, -1) - pairs.reshape(n, -1), fourth.bound.reshape(n, -1) + error
        )


__all__ = ["Expected", "OverDraws", "StepRows"]

"""How is a torch step evaluated at many states and draws of one setting, and what is its mean over the draws?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from sgverify.errors import SgverifyError, Unreached
from sgverify.exact.numbers.panels import Panels
from sgverify.law.draw_rules import DrawRules, QuadratureRule
from sgverify.law.gaussian_setting import GaussianSetting
from sgverify.law.nodes import AGAIN, COMPARED, NARROW_UNIT, UNIT, StepAtNodes, many_at_once
from sgverify.samplers.intercepted import BlackBox
from sgverify.samplers.intercepted.black_box import GradientFunction, NotFiniteError
from sgverify.samplers.intercepted.dtypes import DtypeAudit, default_dtype
from sgverify.schemes.torch_step import TorchStep

FEW = 3
"""The number of rows that are always run one by one."""

ALIKE = 1e-12
"""The relative tolerance between a row in a batch and the same row alone: a batch may sum in another order."""

POWERS = (1, 3)
"""The degrees, tried in turn, of a step as a polynomial of its draws; a step of higher degree is integrated on panels."""

HIGHEST = 4
"""The degree of the moments that are integrated over the draws: a mean square error contains fourth cumulants."""

Function = Callable[[np.ndarray], np.ndarray]
"""A function of states: shape (n, coordinates) gives values of shape (n, q)."""


NOT_REPEATED = (
    "the step is random although every torch draw was put in, or it keeps something from call to call"
)


class MemoryRangeError(Unreached):
    """Raised if a step has no finite value at a memory that was tried; a second moment, for one, is never below 0."""


class StepRows:
    """The step as a function (states, draws, h) -> states, in natural units about the mean.

    States have shape (rows, n), draws (rows, draws). Three ways are tried in turn: all rows in one tensor with the chains
    first; for code that takes one chain, torch's vmap; one row at a time. A way is abandoned as soon as some row, run alone as
    well, gives another result.
    """

    def __init__(
        self, step: TorchStep, setting: GaussianSetting, h: float, gradient: GradientFunction | None = None
    ) -> None:
        self.setting, self.step = setting, step
        given = {name: setting.parameters[name] for name in step.parameters}
        self.box = BlackBox(step, gradient or setting.gradient, setting.dim, given)
        self._ways = [replace(self.box, step=way) for way in many_at_once(step, setting.dim)]
        self._compared: BlackBox | None = None
        self._mean, self._spreads = setting.law[0], setting.spreads
        self._first = h
        self._draws: dict[float, int] = {}
        self._integrals: dict[float, OverDraws] = {}
        self.read: dict[tuple[Any, ...], Any] = {}
        """The maps that were read from these rows (`read_one_step`)."""
        audit, count = DtypeAudit(()), self.draws(h)
        start = self._mean + 0.37 * self._spreads * (np.arange(len(self._mean)) < setting.known)
        with default_dtype(torch.float64):
            zeros = torch.zeros((1, count) if step.chains else (count,), dtype=torch.float64)
            runs = [self.box.run(self._alone(start), zeros, h, witness=audit)[0] for _ in range(2)]
        if any(
            not torch.equal(one.nan_to_num(), other.nan_to_num()) for one, other in zip(*runs, strict=True)
        ):
            raise Unreached(NOT_REPEATED)
        self.operations, self.narrow = audit.operations // 2 + 4, bool(audit.found)

    @property
    def together(self) -> bool:
        """Do rows go through the code together, so that many rows cost little?"""
        return bool(self._ways)

    def draws(self, h: float) -> int:
        """The number of normal draws in a step of size h."""
        if h not in self._draws:
            with default_dtype(torch.float64):
                self._draws[h] = self.box.census(self._alone(np.array(self._mean)), h)
        return self._draws[h]

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
        unit = NARROW_UNIT if self.narrow else UNIT
        return self.operations * unit * (offset + largest) * float(self._spreads.max() / self._spreads.min())

    def __call__(self, states: np.ndarray, draws: np.ndarray, h: float) -> np.ndarray:
        """The states after one step of size h."""
        rows = self._mean + self._spreads * states
        with default_dtype(torch.float64):
            after = None
            while after is None and self._ways and len(rows) > FEW:
                after = self._all(self._ways[0], rows, draws, h)
                if after is None:
                    self._ways.pop(0)
            if after is None:
                after = np.stack([self._one(row, z, h) for row, z in zip(rows, draws, strict=True)])
        found: np.ndarray = (after - self._mean) / self._spreads
        return found

    def parts(self, asked: Sequence[tuple[np.ndarray, np.ndarray]], h: float) -> list[np.ndarray]:
        """The states after one step of size h of several tables of states and draws, which run as one table."""
        states, draws = (np.vstack(tables) for tables in zip(*asked, strict=True))
        ends = np.cumsum([len(table) for table, _ in asked])[:-1]
        return np.split(self(states, draws, h), ends)

    def _all(self, box: BlackBox, rows: np.ndarray, draws: np.ndarray, h: float) -> np.ndarray | None:
        """The states after one step of all rows in one batch; None if single rows give another result."""
        try:
            state = self.step.tensors(torch.tensor(rows, dtype=torch.float64), self.setting.dim, chains=True)
            moved, shapes = box.run(state, torch.tensor(draws, dtype=torch.float64), h)
            box.check_rows(shapes, len(rows))
        except SgverifyError:
            return None
        flat = [value.to(torch.float64).reshape(len(rows), -1) for value in moved]
        after = np.asarray(torch.cat(flat, dim=-1).numpy())
        # What depends on all rows, or on any, shows where a row has the largest state and draws, or the smallest, which is looked
        # at once.
        away = np.abs((rows - self._mean) / self._spreads).sum(axis=1) + np.abs(draws).sum(axis=1)
        ends = [np.argmax(away)] if self._compared is box else [np.argmin(away), np.argmax(away)]
        for k in dict.fromkeys(map(int, ends)):
            single = self._one(rows[k], draws[k], h)
            size = max(float(np.abs(rows[k]).max()), float(np.abs(single).max()), 1e-300)
            if not np.abs(after[k] - single).max() <= ALIKE * size:
                return None
        self._compared = box
        return after

    def _one(self, row: np.ndarray, draws: np.ndarray, h: float) -> np.ndarray:
        z = torch.tensor(draws[None] if self.step.chains else draws, dtype=torch.float64)
        try:
            moved, _ = self.box.run(self._alone(row), z, h)
        except NotFiniteError as error:
            if not self.step.memory:
                raise
            raise MemoryRangeError(
                f"not finite at values of the memory that were tried; {error}, or a memory that is brought into its range "
                f"before it is used, as by `{self.step.memory[0].name}.clamp(min=0)` under a root"
            ) from error
        return np.asarray(torch.cat([value.to(torch.float64).reshape(-1) for value in moved]).numpy())

    def _alone(self, row: np.ndarray) -> tuple[torch.Tensor, ...]:
        many = self.step.chains
        return self.step.tensors(
            torch.tensor(row[None] if many else row, dtype=torch.float64), self.setting.dim
        )


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
        compared = COMPARED if like is None else AGAIN
        step = StepAtNodes(box, np.asarray(x, dtype=float), h, compared=compared)
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
        self.draws, self.irregular = step.draws, len(found.irregular)
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

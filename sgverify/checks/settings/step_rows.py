"""How is a torch step evaluated at many states and draws of one setting, and what is its mean over the draws?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import numpy as np
import torch

from sgverify.checks.order.draw_rules import DrawRules, QuadratureRule
from sgverify.checks.order.nodes import NARROW_UNIT, UNIT, StepAtNodes
from sgverify.checks.settings.gaussian_setting import GaussianSetting
from sgverify.errors import SgverifyError
from sgverify.samplers.intercepted import BlackBox
from sgverify.samplers.intercepted.black_box import GradientFunction
from sgverify.samplers.intercepted.dtypes import DtypeAudit, default_dtype
from sgverify.schemes.definition.abstract_value import VECTOR
from sgverify.schemes.torch_step import TorchStep

FEW = 3
"""The number of rows that are always run one by one."""

ALIKE = 1e-12
"""The relative tolerance between a row in a batch and the same row alone: a batch may sum in another order."""

POWERS = (1, 3)
"""The degrees, tried in turn, of a step as a polynomial of its draws; a step of higher degree is integrated on panels."""

Function = Callable[[np.ndarray], np.ndarray]
"""A function of states: shape (n, coordinates) gives values of shape (n, q)."""


class StepRows:
    """The step as a function (states, draws, h) -> states, in natural units about the mean.

    States have shape (rows, n), draws (rows, draws). Three ways are tried in turn: all rows in one tensor with the chains
    first; for code that takes one chain, torch's vmap; one row at a time. A way is abandoned as soon as some row, run alone as
    well, gives another result.
    """

    def __init__(
        self, step: TorchStep, setting: GaussianSetting, h: float, gradient: GradientFunction | None = None
    ) -> None:
        self.setting, self._step = setting, step
        given = {name: setting.parameters[name] for name in step.parameters}
        self._box = BlackBox(step, gradient or setting.gradient, setting.dim, given)
        self._ways = [replace(self._box, step=replace(step, chains=True))]
        if not step.chains:
            mapped = replace(step, function=_mapped(step), chains=True)
            self._ways.append(replace(self._box, step=mapped))
        self._mean, self._spreads = setting.law[0], setting.spreads
        self._draws: dict[float, int] = {}
        audit, count = DtypeAudit(()), self.draws(h)
        start = np.zeros(len(self._mean))
        with default_dtype(torch.float64):
            zeros = torch.zeros((1, count) if step.chains else (count,), dtype=torch.float64)
            self._box.run(self._alone(start), zeros, h, witness=audit)
        self.operations, self.narrow = audit.operations + 4, bool(audit.found)

    @property
    def together(self) -> bool:
        """Do rows go through the code together, so that many rows cost little?"""
        return bool(self._ways)

    def draws(self, h: float) -> int:
        """The number of normal draws in a step of size h."""
        if h not in self._draws:
            with default_dtype(torch.float64):
                self._draws[h] = self._box.census(self._alone(np.array(self._mean)), h)
        return self._draws[h]

    def integrated(self, h: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Mean and covariance of a step from the target's mean, over its draws, and a bound of the error of both.

        Raises `BlackBoxError` if no quadrature rule exists for the draws.
        """
        step = OverDraws(self._box, self._mean, h)
        mean, covariance, units = step.mean(), step.covariance(), np.outer(self._spreads, self._spreads)
        off = max(float((mean.bound / self._spreads).max()), float((covariance.bound / units).max()))
        return (mean.value - self._mean) / self._spreads, covariance.value / units, off

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

    def _all(self, box: BlackBox, rows: np.ndarray, draws: np.ndarray, h: float) -> np.ndarray | None:
        """The states after one step of all rows in one batch; None if single rows give another result."""
        try:
            state = self.setting.split(torch.tensor(rows, dtype=torch.float64))
            moved, shapes = box.run(state, torch.tensor(draws, dtype=torch.float64), h)
            box.check_rows(shapes, len(rows))
        except SgverifyError:
            return None
        after = np.asarray(torch.cat([value.to(torch.float64) for value in moved], dim=-1).numpy())
        farthest = int(np.argmax(np.abs((rows - self._mean) / self._spreads).sum(axis=1)))
        for k in sorted({0, farthest, len(rows) // 2, len(rows) - 1}):
            single = self._one(rows[k], draws[k], h)
            size = max(float(np.abs(rows[k]).max()), float(np.abs(single).max()), 1e-300)
            if not np.abs(after[k] - single).max() <= ALIKE * size:
                return None
        return after

    def _one(self, row: np.ndarray, draws: np.ndarray, h: float) -> np.ndarray:
        z = torch.tensor(draws[None] if self._step.chains else draws, dtype=torch.float64)
        moved, _ = self._box.run(self._alone(row), z, h)
        return np.asarray(torch.cat([value.to(torch.float64).reshape(-1) for value in moved]).numpy())

    def _alone(self, row: np.ndarray) -> tuple[torch.Tensor, ...]:
        parts = self.setting.split(torch.tensor(row[None], dtype=torch.float64))
        return parts if self._step.chains else _without_chains(self._step, parts, 0)


@dataclass(frozen=True)
class Expected:
    """Expectations and their error bounds, each of shape (q,)."""

    value: np.ndarray
    bound: np.ndarray


class OverDraws:
    """One step of a black box from the state x, shape (coordinates,), at step size h, its draws integrated out.

    The step's dependence on its draws is examined once and gives two quadrature rules (`DrawRules`); error bounds contain the
    difference of the two rules, and rounding. Raises `BlackBoxError` or `UnreadableDrawError` if no rule exists for the draws.
    """

    def __init__(self, box: BlackBox, x: np.ndarray, h: float, *, degree: int = 2) -> None:
        """Prepare the rules; `degree` is the degree of the functions to integrate, as polynomials of the state."""
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
        self._rules: tuple[QuadratureRule, QuadratureRule] = rules.pair(degree * powers + 1)
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


def _without_chains(step: TorchStep, parts: Any, row: int | None) -> tuple[torch.Tensor, ...]:
    """The state of chain `row` for code that takes one chain; with `row` None the chains' axis is removed already."""
    chosen = [part if row is None else part[row] for part in parts]
    shapes = step.shapes.values()
    return tuple(
        part if shape == VECTOR else part.reshape(()) for part, shape in zip(chosen, shapes, strict=True)
    )


def _mapped(step: TorchStep) -> Callable[..., Any]:
    """The function of one chain, vectorised over chains by torch's vmap."""

    @wraps(step.function)
    def many(*state: torch.Tensor, **given: Any) -> tuple[torch.Tensor, ...]:
        def one(*parts: torch.Tensor) -> tuple[torch.Tensor, ...]:
            value = step.function(*_without_chains(step, parts, None), **given)
            value = value if isinstance(value, (tuple, list)) else (value,)
            return tuple(new.reshape(old.shape) for new, old in zip(value, parts, strict=True))

        found: tuple[torch.Tensor, ...] = torch.func.vmap(one, randomness="different")(*state)
        return found

    return many


__all__ = ["Expected", "OverDraws", "StepRows"]

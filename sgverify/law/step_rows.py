"""How is a torch step evaluated at many states and draws of one setting, and what is its mean over the draws?

With which matrices does the noise of a gradient estimate enter one step of torch code?

A minibatch's gradient is the full one plus a noise g, whose cumulants over all minibatches are known exactly. A step that is
affine in its gradients moves by sum_k G_k g_k more, g_k the noise of its k-th minibatch (of its k-th evaluation where every
evaluation draws its own). The columns of G_k are differences of evaluations with a shifted gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import Unreached
from sgverify.exact.numbers.panels import Panels
from sgverify.law.draw_rules import DrawRules, QuadratureRule
from sgverify.law.gaussian_setting import AFFINE, GaussianSetting
from sgverify.law.nodes import UNIT, StepAtNodes, StepRuns
from sgverify.samplers.intercepted.black_box import BlackBox, GradientFunction
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
        box = BlackBox(
            step,
            gradient or setting.gradient,
            setting.dim,
            given,
            potential=None if gradient else lambda theta: setting.potential(theta.to(torch.float64))[..., 0],
        )
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


SIZES = (0.5, 1.0, 3.0, 6.0)
"""The sizes of the shifts, in standard deviations of the noise, at which a step is held against its gains."""


class ShiftedGradient:
    """The full gradient plus a vector for each minibatch of a step, or for each evaluation with `each_evaluation`.

    `shifts` holds the vectors by number; `numbers` is how many of them one step has used.
    """

    def __init__(self, full: GradientFunction, *, each_evaluation: bool = False) -> None:
        self._full, self._each_evaluation = full, each_evaluation
        self.shifts: dict[int, np.ndarray] = {}
        self.numbers, self.evaluations = 0, 0
        self.per_step: int | None = None

    @property
    def uneven(self) -> bool:
        """Does it depend on the state how many noises of their own a step evaluates?"""
        return self._each_evaluation and bool(self.evaluations % max(self.per_step or 1, 1))

    def __call__(self, theta: Tensor, minibatch: int) -> Tensor:
        """The shifted gradient, in the shape and dtype of theta."""
        number = minibatch
        if self._each_evaluation:
            # One step after the other runs: the evaluations of a step are counted round.
            number = self.evaluations % self.per_step if self.per_step else self.evaluations
        self.evaluations += 1
        self.numbers = max(self.numbers, number + 1)
        value = self._full(theta, minibatch)
        shift = self.shifts.get(number)
        return value if shift is None else value + torch.tensor(shift, dtype=value.dtype)


@dataclass(frozen=True)
class GradientGain:
    """`gains[k]`, shape (n, dim): the effect of the k-th noise, in natural units of the state; `rounding` bounds the error.

    Each column is that of a gradient shifted by one unit of that coordinate's noise, `units` of shape (dim,), its standard
    deviation.
    """

    gains: tuple[np.ndarray, ...]
    units: np.ndarray
    rounding: float


def read_gains(rows: StepRows, gradient: ShiftedGradient, units: np.ndarray, h: float) -> GradientGain:
    """The gains at step size h. Raises `Unreached` if the step is not affine in its gradients.

    `gradient` is the one that `rows` runs with. The step is held against its gains at random states, draws and noises of up to 6
    standard deviations.
    """
    n, m, dim = len(rows.setting.spreads), rows.draws(h), rows.setting.dim
    still, none = np.zeros((1, n)), np.zeros((1, m))
    gradient.shifts, gradient.numbers, gradient.evaluations, gradient.per_step = {}, 0, 0, None
    start = rows(still, none, h)[0]
    count, gradient.per_step = gradient.numbers, gradient.evaluations
    gains = []
    try:
        for k in range(count):
            columns = []
            for i in range(dim):
                gradient.shifts = {k: units * (np.arange(dim) == i)}
                columns.append(rows(still, none, h)[0] - start)
            gains.append(np.stack(columns, axis=1))
        random = np.random.default_rng(0)
        states = 3 * random.standard_normal((2 * len(SIZES), n))
        draws = random.standard_normal((len(states), m))
        gradient.shifts = {}
        due = rows(states, draws, h)
        for size in SIZES:
            noise = [size * random.choice([-1.0, 1.0], dim) for _ in range(count)]
            gradient.shifts = {k: units * noise[k] for k in range(count)}
            moved = rows(states, draws, h)
            added = sum((gains[k] @ noise[k] for k in range(count)), np.zeros(n))
            off = AFFINE * max(1.0, float(np.abs(added).max())) + 16 * rows.rounding(
                np.vstack([states, moved])
            )
            if gradient.uneven or not np.abs(moved - due - added).max() <= off:
                raise Unreached(
                    f"it is not affine in its gradients, at a gradient noise of {size:g} standard deviations"
                )
    finally:
        gradient.shifts = {}
    size = max((float(np.abs(gain).max(initial=0.0)) for gain in gains), default=0.0)
    return GradientGain(tuple(gains), units, 4 * rows.rounding(np.full((1, n), max(1.0, size))))

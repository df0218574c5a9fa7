"""With which matrices does the noise of a gradient estimate enter one step of torch code?

A minibatch's gradient is the full one plus a noise g, whose cumulants over all minibatches are known exactly. A step that is
affine in its gradients moves by sum_k G_k g_k more, g_k the noise of its k-th minibatch (of its k-th evaluation where every
evaluation draws its own). The columns of G_k are differences of evaluations with a shifted gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import Unreached
from sgverify.law.one_step_map import AFFINE
from sgverify.law.step_rows import StepRows
from sgverify.samplers.intercepted.black_box import GradientFunction

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


__all__ = ["GradientGain", "ShiftedGradient", "read_gains"]

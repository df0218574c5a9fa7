"""Check: is torch code one smooth formula in the step size, its parameters and the size of its state, on the tested ranges?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from torch import Tensor

from sgverify.checks.question import Question
from sgverify.errors import SgverifyError, UserError
from sgverify.evidence import EVERY, Evidence, Extent, Scope, held, tried
from sgverify.law.step_rows import ALIKE, many_at_once
from sgverify.rates import Judgement
from sgverify.samplers.intercepted import BlackBox
from sgverify.samplers.intercepted.dtypes import default_dtype
from sgverify.samplers.intercepted.interception import total
from sgverify.schemes.memory import axes_of
from sgverify.schemes.torch_step import TorchStep
from sgverify.subject.composite import TorchSubject, limits

PER_OCTAVE = 8
"""The number of values of each number from one power of 2 to the next."""

SIZE = "the size of the state"

REACH: dict[str, tuple[float, float]] = {
    "h": (2.0**-14, 0.7),
    "T": (2.0**-12, 2.0**14),
    "D": (2.0**-8, 2.0**8),
    SIZE: (2.0**-8, 2.0**14),
}
"""The range of each number. Below it, correct code may lose its noise to cancellation; above it, an iteration may not converge
(the largest rate of the potential is 1.3)."""

FIXED = {"h": 1 / 512, "T": 1.0, "D": 1.5, SIZE: 1.0}
"""The values of the other numbers while one number varies."""

DIM = 2

BENT = 0.06
"""A sixth difference that counts, as a share of the largest value among its seven.

Sixth differences over d = ln 2/8 in log x, relative to the function: a power x^a has (a d)^6, which is 1e-4 for a = 5/2 and 0.03
for a = 6, the largest power in steps of at most four stages. exp(-x) has at most 30 d^6 = 1e-5, x/(1 + x) less. A kink whose
logarithmic slope jumps by s has 6 d s = 0.5 s if it lies in the middle of the seven points; a jump by the share j has 10 j.
"""

_DIFFERENCE = np.array([1.0, -6.0, 15.0, -20.0, 15.0, -6.0, 1.0])

SMALLEST = 1e-7
"""A movement below this share of the state counts as rounding."""


SUDDEN = 1e3
"""A movement this many times larger than at its neighbours cannot have been hidden by rounding there."""


LARGER, MOVED = 16, 3.0
"""A switch in the size of the state is searched for again at LARGER times the step size. A tamed or truncated step, which tends to
the plain one as h falls, then has its switch at 1/LARGER to 1/sqrt(LARGER) of the size. The factor MOVED lies between these
ratios and the ratio 1.9 of the gradient's coordinates."""


@dataclass(frozen=True)
class Switch:
    """A switch: `variable` bends by `size` where `number` passes `at`.

    `recedes`: at smaller steps the switch lies at a larger size of the state.
    """

    number: str
    at: float
    variable: str
    size: float
    recedes: bool = False


def check_switches(question: Question) -> Evidence:
    """No switch is seen: with state and draws fixed, a step is smooth in h, in T, in D and in the size of its state.

    Verdicts at some settings carry over to others only if the step is one formula; a step with another formula beyond a
    threshold was judged on one side of it.

    Cannot see: switches outside the ranges that the certificate shows, in numbers that are not varied, or too slight
    for the sixth differences.
    """
    subject = cast(TorchSubject, question.subject)
    try:
        found, looked = find_switches(subject.scheme)
    except SgverifyError as error:
        return question.unanswered(f"not looked for: {error}", method="quadrature")
    ranges = ", ".join(f"{name} from {low:.2g} to {high:.2g}" for name, (low, high) in looked.items())
    stays = [item for item in found if not item.recedes]
    if stays:
        told = "; ".join(f"{item.variable} bends where {item.number} passes {item.at:.3g}" for item in stays)
        judgement = Judgement(
            "inconclusive",
            False,
            f"{told}; the code is another one from there on, and what is judged elsewhere says nothing of it",
        )
    else:
        judgement = Judgement(
            "conforms",
            False,
            f"{len(looked)} numbers varied: no switch is seen; {ranges}{_receding(found)}; nothing is said beyond",
        )
    return question.evidence(
        method="quadrature",
        scope=_scope(looked, stays),
        judgement=judgement,
        certificate={
            "looked_at": {name: list(reach) for name, reach in looked.items()},
            "switches": [
                f"{item.variable}, {item.number} = {item.at:.6g}, {item.size:.3g}" for item in found
            ],
            "limits": limits(DIM),
        },
    )


def _scope(looked: dict[str, tuple[float, float]], stays: list[Switch]) -> Scope:
    """That of one formula on the ranges that were looked at; where it becomes another one, it was held on one side."""

    def along(*numbers: str) -> Extent:
        seen = [f"{item.number} on one side of {item.at:.3g}" for item in stays if item.number in numbers]
        ranges = [
            f"{name} from {looked[name][0]:.2g} to {looked[name][1]:.2g}"
            for name in numbers
            if name in looked
        ]
        return held(" and ".join(seen)) if seen else tried(", ".join(ranges)) if ranges else EVERY

    return Scope(steps=along("h"), temperatures=along("T", "D"), states=along(SIZE), dtypes=tried("float64"))


def find_switches(step: TorchStep) -> tuple[list[Switch], dict[str, tuple[float, float]]]:
    """The switches of a step, at most one for each number, and the range in which each number was varied."""
    found, looked = [], {}
    for number in ("h", *step.parameters, SIZE):
        for alone in (False, True):
            values, drift, noise, sizes = _moves(step, number, _values(number), alone=alone)
            bent = (_bent(step, number, values, moved, sizes) for moved in (drift, noise))
            switch = next((item for item in bent if item is not None), None)
            if switch is None:
                break
        looked[number] = (values[0], values[-1])
        # A switch that is seen in a tensor of several chains is one of the step if a chain alone has it.
        if switch is not None:
            found.append(replace(switch, recedes=_recedes(step, switch)))
    return found, looked


def _receding(found: list[Switch]) -> str:
    return "".join(
        f", but one that recedes as h falls: at h={FIXED['h']:.2g} {item.variable} bends where {item.number} passes {item.at:.3g}"
        for item in found
    )


def _recedes(step: TorchStep, switch: Switch) -> bool:
    """Does a switch in the size of the state occur at a much smaller size if the step is larger?"""
    if switch.number != SIZE:
        return False
    values, drift, noise, sizes = _moves(step, SIZE, _values(SIZE), LARGER * FIXED["h"], alone=True)
    earlier = [_bent(step, SIZE, values, moved, sizes) for moved in (drift, noise)]
    return any(item is not None and item.at <= switch.at / MOVED for item in earlier)


def _values(number: str) -> list[float]:
    low, high = (math.log2(end) for end in REACH[number])
    count = round(PER_OCTAVE * (high - low)) + 1
    # Away from powers of 2 and of 10, so that every value lies on one side of a round threshold.
    return [2.0 ** (low + k / PER_OCTAVE) * 1.013 for k in range(count)]


def _moves(
    step: TorchStep, number: str, values: list[float], h: float = FIXED["h"], *, alone: bool = False
) -> tuple[list[float], np.ndarray, np.ndarray, np.ndarray]:
    """The values at which the step is finite, with the movement X_1 - X_0 without noise, its change by noise, and the state's size.

    Values are taken from a middle one outwards until the step is not finite. The movement and its change have shape
    (values, coordinates), the sizes (values,). Unless `alone`, several chains run in one tensor, if one in each octave is what it
    is alone.
    """
    start = min(range(len(values)), key=lambda k: abs(math.log(values[k] / FIXED[number])))
    for way in [*([] if alone else many_at_once(step, DIM)), None]:
        found = _ends_from(start, _Ends(step, number, values, h, start, way))
        if found is not None:
            break
    assert found is not None
    kept = sorted(found)
    before, still, moved = (np.array([found[k][part] for k in kept]) for part in range(3))
    sizes = np.abs(before).max(axis=1)
    # Smaller movements are rounding.
    drifts, noises = (
        np.where(np.abs(value) < SMALLEST * sizes[:, None], 0.0, value)
        for value in (still - before, moved - still)
    )
    return [values[k] for k in kept], drifts, noises, sizes


def _ends_from(start: int, ends: _Ends) -> dict[int, np.ndarray] | None:
    """The states at the places of values from `start` outwards while they are finite; None if chains together differ from one."""
    found = ends.of_all_sizes()
    beyond = UserError if ends.way is None else SgverifyError
    for places in (range(start, len(ends.values)), range(start - 1, -1, -1)):
        for k in places:
            try:
                here = found[k] if k in found else ends.at(k)
            except beyond:
                if ends.way is not None and ends.finite_alone(k):
                    return None
                # A step need not be finite at extreme values.
                if k == start:
                    raise
                break
            if ends.way is not None and (k - start) % PER_OCTAVE == 0 and not ends.alike(k, here):
                return None
            found[k] = here
    return found


class _Ends:
    """The state before a step, after it without noise, and with it, shape (3, coordinates), while one number varies.

    `way` takes several chains in one tensor; without it each runs alone.
    """

    def __init__(
        self, step: TorchStep, number: str, values: list[float], h: float, start: int, way: TorchStep | None
    ) -> None:
        self.step, self.number, self.values, self.h, self.way = step, number, values, h, way
        with default_dtype(torch.float64):
            box, h, state = self._asked(start)
            numbers = total(box.run(self._tensors(state), None, h)[1], step.chains)
        # Draws of at most one standard deviation: rare draws are tested elsewhere.
        drawn = [(-1) ** k * (0.4 + 0.5 * math.modf(0.618 * k)[0]) for k in range(numbers)]
        self._draws = torch.tensor([[0.0] * numbers, drawn], dtype=torch.float64)

    def at(self, k: int) -> np.ndarray:
        """The states at one value."""
        return self._alone(k) if self.way is None else self._together([k])[0]

    def of_all_sizes(self) -> dict[int, np.ndarray]:
        """The states at all sizes of the state, in one call; nothing where that is not possible."""
        if self.way is None or self.number != SIZE:
            return {}
        places = list(range(len(self.values)))
        try:
            return dict(zip(places, self._together(places), strict=True))
        except SgverifyError:
            return {}

    def alike(self, k: int, found: np.ndarray) -> bool:
        """Does a chain alone give the same?"""
        alone = self._alone(k)
        return bool(np.abs(found - alone).max() <= ALIKE * np.abs(alone).max())

    def finite_alone(self, k: int) -> bool:
        """Is the step finite for a chain alone?"""
        try:
            self._alone(k)
        except UserError:
            return False
        return True

    def _asked(self, k: int) -> tuple[BlackBox, float, Tensor]:
        given = {**FIXED, "h": self.h, self.number: self.values[k]}
        box = BlackBox(self.step, _gradient, DIM, {name: given[name] for name in self.step.parameters})
        return box, given["h"], _state(self.step, given[SIZE])

    def _tensors(self, state: Tensor) -> tuple[Tensor, ...]:
        return self.step.tensors(state[None] if self.step.chains else state, DIM)

    def _alone(self, k: int) -> np.ndarray:
        found = []
        with default_dtype(torch.float64):
            box, h, state = self._asked(k)
            for draws in self._draws:
                moved, _ = box.run(self._tensors(state), draws[None] if self.step.chains else draws, h)
                found.append(torch.cat([value.reshape(-1).to(torch.float64) for value in moved]))
        return np.asarray(torch.stack([state, *found]))

    def _together(self, places: list[int]) -> np.ndarray:
        """Shape (places, 3, coordinates); places of several sizes of the state."""
        assert self.way is not None
        with default_dtype(torch.float64):
            asked = [self._asked(k) for k in places]
            box, h, _ = asked[0]
            box = replace(box, step=self.way)
            before = torch.stack([state for _, _, state in asked])
            rows = before.repeat_interleave(2, dim=0)
            moved, shapes = box.run(
                self.way.tensors(rows, DIM, chains=True), self._draws.repeat(len(places), 1), h
            )
            box.check_rows(shapes, len(rows))
            after = torch.cat([value.reshape(len(rows), -1).to(torch.float64) for value in moved], dim=-1)
        return np.asarray(torch.cat([before[:, None], after.reshape(len(places), 2, -1)], dim=1))


def _bent(
    step: TorchStep, number: str, values: list[float], moved: np.ndarray, sizes: np.ndarray
) -> Switch | None:
    """The switch at which a coordinate bends most; None if no coordinate bends more than a smooth function does."""
    names = [name for name, size in zip(step.state, step.sizes(DIM), strict=True) for _ in range(size)]
    best: Switch | None = None
    for column, name in zip(moved.T, names, strict=True):
        for k, window in _windows(column):
            largest = float(np.abs(window).max())
            still = window == 0.0
            if largest == 0.0 or (
                still.any() and np.abs(window[~still]).min() < SUDDEN * SMALLEST * sizes[k : k + 7].max()
            ):
                # Rounding, or a movement that begins to exceed rounding.
                continue
            size = float(abs(_DIFFERENCE @ window)) / largest
            if size > BENT and (best is None or size > best.size):
                best = Switch(number, values[k + 3], name, size)
    return best


def _windows(column: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    for k in range(len(column) - 6):
        yield k, column[k : k + 7]


def _gradient(theta: Tensor, minibatch: int) -> Tensor:
    """The gradient of a quadratic potential with its minimum at 0, proportional to the size of the state."""
    return theta * torch.tensor([1.3, 0.7], dtype=theta.dtype)


def _state(step: TorchStep, size: float) -> Tensor:
    """The coordinates of a state of this size."""
    found = []
    for place, (shape, count) in enumerate(zip(step.shapes.values(), step.sizes(DIM), strict=True)):
        first = torch.tensor([0.8 - 0.3 * place, -0.55 + 0.2 * place], dtype=torch.float64)
        # A scalar, such as a thermostat's, stays above 0.
        value = size * first[torch.arange(count) % DIM] if axes_of(shape) else size * first[:1] + 1.0
        # A memory may be a second moment, which is never below 0.
        found.append(value if place < len(step.dynamics.state) else value.abs())
    return torch.cat(found)


__all__ = ["Switch", "check_switches", "find_switches"]

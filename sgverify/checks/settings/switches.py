"""Check: is torch code one smooth formula in the step size, its parameters and the size of its state, on the tested ranges?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from torch import Tensor

from sgverify.checks.question import Question
from sgverify.errors import SgverifyError, Unreached, UserError
from sgverify.evidence import EVERY, Evidence, Extent, Scope, held, tried
from sgverify.law.nodes import UNREPEATED
from sgverify.rates.verdict import Judgement
from sgverify.samplers.intercepted.black_box import BlackBox
from sgverify.samplers.intercepted.dtypes import default_dtype
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

RATES = torch.tensor([1.3, 0.7], dtype=torch.float64)
"""The second derivatives of the potential in its coordinates."""

BENT = 0.06
"""A sixth difference that counts, as a share of the largest value among its seven.

Sixth differences over d = ln 2/8 in log x, relative to the function: a power x^a has (a d)^6, which is 1e-4 for a = 5/2 and 0.03
for a = 6, the largest power in steps of at most four stages. exp(-x) has at most 30 d^6 = 1e-5, x/(1 + x) less. A kink whose
logarithmic slope jumps by s has 6 d s = 0.5 s if it lies in the middle of the seven points; a jump by the share j has 10 j.
"""

_DIFFERENCE = np.array([1.0, -6.0, 15.0, -20.0, 15.0, -6.0, 1.0])

SMALLEST = 1e-7
"""A movement below this share of the state counts as rounding."""

ALIKE = 1e-12
"""The relative tolerance between a step of one group among many and the same step alone."""

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
        values, bent = _bends(step, number)
        looked[number] = (values[0], values[-1])
        if bent:
            found.append(replace(bent[0], recedes=_recedes(step, bent[0])))
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
    earlier = _bends(step, SIZE, LARGER * FIXED["h"])[1]
    return any(item.at <= switch.at / MOVED for item in earlier)


def _values(number: str) -> list[float]:
    low, high = (math.log2(end) for end in REACH[number])
    count = round(PER_OCTAVE * (high - low)) + 1
    # Away from powers of 2 and of 10, so that every value lies on one side of a round threshold.
    return [2.0 ** (low + k / PER_OCTAVE) * 1.013 for k in range(count)]


def _bends(step: TorchStep, number: str, h: float = FIXED["h"]) -> tuple[list[float], list[Switch]]:
    """The values at which the step is finite, and the switches of its movement X_1 - X_0 without noise, and of its change by noise.

    Values are taken from a middle one outwards until the step is not finite.
    """
    values = _values(number)
    start = min(range(len(values)), key=lambda k: abs(math.log(values[k] / FIXED[number])))
    listed = [{**FIXED, "h": h, number: value} for value in values]
    state = _state(step, listed[start][SIZE])
    with default_dtype(torch.float64):
        many = state[None] if step.chains else state
        count = _box(step, listed[start]).census(step.tensors(many, DIM), listed[start]["h"])
    found = _in_groups(step, number, listed, start, count) or {}
    for places in (range(start, len(values)), range(start - 1, -1, -1)) if not found else ():
        for k in places:
            try:
                found[k] = _ends(step, listed[k], count)
                if k == start and not np.array_equal(found[k], _ends(step, listed[k], count)):
                    raise Unreached(UNREPEATED)
            except UserError:
                # A step need not be finite at extreme values.
                if k == start:
                    raise
                break
    kept = sorted(found)
    before, still, moved = (np.array([found[k][part] for k in kept]) for part in range(3))
    sizes, values = np.abs(before).max(axis=1), [values[k] for k in kept]
    bent = (_bent(step, number, values, change, sizes) for change in (still - before, moved - still))
    return values, [item for item in bent if item is not None]


def _box(step: TorchStep, numbers: dict[str, float]) -> BlackBox:
    return BlackBox(step, _gradient, DIM, {name: numbers[name] for name in step.parameters})


def _drawn(count: int) -> list[float]:
    """Draws of at most one standard deviation: rare draws are tested elsewhere."""
    return [(-1) ** k * (0.4 + 0.5 * math.modf(0.618 * k)[0]) for k in range(count)]


def _in_groups(
    step: TorchStep, number: str, listed: list[dict[str, float]], start: int, count: int
) -> dict[int, np.ndarray] | None:
    """`_ends` at all numbers about the middle one at which the step is finite, by one step of as many groups of an optimizer.

    None where groups cannot have these numbers, or where one of the middle and outermost ones has another result alone.
    """
    if step.as_it_is is None or count != DIM:
        return None
    before = np.stack([_state(step, numbers[SIZE]).numpy() for numbers in listed])
    splits = np.cumsum(step.sizes(DIM))[:-1]
    state = np.concatenate([part.reshape(-1) for part in np.split(before, splits, axis=1)])
    try:
        run = step.as_it_is(listed[0], listed[0], 0.0, RATES, grid=listed)
        if not (number == SIZE or run.varies(number)):
            return None
        with default_dtype(torch.float64):
            after = [run.held(state, draw) for draw in (0.0, _drawn(count))]
    except (SgverifyError, LookupError, AttributeError):
        # The code may raise at extreme values, or keep nothing for each group: it is run at each alone.
        return None
    if run.drawn != count * len(listed):
        return None
    rows = [
        np.hstack([part.reshape(len(listed), -1) for part in np.split(moved, splits * len(listed))])
        for moved in after
    ]
    ends = np.stack([before, *rows], axis=1)
    finite = np.isfinite(ends).all((1, 2))
    if not finite[start]:
        return None
    below, above = (np.append(part, False).argmin() for part in (finite[:start][::-1], finite[start:]))
    kept = range(start - int(below), start + int(above))
    for k in {kept[0], start, kept[-1]}:
        alone = _ends(step, listed[k], count)
        if not np.abs(alone - ends[k]).max() <= ALIKE * np.abs(alone).max():
            return None
    return {k: ends[k] for k in kept}


def _ends(step: TorchStep, numbers: dict[str, float], count: int) -> np.ndarray:
    """The state before a step of `count` draws, after it without noise, and with it, shape (3, coordinates)."""
    box, state = _box(step, numbers), _state(step, numbers[SIZE])
    found = [state]
    with default_dtype(torch.float64):
        for row in torch.tensor([[0.0] * count, _drawn(count)], dtype=torch.float64):
            start = step.tensors(state[None] if step.chains else state, DIM)
            moved, _ = box.run(start, row[None] if step.chains else row, numbers["h"])
            found.append(torch.cat([part.to(torch.float64).reshape(-1) for part in moved]))
    return np.asarray(torch.stack(found))


def _bent(
    step: TorchStep, number: str, values: list[float], moved: np.ndarray, sizes: np.ndarray
) -> Switch | None:
    """The switch at which a coordinate bends most; None if no coordinate bends more than a smooth function does."""
    names = [name for name, size in zip(step.state, step.sizes(DIM), strict=True) for _ in range(size)]
    # Smaller movements are rounding.
    moved = np.where(np.abs(moved) < SMALLEST * sizes[:, None], 0.0, moved)
    best: Switch | None = None
    for column, name in zip(moved.T, names, strict=True):
        for k in range(len(column) - 6):
            window = column[k : k + 7]
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


def _gradient(theta: Tensor, minibatch: int) -> Tensor:
    """The gradient of a quadratic potential with its minimum at 0, proportional to the size of the state."""
    return theta * RATES.to(theta.dtype)


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

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
from sgverify.checks.subject.torch import TorchSubject, limits
from sgverify.errors import SgverifyError, UserError
from sgverify.evidence import Evidence
from sgverify.rates import Judgement
from sgverify.samplers.intercepted import BlackBox
from sgverify.samplers.intercepted.dtypes import default_dtype
from sgverify.samplers.intercepted.interception import total
from sgverify.schemes.definition.abstract_value import VECTOR
from sgverify.schemes.torch_step import TorchStep

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
    except (SgverifyError, UserError) as error:
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
        judgement=judgement,
        certificate={
            "looked_at": {name: list(reach) for name, reach in looked.items()},
            "switches": [
                f"{item.variable}, {item.number} = {item.at:.6g}, {item.size:.3g}" for item in found
            ],
            "limits": limits(DIM),
        },
    )


def find_switches(step: TorchStep) -> tuple[list[Switch], dict[str, tuple[float, float]]]:
    """The switches of a step, at most one for each number, and the range in which each number was varied."""
    found, looked = [], {}
    for number in ("h", *step.parameters, SIZE):
        values, drift, noise, sizes = _moves(step, number, _values(number))
        looked[number] = (values[0], values[-1])
        for moved in (drift, noise):
            switch = _bent(step, number, values, moved, sizes)
            if switch is not None:
                found.append(replace(switch, recedes=_recedes(step, switch)))
                break
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
    values, drift, noise, sizes = _moves(step, SIZE, _values(SIZE), LARGER * FIXED["h"])
    earlier = [_bent(step, SIZE, values, moved, sizes) for moved in (drift, noise)]
    return any(item is not None and item.at <= switch.at / MOVED for item in earlier)


def _values(number: str) -> list[float]:
    low, high = (math.log2(end) for end in REACH[number])
    count = round(PER_OCTAVE * (high - low)) + 1
    # Away from powers of 2 and of 10, so that every value lies on one side of a round threshold.
    return [2.0 ** (low + k / PER_OCTAVE) * 1.013 for k in range(count)]


def _moves(
    step: TorchStep, number: str, values: list[float], h: float = FIXED["h"]
) -> tuple[list[float], np.ndarray, np.ndarray, np.ndarray]:
    """The values at which the step is finite, with the movement X_1 - X_0 without noise, its change by noise, and the state's size.

    Values are taken from a middle one outwards until the step is not finite. The movement and its change have shape
    (values, coordinates), the sizes (values,).
    """
    start = min(range(len(values)), key=lambda k: abs(math.log(values[k] / FIXED[number])))
    numbers = None
    known: dict[int, tuple[np.ndarray, np.ndarray, float]] = {}
    for ways in (range(start, len(values)), range(start - 1, -1, -1)):
        for k in ways:
            given = {**FIXED, "h": h, number: values[k]}
            box = BlackBox(step, _gradient, DIM, {name: given[name] for name in step.parameters})
            try:
                with default_dtype(torch.float64):
                    state = _state(step, given[SIZE])
                    if numbers is None:
                        numbers = total(box.run(state, None, given["h"])[1], step.chains)
                    known[k] = _two(box, state, given["h"], numbers)
            except UserError:
                # A step need not be finite at extreme values.
                if k == start:
                    raise
                break
    kept = sorted(known)
    drifts, noises, sizes = (np.array([known[k][part] for k in kept]) for part in range(3))
    return [values[k] for k in kept], drifts, noises, sizes


def _two(
    box: BlackBox, state: tuple[Tensor, ...], h: float, numbers: int
) -> tuple[np.ndarray, np.ndarray, float]:
    front = (1,) if box.step.chains else ()
    # Draws of at most one standard deviation: rare draws are tested elsewhere.
    drawn = [(-1) ** k * (0.4 + 0.5 * math.modf(0.618 * k)[0]) for k in range(numbers)]
    some = torch.tensor(drawn, dtype=torch.float64)
    still, moved = (
        torch.cat([value.reshape(-1) for value in box.run(state, draws.reshape(*front, -1), h)[0]])
        for draws in (torch.zeros_like(some), some)
    )
    before = torch.cat([value.reshape(-1) for value in state])
    size = float(before.abs().max())
    drift, noise = (np.asarray(value.to(torch.float64)) for value in (still - before, moved - still))
    # Smaller movements are rounding.
    drift, noise = (np.where(np.abs(value) < SMALLEST * size, 0.0, value) for value in (drift, noise))
    return drift, noise, size


def _bent(
    step: TorchStep, number: str, values: list[float], moved: np.ndarray, sizes: np.ndarray
) -> Switch | None:
    """The switch at which a coordinate bends most; None if no coordinate bends more than a smooth function does."""
    names = [name for name, shape in step.shapes.items() for _ in range(DIM if shape == VECTOR else 1)]
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


def _state(step: TorchStep, size: float) -> tuple[Tensor, ...]:
    found = []
    for place, shape in enumerate(step.shapes.values()):
        value = size * torch.tensor([0.8 - 0.3 * place, -0.55 + 0.2 * place], dtype=torch.float64)
        value = value if shape == VECTOR else value[:1] + 1.0
        if step.chains:
            value = value.reshape(1, -1)
        elif shape != VECTOR:
            value = value.reshape(())
        found.append(value)
    return tuple(found)


__all__ = ["Switch", "check_switches", "find_switches"]

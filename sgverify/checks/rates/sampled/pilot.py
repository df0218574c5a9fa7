"""A pilot run: how long chains take to forget their start, and how large the bias is at one step size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from statistics import NormalDist
from typing import Any

import numpy as np

from sgverify.checks.rates.sampled.method import DISAGREEMENT, run_chains, run_seed
from sgverify.checks.subject.subject import Subject
from sgverify.exact.affine.stability import spectral_radii
from sgverify.samplers import Divergence, Fixed, Row

CHAINS = 256
"""Chains from each of two starts, on either side of the target."""

LENGTHS = (512, 2048, 8192, 16384)
"""Steps of the run; each is tried when the one before was too short."""

LONG_ENOUGH = 20
"""The last half has to hold so many correlation times, for these to be told from the chains' spread."""

WATCHED = 3
"""Coordinates of each variable of the state that are watched beside the test function: the slowest one counts."""

ASIDE = 2.0
"""Where the chains start, in standard deviations from the mean, if the configuration starts in the middle."""


@dataclass(frozen=True)
class Pilot:
    """What chains of one step size showed.

    `time`: their relaxation time, in units of time, and `how` it was found; `bias`: that of the test function, with its
    standard `error`; `spread`: the test function's standard deviation. `why` says what they had not forgotten of their
    start; it is empty where all is well. `length`: the steps of the run.
    """

    step: float
    time: float
    how: str
    bias: float
    error: float
    spread: float
    why: str
    length: int


@dataclass(frozen=True)
class _Watched:
    """A function of some variables of the state, or its square, as the sampler averages it."""

    name: str
    variables: tuple[str, ...]
    function: Callable[..., Any]
    squared: bool = False

    def __call__(self, *state: Any) -> Any:
        value = self.function(*state)
        return value * value if self.squared else value


def run_pilot(
    subject: Subject, step: float, truth: float, *, lengths: Sequence[int] = LENGTHS
) -> Pilot | Divergence:
    """Chains at one step that start on both sides of the target, or how they diverged.

    With n averaged steps the variance between chains is 2 tau sigma^2/n, which gives the correlation time tau of
    the test function and of each coordinate of theta. The run is long enough when it holds `LONG_ENOUGH` of the
    longest, and when its last two quarters and its two starts agree. Where one step is affine, its spectral radius r
    gives the time exactly, h / -log r. `lengths` are tried in turn.
    """
    functions = _watched(subject)
    names = [item.name for item in functions if not item.squared]
    steps, why = 1.0, ""
    quarters: np.ndarray | Divergence
    for length in lengths:
        quarters = _run(subject, step, length, functions)
        if isinstance(quarters, Divergence):
            return quarters
        steps, why = _correlation(quarters, names, length)
        if not why:
            break
    assert not isinstance(quarters, Divergence)
    late = quarters[:, 0, 2:].mean(1).ravel()
    spread = math.sqrt(max(0.0, float(quarters[:, len(names), 2:].mean()) - float(late.mean()) ** 2))
    time, how = steps * step, f"pilot run of {length} steps from two starts"
    if subject.affine:
        time, how = affine_time(subject, step), "spectral radius of one step"
    error = float(late.std(ddof=1)) / math.sqrt(len(late))
    return Pilot(step, time, how, float(late.mean()) - truth, error, spread, why, length)


def _run(subject: Subject, step: float, length: int, functions: list[_Watched]) -> np.ndarray | Divergence:
    """Averages over each quarter of the run. Shape (2 starts, functions, 4, chains)."""
    aside = subject.configuration.start_of() or ASIDE
    marks = tuple(length // 4 * k for k in (1, 2, 3, 4))
    sides = []
    for side, start in enumerate((aside, -aside)):
        found = run_chains(
            subject,
            [Row(Fixed(step), marks)],
            seed=run_seed(subject, "pilot", step, length),
            first=side * CHAINS,
            count=CHAINS,
            observables=functions,
            progress=(0.0, 0.0),
            start=start,
        )
        diverged = found[0].diverged[0]
        if diverged is not None:
            return diverged
        sums = np.array([item.values[0] for item in found]) * np.arange(1, 5)[:, None]
        sides.append(np.diff(sums, axis=1, prepend=0.0))
    return np.array(sides)


def _watched(subject: Subject) -> list[_Watched]:
    """The test function and coordinates of every variable of the state; then their squares."""
    scheme, phi = subject.scheme, subject.observable
    read = (scheme.state[0], *(name for name in scheme.state[1:] if name == "p"))
    functions = [_Watched(str(phi), read, phi)]
    for name, shape in scheme.shapes.items():
        width = subject.target.dim if shape == "vector" else 1
        functions += [
            _Watched(f"{name}[{i}]", (name,), itemgetter((..., i))) for i in range(min(WATCHED, width))
        ]
    return [*functions, *(replace(item, squared=True) for item in functions)]


def affine_time(subject: Subject, step: float) -> float:
    """h / -log r; one step where the radius is so small that less is left after it."""
    radii = spectral_radii(subject.scheme, subject.model.parameters, subject.step_sizes.eigenvalues, [step])
    return step / min(1.0, -math.log(float(radii[0]))) if radii[0] > 0 else step


def _correlation(quarters: np.ndarray, names: list[str], length: int) -> tuple[float, str]:
    """The longest correlation time in steps, and why the run is too short, if it is."""
    count = len(names)
    values, squares = quarters[:, :count], quarters[:, count:]
    late = values[:, :, 2:].mean(2)
    bound = NormalDist().inv_cdf(1 - DISAGREEMENT / (4 * count))
    longest, why = 1.0, ""
    for i, name in enumerate(names):
        sigma = float(squares[:, i, 2:].mean() - late[:, i].mean() ** 2)
        spread = late[:, i].var(axis=1, ddof=1)
        if sigma > 0:
            longest = max(longest, length / 2 * float(spread.mean()) / (2 * sigma))
        gap = float(late[0, i].mean() - late[1, i].mean())
        drift = (values[:, i, 3] - values[:, i, 2]).ravel()
        if abs(gap) > bound * math.sqrt(float(spread.sum()) / late.shape[-1]):
            why = f"the averages of {name} from both sides of the target differ by {gap:.3g} after {length} steps"
        elif abs(drift.mean()) > bound * drift.std(ddof=1) / math.sqrt(len(drift)):
            why = (
                f"the average of {name} still drifts, by {drift.mean():.3g} over a quarter of {length} steps"
            )
    if not why and LONG_ENOUGH * longest > length / 2:
        why = f"their correlation time is about {longest:.0f} steps, too long for {length} of them"
    return longest, why

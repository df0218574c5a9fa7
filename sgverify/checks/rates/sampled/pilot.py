"""How long do chains take to forget their start, and how large is the bias at one step size? A pilot run tells."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from statistics import NormalDist
from typing import Any

import numpy as np

from sgverify.checks.rates.sampled.method import DISAGREEMENT, cost_text, most_steps, run_chains, truth_of
from sgverify.configuration import Configuration
from sgverify.errors import Unreached
from sgverify.exact.affine.stability import spectral_radii
from sgverify.samplers import Divergence, Fixed, Row
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject

CHAINS = 256
"""The chains from each of the two starts, one on either side of the target."""

LENGTHS = (512, 2048, 8192, 16384)
"""The lengths of the run, tried in turn until one is long enough."""

LONG_ENOUGH = 20
"""The number of correlation times in the last half of the run that makes their estimate from the chains' spread reliable."""

WATCHED = 3
"""The most coordinates per state variable that are averaged beside the test function; the slowest of all counts."""

ASIDE = 2.0
"""The distance of the starts from the mean, in standard deviations, if the configured start is at the mean."""

HALVINGS, DOUBLINGS = 10, 3
"""The most halvings of the default step in the search for the first step, and the most doublings while its bias is far below
`MODERATE`."""

MODERATE = 0.15
"""The largest bias at the first step, in standard deviations of the test function: an expansion in h holds below it."""

CONVERGING = 0.75
"""The ratio of the biases at h and 2h beyond which the bias does not vanish, so that smaller steps would not help."""

UNCROSSED = 40.0
"""The height of a barrier, in units of T, beyond which it counts as never crossed: about once in e^40 = 2e17 relaxation
times within a mode."""


@dataclass(frozen=True)
class Pilot:
    """The result of a pilot run at one step size.

    `time` is the chains' relaxation time, in units of time, and `how` the method that found it. `bias` is the bias of the
    test function with its standard `error`, and `spread` its standard deviation. `why` is a sentence about a transient that
    is left, "" if there is none. `length` is the number of steps.
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
    """A function of some state variables, or its square, in the form of an observable of the sampler."""

    name: str
    variables: tuple[str, ...]
    function: Callable[..., Any]
    squared: bool = False

    def __call__(self, *state: Any) -> Any:
        value = self.function(*state)
        return value * value if self.squared else value


@cached_per_subject
def moderate_pilot(subject: Subject, given: tuple[float, ...]) -> Pilot:
    """The pilot run at the first step of a sweep. Raises `Unreached`.

    That is the largest of the steps `given` at which no pilot chain diverges, or the configured step; else the default step, halved
    until the bias is at most `MODERATE`, or doubled where it was chosen without a stability limit and the bias is far below that.
    """
    _refuse_undecidable(subject, given)
    truth = truth_of(subject)[0]
    chosen = not given and subject.configuration.schedule.step is None
    steps = given or tuple(first_step(subject) / 2**k for k in range(HALVINGS if chosen else 1))
    tried: list[Pilot] = []
    diverged = None
    for step in steps:
        found = run_pilot(
            subject, step, truth, lengths=[n for n in LENGTHS if not tried or n >= tried[-1].length]
        )
        if isinstance(found, Divergence):
            diverged = found
            continue
        tried.append(found)
        if not chosen or _small_enough(tried):
            break
    if not tried:
        named = ", ".join(f"{h:.3g}" for h in steps)
        raise Unreached(f"chains diverged at every step tried; h = {named}; at the last, {diverged}")
    pilot = tried[-1]
    if chosen and not subject.affine and len(tried) == 1 and diverged is None:
        pilot = _larger(subject, pilot, truth)
    if pilot.why:
        raise Unreached(f"the start is not forgotten; chains at h={pilot.step:.3g}: {pilot.why}")
    return pilot


def first_step(subject: Subject) -> float:
    """The configured or default step; a default step is halved until the time scale of friction is resolved too."""
    if subject.configuration.schedule.step is not None:
        return subject.configuration.schedule.step
    step = subject.step
    if "D" in subject.scheme.dynamics.parameters:
        while step * subject.configuration.friction > 2:
            step /= 2
    return step


def _refuse_undecidable(subject: Subject, given: tuple[float, ...]) -> None:
    """Raise `Unreached` where chains of any length show one of several modes, or where the pilot alone costs too much."""
    c = subject.configuration
    barrier = subject.target.barrier_float64(c.temperature)
    if barrier > UNCROSSED:
        raise Unreached(
            f"the modes of target.name={c.target.name!r} are apart by a barrier of {barrier:.3g} T, "
            "which chains of any length do not cross, so that averages show one mode; raise temperature, or lower target.size"
        )
    if subject.target.rugged and not given:
        raise Unreached(
            f"target.name={c.target.name!r} has modes between which chains of moderate length hardly move, so no rate is looked "
            "for in their averages; give sweep.steps to sample at these all the same"
        )
    steps = 2 * CHAINS * sum(LENGTHS)
    if steps > most_steps(subject) and c.chains == Configuration().chains:
        raise Unreached(
            f"the pilot run costs too much; alone it would take {cost_text(subject, steps)}, as a step visits many data; take "
            "gradient.kind='iid' or a smaller gradient.batch, or give chains to run them all the same"
        )


def _larger(subject: Subject, pilot: Pilot, truth: float) -> Pilot:
    """The pilot at a larger first step, where the bias at that step is still moderate."""
    for _ in range(DOUBLINGS):
        if abs(pilot.bias) > MODERATE / 2 * pilot.spread:
            break
        # Half the length covers the same physical time, in which the chains forgot their start at the smaller step.
        found = run_pilot(subject, 2 * pilot.step, truth, lengths=(max(LENGTHS[0], pilot.length // 2),))
        if isinstance(found, Divergence) or found.why or abs(found.bias) > MODERATE * found.spread:
            break
        pilot = found
    return pilot


def _small_enough(tried: list[Pilot]) -> bool:
    """Can the last step tried be the first of a sweep, with a moderate bias, or a bias that does not vanish with h?"""
    last = tried[-1]
    if abs(last.bias) <= MODERATE * last.spread or len(tried) < 2:
        return abs(last.bias) <= MODERATE * last.spread
    return abs(last.bias) > CONVERGING * abs(tried[-2].bias) + 4 * last.error


def run_pilot(
    subject: Subject, step: float, truth: float, *, lengths: Sequence[int] = LENGTHS
) -> Pilot | Divergence:
    """Run chains at one step size from starts on both sides of the target; returns the pilot, or how chains diverged.

    With n averaged steps the variance between chains is 2 tau sigma^2/n, which gives the correlation time tau of the test
    function and of each coordinate of theta. The run is long enough if it covers `LONG_ENOUGH` times the longest tau, its
    last two quarters agree, and its two starts agree. If one step is affine with spectral radius r, the relaxation time is
    exactly h / -log r. `lengths` are tried in turn.
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
    """The averages over each quarter of the run, shape (2 starts, functions, 4 quarters, chains); or how chains diverged."""
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
    """The relaxation time h / -log r, r the spectral radius; at least one step h."""
    radii = spectral_radii(subject.scheme, subject.model.parameters, subject.step_sizes.eigenvalues, [step])
    return step / min(1.0, -math.log(float(radii[0]))) if radii[0] > 0 else step


def _correlation(quarters: np.ndarray, names: list[str], length: int) -> tuple[float, str]:
    """The longest correlation time in steps, and a sentence if the run is too short for it, "" if it is not."""
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

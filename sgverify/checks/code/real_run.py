"""Is the law of code right over a run of the code as it is, where its draws cannot be put back?

Code that draws by numpy, by an iterator that it keeps, or by what it carries on from call to call cannot be asked twice. Its runs
can be looked at: on a Gaussian, two runs at h and h/2 have a mean and a variance of theta of which those at h = 0 follow; on the
density of code with its own loss, an increment less the drift of the density has mean 0 and the variance of the noise.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import SgverifyError
from sgverify.law.chosen_step import ChosenGradient, black_box, parameters, started, states_of
from sgverify.samplers.intercepted.black_box import BlackBox
from sgverify.samplers.own.functions import gradients_by_datum
from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.memory import axes_of, shape_at
from sgverify.schemes.torch_step import TorchStep
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject

ROWS, WIDTH = 64, 32
"""The copies: chains and their coordinates, or the coordinates of one chain."""

STEPS, FORGOTTEN = 1_500, 300
"""The steps of a run, and those before its law is looked at."""

FIRST = 0.1
"""The larger step size, in units of the Gaussian's time."""

LONGER, LARGER = 16_000, 0.2
"""The steps of code that keeps tensors of the configured dimension, and runs in no other; and its larger step size."""

MEAN = 0.5
"""The mean of the Gaussian, whose precision is 1; all copies start one unit above it."""

BEYOND, WITHIN = 5.5, 0.03
"""The bound of a difference in standard errors, and what is left of the larger step size, as a share."""

AGAIN = 0.4
"""The correlation of innovations two or more steps apart at which noise comes again; some schemes reach 1/2 at one step."""

CALLS, SHORTER = 6_000, 8
"""The calls of code with its own loss, and the share of the step size and the calls at which its noise is looked at again."""

SLACK = 0.2
"""The share of drift or noise of code with its own loss that is left to its scheme."""


PIECES = 10
"""The stretches of a run of which its error follows."""


@dataclass(frozen=True)
class RealRun:
    """What a run shows to be wrong, and what was run and found right; both "" where none could be made."""

    fault: str = ""
    told: str = ""


@cached_per_subject
def law_of_run(subject: Subject) -> RealRun:
    """The law of the code over a run of its own, from fixed seeds of torch's, numpy's and Python's generators."""
    step = cast(TorchStep, subject.scheme)
    try:
        with seeded(1):
            if step.own_loss is None:
                return _on_a_gaussian(step, subject) if step.dynamics in (langevin, kinetic) else RealRun()
            return (
                _on_its_density(subject) if step.own_loss.density and step.dynamics is langevin else RealRun()
            )
    except (SgverifyError, ArithmeticError, RuntimeError):
        # It does not run in this dimension, or leaves every bound at this step size: its law is not seen.
        return RealRun()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """A context in which torch's, numpy's and Python's draws come from a seed, and the caller's generators stay as they are."""
    kept = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)
        try:
            yield
        finally:
            random.setstate(kept[0])
            np.random.set_state(kept[1])


@dataclass(frozen=True)
class _Plan:
    """The chains and the coordinates of a run, its steps, and its larger step size."""

    chains: int
    dim: int
    steps: int
    first: float

    @property
    def copies(self) -> int:
        return self.chains * self.dim


def _on_a_gaussian(step: TorchStep, subject: Subject) -> RealRun:
    many = _Plan(*((ROWS, WIDTH) if step.chains else (1, ROWS * WIDTH)), STEPS, FIRST)
    try:
        return _judged(step, subject, many)
    except SgverifyError:
        return _judged(step, subject, _Plan(1, subject.target.dim, LONGER, LARGER))


def _judged(step: TorchStep, subject: Subject, plan: _Plan) -> RealRun:
    temperature = subject.configuration.temperature
    given = {name: 1.0 if name == "D" else value for name, value in parameters(subject).items()}
    box = BlackBox(step, lambda theta, minibatch: theta - MEAN, plan.dim, given)
    # A kinetic step forgets in twice the time.
    first = plan.first if step.dynamics is langevin else 2 * plan.first
    steps = (first, first / 2)
    runs = [_run(box, h, temperature, plan) for h in steps]
    told = f"{plan.steps} steps of {plan.copies} copies, at h = {first:g} and {first / 2:g} on a Gaussian of precision 1"
    # What a step keeps beside its state may be a momentum, whose innovations are correlated in theta alone.
    remembers = len(step.shapes) > len(step.dynamics.state)
    correlated = ""
    for run, h in zip(runs, steps, strict=True):
        if abs(run.together) > WITHIN + BEYOND / np.sqrt(plan.copies * plan.steps * h):
            return RealRun(
                f"over {told}, neighbouring entries move together: correlation {run.together:.3g} at h = {h:g}"
            )
        if abs(run.again[1]) > AGAIN:
            lag, size = run.again
            correlated = (
                f"over {told}, its noise comes again after {lag} steps: correlation {size:.3g} at h = {h:g}"
            )
    if correlated and not remembers:
        return RealRun(correlated)
    worst = 0.0
    for k, name in enumerate(step.dynamics.state):
        due = MEAN if name == "theta" else 0.0
        for what, place, right in (("mean", 0, due), ("variance", 1, temperature)):
            pair = [run.moments[k][place] for run in runs]
            found = 2 * pair[1][0] - pair[0][0]
            unit = temperature ** (0.5 + place / 2)
            off = BEYOND * float(np.hypot(2 * pair[1][1], pair[0][1])) + WITHIN * unit
            worst = max(worst, off / unit)
            if abs(found - right) > off:
                return RealRun(
                    f"over {told}, {name} has the {what} {found:.4g} as h -> 0, where {right:.4g} is due, within "
                    f"{off:.2g}"
                )
    if correlated:
        return RealRun()
    return RealRun(told=f"{told}: mean and variance are right to {100 * worst:.0f} % and the noise is new")


@dataclass(frozen=True)
class _Run:
    """Mean and variance of each variable with their errors, the correlation of neighbours, and how innovations come again."""

    moments: list[tuple[tuple[float, float], tuple[float, float]]]
    together: float
    again: tuple[int, float]


def _run(box: BlackBox, h: float, temperature: float, plan: _Plan) -> _Run:
    step, front = box.step, (plan.chains,) if box.step.chains else ()
    values = (MEAN + temperature**0.5, *[0.0] * len(step.shapes))
    shapes = [
        (*front, *(shape_at(shape, box.dim) if axes_of(shape) else (1,) * len(front)))
        for shape in step.shapes.values()
    ]
    state: Sequence[Tensor] = [
        torch.full(shape, value, dtype=torch.float64) for shape, value in zip(shapes, values, strict=False)
    ]
    kept = len(step.dynamics.state)
    state = (*state[:kept], *started(step, state))
    series = np.zeros((plan.steps, kept, plan.copies))
    for number in range(-FORGOTTEN, plan.steps):
        state = box.handed_on(state, h)
        if number >= 0:
            series[number] = np.stack([part.detach().reshape(-1).numpy() for part in state[:kept]])
    series[:, 0] -= MEAN
    moments = []
    for k in range(kept):
        first, second = (
            _with_error((series[:, k] - shift) ** power, plan)
            for shift, power in ((0.0, 1), (series[:, k].mean(), 2))
        )
        moments.append(((first[0] + (MEAN if k == 0 else 0.0), first[1]), second))
    theta = series[:, 0] - series[:, 0].mean()
    together = (
        float((theta[:, 1:] * theta[:, :-1]).mean() / max(float((theta**2).mean()), 1e-300))
        if plan.copies > 1
        else 0.0
    )
    return _Run(moments, together, _again(series))


def _with_error(values: np.ndarray, plan: _Plan) -> tuple[float, float]:
    """The mean of a series of each copy and its standard error, from stretches of them that are nearly independent."""
    pieces = values[: len(values) // PIECES * PIECES].reshape(PIECES, -1, plan.copies).mean(axis=1)
    return float(values.mean()), float(pieces.std() / np.sqrt(pieces.size))


def _again(series: np.ndarray) -> tuple[int, float]:
    """The distance, of two steps or more, at which the innovations of an affine law are most correlated."""
    before = np.moveaxis(series[:-1], 1, -1).reshape(-1, series.shape[1])
    after = series[1:, -1].reshape(-1)
    shares, *_ = np.linalg.lstsq(before, after, rcond=None)
    left = (after - before @ shares).reshape(len(series) - 1, -1)
    power = (np.abs(np.fft.rfft(left - left.mean(axis=0), 2 * len(left), axis=0)) ** 2).mean(axis=1)
    covariance = np.fft.irfft(power)[: len(left) // 2] / np.maximum(len(left) - np.arange(len(left) // 2), 1)
    found = covariance / max(float(covariance[0]), 1e-300)
    lag = 2 + int(np.abs(found[2:]).argmax())
    return lag, float(found[lag])


def _on_its_density(subject: Subject) -> RealRun:
    box, gradient = black_box(subject), ChosenGradient(subject.target)
    temperature, dim = subject.configuration.temperature, subject.target.dim
    curvature = curvature_of(subject)
    h = FIRST / curvature
    noises, told = [], f"{CALLS} calls as they are, at h = {h:.3g}"
    for size, calls in ((h, CALLS), (h / SHORTER, CALLS // SHORTER * 2)):
        (state,) = states_of(subject, 1)
        states = [state[0]]
        for _ in range(calls):
            states.append(box.real_state((states[-1],), size)[0].detach())
        path = torch.stack(states).to(torch.float64)
        force = size * gradient(path[:-1], 0).numpy()
        left = (path[1:] - path[:-1]).numpy() + force
        noises.append(float((left**2).mean()) / (2 * size * temperature))
        if size == h:
            along = (left * force).sum(axis=1)
            share = float(along.sum() / (force**2).sum())
            error = float(np.sqrt((along**2).sum()) / (force**2).sum())
            mean, spread = left.mean(axis=0), left.std(axis=0) / np.sqrt(calls)
            offset = np.abs(mean) - BEYOND * spread - SLACK * FIRST * np.sqrt(temperature / curvature)
            if abs(share) > SLACK + BEYOND * error:
                off = BEYOND * error
                return RealRun(
                    f"over {told}, the mean displacement is {1 - share:.3g} times that of the density, within {off:.2g}"
                )
            if offset.max() > 0:
                return RealRun(
                    f"over {told}, it moves by {mean[offset.argmax()]:.3g} a call beside the gradient of the density"
                )
    noise = noises[1] - (noises[0] - noises[1]) / (SHORTER - 1)
    off = SLACK + BEYOND * float(np.sqrt(2 * SHORTER / (2 * CALLS * dim))) * SHORTER / (SHORTER - 1)
    if abs(noise - 1) > off:
        return RealRun(
            f"over {told} and h/{SHORTER}, its noise has {noise:.3g} times the variance of the dynamics as h -> 0, within {off:.2g}"
        )
    return RealRun(
        told=f"{told}: drift and noise are those of the density to {100 * SLACK:.0f} % and errors of the run"
    )


def curvature_of(subject: Subject) -> float:
    """The largest curvature of the density at its location, from differences of its gradient."""
    c, target = subject.configuration, subject.target
    centre = np.asarray(target.location_float64(c.temperature), dtype=float)
    spread = np.asarray(target.spread_float64(c.temperature), dtype=float)

    def gradient(theta: np.ndarray) -> np.ndarray:
        prior, each = gradients_by_datum(target, theta)
        return np.asarray(prior + each.sum(axis=0))

    columns = []
    for i, width in enumerate(spread):
        step = np.zeros_like(centre)
        step[i] = width
        columns.append((gradient(centre + step) - gradient(centre - step)) / (2 * width))
    return max(float(np.linalg.norm(np.array(columns), 2)), 1e-12)

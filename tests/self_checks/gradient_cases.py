"""On which small problems is the running gradient estimator enumerated over all its minibatches?

A problem is the configured target, or the same target with its first few data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from sgverify.errors import Unreached
from sgverify.gradients import (
    CentredGradient,
    GradientEstimator,
    MinibatchGradient,
    SnapshotGradient,
    TableGradient,
)
from sgverify.samplers import Settings, fixed
from sgverify.samplers.own.functions import gradients_by_datum
from sgverify.samplers.run.run import Ensemble
from sgverify.subject.subject import Subject
from sgverify.targets import Target
from sgverify.targets.own.function import OwnPotential
from tests.self_checks.enumeration import MOST_POSITIONS, Scripted, every_sequence, resolution_of
from tests.self_checks.gradient_parts import GradientParts, gradient_parts
from tests.self_checks.minibatches import draw_of

FEW = 4
"""The largest number of data in an enumerated problem."""

MOST_SEQUENCES = 65_000
"""The largest number of enumerated sequences of random numbers, times the dimension."""

LARGEST = 5000
"""The largest number of data that are visited one by one; of a larger data set, the first ones are."""

_STATES = (0.7, -1.3)
"""The states at which gradients are compared: these multiples of the posterior's standard deviations from its mean.

Odd coordinates are shifted by half as much.
"""


@dataclass(frozen=True, eq=False)
class EstimatorProblem:
    """A target with an estimator, from which `numbers` minibatches are drawn.

    The random machine words at the positions `scripted` take all their values, and the other words are fixed. `decided`
    are the minibatches that the scripted words determine; every other minibatch must not depend on these words.
    """

    target: Target
    gradient: Any
    scripted: tuple[int, ...]
    numbers: int
    decided: tuple[int, ...]

    @property
    def size(self) -> int:
        """N."""
        assert self.target.size is not None
        return self.target.size

    @property
    def blocks(self) -> int:
        """The number of minibatches in one sweep over the data."""
        return self.size // int(self.gradient.batch)

    def __str__(self) -> str:
        data = "data" if self.size > 1 else "datum"
        return f"{self.gradient.batch} of the first {self.size} {data}"


def problems(subject: Subject) -> list[EstimatorProblem]:
    """Problems with so few data that every sequence of random words can be enumerated.

    For block-wise estimators a second problem has two successive permutations of two data. A fresh minibatch depends on its
    own words only. The last of the N choices of a permutation has a single outcome; its word stays at 0.
    """
    gradient, target = subject.configuration.gradient, subject.target
    assert target.size is not None
    size = min(target.size, FEW)
    batch = gradient.batch if target.size <= FEW else min(gradient.batch, 2)
    whole = gradient.batch == target.size
    per_step = max(1, subject.scheme.minibatches)

    def problem(
        size: int, batch: int, scripted: Iterable[int], numbers: int, decided: Iterable[int], **more: Any
    ) -> EstimatorProblem:
        table = gradient.model_copy(update={"batch": batch, **more})
        return EstimatorProblem(_first_data(target, size), table, tuple(scripted), numbers, tuple(decided))

    estimator = gradient.estimator
    if estimator.exchangeable:
        if resolution_of(size) ** (size - 1) * target.dim > MOST_SEQUENCES:
            size, batch = 3, 1
        batch = size if whole else batch
        sweeps = estimator.sweeps
        blocks = sweeps * size // batch
        found = [problem(size, batch, range(max(1, size - 1)), blocks, range(blocks))]
        if whole:
            return found
        return [*found, problem(2, 1, range(4), 4 * sweeps, range(4 * sweeps))]
    if resolution_of(size) ** (size if whole else batch) * target.dim > MOST_SEQUENCES:
        size, batch = 3, min(batch, 2)
    batch = size if whole else batch
    more, steps = followed(estimator, gradient, -(-size // batch))
    count = min(steps * per_step if steps else 2, MOST_POSITIONS // batch)
    settings = gradient.model_copy(update={"batch": batch, **more})
    draws: dict[int, list[int]] = {}
    for number in range(count):
        draws.setdefault(draw_of(estimator, number, size, settings, per_step), []).append(number)
    return [
        problem(size, batch, range(draw * batch, (draw + 1) * batch), count, decided, **more)
        for draw, decided in draws.items()
    ]


def ensemble_of(subject: Subject, problem: EstimatorProblem, *, hoist: bool) -> Ensemble:
    """The sampler's ensemble for a problem, one chain for each sequence of random words at the scripted positions."""
    table = every_sequence(resolution_of(problem.size), problem.scripted, max(problem.scripted) + 1)
    settings = _settings(subject, problem.gradient, table.shape[1])
    script = Scripted.of_table(table)
    return Ensemble(
        subject.scheme,
        problem.target,
        fixed([1.0], [1]),
        settings,
        hoist=hoist,
        streams=lambda kind: script,
    )


def plain_ensemble(
    subject: Subject, target: Target, gradient: Any, chains: int, *, hoist: bool, seed: int = 0
) -> Ensemble:
    """The sampler's ensemble with its own random numbers, without any scripted words."""
    settings = replace(_settings(subject, gradient, chains), seed=seed)
    return Ensemble(subject.scheme, target, fixed([1.0], [1]), settings, hoist=hoist)


def visited(subject: Subject) -> Target:
    """The configured target, or its first `LARGEST` data."""
    size = subject.target.size
    return subject.target if size is None or size <= LARGEST else _first_data(subject.target, LARGEST)


def states(subject: Subject) -> list[np.ndarray]:
    """The states theta, each of shape (d,), at which gradients are compared."""
    temperature = subject.configuration.temperature
    shares = np.where(np.arange(subject.target.dim) % 2, 0.5, 1.0)
    return [subject.target.at_deviations_float64(factor * shares, temperature) for factor in _STATES]


def at_step(subject: Subject, theta: np.ndarray, gradient: Any) -> Callable[[int], np.ndarray]:
    """The state of the chains at the start of each step.

    The state is `theta` at every step for an estimator without memory. An estimator with memory sees moving states.
    """
    if gradient.estimator.plain or not gradient.estimator.memory:
        return lambda step: theta
    spread = subject.target.spread_float64(subject.configuration.temperature)
    return lambda step: theta + 0.25 * step * spread


def parts_at(target: Target, theta: np.ndarray, gradient: Any) -> GradientParts:
    """The parts of the gradient that an estimator of this configuration averages."""
    derive = gradients_by_datum if own_code(target) else None
    return gradient_parts(target, theta, scale=gradient.scale, clip=gradient.clip, derive=derive)


def own_code(target: Target) -> bool:
    """Is the potential a user's torch code, which only autograd differentiates?"""
    return isinstance(target.prior, OwnPotential)


@dataclass(frozen=True, eq=False)
class History:
    """A run up to `step`: the state at the start of each step (`where`), and the data that each earlier step has `seen`."""

    target: Target
    gradient: Any
    where: Callable[[int], np.ndarray]
    step: int
    seen: Sequence[Sequence[int]]

    def parts(self, theta: np.ndarray) -> GradientParts:
        """The parts of the gradient at theta."""
        return parts_at(self.target, theta, self.gradient)


@singledispatch
def followed(estimator: GradientEstimator, gradient: Any, sweep: int) -> tuple[dict[str, Any], int]:
    """The settings of an enumerated problem, and its number of steps; 0 if two minibatches show the whole estimator.

    `sweep` is the number of steps whose minibatches together are as large as the data.
    """
    return {}, 0


@followed.register
def _(estimator: SnapshotGradient, gradient: Any, sweep: int) -> tuple[dict[str, Any], int]:
    refresh = min(gradient.refresh or 2, 2)
    return {"refresh": refresh}, refresh + 2


@followed.register
def _(estimator: TableGradient, gradient: Any, sweep: int) -> tuple[dict[str, Any], int]:
    # Beyond the step at which the sum over the table is recomputed.
    return {}, sweep + 2


@singledispatch
def elsewhere(estimator: GradientEstimator, run: History) -> tuple[list[GradientParts], np.ndarray | None]:
    """The gradients at other states that an estimate uses, and the control variates `kept`, shape (N, d), or None.

    An estimate is grad prior + sum_i kept_i + N/n sum_{i in B} (g_i - kept_i), with g_i the gradient of datum i at the
    current state.
    """
    raise Unreached(f"{type(estimator).__name__} registers nothing that its estimates are held against")


@elsewhere.register
def _(estimator: MinibatchGradient, run: History) -> tuple[list[GradientParts], np.ndarray | None]:
    return [], None


@elsewhere.register
def _(estimator: SnapshotGradient, run: History) -> tuple[list[GradientParts], np.ndarray | None]:
    assert run.target.size is not None
    interval = estimator.interval(run.target.size, run.gradient)
    there = run.parts(run.where(run.step - run.step % interval))
    return [there], there.data


@elsewhere.register
def _(estimator: CentredGradient, run: History) -> tuple[list[GradientParts], np.ndarray | None]:
    there = run.parts(np.array(estimator.centre_float64(run.target)))
    return [there], there.data


@elsewhere.register
def _(estimator: TableGradient, run: History) -> tuple[list[GradientParts], np.ndarray | None]:
    """The table of each datum's gradient at the state where it was last drawn; initially the first state, for all data."""
    there = [run.parts(run.where(k)) for k in range(max(1, run.step))]
    table = there[0].data.copy()
    for own, data in zip(there, run.seen, strict=False):
        table[list(data)] = own.data[list(data)]
    return there, table


def _settings(subject: Subject, gradient: Any, chains: int) -> Settings:
    return Settings.of(
        subject.configuration, chains=chains, gradient=gradient, burn_in=0, thinning=1, device="cpu"
    )


def _first_data(target: Target, size: int) -> Target:
    assert target.data is not None
    return target if size == target.size else replace(target, data=target.data[:size])

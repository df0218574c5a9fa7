"""A short adaptively weighted run, watched, and gone over again chain by chain in plain numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.checks.adaptation_draws import (
    ALPHA,
    CYCLES,
    THRESHOLD,
    energies_of,
    log_weight_of,
    multipliers_of,
    share_of,
    stream_defects,
)
from sgverify.checks.adaptation_rules import CLOSE
from sgverify.samplers.adapting import Adapting
from sgverify.samplers.averages import sample
from sgverify.samplers.blocks import Block
from sgverify.samplers.gradients import Estimator
from sgverify.samplers.run import Ensemble
from sgverify.samplers.schedules import Row, cyclical, fixed, power
from sgverify.samplers.settings import Settings, one_thread
from sgverify.schemes.composites.adaptation import Adaptation
from sgverify.schemes.composites.weighted import AdaptivelyWeighted
from sgverify.schemes.composites.weighting import region_of
from sgverify.targets import Target

STEPS, CHAINS, BLOCK, PAUSE = 6, 4, 4, 3
"""Steps and chains that are watched, steps drawn at once, and the step after which the run is paused and taken up again: it goes
over from one block to the next. Chains part at the first step, by their noise."""


@dataclass(frozen=True, eq=False)
class Felt:
    """One gradient as the run felt it: where, on what data, what the plain estimate was, and what became of it."""

    number: int
    theta: np.ndarray
    chosen: np.ndarray | None
    plain: np.ndarray
    bent: np.ndarray


@dataclass(eq=False)
class Watched:
    """What a run did: states, weights before and after, energies, logs of weights of every step, and its gradients."""

    states: list[np.ndarray] = field(default_factory=list)
    weights: list[np.ndarray] = field(default_factory=list)
    energies: list[np.ndarray] = field(default_factory=list)
    logs: list[np.ndarray] = field(default_factory=list)
    chosen: list[np.ndarray | None] = field(default_factory=list)
    felt: list[Felt] = field(default_factory=list)


class First:
    """theta[0], of whatever the state holds besides."""

    def __init__(self, variable: str) -> None:
        self.variables = (variable,)

    def __call__(self, theta: Any) -> Any:
        """Shape (*chains, d) -> (*chains)."""
        return theta[..., 0]


def run_defects(
    composite: AdaptivelyWeighted, target: Target, steps: Sequence[float], settings: Settings
) -> Iterator[str]:
    """One sentence for the first thing of each kind that a run does and should not.

    Raises `Escaped` where the chains leave every bound before there is anything to look at.
    """
    rows = fixed(list(steps), [STEPS])
    ensemble = Ensemble(composite, target, rows, settings, block=BLOCK)
    around = ensemble.around
    assert isinstance(around, Adapting)
    watched = _watch(ensemble, around)
    if not watched.states:
        raise Escaped(f"the chains diverged at the first step of size {steps[0]:.4g}")
    adaptation = around.adaptation(ensemble.potential)
    size = 1e-5 if settings.dtype == "float32" else 1e-9
    if float(ensemble.temperatures[0]) != adaptation.tau:
        yield f"the scheme runs at T = {ensemble.temperatures[0]:.6g}, and its weights are those of tau = {adaptation.tau:.6g}"
    yield from _energy_defects(watched, target, size)
    yield from _gradient_defects(watched, adaptation, target, size)
    yield from _weight_defects(watched, adaptation)
    yield from stream_defects(watched.chosen, [(f.number, f.chosen) for f in watched.felt], target.size)
    if len(watched.states) == STEPS:
        yield from _average_defects(watched, composite, target, rows, settings)
    moving = (
        *power([steps[0]], ALPHA, [STEPS]),
        *cyclical([steps[0]], [STEPS], cycles=CYCLES, threshold=THRESHOLD),
    )
    thinned = replace(settings, burn_in=1, thinning=2)
    ensemble = Ensemble(composite, target, moving, thinned, block=BLOCK)
    assert isinstance(ensemble.around, Adapting)
    watched = _watch(ensemble, ensemble.around)
    if len(watched.states) == STEPS:
        yield from _average_defects(watched, composite, target, moving, thinned)


class Escaped(Exception):
    """Chains left every bound at once; the message says when."""


def _watch(ensemble: Ensemble, around: Adapting) -> Watched:
    watched, at = Watched(), _Place()

    class Recording(Estimator):
        """Hands on what the run's own estimator says, and keeps it."""

        def __init__(self, own: Estimator, bent: Estimator) -> None:
            super().__init__(own.potential)
            self._own, self._bent = own, bent

        def prepare(self, first: int, count: int) -> None:
            at.first = first
            self._bent.prepare(first, count)

        def begin(self, step: int, theta: Tensor) -> None:
            self._bent.begin(step, theta)

        def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
            bent = self._bent.evaluate(theta, step, minibatch, evaluation)
            plain = self._own.evaluate(theta, step, minibatch, evaluation)
            chosen = self._own.chosen(step, minibatch)
            kept = Felt(at.first + step, *map(_array, (theta, chosen, plain, bent)))
            watched.felt.append(kept)
            return bent

    make_estimator = around.estimator
    # An instance's own, for this run alone.
    around.estimator = lambda own: Recording(own, make_estimator(own))  # type: ignore[method-assign,assignment]

    class Watching:
        tape = None

        def show(
            self, rows: tuple[int, ...], number: int, state: tuple[Tensor, ...], steps: np.ndarray
        ) -> None:
            watched.states.append(_array(state[0]))
            watched.weights.append(_array(around.weighting.theta))
            watched.energies.append(_array(around.recorded()["energy"]))
            watched.logs.append(_array(around.log_weights()))
            watched.chosen.append(_array(around.energies.chosen(number - 1 - at.first)))

        def add(self, *_: Any) -> None:
            raise NotImplementedError

    with one_thread(), torch.no_grad():
        for part in _paused(ensemble, Watching()):
            if part.diverged:
                # What is done around the step that leaves every bound is of no consequence.
                for kept in (watched.states, watched.weights, watched.energies, watched.logs, watched.chosen):
                    del kept[part.last - 1 :]
                watched.felt = [felt for felt in watched.felt if felt.number < part.last - 1]
                break
    return watched


def _paused(ensemble: Ensemble, watch: Any) -> Iterator[Block]:
    """The blocks of a run that is paused and taken up from what it carried."""
    position = ensemble.begin()
    for until in (PAUSE, None):
        for block in ensemble.blocks(watch, start=position, until=until):
            yield block
        position = ensemble.position(block)


class _Place:
    first = 0


def _array(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.cpu().numpy().copy()


def _energy_defects(watched: Watched, target: Target, size: float) -> Iterator[str]:
    """The energies by which weights adapt are those of the data that they are said to be of."""
    for number, (state, chosen, energy) in enumerate(
        zip(watched.states, watched.chosen, watched.energies, strict=True), start=1
    ):
        wanted = energies_of(target, state, chosen)
        if not _near(energy, wanted, size):
            place = _worst(energy, wanted)
            yield (
                f"the energy after step {number}, on {_data(chosen)}, was {energy[place]:.8g} for a chain, and prior + N/n sum "
                f"of the likelihood is {wanted[place]:.8g}"
            )
            return


def _gradient_defects(watched: Watched, adaptation: Adaptation, target: Target, size: float) -> Iterator[str]:
    """Each gradient is the plain estimate times the multiplier of its energy at the weights of the step before."""
    if not watched.felt:
        yield "no gradient was asked for through the weights"
    start = np.full_like(watched.weights[0], adaptation.start)
    for felt in watched.felt:
        weights = watched.weights[felt.number - 1] if felt.number else start
        energy = energies_of(target, felt.theta, felt.chosen)
        wanted, sure = multipliers_of(adaptation, weights, energy, size)
        wanted = wanted[..., None] * felt.plain
        if not _near(np.where(sure[..., None], felt.bent, wanted), wanted, 10 * size):
            place = _worst(np.where(sure[..., None], felt.bent, wanted), wanted)
            yield (
                f"a gradient of step {felt.number + 1}, on {_data(felt.chosen)} at the energy {energy[place[:2]]:.6g}, was "
                f"{felt.bent[place]:.8g}, and the multiplier times the plain estimate {felt.plain[place]:.8g} is "
                f"{wanted[place]:.8g}"
            )
            return


def _weight_defects(watched: Watched, adaptation: Adaptation) -> Iterator[str]:
    """Each chain's weights follow from its own energy, and its draw counts by them."""
    before = np.full_like(watched.weights[0], adaptation.start)
    if watched.weights[0].dtype != np.float64:
        yield f"the weights are kept in {watched.weights[0].dtype}, and single steps are lost in it; expected float64"
    for number, (weights, energies, logs) in enumerate(
        zip(watched.weights, watched.energies, watched.logs, strict=True), start=1
    ):
        for place in np.ndindex(energies.shape):
            energy, old = float(energies[place]), before[place].tolist()
            region = region_of(energy, adaptation.partition.inner)
            wanted = [
                adaptation.next_weight(
                    weight, k=number, here=old[region - 1], indicator=adaptation.indicator(i, region)
                )
                for i, weight in enumerate(old, start=1)
            ]
            if not _near(weights[place], np.array(wanted), CLOSE):
                i = _worst(weights[place], np.array(wanted))[0]
                yield (
                    f"theta({i + 1}) after step {number} is {weights[place][i]:.10g} in a chain, and its energy {energy:.6g} makes "
                    f"it {wanted[i]:.10g}"
                )
                return
            counts = log_weight_of(adaptation, wanted, energy)
            if not abs(logs[place] - counts) <= CLOSE * (1 + abs(energy) + abs(counts)):
                yield (
                    f"a draw of the energy {energy:.6g} counted exp({logs[place]:.10g}) after step {number}, and its weights "
                    f"at that step make it exp({counts:.10g})"
                )
                return
        before = weights


def _average_defects(
    watched: Watched,
    composite: AdaptivelyWeighted,
    target: Target,
    rows: Sequence[Row],
    settings: Settings,
) -> Iterator[str]:
    """The averages are sum h w f / sum h w of the states that the chains passed through and that count."""
    one = First(composite.scheme.state[0])
    found = sample(composite, target, rows, observables=[one], settings=settings).values[0, :, 0]
    logs = np.array(watched.logs)
    values = np.array([state[..., 0] for state in watched.states], dtype=np.float64)
    shares = np.array([[share_of(row, l, settings) for row in rows] for l in range(1, STEPS + 1)])
    weights = np.exp(logs - logs.max(0)) * shares[..., None]
    wanted = (weights * values).sum(0) / weights.sum(0)
    if not float(np.abs(found - wanted).max()) <= 1e-10 * float(np.abs(values).max()):
        place = _worst(found, wanted)
        yield (
            f"the average of theta[0] over {STEPS} draws of a chain at {rows[place[0]].schedule} is {found[place]:.10g}, and "
            f"sum h w f/sum h w of its states is {wanted[place]:.10g}"
        )


def _near(found: np.ndarray, wanted: np.ndarray, size: float) -> bool:
    return bool((np.abs(found - wanted) <= size * (1 + np.abs(wanted).max())).all())


def _worst(found: np.ndarray, wanted: np.ndarray) -> tuple[Any, ...]:
    return np.unravel_index(int(np.argmax(np.abs(found - wanted))), wanted.shape)


def _data(chosen: np.ndarray | None) -> str:
    return "all data" if chosen is None else f"minibatches of {len(chosen)} data"

"""Check: is a short adaptively weighted run, recomputed chain by chain in plain numbers, the one that its rules define?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sgverify.rates.verdict import Judgement
from sgverify.samplers.composites.adapting import Adapting
from sgverify.samplers.run.averages import sample
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import Row, cyclical, fixed, power
from sgverify.samplers.run.settings import Settings
from sgverify.schemes.composites.adaptation import Adaptation, make_adaptation
from sgverify.schemes.composites.composite import AdaptivelyWeighted, region_of
from sgverify.subject.composite import CompositeSubject
from sgverify.subject.seeds import run_seed
from sgverify.targets import Target
from tests.self_checks import composite_transcript as transcript
from tests.self_checks.composite_transcript import Writing, array, write
from tests.self_checks.finding import Finding, finding, unanswered
from tests.self_checks.weight_rules import (
    ALPHA,
    CLOSE,
    CYCLES,
    THRESHOLD,
    energies_of,
    log_weight_of,
    multipliers_of,
    rule_defects,
    share_of,
    stream_defects,
)

STEPS, CHAINS, BLOCK, PAUSE = 6, 4, 4, 3
"""The steps, chains and steps per block of the run, and the step after which it is paused and resumed. The run crosses from one
block to the next; its chains differ from the first step on, by their noise."""


@dataclass(eq=False)
class AdaptationStep(transcript.CompositeStep):
    """The record of one step of an adaptively weighted run, for S rows of C chains with m regions.

    `energies`, shape (S, C), are the energies by which the weights adapt, computed on the data `chosen`, shape (n, S, C);
    `weights`, shape (S, C, m), the weights after the step; `logs`, shape (S, C), the log weights of the state in averages.
    """

    energies: np.ndarray = field(default_factory=lambda: np.empty(0))
    chosen: np.ndarray | None = None
    weights: np.ndarray = field(default_factory=lambda: np.empty(0))
    logs: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def theta(self) -> np.ndarray:
        """The state whose energy is recorded."""
        return self.after[0]


class First:
    """The observable theta[0], for every set of state variables."""

    def __init__(self, variable: str) -> None:
        self.variables = (variable,)

    def __call__(self, theta: Any) -> Any:
        """Shape (*chains, d) -> (*chains)."""
        return theta[..., 0]


def run_defects(
    composite: AdaptivelyWeighted, target: Target, steps: Sequence[float], settings: Settings
) -> Iterator[str]:
    """One sentence for the first defect of each kind in a short run: energies, gradients, weights, averages.

    Raises `Escaped` if the chains diverge at the first step.
    """
    rows = fixed(list(steps), [STEPS])
    ensemble = Ensemble(composite, target, rows, settings, block=BLOCK)
    hooks = ensemble.hooks
    assert isinstance(hooks, Adapting)
    written = _written(ensemble)
    if not written:
        raise Escaped(f"the chains diverged at the first step of size {steps[0]:.4g}")
    adaptation = hooks.adaptation(ensemble.potential)
    size = 1e-5 if settings.dtype == "float32" else 1e-9
    if float(ensemble.temperatures[0]) != adaptation.tau:
        yield f"the scheme runs at T = {ensemble.temperatures[0]:.6g}, and its weights are those of tau = {adaptation.tau:.6g}"
    yield from _energy_defects(written, target, size)
    yield from _gradient_defects(written, adaptation, target, size)
    yield from _weight_defects(written, adaptation)
    of_gradients = [
        (place, call.chosen) for place, step in enumerate(written) for call in step.gradient_calls
    ]
    yield from stream_defects([step.chosen for step in written], of_gradients, target.size)
    if len(written) == STEPS:
        yield from _average_defects(written, composite, target, rows, settings)
    moving = (
        *power([steps[0]], ALPHA, [STEPS]),
        *cyclical([steps[0]], [STEPS], cycles=CYCLES, threshold=THRESHOLD),
    )
    thinned = replace(settings, burn_in=1, thinning=2)
    ensemble = Ensemble(composite, target, moving, thinned, block=BLOCK)
    written = _written(ensemble)
    if len(written) == STEPS:
        yield from _average_defects(written, composite, target, moving, thinned)


class Escaped(Exception):
    """Raised if chains diverged at the first step; the message gives the step size."""


def _written(ensemble: Ensemble) -> list[AdaptationStep]:
    hooks = ensemble.hooks
    assert isinstance(hooks, Adapting)
    weights = _Weights(hooks)
    write(ensemble, weights, PAUSE)
    return weights.steps


class _Weights(Writing[AdaptationStep]):
    def __init__(self, hooks: Adapting) -> None:
        super().__init__(AdaptationStep)
        self._hooks = hooks

    def keep(self, place: int) -> None:
        """See `Writing.keep`."""
        now, chosen = self.now, self._hooks.energies.chosen(place)
        now.energies = array(self._hooks.recorded()["energy"])
        now.chosen = None if chosen is None else array(chosen)
        now.weights, now.logs = array(self._hooks.weighting.theta), array(self._hooks.log_weights())


def _energy_defects(written: list[AdaptationStep], target: Target, size: float) -> Iterator[str]:
    """Sentences about energies that are not prior + N/n sum likelihood of the recorded data."""
    for step in written:
        wanted = energies_of(target, step.theta, step.chosen)
        if not _near(step.energies, wanted, size):
            place = _worst(step.energies, wanted)
            yield (
                f"the energy after step {step.number}, on {_data(step.chosen)}, was {step.energies[place]:.8g} for a chain, and "
                f"prior + N/n sum of the likelihood is {wanted[place]:.8g}"
            )
            return


def _gradient_defects(
    written: list[AdaptationStep], adaptation: Adaptation, target: Target, size: float
) -> Iterator[str]:
    """Sentences about gradients that are not the plain estimate times the multiplier at the previous step's weights."""
    if not any(step.gradient_calls for step in written):
        yield "no gradient was asked for through the weights"
    before = [np.full_like(written[0].weights, adaptation.start), *(step.weights for step in written)]
    for number, weights, call in [
        (step.number, weights, call)
        for step, weights in zip(written, before, strict=False)
        for call in step.gradient_calls
    ]:
        energy = energies_of(target, call.theta, call.chosen)
        wanted, sure = multipliers_of(adaptation, weights, energy, size)
        wanted = wanted[..., None] * call.plain
        if not _near(np.where(sure[..., None], call.given, wanted), wanted, 10 * size):
            place = _worst(np.where(sure[..., None], call.given, wanted), wanted)
            yield (
                f"a gradient is {call.given[place]:.5g}, required {wanted[place]:.5g}; that of step {number}, on "
                f"{_data(call.chosen)} at the energy {energy[place[:2]]:.6g}, was "
                f"{call.given[place]:.8g}, and the multiplier times the plain estimate {call.plain[place]:.8g} is "
                f"{wanted[place]:.8g}"
            )
            return


def _weight_defects(written: list[AdaptationStep], adaptation: Adaptation) -> Iterator[str]:
    """Sentences about weights that do not follow from the chain's own energy, or a draw's weight that differs from the rule."""
    before = np.full_like(written[0].weights, adaptation.start)
    if before.dtype != np.float64:
        yield f"weights in {before.dtype}, required float64; single steps are lost in it"
    for step in written:
        number, weights, energies, logs = step.number, step.weights, step.energies, step.logs
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
                    f"theta({i + 1}) is {weights[place][i]:.5g}, required {wanted[i]:.5g}; after step {number} it is "
                    f"{weights[place][i]:.10g} in a chain, and its energy {energy:.6g} makes it {wanted[i]:.10g}"
                )
                return
            counts = log_weight_of(adaptation, wanted, energy)
            if not abs(logs[place] - counts) <= CLOSE * (1 + abs(energy) + abs(counts)):
                yield (
                    f"log weight {logs[place]:.5g}, required {counts:.5g}; a draw of the energy {energy:.6g} counted "
                    f"exp({logs[place]:.10g}) after step {number}, and its weights "
                    f"at that step make it exp({counts:.10g})"
                )
                return
        before = weights


def _average_defects(
    written: list[AdaptationStep],
    composite: AdaptivelyWeighted,
    target: Target,
    rows: Sequence[Row],
    settings: Settings,
) -> Iterator[str]:
    """Sentences about averages that are not sum h w f / sum h w over the counted states."""
    one = First(composite.scheme.state[0])
    found = sample(composite, target, rows, observables=[one], settings=settings).values[0, :, 0]
    logs = np.array([step.logs for step in written])
    values = np.array([step.theta[..., 0] for step in written], dtype=np.float64)
    shares = np.array([[share_of(row, l, settings) for row in rows] for l in range(1, STEPS + 1)])
    weights = np.exp(logs - logs.max(0)) * shares[..., None]
    wanted = (weights * values).sum(0) / weights.sum(0)
    if not float(np.abs(found - wanted).max()) <= 1e-10 * float(np.abs(values).max()):
        place = _worst(found, wanted)
        yield (
            f"an average is {found[place]:.5g}, required {wanted[place]:.5g}; that of theta[0] over {STEPS} draws of "
            f"a chain at {rows[place[0]].schedule} is {found[place]:.10g}, and "
            f"sum h w f/sum h w of its states is {wanted[place]:.10g}"
        )


def _near(found: np.ndarray, wanted: np.ndarray, size: float) -> bool:
    return bool((np.abs(found - wanted) <= size * (1 + np.abs(wanted).max())).all())


def _worst(found: np.ndarray, wanted: np.ndarray) -> tuple[Any, ...]:
    return np.unravel_index(int(np.argmax(np.abs(found - wanted))), wanted.shape)


def _data(chosen: np.ndarray | None) -> str:
    return "all data" if chosen is None else f"minibatches of {len(chosen)} data"


STAGE = "adaptation"


def check_adaptation(subject: CompositeSubject) -> Finding:
    """The weights, multipliers and averages of an adaptively weighted run are those of its rules, chain by chain.

    The rules are first tested on given energies: the weights of draws cancel the change of the gradients, the weights stay at
    the fixed point of the exact recursion, and step sizes fall. Then the energies, gradients, weights and averages of a short
    run are recomputed in plain numbers. No part of the test is statistical.

    Cannot see: what only longer runs would show, and whether and how fast the weights converge.
    """
    composite, c = subject.composite, subject.configuration
    if not isinstance(composite, AdaptivelyWeighted):
        reason = f"{composite.name} has no weights that adapt"
        return unanswered(reason, "not-applicable")
    adaptation = make_adaptation(c.partition, subject.target, c.temperature, cumulative=not composite.contour)
    found = list(rule_defects(adaptation))
    steps = [subject.step, subject.step / 2]
    settings = Settings.of(c, seed=run_seed(subject, STAGE), chains=CHAINS, burn_in=0, thinning=1)
    try:
        found += run_defects(composite, subject.target, steps, settings)
    except Escaped as how:
        if not found:
            return unanswered(f"{how}, so that nothing was seen of the run; lower the step")
    partition = adaptation.partition
    certificate = {
        "regions": partition.bins,
        "low": partition.edges[0],
        "high": partition.edges[-1],
        "zeta": adaptation.zeta,
        "tau": adaptation.tau,
        "reweighted to": adaptation.temperature,
        "defects": found,
    }
    if found:
        judgement = Judgement("violates", False, "; ".join(found))
    else:
        judgement = Judgement(
            "conforms",
            False,
            f"{STEPS} steps of the weights follow their rules; of {CHAINS} chains at 2 step sizes, redone in plain numbers; at "
            f"every edge of {partition.bins} regions gradients and weights undo one another, and weights stand still at the exact "
            "fixed point",
        )
    return finding(judgement, certificate=certificate)

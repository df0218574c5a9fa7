"""Check: is a run of replica exchange, step by step, the run that its configuration defines?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np

from sgverify.configuration.model import ExchangeTable
from sgverify.rates.verdict import Judgement
from sgverify.samplers import Settings, power
from sgverify.samplers.run.run import Ensemble
from sgverify.schemes.composites import ReplicaExchange
from sgverify.subject.composite import CompositeSubject
from sgverify.subject.seeds import run_seed
from tests.self_checks.exchange_plan import ExchangePlan
from tests.self_checks.exchange_transcript import BLOCK, PAUSE, ExchangeTranscript, transcript_of
from tests.self_checks.finding import Finding, finding, unanswered
from tests.self_checks.minibatches import chains_needed, meeting
from tests.self_checks.recomputed import redone_faults
from tests.self_checks.transcripts import SHRUNK

STAGE = "exchange-run"

STEPS, CHAINS = 20, 4
"""The steps of the run, over three blocks and a pause, and the fewest chains; small minibatches need more."""

ALPHA = 0.3
"""The exponent alpha of the schedule h_l = h l^-alpha, so that h_l differs from h_1 for every l > 1."""

LONGEST = 5
"""The largest `refresh` and `every` of the run, so that each measurement and refresh happens more than twice."""


def check_exchange_run(subject: CompositeSubject) -> Finding:
    """Steps, measurements, swaps and refreshes of a run are redone in plain numbers from what it drew.

    Replica k must move at T_k with h_l times its own factor. Variances and coefficients must be measured, smoothed and learnt at
    the configured steps. A swap must move theta and memory. Minibatches of energies must differ from those that moved the state.

    Cannot see: what only runs of more than 20 steps would show, and whether the rules that are redone are right.
    """
    if not isinstance(subject.composite, ReplicaExchange):
        reason = f"{subject.composite.name} has no replicas"
        return unanswered(reason, "not-applicable")
    c = subject.configuration
    given: Any = c.exchange or ExchangeTable()
    wanted = ExchangePlan(subject, given, subject.step, ALPHA)
    table = given.model_copy(
        update={"every": min(given.every, LONGEST - 1), "refresh": min(wanted.period, LONGEST)}
    )
    noisy = c.gradient.estimator.draws_data
    chains = chains_needed(cast(int, subject.target.size), c.gradient.batch, CHAINS) if noisy else CHAINS
    settings = Settings.of(
        c,
        seed=run_seed(subject, STAGE),
        chains=chains,
        first_chain=0,
        dtype="float64",
        device="cpu",
        burn_in=0,
        thinning=1,
        exchange=table,
    )
    faults = _period_faults(wanted, replace(settings, exchange=given))
    largest = subject.step if given.intensity is None else min(subject.step, 1 / given.intensity)
    for factor in SHRUNK:
        plan = replace(wanted, table=table, h=largest / factor)
        rows = power([plan.h], ALPHA, [STEPS])
        ensemble = Ensemble(subject.composite, subject.target, rows, settings, block=BLOCK)
        found = transcript_of(ensemble, run_seed(subject, STAGE, "uniforms"))
        if not found.diverged:
            break
    else:
        reason = (
            f"the chains diverge within {STEPS} steps; of size {subject.step:.3g} and of {plan.h:.3g} alike"
        )
        return unanswered(reason)
    redone = list(redone_faults(found, plan))
    faults += [*(fault for _, fault in redone), *_stream_faults(found, subject)]
    swaps = sum(
        int((step.recorded["swapped"] > 0).sum()) for step in found.steps if "swapped" in step.recorded
    )
    certificate = {
        "steps": STEPS,
        "chains": chains,
        "paused after step": PAUSE,
        "temperatures": plan.temperatures.tolist(),
        "step sizes at step 1": plan.h_at(1).tolist(),
        "measured every": None if plan.exact else plan.period,
        "swaps": swaps,
        "defects": faults,
        "kinds": [kind for kind, _ in redone],
    }
    if faults:
        judgement = Judgement("violates", False, "; ".join(faults[:2]))
    else:
        judgement = Judgement(
            "conforms",
            False,
            f"{STEPS} steps and {swaps} swaps are as configured; of {len(plan.temperatures)} replicas in {chains} chains, redone "
            "in plain numbers; the minibatches of energies are drawn apart from those of gradients",
        )
    return finding(judgement, certificate=certificate)


def _period_faults(plan: ExchangePlan, settings: Settings) -> list[str]:
    """Sentences about a period of measurements that is not the configured one, before the run shortens it."""
    subject = plan.subject
    rows = power(
        [plan.h if plan.table.intensity is None else min(plan.h, 1 / plan.table.intensity)], ALPHA, [1]
    )
    hooks: Any = (ensemble := Ensemble(subject.composite, subject.target, rows, settings)).hooks
    hooks.enter(ensemble.stage(tuple(range(len(plan.temperatures)))), ensemble.begin().state, ())
    if plan.exact or hooks.period == plan.period:
        return []
    return [f"energies are measured every {hooks.period} steps; expected every {plan.period}"]


def _stream_faults(found: ExchangeTranscript, subject: CompositeSubject) -> Iterator[str]:
    """Sentences about minibatches of swaps, variances and gradients that coincide, repeat, or differ between replicas."""
    drawn = np.array([step.drawn_uniforms for step in found.steps])
    if len(np.unique(drawn.reshape(len(drawn), -1), axis=0)) < len(drawn):
        yield "two steps decide on their swaps by the same random numbers"
    noise = [np.array([step.draws for step in found.steps])[:, :, k] for k in range(len(found.start[0]))]
    if noise[0].size and any(np.array_equal(a, b) for i, a in enumerate(noise) for b in noise[:i]):
        yield "two replicas move by the same noise"
    size, n = subject.target.size, subject.configuration.gradient.batch
    if size is None:
        return
    swaps = [(step.number, step.swapped_on) for step in found.steps if step.swapped_on is not None]
    spread = [(step.number, step.spread_on) for step in found.steps if step.spread_on is not None]
    calls = [(step.number, call.chosen) for step in found.steps for call in step.gradient_calls]
    gradients = [(number, chosen) for number, chosen in calls if chosen is not None]
    # The minibatches of a measurement, one after the other: (n, r, S, C) -> r arrays (n, S, C).
    measured = [
        (number, part)
        for number, draws in spread
        for part in draws.swapaxes(0, 1).reshape(-1, n, *draws.shape[2:])
    ]
    kinds = {"a swap": swaps, "a variance": measured, "the gradient": gradients}
    for name, source in kinds.items():
        if any((np.asarray(part) != np.asarray(part)[:, :1]).any() for _, part in source):
            yield f"the replicas of a chain have different minibatches for {name}"
    first: dict[str, Any] = {name: [np.asarray(part)[:, 0] for _, part in kinds[name]] for name in kinds}
    for one, other in (
        ("a swap", "a swap"),
        ("a variance", "a variance"),
        ("a swap", "the gradient"),
        ("a variance", "a swap"),
        ("a variance", "the gradient"),
    ):
        met = meeting(first[one], first[other], size)
        if met is not None:
            yield (
                f"the minibatch of {one} at step {kinds[one][met[0]][0]} is that of {other} at step {kinds[other][met[1]][0]}"
            )


__all__ = ["check_exchange_run"]

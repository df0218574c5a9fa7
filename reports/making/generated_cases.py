"""Correct schemes under generated configurations: which checks raise an alarm.

Every scheme is correct by construction (the catalogue, splittings over exact flows, schemes with memory), so every
`violates` is a false alarm, save where a printed claim fails by an error of its own (`refuted`). An error that is none of the
user's is an alarm as well. `exact` cases are judged by every check with a proof or an exact engine, `sampled` ones by
everything that samples and by the self-checks. A case is known by its number: `judged(kind, number)` answers the same on
every machine.
"""

from __future__ import annotations

import signal
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.checks.applicable_claims import judge, judge_pair
from sgverify.checks.registry import SHIPPED
from sgverify.claims import claims
from sgverify.configuration import Configuration, load_configuration
from sgverify.errors import UserError
from sgverify.evidence import Evidence
from sgverify.schemes import Scheme
from sgverify.strategies import configurations, schemes, words
from sgverify.strategies.schemes import DYNAMICS
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from sgverify.targets import build_target
from tests.self_checks.registry import SELF_CHECKS

LONGEST = 10.0
"""Seconds of processor time that one case may take; the checks that are then left are counted as unsettled."""

SETTINGS: dict[str, dict[str, Any]] = {
    # Exact verdicts come from expansions; a few points are enough to hold them against.
    "exact": {"sweep": {"steps": [2.0**-12, 2.0**-13], "lengths": [100, 200, 400]}},
    # Short runs: a check must be right at every budget, or say that it is inconclusive.
    "sampled": {"chains": 128, "steps": 200, "sweep": {"lengths": [50, 100, 200]}},
}

NAMES = {
    "exact": ("gaussian", "gaussian-mean"),
    "sampled": (
        "gaussian",
        "gaussian-mean",
        "linear-regression",
        "double-well",
        "quartic",
        "mixture",
        "logistic-regression",
        "gamma-poisson",
    ),
}

COSTLY = 40
"""One exact case in this many has minibatches with different Hessians, which cost ten times as much as others."""

EVERY = {
    "sampled": {"stationary-bias": 6, "bias": 30, "mse": 30},
    "exact": {"stationarity": 20},
}
"""The checks that run on one case in this many: rates from samples, which cost the most; checks that depend on the dynamics alone;
and deterministic runs of the code itself."""

Case = tuple[Scheme, Configuration]


def cases(kind: str, number: int = 1) -> SearchStrategy[Case]:
    """Pairs of a scheme and a configuration; the steps of `exact` ones are affine."""
    names = NAMES[kind] if kind == "sampled" or number % COSTLY else ("linear-regression",)
    if kind == "exact":
        # The scheme that keeps its noise has the right law and no local order: its memory starts with half of a draw.
        known = schemes(memory=True).filter(lambda scheme: scheme.name != "averaged_noise")
        chosen = st.one_of(known, schemes(), schemes(), words(shares="composed"))
    else:
        chosen = st.one_of(schemes(), schemes(dynamics=DYNAMICS, memory=True))
    dims = [1, 1, 2, 2, 3] if kind == "exact" else [1, 2]

    def under(scheme: Scheme) -> SearchStrategy[Case]:
        found = configurations(scheme=scheme, dims=dims, sizes=[3, 4, 6], names=names)
        return st.tuples(st.just(scheme), found)

    return chosen.flatmap(under)


def drawn(kind: str, number: int) -> Case:
    """The case with this number, which is the same on every machine."""
    made: list[Case] = []

    # One seed for each: the examples of one run are mutants of each other. The first of a run is the simplest there is.
    @seed(number)
    @settings(
        max_examples=2,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(kind, number))
    def draw(case: Case) -> None:
        made.append(case)

    draw()
    return made[-1]


BY_RUNG = ("stationary-bias", "covariance", "wasserstein-2", "bias", "mse", "consistency", "gradient-bias")
"""Checks with an exact method wherever steps are affine."""


@cache
def sampling() -> tuple[str, ...]:
    """The checks without an exact method: their verdicts are statistical."""
    subject = make_subject("sghmc-aboba", load_configuration(chains=64, steps=20))
    found = judge(subject, [name for name in SHIPPED if name not in BY_RUNG])
    proved = {evidence.check for evidence in found if evidence.method in ("proof", "exact")}
    return tuple(name for name in SHIPPED if name not in {*BY_RUNG, *proved})


def asked(kind: str, number: int) -> list[str]:
    """The checks that case `number` runs."""
    wanted = [name for name in SHIPPED if (name in sampling()) == (kind == "sampled")]
    wanted += SELF_CHECKS if kind == "sampled" else ()
    rare = EVERY[kind]
    wanted += [name for name in rare if name not in wanted]
    return [name for name in wanted if number % rare.get(name, 1) == 0]


def judged(kind: str, number: int) -> dict[str, Any]:
    """The result of one case, as JSON: counts by check and outcome, alarms, the kind of the case, and seconds of processor time."""
    scheme, configuration = drawn(kind, number)
    configuration = load_configuration(configuration, **SETTINGS[kind])
    subject = Subject(scheme, configuration, scheme.reference, method="exact" if kind == "exact" else None)
    by_samples = Subject(scheme, configuration, scheme.reference, method="monte-carlo")
    counts: Counter[str] = Counter()
    alarms: list[dict[str, Any]] = []
    wanted, began = asked(kind, number), time.process_time()
    for name, outcome, reason in _self_checked(subject, wanted):
        counts[f"{name}: {outcome}"] += 1
        if outcome in ("violates", "crashed"):
            alarms.append(_alarm(number, "tests/self_checks", name, reason, subject, ""))
    for claim in claims().values():
        for quantity in claim.quantities:
            if quantity not in wanted or claim.corrects is not None:
                continue
            by_rate = kind == "sampled" and quantity in EVERY[kind]
            try:
                with limited(LONGEST - (time.process_time() - began)):
                    found = judge_pair(by_samples if by_rate else subject, claim, quantity)
            except TimeoutError:
                counts[f"{quantity}: unsettled in {LONGEST:g} s"] += 1
                continue
            except UserError:
                # A configuration that a claim cannot be asked of: refused with its reason, which is no verdict.
                counts[f"{quantity}: refused"] += 1
                continue
            except Exception:
                counts[f"{quantity}: crashed"] += 1
                alarms.append(_alarm(number, claim.id, quantity, traceback.format_exc(limit=-3), subject, ""))
                continue
            for evidence in found:
                counts[f"{quantity}: {_outcome(evidence)}"] += 1
                if _outcome(evidence) == "violates":
                    replay = evidence.replay
                    if by_rate:
                        replay = subject.command("rate", "--quantity", quantity, "--method", "monte-carlo")
                    alarms.append(_alarm(number, evidence.claim, quantity, evidence.reason, subject, replay))
    spent = time.process_time() - began
    return {"counts": dict(counts), "alarms": alarms, "of": _kind_of(scheme, configuration), "seconds": spent}


def _self_checked(subject: Subject, wanted: list[str]) -> Iterator[tuple[str, str, str]]:
    """Name, outcome and reason of each self-check that is wanted and applies: our tests of the running code, under no claim."""
    for name, check in SELF_CHECKS.items():
        if name in wanted and check.applies(subject):
            try:
                finding = check.function(subject)
                yield name, finding.verdict, finding.reason
            except UserError:
                yield name, "refused", ""
            except Exception:
                yield name, "crashed", traceback.format_exc(limit=-3)


def complete(found: dict[str, Any]) -> bool:
    """Was every check of a case answered? One that crashed, or ran out of time, may be answered by another run."""
    return not any(name.partition(": ")[2].startswith(("crashed", "unsettled")) for name in found["counts"])


def _outcome(evidence: Evidence) -> str:
    return "refuted as printed" if evidence.verdict == "violates" and evidence.refuted else evidence.verdict


def _alarm(number: int, claim: str, check: str, reason: str, subject: Subject, replay: str) -> dict[str, Any]:
    command = replay or subject.command("verify", "--checks", claim)
    return {"case": number, "claim": claim, "check": check, "reason": reason, "replay": command}


def _kind_of(scheme: Scheme, c: Configuration) -> list[str]:
    """The features of a case that the design of the generator prescribes, and further ones that distinguish cases."""
    target = build_target(c.target)
    found = [f"target {c.target.name}", f"gradient {c.gradient.kind}", f"dynamics {scheme.dynamics.name}"]
    found.append(f"dim {target.dim}")
    found += ["T != 1"] * (c.temperature != 1) + ["a word"] * (scheme.word is not None)
    found += ["memory"] * bool(scheme.memory) + ["start_momentum stationary"] * (
        c.start_momentum == "stationary"
    )
    if scheme.word is not None and any(share < 0 for share in scheme.word.shares):
        found.append("irrational shares")
    if target.data is not None:
        centred = target.data - target.data.mean(0)
        found += ["data", *["asymmetric data"] * bool((abs((centred**3).sum(0)) > 1e-9).all())]
    if c.target.name == "gaussian-mean":
        prior = np.array(c.target.prior_precision, dtype=float)
        trace = np.trace(prior) if prior.ndim == 2 else (prior * np.ones(target.dim)).sum()
        found += ["strong prior"] * bool(trace >= 0.05 * np.trace(target.precision_float64()))
    return found


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` after so much processor time, at once where none is left."""
    if seconds <= 0:
        raise TimeoutError

    def late(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, late)
    # The alarm is repeated, because a callback of the garbage collector swallows an exception raised in it.
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.25)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)

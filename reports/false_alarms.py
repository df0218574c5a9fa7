"""Correct schemes under generated configurations: which checks raise an alarm. Writes power/false_alarms.json and .md.

`python -m reports.false_alarms exact 2000` judges 2,000 pairs of scheme and configuration by every check with a proof or an
exact rung, `sampled 300` another 300 by everything that samples. A run goes on where the last one ended (`exact 2000` after
`exact 500` makes 1,500 more), so that it can be cut anywhere; `--minutes 5` ends one early, and `exact 2000 --first 1000`
is a piece of its own, for another core. Every scheme is correct by
construction (the catalogue, words over exact flows, schemes with memory), so every `violates` is a false alarm, save
where a printed claim falls for every scheme (`refuted`). An error that is none of the user's is an alarm as well.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.checks import Subject
from sgverify.checks.applicable_claims import judge, judge_pair
from sgverify.checks.registry import CHECKS
from sgverify.checks.verify_and_rate import make_subject
from sgverify.claims import claims
from sgverify.configuration import Configuration, load_configuration
from sgverify.errors import UserError
from sgverify.evidence import Evidence
from sgverify.schemes import Scheme
from sgverify.strategies import configurations, schemes, words
from sgverify.strategies.schemes import DYNAMICS
from sgverify.targets import build_target

FOLDER = Path(__file__).parent / "power"

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
"""One exact case in so many has minibatches that change the Hessian, which cost ten times the others."""

EVERY = {
    "sampled": {"stationary-bias": 6, "bias": 30, "mse": 30},
    "exact": {"stationarity": 20, "averaging": 4, "pure-step": 4, "dtype": 4},
}
"""Checks that are asked of one case in so many: rates from samples, which cost the most; what the dynamics alone decides; and
deterministic runs of the code itself."""

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
    """The case of this number, the same one on every machine."""
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
"""Checks that have an exact rung wherever steps are affine."""


@cache
def sampling() -> tuple[str, ...]:
    """The checks that have no exact rung: what they say of a scheme that most of them speak of is no proof."""
    subject = make_subject("sghmc-aboba", load_configuration(chains=64, steps=20))
    found = judge(subject, [name for name in CHECKS if name not in BY_RUNG])
    proved = {evidence.check for evidence in found if evidence.method in ("proof", "exact")}
    return tuple(name for name in CHECKS if name not in {*BY_RUNG, *proved})


def asked(kind: str, number: int) -> list[str]:
    """The checks that case `number` is held to."""
    wanted = [name for name in CHECKS if (name in sampling()) == (kind == "sampled")]
    rare = EVERY[kind]
    wanted += [name for name in rare if name not in wanted]
    return [name for name in wanted if number % rare.get(name, 1) == 0]


def judged(kind: str, number: int) -> dict[str, Any]:
    """What is found of one case: counts by check and outcome, alarms, and what kind of case it is."""
    scheme, configuration = drawn(kind, number)
    configuration = load_configuration(configuration, **SETTINGS[kind])
    subject = Subject(scheme, configuration, scheme.reference, method="exact" if kind == "exact" else None)
    by_samples = Subject(scheme, configuration, scheme.reference, method="monte-carlo")
    counts: Counter[str] = Counter()
    alarms: list[dict[str, Any]] = []
    wanted, began = asked(kind, number), time.process_time()
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
    return {"counts": dict(counts), "alarms": alarms, "of": _kind_of(scheme, configuration)}


def _outcome(evidence: Evidence) -> str:
    return (
        "falls for every scheme" if evidence.verdict == "violates" and evidence.refuted else evidence.verdict
    )


def _alarm(number: int, claim: str, check: str, reason: str, subject: Subject, replay: str) -> dict[str, Any]:
    command = replay or subject.command("verify", "--checks", claim)
    return {"case": number, "claim": claim, "check": check, "reason": reason, "replay": command}


def _kind_of(scheme: Scheme, c: Configuration) -> list[str]:
    """What statistics.md asks a generator for, and what else tells cases apart."""
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
    # Again and again: a callback of the garbage collector swallows what is raised in it.
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.25)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


PIECES = (("exact", 0, 1000), ("exact", 1000, 2000), ("sampled", 0, 150), ("sampled", 150, 300))
"""The committed pieces: kind, first case and the number after the last."""


def write_piece(
    kind: str, first: int, end: int, folder: Path, *, minutes: float = math.inf, again: bool = False
) -> None:
    """Judge the cases from `first` to `end`, on from where an earlier run ended unless `again`, and write piece and page."""
    path = folder / f"false_alarms_{kind}_{first}.json"
    known: dict[str, Any] = {"cases": 0, "seconds": 0.0}
    if path.exists() and not again:
        known = json.loads(path.read_text())
    counts: Counter[str] = Counter(known.get("counts", {}))
    of: Counter[str] = Counter(known.get("of", {}))
    alarms = list(known.get("alarms", []))
    number, began = first + known["cases"], time.process_time()

    def keep() -> None:
        _write(path, number - first, known["seconds"] + time.process_time() - began, counts, of, alarms)

    while number < end and time.process_time() - began < 60 * minutes:
        found = judged(kind, number)
        counts.update(found["counts"])
        of.update(found["of"])
        alarms += found["alarms"]
        number += 1
        if number % 5 == 0:
            keep()
    keep()
    (folder / "false_alarms.md").write_text(page(folder), encoding="utf-8")


def render(folder: Path) -> None:
    """Write FOLDER/power/false_alarms.md from the pieces beside it."""
    (folder / "power" / "false_alarms.md").write_text(page(folder / "power"), encoding="utf-8")


def main() -> None:
    """Go on with a run, and write what is known of all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=list(SETTINGS))
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0, help="the first case of a piece")
    parser.add_argument("--minutes", type=float, default=math.inf, help="processor time after which to stop")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    chosen = parser.parse_args()
    write_piece(chosen.kind, chosen.first, chosen.count, chosen.folder, minutes=chosen.minutes)


def _write(
    path: Path, number: int, seconds: float, counts: Counter[str], of: Counter[str], alarms: list[Any]
) -> None:
    tree = {"cases": number, "seconds": round(seconds, 1), "counts": counts, "of": of, "alarms": alarms}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(tree, indent=1, sort_keys=True) + "\n")


def page(folder: Path) -> str:
    """The table of every kind of run that was made."""
    lines = ["# Alarms that correct schemes raise", "", *_wrapped(str(__doc__)), ""]
    for kind in SETTINGS:
        pieces = [json.loads(path.read_text()) for path in sorted(folder.glob(f"false_alarms_{kind}_*.json"))]
        if pieces:
            lines += _section(kind, _together(pieces))
    return "\n".join(lines)


def _together(pieces: list[dict[str, Any]]) -> dict[str, Any]:
    counts, of = (sum((Counter(piece[name]) for piece in pieces), Counter()) for name in ("counts", "of"))
    alarms = [alarm for piece in pieces for alarm in piece["alarms"]]
    cases_, seconds = (sum(piece[name] for piece in pieces) for name in ("cases", "seconds"))
    return {"cases": cases_, "seconds": seconds, "counts": counts, "of": of, "alarms": alarms}


def _wrapped(text: str) -> list[str]:
    return [" ".join(text.split("\n\n", 1)[1].split())]


def _section(kind: str, known: dict[str, Any]) -> list[str]:
    table: dict[str, Counter[str]] = {}
    for name, number in known["counts"].items():
        check, _, outcome = name.partition(": ")
        table.setdefault(check, Counter())[outcome] += number
    columns = ["conforms", "inconclusive", "falls for every scheme", "not-applicable", "violates"]
    columns += sorted({name for row in table.values() for name in row} - set(columns))
    cases_, alarms = known["cases"], known["alarms"]
    lines = [
        f"## {kind}: {cases_} cases, {len(alarms)} alarms",
        "",
        f"{known['seconds'] / 60:.1f} minutes of processor time. Of each case the checks are asked for every claim that speaks of "
        "it; pieces of evidence by check and outcome:",
        "",
        f"| check | {' | '.join(columns)} |",
        "|---" * (len(columns) + 1) + "|",
    ]
    lines += [f"| {c} | {' | '.join(str(table[c][name]) for name in columns)} |" for c in sorted(table)]
    lines += ["", f"What the cases are, of {cases_}: "]
    lines[-1] += ", ".join(f"{name} {number}" for name, number in sorted(known["of"].items())) + "."
    for alarm in alarms:
        lines += ["", f"- case {alarm['case']}, {alarm['claim']}, {alarm['check']}: {alarm['reason']}"]
        lines += ["", f"      {alarm['replay']}"]
    return [*lines, ""]


if __name__ == "__main__":
    main()

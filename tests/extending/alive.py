"""Run with the extended package in the path: prints, as JSON, what sgverify then says of each addition."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from fractions import Fraction
from io import StringIO
from math import gamma
from typing import Any

from sgverify.checks.applicable_claims import judge
from sgverify.checks.question import Question
from sgverify.claims import claims
from sgverify.cli import main
from sgverify.configuration import load_configuration
from sgverify.exact.affine.noise import noise_of
from sgverify.exact.readings.formula import plant
from sgverify.gradients import find_estimator
from sgverify.papers.suites import find_suite
from sgverify.schemes import find_scheme
from sgverify.strategies.gradients import KINDS
from sgverify.strategies.targets import NAMES
from sgverify.subject.binding import make_subject
from sgverify.targets import build_target

REGRESSION = ("target.name=linear-regression", "target.size=5", "gradient.batch=2")


def document(*words: str) -> Any:
    """What a command writes as JSON."""
    with redirect_stdout(StringIO()) as out:
        main([*words, "--json", "-"])
    return json.loads(out.getvalue())


def listed(kind: str, name: str) -> bool:
    """Whether `sgverify list` has it."""
    return name in {item["name"] for item in document("list", kind)["items"]}


def verdicts(*words: str) -> dict[str, str]:
    """The verdicts of `sgverify verify` by claim and check."""
    found = document("verify", *words)["evidence"]
    return {f"{item['claim']} {item['check']}": item["verdict"] for item in found}


def asked(scheme: str) -> set[str]:
    """The checks with a claim that applies to a scheme."""
    subject = make_subject(scheme, load_configuration())
    questions = [Question(subject, claim, name) for claim in claims().values() for name in claim.quantities]
    return {question.quantity for question in questions if question.applicability[0]}


def scheme() -> dict[str, Any]:
    """Every check that applies to another scheme of its dynamics applies to it."""
    return {
        "listed": listed("schemes", "sgld-heun"),
        "not asked": sorted(asked("sgld-euler") - asked("sgld-heun")),
        **verdicts("sgld-heun", "--checks", "local-order"),
    }


def target() -> dict[str, Any]:
    """Its average at T = 0.5 is derived, and properties draw it."""
    chosen = ("target.name=sextic", "target.strength=2", "temperature=0.5")
    reference = make_subject("sgld-euler", load_configuration(None, chosen)).reference_average
    known = 1.5 ** (1 / 3) * gamma(1 / 2) / gamma(1 / 6)
    words = [word for setting in chosen for word in ("--set", setting)]
    return {
        "listed": listed("targets", "sextic"),
        "drawn by strategies": "sextic" in NAMES,
        "average is derived": abs(float(reference.value) - known) < 1e-12,
        **verdicts("sgld-euler", *words, "--checks", "stationarity"),
    }


def claim() -> dict[str, Any]:
    """An existing check settles it."""
    name = "sgverify/first-order"
    return {"listed": listed("claims", name), **verdicts("sgld-euler", "--checks", name)}


def check() -> dict[str, Any]:
    """It holds of the correct scheme and falls for the bug that comes with it."""
    euler, configuration = find_scheme("sgld-euler"), load_configuration()
    wrong = plant(euler, "theta - h*grad(theta)", "theta - h*grad(theta) - h/10*theta")
    (planted,) = judge(make_subject(wrong, configuration), ("rest",))
    return {
        "listed": listed("checks", "rest"),
        "planted": planted.verdict,
        **verdicts("sghmc-euler", "--checks", "rest"),
    }


def planted_bug() -> dict[str, Any]:
    """The checks that there are find it, and raise no alarm on the correct scheme."""
    from reports.making.power.judging import judge_group

    (mutant,) = judge_group(["sgld-with-weight-decay"], first=True).mutants
    return {"killed": mutant.cheapest is not None}


def law_of(kind: str) -> Any:
    """The exact law of its minibatches of 2 data of 5, in a regression through the origin."""
    configuration = load_configuration(None, (*REGRESSION, f"gradient.kind={kind}"))
    target = build_target(configuration.target)
    return noise_of(find_estimator(kind), configuration.gradient, target).minibatch


def gradient_estimator() -> dict[str, Any]:
    """It runs, the exact law of its noise is known, and properties draw it."""
    kind = "svrg-of-subsets"
    words = ("--set", f"gradient.kind={kind}", "--set", "gradient.batch=2")
    return {
        "listed": listed("gradients", kind),
        "drawn by strategies": kind in KINDS,
        "exact law draws with replacement": law_of(kind).replaced,
        **verdicts("sgld-euler", *words, "--checks", "covariance"),
    }


def centre() -> dict[str, Any]:
    """Every part that asks for the centre finds the declared one, and a step under it is judged."""
    kind = "from-origin"
    words = [word for setting in (*REGRESSION, f"gradient.kind={kind}") for word in ("--set", setting)]
    return {
        "listed": listed("gradients", kind),
        "no noise at the centre": not any(law_of(kind).noise_at([Fraction(0)]).entries()),
        **verdicts("sgld-euler", *words, "--checks", "local-order"),
    }


def paper() -> dict[str, Any]:
    """Its claim is judged, its formula is examined, and its suite is one that a report can be asked for."""
    (case,) = find_suite("example")("quick")
    return {
        "listed": listed("claims", "example/theorem-1"),
        "misprints": [item["id"] for item in document("errata", "example")["errata"]],
        **{f"{item.claim} {item.check}": item.verdict for item in case.run()},
    }


ALIVE: dict[str, Callable[[], dict[str, Any]]] = {
    "scheme": scheme,
    "target": target,
    "claim": claim,
    "check": check,
    "planted bug": planted_bug,
    "gradient estimator": gradient_estimator,
    "centre of control variates": centre,
    "paper": paper,
}


def run(function: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The answer, or the exception that it ended in."""
    try:
        return function()
    except (Exception, SystemExit):
        return {"exception": traceback.format_exc()}


if __name__ == "__main__":
    json.dump({kind: run(function) for kind, function in ALIVE.items()}, sys.stdout)

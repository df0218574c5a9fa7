"""The search for the edit that mends a definition."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sgverify.advice.diagnosis.diagnosing import diagnose
from sgverify.advice.diagnosis.model import Diagnosis
from sgverify.checks.applicable_claims import judge_pair
from sgverify.checks.subject.subject import Subject
from sgverify.checks.verify_and_rate import make_subject
from sgverify.claims import find_claim
from sgverify.configuration import load_configuration
from sgverify.errors import UserError
from sgverify.evidence import Evidence

FILE = Path(__file__).with_name("mistaken.py")
ASKED = (("sgverify/stated-order", "local-order"), ("chen2015/theorem-4", "stationary-bias"))


def evidence_of(subject: Subject, asked: Sequence[tuple[str, str]] = ASKED) -> list[Evidence]:
    found = []
    for claim, quantity in asked:
        try:
            found += judge_pair(subject, find_claim(claim), quantity)
        except UserError:  # no step is stable
            continue
    return found


def diagnosed(attribute: str) -> Diagnosis | None:
    subject = make_subject(f"{FILE}:{attribute}", load_configuration())
    # The bias of a step with a sign is found on grids, in seconds.
    asked = ASKED[:1] if attribute == "sided" else ASKED
    return diagnose(subject, evidence_of(subject, asked), seconds=30)


def line_of(text: str) -> int:
    return next(k for k, line in enumerate(FILE.read_text().splitlines(), 1) if text in line)


@pytest.mark.parametrize(
    ("attribute", "line", "was", "now"),
    [
        ("halved", "kick = sqrt(T*h)", "sqrt(T*h)", "sqrt(2*T*h)"),
        ("wrong", "def weak_kick", "sqrt(D*T*t)", "sqrt(2*D*T*t)"),
        ("climbing", "return theta + factor", "theta + factor*h*grad(theta)", "theta - factor*h*grad(theta)"),
        # 2*h for 2 would move the wrong summand where the proof does not see it.
        ("sided", "(2 - sign)", "sign", "sign**2"),
        ("by_h", "h*sqrt(2*T)*noise()", "h*sqrt(2*T)", "sqrt(2*h*T)"),
        ("forgetful", "far = ", "grad(theta)", "h*grad(theta)"),
        ("stale", "h*kept", "kept", "slope"),
        # In the two dimensions of a comparison dot(p, p)/2 is the same.
        ("summed", "dot(p, p)", "dot(p, p)", "dot(p, p)/dim"),
    ],
)
def test_the_edit_is_that_of_the_users_own_line(attribute: str, line: str, was: str, now: str) -> None:
    found = diagnosed(attribute)
    assert found is not None and found.edit is not None
    edit = found.edit
    assert (edit.file, edit.line) == (str(FILE), line_of(line))
    assert was in edit.was
    assert edit.before.replace(was, now) == edit.after
    assert edit.before == FILE.read_text().splitlines()[edit.line - 1]
    assert edit.sentence.startswith(f"line {edit.line}: {edit.was} -> {edit.now} makes it order ")


def test_a_word_is_edited_in_its_call() -> None:
    found = diagnosed("unsymmetric")
    assert found is not None and found.edit is not None
    edit = found.edit
    assert (edit.was, edit.file, edit.line) == ("ABOB", str(FILE), line_of('"ABOB"'))
    assert edit.before.replace('"ABOB"', f'"{edit.now}"') == edit.after and edit.now == "ABOBA"


def test_a_claim_beyond_the_order_of_a_right_method_is_lowered() -> None:
    found = diagnosed("overclaimed")
    assert found is not None and found.edit is not None
    edit = found.edit
    assert (edit.file, edit.line) == (str(FILE), line_of("def overclaimed") - 1)
    assert (edit.before, edit.after) == ("@scheme(kinetic, order=2)", "@scheme(kinetic, order=1)")
    assert edit.sentence == f"line {edit.line}: order=2 -> order=1: the method has order 1"


def test_a_right_scheme_gets_no_diagnosis() -> None:
    assert diagnosed("right") is None


def test_the_search_says_that_it_stopped() -> None:
    subject = make_subject(f"{FILE}:wrong", load_configuration())
    found = diagnose(subject, evidence_of(subject), seconds=0)
    assert found is not None and found.stopped and found.edit is None

"""The search for the edit that mends a definition."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from sgverify.advice.diagnosis.diagnosing import diagnose
from sgverify.advice.diagnosis.model import Diagnosis
from sgverify.checks.applicable_claims import judge_pair
from sgverify.claims import find_claim
from sgverify.configuration import load_configuration
from sgverify.errors import UserError
from sgverify.evidence import Evidence
from sgverify.exact.rings.polynomials import OutOfTimeError, limited
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject

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


@pytest.mark.by_default(
    "halved-kick = sqrt(T*h)-sqrt(T*h)-sqrt(2*T*h)",
    "climbing-return theta + factor-theta + factor*h*grad(theta)-theta - factor*h*grad(theta)",
    "by_h-h*sqrt(2*T)*noise()-h*sqrt(2*T)-sqrt(2*h*T)",
)
@pytest.mark.parametrize(
    ("attribute", "line", "was", "now"),
    [
        ("halved", "kick = sqrt(T*h)", "sqrt(T*h)", "sqrt(2*T*h)"),
        ("wrong", "def weak_kick", "sqrt(D*T*t)", "sqrt(2*D*T*t)"),
        ("climbing", "return theta + factor", "theta + factor*h*grad(theta)", "theta - factor*h*grad(theta)"),
        # 2*h for 2 would move the wrong summand where the proof does not see it, and sign**2 for sign is less plain.
        ("sided", "(2 - sign)", "*(2 - sign)", ""),
        ("by_h", "h*sqrt(2*T)*noise()", "h*sqrt(2*T)", "sqrt(2*h*T)"),
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


COINCIDENCES = {
    "temperature": 1.0,
    "friction": 2.0,
    "target": {"prior_precision": [[0.5, 0.0], [0.0, 0.5]], "data": [[0.0, 0.0], [0.0, 0.0]]},
}
"""A configuration at which T is 1, D is 2, dim is 2, and the gradient of the prior is theta/2."""


@pytest.mark.by_default(
    "tempered-sqrt(2*h)-sqrt(2*T*h)",
    "frictionless-sqrt(2*T*h)-sqrt(2*D*T*h)",
    "own_gradient-h*theta-h*grad(theta)",
)
@pytest.mark.parametrize(
    ("attribute", "was", "now"),
    [
        ("tempered", "sqrt(2*h)", "sqrt(2*T*h)"),
        ("frictionless", "sqrt(2*T*h)", "sqrt(2*D*T*h)"),
        ("own_gradient", "h*theta", "h*grad(theta)"),
        ("halved_energy", "dot(p, p)/2", "dot(p, p)/dim, with dim"),
        # grad(theta + h*noise()) has order 1 as well, and so has any number in the place of h.
        ("noisy_place", "grad(theta + noise())", "grad(theta)"),
    ],
)
def test_no_edit_is_right_by_the_configured_numbers_alone(attribute: str, was: str, now: str) -> None:
    subject = make_subject(f"{FILE}:{attribute}", load_configuration(COINCIDENCES))
    found = diagnose(subject, evidence_of(subject, ASKED[:1]), seconds=30)
    assert found is not None and found.edit is not None
    assert (found.edit.was, found.edit.now) == (was, now)


def test_a_step_that_is_right_for_one_friction_alone_has_a_cause_and_no_edit() -> None:
    subject = make_subject(f"{FILE}:friction_of_two", load_configuration({"friction": 2.0}))
    found = diagnose(subject, evidence_of(subject, ASKED[:1]), seconds=30)
    assert found is not None and found.cause.name == "friction-wrong" and found.edit is None


@pytest.mark.power  # 0.8 s
def test_two_edits_that_are_right_together_alone_are_found() -> None:
    found = diagnosed("unmoved")
    assert found is not None and found.edit is not None
    assert (found.edit.was, found.edit.now) == ("theta and middle", "theta + h/2*p and middle + h/2*p")
    assert found.edit.after.split("\n") == ["    middle = theta + h/2*p", "    theta = middle + h/2*p"]
    assert [sign for sign, _, _ in found.edit.lines] == ["+", "+"]


def test_shares_are_edited_in_their_call() -> None:
    found = diagnosed("longer")
    assert found is not None and found.edit is not None
    edit = found.edit
    assert (edit.now, edit.line) == ("1/2,1/2,1,1/2,1/2", line_of("1/3,1/2"))
    assert edit.before.replace("1/3,1/2,1,1/2,2/3", edit.now) == edit.after


def test_an_expansion_that_would_take_minutes_ends_with_the_time() -> None:
    subject = make_subject(f"{FILE}:squared", load_configuration())
    started = time.process_time()
    with pytest.raises(OutOfTimeError), limited(0.3):
        assert subject.order is None
    assert time.process_time() - started < 0.8


def test_a_right_scheme_gets_no_diagnosis() -> None:
    assert diagnosed("right") is None


def test_the_search_says_that_it_stopped() -> None:
    subject = make_subject(f"{FILE}:wrong", load_configuration())
    found = diagnose(subject, evidence_of(subject), seconds=0)
    assert found is not None and found.stopped and found.edit is None

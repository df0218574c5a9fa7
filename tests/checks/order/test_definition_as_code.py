"""A definition without a power series is measured by quadrature; with one, what is measured is what is proved."""

from __future__ import annotations

import pytest

from sgverify.checks.applicable_claims import run_check, universal_defect
from sgverify.checks.order.definition_as_code import as_torch_step, as_torch_subject, measurable
from sgverify.checks.question import Question
from sgverify.checks.readings import predicted_order
from sgverify.claims import find_claim
from sgverify.configuration import Configuration
from sgverify.evidence import Evidence
from sgverify.exact.readings.formula import plant
from sgverify.exact.series.local_order import local_order
from sgverify.law.measured_order import measure_order
from sgverify.schemes import Scheme, find_scheme
from sgverify.subject.subject import Subject
from tests.checks.order.test_states import bump, quotient
from tests.mutants.correct import aboba_in_memory, sgld_three_point

SGNHT = find_scheme("sgnht-euler")


def judged(scheme: Scheme) -> Evidence:
    subject = Subject(scheme, Configuration(), scheme.name)
    return run_check(Question(subject, find_claim("sgverify/stated-order"), "local-order"))


@pytest.mark.by_default("sgld-euler", "sghmc-aboba")
@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-aboba", "sgnht-euler"])
def test_what_is_measured_of_a_definition_is_what_is_proved(name: str) -> None:
    scheme = find_scheme(name)
    assert measure_order(as_torch_step(scheme)).order == local_order(scheme, 2).order


def test_a_norm_for_its_square_is_refuted_by_quadrature_and_the_reason_for_no_proof_is_kept() -> None:
    wrong = judged(plant(SGNHT, "dot(p1, p1)/dim", "sqrt(dot(p1, p1))/dim"))
    assert (wrong.verdict, wrong.method) == ("violates", "quadrature")
    assert "not a polynomial" in wrong.certificate["no_proof"]


def test_a_root_of_a_square_is_the_square_and_conforms() -> None:
    same = judged(plant(SGNHT, "dot(p1, p1)/dim", "sqrt(dot(p1, p1)*dot(p1, p1))/dim"))
    assert (same.verdict, same.method) == ("conforms", "quadrature")


def test_what_torch_code_cannot_say_is_not_measured() -> None:
    assert measurable(SGNHT)
    assert not any(map(measurable, (aboba_in_memory, sgld_three_point, find_scheme("sgrld-euler"))))


def test_the_command_that_replays_names_the_definition() -> None:
    subject = Subject(SGNHT, Configuration(), "sgnht-euler")
    assert as_torch_subject(subject).command("verify") == subject.command("verify")


def test_an_order_that_is_measured_at_one_state_is_answered_with_its_states() -> None:
    right, wrong = judged(quotient), judged(bump)
    assert right.verdict == "conforms" and "6 spreads" in right.scope.states.told, right.reason
    assert wrong.verdict == "violates" and wrong.reason.startswith("of order 2 at one state"), wrong.reason


def test_a_measured_order_is_the_prediction_and_tells_the_noise_of_gradients_from_an_error() -> None:
    subject = Subject(quotient, Configuration(), "quotient")
    assert predicted_order(subject) == 2 and universal_defect(subject)
    euler = plant(quotient, "h/2*(", "h*0.5*(0.5*")
    assert not universal_defect(Subject(euler, Configuration(), "euler"))

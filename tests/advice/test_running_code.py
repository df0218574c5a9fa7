"""Is the cause of a bug in somebody's own code, or in a rule, named from what the check measured, and none of right code?"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import sgverify
from sgverify import torch_step
from sgverify.advice.diagnosis.diagnosing import diagnose
from sgverify.checks.applicable_claims import judge_pair
from sgverify.claims import find_claim
from sgverify.configuration import load_configuration
from sgverify.evidence import Evidence
from sgverify.schemes import langevin
from sgverify.schemes.torch_step import LifeCycle
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from tests.mutants.planting import planted, right
from tests.mutants.registry import find_mutant


def evidence_of(subject: Subject, check: str) -> list[Evidence]:
    return judge_pair(subject, find_claim(f"sgverify/{check}"), check)


BUGS = (
    ("torch-sgld-overwrites-state", "pure-step", "state-kept", "writes to its argument theta"),
    ("torch-baoab-constant-in-float32", "dtype", "precision", "not float64 throughout"),
)


@pytest.mark.by_default("torch-sgld-overwrites-state")
@pytest.mark.parametrize(("mutant", "check", "name", "says"), BUGS, ids=[row[0] for row in BUGS])
def test_the_cause_is_named_from_measured_numbers(mutant: str, check: str, name: str, says: str) -> None:
    with planted(find_mutant(mutant)) as subject:
        found = diagnose(subject, evidence_of(subject, check))
    assert found is not None and found.edit is None
    assert found.cause.name == name
    assert says in found.cause.sentence


@pytest.mark.parametrize(("mutant", "check"), [row[:2] for row in BUGS])
def test_right_code_has_no_diagnosis(mutant: str, check: str) -> None:
    subject = right(find_mutant(mutant))
    assert diagnose(subject, evidence_of(subject, check)) is None


def test_code_in_float32_is_told_its_precision_and_no_drift() -> None:
    @torch_step(langevin)
    def in_float32(theta, *, h, grad, T):
        noise = torch.randn(theta.shape) * (2 * T * h) ** 0.5
        return (theta.float() - h * grad(theta).float() + noise).to(theta.dtype)

    found = sgverify.verify(in_float32, checks=["dtype"]).diagnosis
    assert found is not None and found.cause.name == "precision"
    assert found.cause.sentence.startswith("not float64 throughout")


def test_a_fault_beside_the_step_is_the_cause_of_its_own_answer() -> None:
    @torch_step(langevin)
    def nine_tenths(theta, *, h, grad, T):
        return theta - 0.9 * h * grad(theta) + (2 * T * h) ** 0.5 * torch.randn_like(theta)

    starts = LifeCycle(faults=("a chain starts elsewhere",))
    subject = make_subject(replace(nine_tenths, life_cycle=lambda: starts), load_configuration())
    evidence = evidence_of(subject, "pure-step")
    found = diagnose(subject, evidence)
    assert found is not None and "a chain starts elsewhere" in found.cause.sentence
    order = judge_pair(subject, find_claim("sgverify/stated-order"), "local-order")
    both = diagnose(subject, [*evidence, *order])
    assert both is not None and "9/10" in both.cause.sentence

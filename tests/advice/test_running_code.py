"""Is the cause of a bug in the running code named from what the checks measured, and none of right code?"""

from __future__ import annotations

import pytest

from sgverify.advice.diagnosis.diagnosing import diagnose
from sgverify.checks.applicable_claims import judge_pair
from sgverify.checks.subject.subject import Subject
from sgverify.claims import find_claim
from sgverify.evidence import Evidence
from tests.mutants.planting import planted, right
from tests.mutants.registry import find_mutant


def evidence_of(subject: Subject, checks: tuple[str, ...]) -> list[Evidence]:
    return [item for check in checks for item in judge_pair(subject, find_claim(f"sgverify/{check}"), check)]


BUGS = (
    ("minibatch-scale-missing", ("gradient-mean",), "data-scaling", "prior enters 1 times, that of the likelihood 1/2 times"),
    ("prior-scaled-with-data", ("gradient-mean",), "prior-scaled", "prior enters 2 times, that of the likelihood 1 times"),
    ("without-replacement-collision-at-first", ("gradient-mean",), "minibatch-law", "the data are not drawn evenly"),
    ("gradient-in-float32", ("gradient-mean",), "precision", "of its size, as of numbers in float32"),
    ("minibatch-noise-too-small", ("gradient-mean",), "gradient-noise", "required"),
    # Two equations have a solution in two unknowns, which says nothing of a control variate.
    ("control-variate-change-not-scaled", ("gradient-mean",), "gradient-biased", "required"),
    ("minibatches-shared-by-chains", ("gradient-mean", "independent-chains"), "chains-coupled", "bit for bit"),
    ("thinning-forgotten", ("averaging",), "average-wrong", "that of the states"),
    ("power-never-falls", ("averaging",), "schedule-wrong", "expected"),
    ("noise-uniform", ("white-noise",), "noise-law", "not those of normal"),
    ("noise-of-all-coordinates", ("white-noise",), "noise-shared", "bit for bit"),
)  # fmt: skip


@pytest.mark.parametrize(("mutant", "checks", "name", "says"), BUGS, ids=[row[0] for row in BUGS])
def test_the_cause_is_named_from_measured_numbers(
    mutant: str, checks: tuple[str, ...], name: str, says: str
) -> None:
    with planted(find_mutant(mutant)) as subject:
        found = diagnose(subject, evidence_of(subject, checks))
    assert found is not None and found.edit is None
    assert found.cause.name == name
    assert says in found.cause.sentence


@pytest.mark.parametrize(("mutant", "checks"), [row[:2] for row in BUGS[:2]])
def test_right_code_has_no_diagnosis(mutant: str, checks: tuple[str, ...]) -> None:
    subject = right(find_mutant(mutant))
    assert diagnose(subject, evidence_of(subject, checks)) is None


def test_a_replica_that_steps_at_the_temperature_of_another_is_told_from_one_that_takes_its_step() -> None:
    causes = []
    for name in ("replica-temperatures-all-cold", "replica-step-factors-ignored"):
        with planted(find_mutant(name)) as subject:
            found = diagnose(subject, evidence_of(subject, ("exchange-run",)))
        assert found is not None
        causes.append(found.cause.name)
    assert causes == ["temperature-misplaced", "schedule-wrong"]

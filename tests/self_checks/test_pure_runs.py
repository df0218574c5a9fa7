"""Runs of the sampler: pure in correct code, and what one takes from another, or a pause from a run, is found."""

from __future__ import annotations

import pytest

from sgverify.configuration import load_configuration
from sgverify.samplers.gradients.estimators import SnapshotEstimator
from sgverify.subject.binding import make_subject
from tests.mutants.planting import planted, right
from tests.mutants.registry import find_mutant
from tests.self_checks.pure_runs import pauses, runs_apart
from tests.self_checks.registry import self_check

IID = {"kind": "iid", "batch": 3}
SMALL = {"target": {"name": "gaussian-mean", "size": 7, "dim": 2}}


@pytest.mark.parametrize("reference", ["sgld-euler", "sghmc-aboba", "sgnht-aboba"])
@pytest.mark.parametrize("gradient", [{"kind": "full"}, IID])
def test_the_catalogue_is_pure(reference, gradient):
    assert self_check("pure-runs", reference, SMALL, gradient=gradient).verdict == "conforms"


def test_estimators_that_share_a_snapshot_through_their_class_disturb_one_another(monkeypatch):
    target, svrg = {"name": "logistic-regression", "size": 8}, {"kind": "svrg", "batch": 2}
    subject = make_subject("sgld-euler", load_configuration(None, target=target, gradient=svrg))
    assert runs_apart(subject) == []
    shared = {}

    def keep(self, value):
        shared["it"] = value or shared.get("it", ())

    kept_by_all = property(lambda self: shared.get("it", ()), keep)
    monkeypatch.setattr(SnapshotEstimator, "_snapshot", kept_by_all, raising=False)
    (fault,) = runs_apart(subject)
    assert "two runs of the sampler that take turns disturb one another: theta of run" in fault


def test_runs_of_which_one_diverges_are_compared_as_far_as_they_go():
    wild = load_configuration(None, target={"name": "quartic"}, schedule={"step": 2.0})
    assert runs_apart(make_subject("sgld-euler", wild)) == []


@pytest.mark.parametrize("name", ["saga-table-emptied-by-a-pause", "svrg-snapshot-by-steps-of-the-block"])
def test_what_a_pause_or_a_block_takes_from_an_estimator_is_found(name: str) -> None:
    mutant = find_mutant(name)
    assert pauses(right(mutant)) == []
    with planted(mutant) as subject:
        (found,) = pauses(subject)
    assert "paused after step" in found

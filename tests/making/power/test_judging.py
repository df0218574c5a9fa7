"""What counts as a kill, and that the matrix tells a survivor, an alarm and a crash apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reports.making.power import judging as matrix
from reports.making.power.judging import Correct, chosen, groups, joined, judge_group, judge_one
from reports.making.power.kill_matrix import JudgedMutant, Trial
from sgverify.checks.check import Check
from sgverify.checks.question import Question
from sgverify.checks.registry import CHECKS
from sgverify.errors import UnknownNameError
from sgverify.evidence import Evidence
from sgverify.subject.subject import Subject
from tests.making.power import always
from tests.mutants import registry
from tests.mutants.mutant import Mutant
from tests.mutants.registry import find_mutant

LOCAL = ("sgverify/stated-order", "local-order")
LAW = ("chen2015/theorem-4", "stationary-bias")


def known(monkeypatch: pytest.MonkeyPatch, *found: Mutant) -> None:
    names = {mutant.name: mutant for mutant in found}
    monkeypatch.setattr(matrix, "mutants", lambda: names)
    monkeypatch.setattr(matrix, "find_mutant", names.__getitem__)


def judged(first: bool = True) -> JudgedMutant:
    (group,) = groups(chosen())
    (found,) = judge_group(group, first).mutants
    return found


def harmless() -> Mutant:
    return replace(find_mutant("aboba-noise-without-2"), name="harmless", now="sqrt(D*T*h*2)*z1")


def test_a_change_that_changes_nothing_survives(monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, harmless())
    found = judged(first=False)
    assert found.kills == () and found.cheapest is None
    assert {trial.method for trial in found.trials} >= {"proof", "exact", "monte-carlo"}


@pytest.mark.power  # every check of one bug; the committed matrix names the rungs of all
def test_the_highest_rung_is_named_and_the_rest_is_asked_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known(monkeypatch, find_mutant("aboba-noise-without-2"))
    found = judged(first=False)
    assert found.cheapest is not None and found.cheapest.method == "proof"
    assert {trial.method for trial in found.kills} >= {"proof", "exact"}
    assert [trial.check for trial in judged(first=True).trials][-1] == found.cheapest.check


def test_what_the_correct_scheme_violates_too_is_no_kill_but_an_alarm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known(monkeypatch, harmless())
    monkeypatch.setitem(CHECKS.shipped, "local-order", Check("local-order", "../", "none"))
    monkeypatch.setattr(Check, "function", property(lambda self: always.violated))
    (group,) = groups(chosen())
    found = judge_group(group, True)
    assert [item.name for item in found.survivors] == ["harmless"]
    assert found.alarms


def test_a_check_that_crashes_kills_nothing_and_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, find_mutant("aboba-noise-without-2"))
    monkeypatch.setattr(Check, "function", property(lambda self: crash))
    found = judged()
    assert found.kills == ()
    assert {trial.outcome for trial in found.trials} == {"conforms", "crashed", "not-applicable"}
    assert any("ZeroDivisionError: planted" in trial.reason for trial in found.trials)


def crash(question: Question) -> Evidence:
    raise ZeroDivisionError("planted")


def passed(subject: Subject, pair: matrix.Pair) -> Trial:
    """What no check is asked for."""
    claim, check = pair
    return Trial(claim=claim, check=check, method="exact", outcome="conforms", milliseconds=0.0)


def test_a_step_that_never_contracts_is_refused_which_kills_it() -> None:
    mutant = find_mutant("aboba-friction-of-wrong-sign")
    trial = judge_one(mutant, matrix.CONFIGURED, Correct(mutant))
    assert (trial.outcome, trial.kill) == ("refused", True)
    assert "spectral radius" in trial.reason


def test_a_definition_that_is_not_well_formed_is_killed_when_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(matrix, "_trial", passed)
    silent = replace(find_mutant("aboba-noise-without-2"), now="0", name="silent")
    known(monkeypatch, silent)
    found = judged()
    assert [trial.check for trial in found.trials] == ["definition"]
    assert "draws no noise" in found.trials[0].reason


def test_the_bugs_hidden_at_one_are_seen_by_the_proof_alone() -> None:
    for name, hidden in (
        ("aboba-noise-by-friction", {"friction": 1.0}),
        ("aboba-temperature-outside-root", {"temperature": 1.0}),
        ("aboba-temperature-missing", {"temperature": 1.0}),
    ):
        mutant = replace(find_mutant(name), settings=hidden)
        correct = Correct(mutant)
        assert judge_one(mutant, LOCAL, correct).kill
        assert judge_one(mutant, LAW, correct).outcome == "conforms"


def test_bugs_of_order_one_are_seen_by_the_local_order_alone() -> None:
    for name in ("aba-friction-unsplit", "lie-splitting-claimed-symmetric", "euler-claimed-of-order-2"):
        mutant = find_mutant(name)
        correct = Correct(mutant)
        assert judge_one(mutant, LOCAL, correct).kill
        assert not judge_one(mutant, LAW, correct).kill


def test_parts_are_joined_in_the_order_of_the_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "_trial", passed)
    names = ["sgld-half-gradient", "aboba-noise-by-h", "sgld-noise-by-h"]
    parts = [judge_group(group, True) for group in groups(chosen(names))]
    whole = joined(reversed(parts))
    order = [name for name in registry.mutants() if name in names]
    assert [item.name for item in whole.mutants] == order
    assert [item.scheme for item in whole.correct] == ["sghmc-aboba", "sgld-euler"]


def test_an_unknown_family_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="splittings"):
        chosen(family="spliting")

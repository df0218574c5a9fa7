"""Every planted bug is killed, by the check that the committed matrix names, which the correct scheme passes."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from sgverify.evidence.kill_matrix import KillMatrix, decode_kill_matrix
from sgverify.report.kill_matrix import render_kill_matrix
from sgverify.selftest.mutants.matrix import Correct, groups, judge_group, judge_one
from sgverify.selftest.mutants.mutant import Mutant
from sgverify.selftest.mutants.registry import mutants

FOLDER = Path(__file__).resolve().parents[3] / "reports" / "power"


@cache
def committed() -> KillMatrix:
    return decode_kill_matrix(json.loads((FOLDER / "kill_matrix.json").read_text(encoding="utf-8")))


@cache
def correct_of(group: tuple[str, ...]) -> Correct:
    return Correct(mutants()[group[0]])


GROUP = {name: group for group in groups(mutants().values()) for name in group}
FAMILIES = {mutant.family for mutant in mutants().values()}


DEAR = 500.0
"""Milliseconds of a kill that is not repeated by default: the committed matrix is its last result."""


def is_dear(name: str) -> bool:
    cheapest = next((item.cheapest for item in committed().mutants if item.name == name), None)
    return cheapest is not None and cheapest.milliseconds > DEAR


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(mutant, id=name, marks=[pytest.mark.power] if is_dear(name) else [])
        for name, mutant in mutants().items()
    ],
)
def test_every_planted_bug_is_killed_and_the_correct_scheme_passes(mutant: Mutant) -> None:
    stored = {item.name: item for item in committed().mutants}
    cheapest = stored[mutant.name].cheapest if mutant.name in stored else None
    # What one check sees of a step that keeps something from call to call depends on the calls before: it is judged whole.
    keeps = any("KEPT" in now for _, now in mutant.edits)
    if cheapest is None or cheapest.check == "definition" or keeps:
        found = judge_group([mutant.name], first=True)
        assert not found.survivors and not found.alarms
        return
    pair = (cheapest.claim, cheapest.check)
    correct = correct_of(GROUP[mutant.name])
    trial = judge_one(mutant, pair, correct)
    assert not correct.trial(pair).against, correct.trial(pair).reason
    assert trial.kill, trial.reason
    assert trial.method == cheapest.method


def test_the_committed_matrix_has_no_survivor_and_no_alarm() -> None:
    assert committed().survivors == ()
    assert committed().alarms == ()


def test_the_committed_page_is_that_of_the_committed_matrix() -> None:
    assert (FOLDER / "kill_matrix.md").read_text(encoding="utf-8") == render_kill_matrix(committed())


def test_there_are_at_least_forty_in_every_kind_of_code() -> None:
    assert len(mutants()) >= 40
    assert len(FAMILIES) >= 10


def test_the_committed_matrix_knows_every_planted_bug() -> None:
    """`sgverify mutants --out reports/power` writes it anew."""
    assert {item.name: item.edits for item in committed().mutants} == {
        name: mutant.edits for name, mutant in mutants().items()
    }

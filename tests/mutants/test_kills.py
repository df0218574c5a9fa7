"""Every planted bug is killed, by the check that the committed matrix names, which the correct scheme passes."""

from __future__ import annotations

import json
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from reports.making.power.kill_matrix import KillMatrix, decode_kill_matrix, read_kill_matrix
from reports.making.power.page import render_kill_matrix
from tests.kept import kept
from tests.mutants.mutant import Mutant
from tests.mutants.registry import mutants
from tests.mutants.test_planting import assert_leaves_nothing_behind
from tests.mutants.trials import judged_whole, trial_of
from tests.tables import each_row

FOLDER = Path(__file__).resolve().parents[2] / "reports" / "power"


@cache
def committed() -> KillMatrix:
    """The matrix as it is stored, of which every worker reads its parameters; one test holds it against its schema."""
    return read_kill_matrix(stored())


def stored() -> dict[str, Any]:
    return json.loads((FOLDER / "kill_matrix.json").read_text(encoding="utf-8"))


SLOW = {
    "sghmc-friction-without-step",
    "sgnht-friction-without-step",
    "sgnht-feedback-without-step",
    "torch-sgld-noise-drawn-once",
    "torch-sghmc-decays-with-calls",
}
"""Seconds, where others of their kind take a tenth of one: a step that is wrong at h^0 is looked at in balls at all usual steps
before it is refuted, and one that keeps something from call to call is judged whole."""

FAMILIES = {mutant.family for mutant in mutants().values()}


@cache
def repeated() -> frozenset[str]:
    """The planted bugs of the default run: the cheapest of each check in each kind of code, and all that the matrix does not know.

    The committed matrix is the last result of the others, which `power` repeats.
    """
    cheapest = {item.name: item.cheapest for item in committed().mutants}
    groups: dict[tuple[str, str], list[tuple[float, str]]] = {}
    unknown = []
    for name, mutant in mutants().items():
        kill = cheapest.get(name)
        if kill is None:
            unknown.append(name)
        elif name not in SLOW:
            groups.setdefault((mutant.family, kill.check), []).append((kill.milliseconds, name))
    return frozenset([*unknown, *(min(kills)[1] for kills in groups.values())])


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(mutant, id=name, marks=[] if name in repeated() else [pytest.mark.power])
        for name, mutant in mutants().items()
    ],
)
def test_every_planted_bug_is_killed_and_the_correct_scheme_passes(mutant: Mutant) -> None:
    assert_leaves_nothing_behind(mutant)
    known = {item.name: item for item in committed().mutants}
    cheapest = known[mutant.name].cheapest if mutant.name in known else None
    # What one check sees of a step that keeps something from call to call depends on the calls before: it is judged whole.
    keeps = any("KEPT" in now for _, now in mutant.edits)
    if cheapest is None or cheapest.check == "definition" or keeps:
        found = kept("mutant", mutant.name, partial(judged_whole, mutant.name))
        assert not found["survives"] and found["alarms"] == []
        return
    pair = (cheapest.claim, cheapest.check)
    trial = kept("trial", [mutant.name, *pair], partial(trial_of, mutant.name, pair))
    assert trial["alarm"] is None
    assert trial["kill"], trial["reason"]
    assert trial["method"] == cheapest.method


@each_row("mutant", [m for name, m in mutants().items() if name not in repeated()])
def test_what_is_not_killed_again_can_be_planted(mutant: Mutant) -> None:
    assert_leaves_nothing_behind(mutant)


def test_the_committed_matrix_follows_its_schema() -> None:
    assert decode_kill_matrix(stored()) == committed()


def test_the_committed_matrix_has_no_survivor_and_no_alarm() -> None:
    assert committed().survivors == ()
    assert committed().alarms == ()


def test_the_committed_page_is_that_of_the_committed_matrix() -> None:
    assert (FOLDER / "kill_matrix.md").read_text(encoding="utf-8") == render_kill_matrix(committed())


def test_there_are_at_least_forty_in_every_kind_of_code() -> None:
    assert len(mutants()) >= 40
    assert len(FAMILIES) >= 10


def test_the_committed_matrix_knows_every_planted_bug() -> None:
    """`python -m reports power` writes it anew."""
    assert {item.name: item.edits for item in committed().mutants} == {
        name: mutant.edits for name, mutant in mutants().items()
    }

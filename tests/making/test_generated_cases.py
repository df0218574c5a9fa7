"""The run over generated configurations: a few of its cases raise no alarm, a planted bug and a crash do, by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reports.making import generated_cases as alarms
from reports.making.false_alarms import page
from sgverify.configuration import load_configuration
from sgverify.exact.readings.formula import plant
from sgverify.schemes import NAMED


def test_correct_schemes_raise_no_alarm_and_cases_are_the_same_every_time() -> None:
    for kind, number in (("exact", 9), ("sampled", 11)):
        first, again = alarms.drawn(kind, number), alarms.drawn(kind, number)
        assert (first[0].reference, first[1]) == (again[0].reference, again[1])
        found = alarms.judged(kind, number)
        assert found["alarms"] == [] and found["counts"]


@pytest.mark.parametrize("kind", ["exact", "sampled"])
def test_a_planted_bug_and_a_crash_are_alarms(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    weak = plant(NAMED["sghmc-aboba"], "sqrt(2*D*T*h)", "sqrt(D*T*h)")
    configuration = load_configuration(
        temperature=2.0, target={"name": "gaussian", "precision": 2.0}, test_function="theta**2 + p**2"
    )
    right = NAMED["sghmc-aboba"].named("sghmc-aboba", reference="sghmc-aboba")
    wrong = weak.named("sghmc-aboba", reference="sghmc-aboba")
    drawn: list[Any] = [right]
    monkeypatch.setattr(alarms, "drawn", lambda kind, number: (drawn[0], configuration))
    asked = {"exact": ["stationary-bias"], "sampled": ["mse"]}[kind]
    monkeypatch.setattr(alarms, "asked", lambda kind, number: asked)
    assert alarms.judged(kind, 1)["alarms"] == []
    if kind == "exact":
        drawn[0] = wrong
        (alarm, *_) = alarms.judged(kind, 1)["alarms"]
        assert alarm["replay"].startswith("sgverify verify sghmc-aboba --checks chen2015/theorem-4 --set")

    def crash(*_: Any) -> Any:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(alarms, "judge_pair", crash)
    assert "planted" in alarms.judged(kind, 1)["alarms"][0]["reason"]


def test_pieces_are_put_together_on_the_page(tmp_path: Path) -> None:
    piece = {"cases": 2, "seconds": 60.0, "counts": {"mse: conforms": 3}, "of": {"dim 1": 2}, "alarms": []}
    bad = {
        **piece,
        "alarms": [{"case": 7, "claim": "c", "check": "mse", "reason": "why", "replay": "sgverify verify"}],
    }
    for first, held in ((0, piece), (1000, bad)):
        (tmp_path / f"false_alarms_exact_{first}.json").write_text(json.dumps(held))
    text = page(tmp_path)
    assert (
        "## exact: 4 cases, 1 alarms" in text and "| mse | 6 | 0 |" in text and "case 7, c, mse: why" in text
    )

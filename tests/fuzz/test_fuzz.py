"""A hundred inputs of the fuzz test, all of them behind the marker `power`, and tests of the test itself."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sgverify.cli.main import cli
from sgverify.errors import ConfigurationError
from tests.fuzz import commands, documents, keys
from tests.fuzz.case import Case
from tests.fuzz.drawing import cases_of, numbers_of
from tests.fuzz.judging import wrong_with
from tests.fuzz.reporting import write
from tests.fuzz.running import Outcome, run, run_here
from tests.fuzz.seams import SEAMS, found
from tests.tables import each_row

SAMPLE, SOME, ALL, NUMBERS = 40, 2500, 5000, 300

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="limits are set in forked processes")


def test_a_sample_of_the_inputs() -> None:
    # Of a seed of its own, without what computes: the whole run has hundreds of those.
    chosen = [(number, case) for number, case in cases_of(20, 2 * SAMPLE) if not case.computes][:SAMPLE]
    found = [outcome for number, case in chosen if (outcome := run_here(case, number)).wrong]
    assert [f"{item.number}: {item.wrong}" for item in found] == []


@pytest.mark.parametrize("count", [12, pytest.param(NUMBERS, marks=pytest.mark.power)])
def test_numbers_as_they_come(count: int) -> None:
    # Each of them computes.
    cases = numbers_of(0, count)
    found = [outcome for number, case in cases if (outcome := run_here(case, number)).wrong]
    assert [f"{item.number}: {item.wrong}\n{dict(cases)[item.number].shown()}" for item in found] == []


@pytest.mark.power
def test_all_inputs(tmp_path: Path) -> None:
    cases = cases_of(0, ALL, stored=True)
    outcomes = list(run(cases))
    write(tmp_path, 0, [(dict(cases)[item.number], item) for item in outcomes])
    assert [f"{item.number}: {item.wrong}" for item in outcomes if item.wrong] == []
    assert len(outcomes) == ALL


def test_the_cases_of_a_seed_are_the_same_ones() -> None:
    assert cases_of(3, 60) == cases_of(3, 60) != cases_of(4, 60)


@pytest.mark.power  # 1.0 s
def test_every_key_every_command_and_every_option_is_drawn() -> None:
    drawn = [case for _, case in cases_of(0, SOME)]
    assert {case.command for case in drawn} >= set(cli.commands)
    words = {word.partition("=")[0] for case in drawn for word in case.words}
    every = commands.commands().values()
    options = {text for command in every for option in command.params for text in option.opts}
    assert {"app lda", "app sbn"} <= {" ".join(case.words[:2]) for case in drawn}
    assert {text for text in options if text.startswith("--")} <= words
    told = Counter(key for key in keys.names() for case in drawn if _holds(case, key))
    assert min(told[key] for key in keys.names()) >= 3
    assert {case.format for case in drawn} >= {label for label, *_ in documents.readers()}


def _holds(case: Case, key: str) -> bool:
    last = key.rpartition(".")[2].encode()
    return any(word.startswith(f"{key}=") for word in case.words) or any(
        last in content for content in case.files.values() if content
    )


@each_row("place", SEAMS)
def test_what_keeps_an_input_from_computing_is_there(place: str) -> None:
    holder, name = found(place)
    assert callable(getattr(holder, name))


def test_an_accepted_input_ends_with_its_configuration() -> None:
    case = Case("", ("verify", "sghmc-aboba", "--set", "friction=3.5"), recorded={"friction": 3.5})
    outcome = run_here(case)
    assert outcome.word == "accepted" and outcome.compared
    wrong = Case("", case.words, recorded={"friction": 4.5})
    assert run_here(wrong).wrong == "friction=4.5 was accepted and the configuration shows 3.5"


@each_row(
    ("code", "out", "err", "must", "says"),
    [
        (4, "", "Traceback (most recent call last):\n  x\nValueError: no\nsgverify: internal error", "anything", "ValueError"),
        (0, "", "Traceback (most recent call last):\n  x", "anything", "a traceback"),
        (7, "", "", "anything", "exit code 7"),
        (0, "", "", "be refused", "accepted in silence"),
        (None, "", "", "be refused", "accepted in silence"),
        (2, "", "error: no", "be accepted", "refused"),
        (2, "", "", "anything", "not one line"),
        (2, "", "error: a\nb", "anything", "not one line"),
        (2, "", "error: " + "x" * 5000, "anything", "characters"),
        (2, "", "error: \x1b[31m", "anything", "control characters"),
        (2, "half of it", "error: no", "anything", "prints on stdout"),
        (2, "", "error: no", "name c.toml", "names none"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_seen(code: int | None, out: str, err: str, must: Any, says: str) -> None:
    names = ("c.toml",) if must == "name c.toml" else ()
    case = Case("", ("verify",), must="anything" if names else must, names=names)
    assert says in (wrong_with(case, code, {}, out, err) or "")


@each_row(
    ("code", "err"),
    [(0, ""), (1, ""), (3, ""), (130, "interrupted"), (2, "error: one line that tells"), (None, "")],
)
def test_what_may_be_is_passed(code: int | None, err: str) -> None:
    assert wrong_with(Case("", ("verify",)), code, {}, "", err) is None


def test_a_planted_crash_a_hang_and_a_lost_process_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: Any) -> None:
        raise ValueError("planted")

    def hang(*_: Any) -> None:
        while True:
            try:
                sum(range(1000))
            except Exception:
                continue

    def lose(*_: Any) -> None:
        os.kill(os.getpid(), 9)

    def refuse(*_: Any) -> None:
        raise ConfigurationError("planted: expected none; mend it")

    cases = [(number, Case("", ("list", "schemes"))) for number in range(2)]
    for planted, says in (
        (crash, "ValueError: planted"),
        (hang, "processor time"),
        (lose, "signal 9"),
        (refuse, None),
    ):
        monkeypatch.setattr("sgverify.cli.commands.items_of", planted)
        monkeypatch.setattr("tests.fuzz.running._warm", lambda **_: None)
        found = list(run(cases, seconds=0.3))
        assert [item.number for item in found] == [0, 1]
        for item in found:
            assert (item.wrong is None) if says is None else says in (item.wrong or ""), item


def test_misspelt_keys_are_drawn_as_such() -> None:
    drawn = [next(keys.cases(random.Random(f"{k}"))) for k in range(200)]
    assert sum(case.must == "be refused" for case in drawn) > 10
    assert {case.command for case in drawn} >= {"verify", "rate", "sample", "identify"}
    assert all(isinstance(case, Case) for case in (next(commands.cases(random.Random(k))) for k in range(5)))
    assert Outcome(0, 2, 0.0, None).word == "exit 2"

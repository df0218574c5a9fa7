"""Ten answers in full, as they are committed: each says for what it holds, and they are what is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reports.making.transcripts import ANSWERS, answers

PAGE = Path(__file__).parents[2] / "reports" / "transcripts" / "answers.md"
OUTCOMES = {
    "sghmc-aboba": "PASS",
    "mine.py:heun": "PASS",
    "mine.py:wrong": "FAIL",
    "samplers.py:sixth_hot": "FAIL",
    "samplers.py:SGLD": "PASS",
    "samplers.py:Halved": "FAIL",
    "samplers.py:Decreasing": "UNDECIDED",
    "samplers.py:euler": "PASS",
    "samplers.py:with_numpy": "PASS",
    "samplers.py:hot_later": "FAIL",
}


def test_each_answer_says_for_what_it_holds() -> None:
    told = dict(
        re.findall(r"^## `sgverify verify (\S+)`.*?\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S)
    )
    assert list(told) == list(ANSWERS) == list(OUTCOMES)
    for name, text in told.items():
        (outcome,) = re.findall(rf"^(PASS|FAIL|UNDECIDED)  \S*{re.escape(name)}", text, re.M)
        assert outcome == OUTCOMES[name]
        assert ("holds for" in text) == (outcome == "PASS") and "settings" in text


@pytest.mark.power
def test_the_committed_answers_are_what_is_printed() -> None:
    assert answers() == PAGE.read_text()

"""Is the wrong number of a refined kick named, with the one that is due?"""

from __future__ import annotations

from pathlib import Path

import pytest

from sgverify.advice.diagnosis.coefficients import due_coefficient
from sgverify.advice.diagnosis.search import shown
from sgverify.configuration import load_configuration
from sgverify.subject.binding import make_subject
from tests.zoo.letters import LETTERS

REFINED = "t**3*grad.hessian(theta, grad(theta))/32"


@pytest.mark.by_default("5*-3/32-3*")
@pytest.mark.parametrize(
    ("number", "due", "now"),
    [("5*", "3/32", "3*"), ("0.25*", "3/32", "3*"), ("", "3/32", "3*"), ("- 3*", "3/32", "+ 3*")],
)
def test_the_number_of_a_refined_kick_that_is_wrong_is_named(
    number: str, due: str, now: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = LETTERS.replace("5*t", f"{number}t").replace("+ - ", "- ")
    Path("mine.py").write_text(text, encoding="utf-8")
    cause, mend = due_coefficient(make_subject("mine.py:fourth", load_configuration()), [])
    assert cause.sentence.startswith("the letter G (refined) has the coefficient ")
    assert cause.sentence.endswith(
        f"in line 7, where {due} is due: the invariant law is of order 2, required >= 4"
    )
    assert f"{now}{REFINED}" in shown(mend).now and shown(mend).line == 7


def test_a_right_number_and_a_claim_beyond_every_number_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(LETTERS.replace("5*t", "3*t"), encoding="utf-8")
    Path("other.py").write_text(LETTERS.replace("1/6", "1/4").replace("2/3", "1/2"), encoding="utf-8")
    assert due_coefficient(make_subject("mine.py:fourth", load_configuration()), []) is None
    assert due_coefficient(make_subject("other.py:fourth", load_configuration()), []) is None

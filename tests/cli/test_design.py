"""`sgverify design`: its exit codes, its document, and letters of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Call


def test_letters_of_ones_own_from_the_command_line(call: Call) -> None:
    Path("own.py").write_text(
        "from sgverify import Alphabet\nfrom sgverify.schemes import kinetic\n"
        "from sgverify.schemes.catalogue.kinetic import free_flow\nfrom sgverify.schemes.catalogue.kinetic import kick\n"
        "mine = Alphabet('mine', kinetic, U=free_flow, B=kick).word('UBU', order=2)\n"
    )
    answer = call("design", "own.py:mine", "--json", "-")
    assert answer.code == 0
    assert [word["word"] for word in answer.document["words"]] == ["BUB", "UBU"]
    assert answer.document["words"][0]["definition"].startswith("from own import mine\n")
    assert call("design", "kinetic", "--letters", "UB", "--order", "3").code == 3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("kinetic", "--letters", "ABX"),
            "expected all letters of one alphabet of kinetic: ABO of molecular",
        ),
        (("kinetic", "--order", "5"), "order=5: expected a whole number from 1 to 4"),
        (("kinetic", "--gradients", "0"), "gradients=0: expected a whole number from 1 to 5"),
        (("kinetic", "--within", "-1"), "expected a number of seconds above 0"),
        (("langevin",), "no alphabet here splits it; expected one of kinetic"),
        (("sgld-euler",), "is no word over an alphabet"),
        (("kinetic_on_simplex",), "it takes functions of the state; expected letters"),
        (("own.py:mine",), "own.py"),
        (("thermostat",), "expected a dynamics that is linear where U is quadratic"),
        (("kinetic", "--json", "nowhere/design.json"), "cannot be written"),
    ],
)
def test_a_wrong_call_is_refused_in_one_line(call: Call, words: tuple[str, ...], says: str) -> None:
    answer = call("design", *words)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert says in answer.err

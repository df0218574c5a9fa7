"""A scheme is named by the file that makes it, whichever file asks about it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from sgverify.errors import UserError
from sgverify.schemes.loading import load_scheme
from sgverify.testing.references import loadable, reference_of, references_of
from sgverify.testing.regressions import Regressions

MINE = """
from sgverify import Alphabet, scheme, sqrt
from sgverify.schemes import kinetic, langevin

@scheme(langevin, order=1)
def euler(theta, *, h, grad, noise, T):
    return theta - h*grad(theta) + sqrt(2*T*h)*noise()

def drift(theta, p, *, t): return theta + t*p, p
def kick(theta, p, *, t, grad, noise, D, T): return theta, p - t*grad(theta) - t*D*p + sqrt(2*D*T*t)*noise()
word = Alphabet("mine", kinetic, A=drift, B=kick).word("ABA")
"""

ROW = (
    '{{"schema": "sgverify/regression/1", "scheme": "{}", "claim": "sgverify/stated-order", "check": "local-order", '
    '"configuration": {{}}, "reason": "it failed once"}}\n'
)


@pytest.fixture
def asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module that imports schemes, as a test does."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "making_schemes.py").write_text(MINE)
    (tmp_path / "asking_about.py").write_text(
        "from making_schemes import *\nfrom making_schemes import euler as mine\n"
    )
    yield importlib.import_module("asking_about")
    for name in ("making_schemes", "asking_about"):
        sys.modules.pop(name, None)


def test_the_file_that_makes_a_scheme_names_it(asking: Any) -> None:
    assert reference_of(asking.mine, vars(asking)) == "making_schemes.py:euler"
    assert reference_of(asking.word, vars(asking)) == "making_schemes.py:word"
    named = {"making_schemes.py:euler", "asking_about.py:euler", "asking_about.py:mine"}
    assert references_of(asking.mine) == named


def test_rows_under_an_older_name_are_tried(asking: Any, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(ROW.format("asking_about.py:mine"))
    file = Regressions(tmp_path / "rows.jsonl")
    assert len(file.rows_of(references_of(asking.mine), "local-order")) == 1
    assert not file.rows_of(references_of(asking.word), "local-order")


@pytest.mark.parametrize("name", ["renamed.py:euler", "making_schemes.py:gone"])
def test_a_row_whose_scheme_is_gone_is_told(asking: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / "rows.jsonl").write_text(ROW.format(name))
    with pytest.raises(UserError, match=r"rows.jsonl:1: .*delete the row"):
        Regressions(tmp_path / "rows.jsonl").rows()


def test_a_part_of_a_package_is_named_by_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "package_of_schemes").mkdir()
    (tmp_path / "package_of_schemes" / "__init__.py").touch()
    (tmp_path / "package_of_schemes" / "constant.py").write_text("TWO = 2\n")
    (tmp_path / "package_of_schemes" / "made.py").write_text("from .constant import TWO\n" + MINE)
    made = importlib.import_module("package_of_schemes.made")
    assert reference_of(made.euler, {}) == "package_of_schemes.made:euler"
    assert load_scheme("package_of_schemes.made:euler") is made.euler
    for name in ("package_of_schemes", "package_of_schemes.constant", "package_of_schemes.made"):
        sys.modules.pop(name, None)


def test_what_a_command_line_can_load() -> None:
    for reference in ("sghmc-aboba", "resgld", "mine.py:heun", "package.module:heun"):
        assert loadable(reference)
    assert not loadable("nameless")

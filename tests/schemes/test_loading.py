"""Schemes by reference: catalogue names, modules and files, and what is said where there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sgverify.errors import DefinitionError, UnknownNameError, UserError
from sgverify.schemes import NAMED
from sgverify.schemes.loading import load_scheme

GOOD = """
from sgverify import scheme, sqrt
from sgverify.schemes import langevin
from beside import DOUBLE

@scheme(langevin, order=1)
def mine(theta, *, h, grad, noise, T):
    return theta - h*grad(theta) + sqrt(DOUBLE*T*h)*noise()

number = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a good file and the module that it imports."""
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "beside.py").write_text("DOUBLE = 2\n")
    yield tmp_path
    sys.modules.pop("beside", None)


def test_the_three_kinds_of_reference(folder: Path) -> None:
    path = list(sys.path)
    found = load_scheme(f"{folder}/good.py:mine")
    assert (found.name, found.order, found.draws) == ("mine", 1, 1)
    assert sys.path == path
    assert load_scheme("sgld-euler") is NAMED["sgld-euler"]
    assert load_scheme("sgverify.schemes.catalogue.euler:sghmc_euler").name == "sghmc_euler"


def test_files_of_one_name_do_not_meet(folder: Path) -> None:
    other = folder / "other"
    other.mkdir()
    (other / "beside.py").write_text("DOUBLE = 2\n")
    (other / "good.py").write_text(GOOD.replace("order=1", "order=2"))
    assert load_scheme(f"{other}/good.py:mine").order == 2
    assert load_scheme(f"{folder}/good.py:mine").order == 1


@pytest.mark.parametrize(
    ("attribute", "kind", "message"),
    [
        ("mien", UnknownNameError, "unknown scheme of .*good.py 'mien'; did you mean 'mine'"),
        ("number", DefinitionError, "is of type int; expected a function under @scheme"),
        ("langevin", DefinitionError, "is of type Dynamics; expected a function under @scheme"),
        ("", UserError, "expected module:attribute or path/to/file.py:attribute"),
    ],
)
def test_a_wrong_attribute_is_refused(
    folder: Path, attribute: str, kind: type[UserError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        load_scheme(f"{folder}/good.py:{attribute}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no file .*; check the path"),
        ("x = 1\n1/0\n", "bad.py:2 raised ZeroDivisionError: division by zero"),
        ("def (:\n", "bad.py:1 raised SyntaxError"),
        ("raise SystemExit(3)\n", "bad.py:1 raised SystemExit"),
        ("import nothing_of_this_name\n", "bad.py:1 raised ModuleNotFoundError"),
        ("x = 1\n", "no scheme at all; expected a function under @scheme"),
        (
            GOOD.replace("- h*grad", "- undefined*grad").replace("from beside import DOUBLE", ""),
            "raised NameError",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "bad.py").write_text(content)
    before = list(sys.path)
    with pytest.raises(UserError, match=message):
        load_scheme(f"{tmp_path}/bad.py:mine")
    assert sys.path == before


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("mine.py", "which scheme of the file. Write mine.py:attribute"),
        ("nothing_of_this_name:mine", "no module 'nothing_of_this_name'; expected module:attribute"),
        ("json:loads", "is of type function; expected a function under @scheme"),
        ("json:laods", "no scheme at all; expected a function under @scheme"),
        (":mine", "expected module:attribute"),
        ("sghmc-abobo", "did you mean 'sghmc-aboba'"),
    ],
)
def test_a_reference_that_leads_nowhere_is_refused(reference: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_scheme(reference)

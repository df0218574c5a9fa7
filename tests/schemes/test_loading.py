"""Schemes by reference: files, modules, and what loading a file leaves behind."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import pytest

from sgverify.code_files import files_of
from sgverify.errors import DefinitionError, UnknownNameError, UserError
from sgverify.schemes import find_scheme
from sgverify.schemes.loading import load_scheme
from sgverify.schemes.user_files import loaded_once

EULER = """
from sgverify import scheme, sqrt
from sgverify.schemes import langevin

@scheme(langevin, order={order})
def euler(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise()
"""


def test_three_kinds_of_reference(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(EULER.format(order=1))
    assert load_scheme(f"{tmp_path}/mine.py:euler").name == "euler"
    assert load_scheme("sgverify.schemes.catalogue.plain:sgld_euler").order == 1
    assert load_scheme("sghmc-aboba") is find_scheme("sghmc-aboba")


def test_files_of_one_name_do_not_meet(tmp_path: Path) -> None:
    for order in (1, 2):
        (tmp_path / str(order)).mkdir()
        (tmp_path / str(order) / "mine.py").write_text(EULER.format(order=order))
    assert [load_scheme(f"{tmp_path}/{order}/mine.py:euler").order for order in (1, 2, 1)] == [1, 2, 1]


def test_a_file_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(EULER.format(order=1))
    assert load_scheme(f"{path}:euler").order == 1
    path.write_text(EULER.format(order=12))
    assert load_scheme(f"{path}:euler").order == 12


def test_a_file_may_import_its_neighbour_and_the_path_is_put_back(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_mine.py").write_text("ORDER = 3\n")
    (tmp_path / "mine.py").write_text("from neighbour_of_mine import ORDER\n" + EULER.format(order="ORDER"))
    before = list(sys.path)
    try:
        assert load_scheme(f"{tmp_path}/mine.py:euler").order == 3
    finally:
        sys.modules.pop("neighbour_of_mine", None)
    assert sys.path == before


def test_each_file_imports_the_neighbours_of_its_own_folder(tmp_path: Path) -> None:
    text = "from neighbour_of_mine import ORDER\n" + EULER.format(order="ORDER")
    for order in (1, 2, 3):
        (tmp_path / str(order)).mkdir()
        (tmp_path / str(order) / "mine.py").write_text(text)
        if order < 3:
            (tmp_path / str(order) / "neighbour_of_mine.py").write_text(f"ORDER = {order}\n")
    try:
        assert [load_scheme(f"{tmp_path}/{order}/mine.py:euler").order for order in (1, 2, 1)] == [1, 2, 1]
        with pytest.raises(UserError, match="neighbour_of_mine"):
            load_scheme(f"{tmp_path}/3/mine.py:euler")
        # An edit is seen, and also one that leaves second and size as they were.
        load_scheme(f"{tmp_path}/2/mine.py:euler")
        neighbour = tmp_path / "2" / "neighbour_of_mine.py"
        before = neighbour.stat()
        neighbour.write_text("ORDER = 4\n")
        os.utime(neighbour, ns=(before.st_atime_ns, before.st_mtime_ns + 1000))
        assert load_scheme(f"{tmp_path}/2/mine.py:euler").order == 4
    finally:
        sys.modules.pop("neighbour_of_mine", None)


def test_a_module_of_a_neighbours_name_that_the_program_has_loaded_is_not_taken_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for order in (1, 2):
        (tmp_path / str(order)).mkdir()
        (tmp_path / str(order) / "neighbour_of_mine.py").write_text(f"ORDER = {order}\n")
    (tmp_path / "2" / "mine.py").write_text(
        "from neighbour_of_mine import ORDER\n" + EULER.format(order="ORDER")
    )
    monkeypatch.syspath_prepend(tmp_path / "1")
    monkeypatch.setitem(sys.modules, "neighbour_of_mine", None)
    del sys.modules["neighbour_of_mine"]
    loaded = importlib.import_module("neighbour_of_mine")
    assert load_scheme(f"{tmp_path}/2/mine.py:euler").order == 2
    assert sys.modules["neighbour_of_mine"] is loaded


@pytest.mark.parametrize("text", ["1/0\n", "def f(:\n", "raise SystemExit(0)\n", "raise GeneratorExit\n"])
def test_a_file_that_raises_leaves_nothing_behind(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    before, modules = list(sys.path), set(sys.modules)
    with pytest.raises(UserError, match=r"mine\.py:1 raised"):
        load_scheme(f"{tmp_path}/mine.py:euler")
    assert sys.path == before
    assert not {name for name in set(sys.modules) - modules if name.startswith("sgverify_user")}


def test_ctrl_c_while_a_file_runs_is_no_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load_scheme(f"{tmp_path}/mine.py:euler")


def test_an_error_in_a_function_that_the_file_calls_names_the_files_own_line(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import json\n\njson.loads('{')\n")
    with pytest.raises(UserError, match=r"mine\.py:3 raised JSONDecodeError"):
        load_scheme(f"{tmp_path}/mine.py:euler")


def test_functions_of_definitions_have_the_module_name_that_users_files_know(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from sgverify.schemes.mathematics import magnitude\n" + EULER.format(order=1)
    )
    assert load_scheme(f"{tmp_path}/mine.py:euler").order == 1


def test_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(EULER.format(order=1) + "number = 3\n")
    with pytest.raises(UnknownNameError) as missing:
        load_scheme(f"{tmp_path}/mine.py:eulr")
    assert missing.value.nearest == "euler"
    with pytest.raises(DefinitionError, match="of type int"):
        load_scheme(f"{tmp_path}/mine.py:number")
    (tmp_path / "empty.py").write_text("x = 1\n")
    with pytest.raises(UserError, match="no scheme at all"):
        load_scheme(f"{tmp_path}/empty.py:euler")


def test_an_edit_within_the_same_second_and_size_is_seen(tmp_path, monkeypatch):
    """A .pyc is keyed by second and size: the text on disk is what is judged."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "mine.py"
    text = (
        "from sgverify import scheme, sqrt\nfrom sgverify.schemes import langevin\n"
        "@scheme(langevin, order=1)\n"
        "def euler(theta, *, h, grad, noise, T):\n    return theta - 1*h*grad(theta) + sqrt(2*T*h)*noise()\n"
    )
    for factor in (1, 2):
        path.write_text(text.replace("1*h", f"{factor}*h"), encoding="utf-8")
        os.utime(path, (1_700_000_000, 1_700_000_000))
        scheme = load_scheme(f"{path}:euler")
        moved = scheme.step((0,), h=1, grad=lambda theta: 1, noise=lambda: 0, T=0)
        assert moved == (-factor,)
    assert not (tmp_path / "__pycache__").exists()


SCRIPT = """
import argparse, sys
get_ipython().run_line_magic("matplotlib", "inline")
arguments = argparse.ArgumentParser().parse_args()
with open(__file__ + ".runs", "a") as runs:
    runs.write("x")
from ..base import RATE
"""


def test_a_script_of_a_package_runs_once_a_command_with_arguments_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "first_contact" / "inner"
    folder.mkdir(parents=True)
    for place in (folder, folder.parent):
        (place / "__init__.py").write_text("")
    (folder.parent / "base.py").write_text("RATE = 1\n")
    mine = folder / "mine.py"
    mine.write_text(SCRIPT + EULER.format(order=1))
    with loaded_once():
        for _ in range(2):
            assert load_scheme(f"{mine}:euler").order == 1
    assert Path(f"{mine}.runs").read_text() == "x"
    assert {file.name for file in files_of(f"{mine}:euler")} == {"mine.py", "base.py", "__init__.py"}


@pytest.mark.parametrize(("name", "told"), [("euler", None), ("later", "has defined later by then")])
def test_a_file_that_trains_for_too_long_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, told: str | None
) -> None:
    monkeypatch.setattr("sgverify.schemes.user_files.LIMIT", 0.2)
    (tmp_path / "mine.py").write_text(EULER.format(order=1) + "\nwhile True:\n    pass\n")
    if told is None:
        assert load_scheme(f"{tmp_path / 'mine.py'}:{name}").order == 1
    else:
        with pytest.raises(UserError, match=told):
            load_scheme(f"{tmp_path / 'mine.py'}:{name}")

"""The rooms of the house: a newcomer finds a file from the `__init__` of its folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.tables import each_row
from tests.test_floors import PACKAGE

FOLDERS = sorted(path.parent for path in PACKAGE.rglob("__init__.py"))
MOST_FILES = 18
MOST_LINES = 400


def parts(folder: Path) -> Iterator[str]:
    """The modules and packages of a folder, by name; names of two underscores are Python's."""
    for path in folder.iterdir():
        if (path.suffix == ".py" or (path / "__init__.py").exists()) and not path.stem.startswith("__"):
            yield path.stem


def unnamed(folder: Path) -> list[str]:
    """The parts that the folder's `__init__` does not name."""
    said = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    return sorted(part for part in parts(folder) if f"`{part}`" not in said)


@each_row("folder", FOLDERS)
def test_a_folder_names_its_files_and_has_few(folder: Path) -> None:
    assert unnamed(folder) == []
    assert len([path for path in folder.iterdir() if path.is_file()]) <= MOST_FILES


def test_a_file_is_as_long_as_its_concept() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py")}
    assert [str(path) for path, lines in lengths.items() if lines > MOST_LINES] == []


def test_a_file_that_nobody_names_is_found(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text('"""A room: `first`."""\n')
    (tmp_path / "first.py").touch()
    (tmp_path / "second.py").touch()
    assert unnamed(tmp_path) == ["second"]

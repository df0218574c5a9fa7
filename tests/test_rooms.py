"""The rooms of the house: a newcomer finds a file from the `__init__` of its folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_floors import PACKAGE, modules

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


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(PACKAGE.parent)))
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


# A definition and its splitting, a target and where its mass lies, a ring and the roots in it name one another as types.
BY_TYPE = [
    ("sgverify.exact.rings.evaluation", "sgverify.exact.rings.ring"),
    ("sgverify.exact.rings.ring", "sgverify.exact.rings.roots"),
    ("sgverify.schemes.scheme", "sgverify.schemes.splittings"),
    ("sgverify.targets.landscape", "sgverify.targets.target"),
]


def circles(edges: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The pairs of modules that import one another."""
    return sorted((a, b) for a in edges for b in edges[a] if a < b and a in edges.get(b, ()))


def test_no_two_files_import_one_another_beyond_types() -> None:
    edges: dict[str, set[str]] = {module: set() for module in modules()}
    for module, names in modules().items():
        for _, name in names:
            found = name if name in edges else name.rpartition(".")[0]
            edges[module] |= {found} & edges.keys() - {module}
    assert circles(edges) == BY_TYPE


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"a", "c"}, "c": set()}) == [("a", "b")]

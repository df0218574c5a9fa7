"""The core names no paper: no id of a paper's claim, no preset of a paper, no import from the papers' room."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sgverify.claims import claims
from sgverify.schemes.composites.adaptation import presets
from sgverify.targets.registry import TARGETS
from tests.tables import each_row
from tests.test_floors import FLOORS, PACKAGE, imports

OWN = "sgverify/"
"""What the ids of the toolkit's own claims begin with."""

CORE = frozenset({*(part for part, floor in FLOORS.items() if floor <= 3), "cli"})

FOLDERS = frozenset(room.name for room in (PACKAGE / "papers").iterdir() if (room / "cards").is_dir())
"""The papers' folders."""


def names_of_papers() -> frozenset[str]:
    """The ids of papers' claims and the names of their presets, but for a preset that bears the name of a target."""
    ids = {id for id in claims() if not id.startswith(OWN)}
    return frozenset(ids | (presets().keys() - TARGETS.keys()))


def strings(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every string of a program but the docstrings, those of attributes too; parts of f-strings are strings."""
    tree = ast.parse(source)
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.lineno, node.value


def named(source: str, names: frozenset[str]) -> list[str]:
    """The names that stand in strings of the program, as the whole or as a word of it."""
    if not any(re.split("[/-]", name)[0] in source for name in names):
        return []
    found = []
    for line, text in strings(source):
        words = re.findall(r"[\w/-]+", text)
        found += [f"line {line}: {word}" for word in words if word in names]
    return found


def imported(source: str, module: str, is_package: bool = False) -> list[str]:
    """The imports from the papers' room; commands may ask all papers, by the modules that stand beside their folders."""
    found: list[str] = []
    if "papers" not in source:
        return found
    for line, name in imports(source, module, is_package):
        package, room, *place = name.split(".")[:3] if "." in name else (name, "")
        if (package, room) != ("sgverify", "papers"):
            continue
        if not module.startswith("sgverify.cli.") or FOLDERS & {*place}:
            found.append(f"line {line}: {name}")
    return found


def core() -> Iterator[tuple[str, Path]]:
    """The modules of the core with the paths of their texts."""
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if place.parts[0].removesuffix(".py") in CORE:
            yield ".".join(["sgverify", *place.with_suffix("").parts]), path


def test_no_string_of_the_core_is_the_name_of_a_claim_or_a_preset_of_a_paper() -> None:
    modules = dict(core())
    assert "sgverify.cli.commands" in modules and "sgverify.schemes.composites.adaptation" in modules
    names = names_of_papers()
    assert (
        "chen2015/theorem-4" in names and "exploration" in names and not any(n.startswith(OWN) for n in names)
    )
    found = {module: named(path.read_text(encoding="utf-8"), names) for module, path in modules.items()}
    assert {module: faults for module, faults in found.items() if faults} == {}


def test_nothing_of_the_core_imports_a_paper() -> None:
    assert {"chen2015", "awsgld", "vr_resgld"} <= FOLDERS
    found = {
        module: imported(path.read_text(encoding="utf-8"), module, path.name == "__init__.py")
        for module, path in core()
    }
    assert {module: faults for module, faults in found.items() if faults} == {}


@pytest.mark.parametrize(
    "line",
    [
        'find_claim("chen2015/theorem-4")',
        'def f(x):\n    return f"{x}: awsgld/lemma-5 asks for more"',
        'ORDERS = ("sgverify/stated-order", "chen2015/lemma-8")',
        'preset = "optimisation-rastrigin"',
    ],
)
def test_a_planted_name_is_found(line: str) -> None:
    assert len(named(line, names_of_papers())) == 1


@each_row(
    "line",
    [
        '"""As chen2015/theorem-4 has it."""',
        'A = 1\n"""The constant of awsgld/lemma-5."""',
        'STATED = "sgverify/stated-order"',
        'source = "chen2015 equation (9)"',
        'target = "griewank"',
    ],
)
def test_sources_docstrings_and_names_of_our_own_are_free(line: str) -> None:
    assert named(line, names_of_papers()) == []


@each_row(
    ("module", "line"),
    [
        ("sgverify.checks.order.splittings", "from sgverify.papers.chen2015.errata import flows"),
        (
            "sgverify.checks.order.splittings",
            "def f():\n    from sgverify.papers.formula import check_errata",
        ),
        ("sgverify.claims.loading", "from .. import papers"),
        ("sgverify.cli.commands", "from sgverify.papers import chen2015"),
        ("sgverify.cli.commands", "import sgverify.papers.vr_resgld.suite"),
    ],
)
def test_a_planted_import_of_a_paper_is_found(module: str, line: str) -> None:
    assert len(imported(line, module)) == 1


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("sgverify.checks.order.splittings", "from sgverify.claims import claims"),
        ("sgverify.cli.commands", "from sgverify.papers.formula import check_errata"),
    ],
)
def test_an_import_that_names_no_paper_passes(module: str, line: str) -> None:
    assert imported(line, module) == []

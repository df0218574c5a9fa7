"""The floors of the house: imports point downward, siblings of the upper floors never meet.

Every import statement counts, wherever it stands: in a function, under TYPE_CHECKING, in a try block.
"""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.tables import each_row

PACKAGE = Path(__file__).resolve().parents[1] / "sgverify"

# A subject keeps the exact readings of its scheme, and its default step is half a stability limit: it stands above `exact`.
# The law of a step is that of a subject, its configuration and its target: above `subject`, and below the checks that judge it.
# Each name is a subpackage or a module of `sgverify`; "" is the package itself, whose functions
# (`sgverify.verify`) stand above everything and load it when they are called.
FLOORS: Mapping[str, float] = {
    "errors": 0,
    "values": 0,
    "exports": 0,
    "user_code": 0,
    "watching": 0,
    "code_files": 0,
    "code_text": 0,
    "keeping": 0,
    "named_code": 0,
    "plugins": 0,
    "gradients": 0,
    "schemes": 0,
    "targets": 0,
    "evidence": 0,
    "configuration": 0,
    "claims": 1,
    "exact": 2,
    "samplers": 2,
    "rates": 2,
    "subject": 2.5,
    "law": 2.7,
    "checks": 3,
    "strategies": 3,
    "report": 3,
    "adapters": 4,
    "advice": 4,
    "verdict": 4,
    "campaigns": 4,
    "papers": 4,
    "skeletons": 4,
    "extending": 4,
    "testing": 4,
    "draws": 5,
    "cli": 5,
    "pytest_plugin": 5,
    "__main__": 5,
    "": 5,
}
STRANGERS_FROM = 2  # on this floor and floor 3, siblings never import one another
TOP = 4
HEAVY = frozenset({"torch", "sympy", "matplotlib"})
LIGHT_FLOORS = frozenset({0, 1})


BY_EXPRESSION = re.compile(r"import_module|__import__|import sgverify\b(?!\.)")
"""What a text must hold where an expression, and not a statement, may import something."""


def _statements(block: ast.AST) -> Iterator[ast.AST]:
    """The statements in a block, and in those."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(block, part, ()):
            yield inner
            yield from _statements(inner)


def imports(source: str, module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """(line, absolute dotted name) of everything that `source`, the text of `module`, imports."""
    home = module.split(".") if is_package else module.split(".")[:-1]
    tree = ast.parse(source)
    for node in ast.walk(tree) if BY_EXPRESSION.search(source) else _statements(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = home[: len(home) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                # What is imported may be a module or a name in one; the longer reading decides the floor.
                yield node.lineno, f"{stem}.{alias.name}"
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "sgverify"
        ):
            yield node.lineno, f"sgverify.{node.attr}"
        elif isinstance(node, ast.Call) and _called(node) in {"import_module", "__import__"}:
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield node.lineno, first.value


def faults(source: str, module: str, is_package: bool = False) -> list[str]:
    """What the floors have against `module`, one sentence each."""
    return faults_of(imports(source, module, is_package), module)


def faults_of(names: Iterable[tuple[int, str]], module: str) -> list[str]:
    """The same of the imports that were read."""
    own = _part(module)
    if own not in FLOORS:
        return [f"{module}: {own!r} stands on no floor; give it one in FLOORS"]
    found = []
    for line, name in names:
        package, *rest = name.split(".")
        if package in HEAVY and FLOORS[own] in LIGHT_FLOORS:
            found.append(f"{module}:{line} imports {package} on floor {FLOORS[own]}")
        # A bare `import sgverify` binds the name; what is asked of it counts, and the version is anybody's.
        if package != "sgverify" or not rest or rest[0] == "__version__":
            continue
        # A name that is no part is one that the package itself re-exports.
        other = rest[0] if rest[0] in FLOORS else ""
        if other == own:
            continue
        if FLOORS[other] > FLOORS[own]:
            found.append(f"{module}:{line} imports {name}, upward to floor {FLOORS[other]}")
        elif FLOORS[other] == FLOORS[own] and STRANGERS_FROM <= FLOORS[own] < TOP:
            found.append(f"{module}:{line} imports its sibling {other}")
    return found


def cycles(edges: Mapping[str, set[str]]) -> list[str]:
    """The parts that can be reached from themselves."""
    reached = {part: set(others) for part, others in edges.items()}
    for middle in edges:
        for part in edges:
            if middle in reached[part]:
                reached[part] |= reached[middle]
    return sorted(part for part in edges if part in reached[part])


def test_every_module_keeps_its_floor() -> None:
    found = modules()
    assert "sgverify.schemes.scheme" in found
    assert [fault for module, names in found.items() for fault in faults_of(names, module)] == []


def test_no_circle_among_the_parts() -> None:
    edges: dict[str, set[str]] = {part: set() for part in FLOORS}
    for module, names in modules().items():
        own = _part(module)
        for _, name in names:
            other = _part(name)
            if name.startswith("sgverify.") and other in FLOORS and other != own:
                edges[own].add(other)
    # The package re-exports what its parts define, and its version is read from below: no circle of parts.
    del edges[""]
    assert cycles(edges) == []


@each_row(
    ("module", "line"),
    [
        ("sgverify.schemes.splittings", "import torch"),
        ("sgverify.schemes.splittings", "def f():\n    import torch.nn as nn"),
        ("sgverify.targets.catalogue.quadratic", "if TYPE_CHECKING:\n    from sympy import Symbol"),
        ("sgverify.configuration.model", "from matplotlib import pyplot"),
        ("sgverify.claims.loader", "import importlib\nimportlib.import_module('torch')"),
        ("sgverify.schemes.splittings", "from sgverify.exact import affine"),
        ("sgverify.schemes.splittings", "from ..exact import affine"),
        ("sgverify.evidence.storage", "from sgverify import claims"),
        ("sgverify.exact.affine", "from sgverify.samplers import engine"),
        ("sgverify.rates.fit", "import sgverify.exact.affine"),
        (
            "sgverify.report.html",
            "try:\n    from sgverify.checks import registry\nexcept ImportError:\n    pass",
        ),
        ("sgverify.checks.registry", "from .. import report"),
        ("sgverify.strategies.words", "from sgverify.cli import main"),
        ("sgverify.exact.affine", "from sgverify import exp"),
        ("sgverify.exact.affine", "import sgverify\nsgverify.verify(None)"),
        ("sgverify.helpers", "import math"),
    ],
)
def test_a_planted_bad_import_is_found(module: str, line: str) -> None:
    assert len(faults(line, module)) == 1


@each_row(
    ("module", "line"),
    [
        ("sgverify.schemes.splittings", "from sgverify.errors import UserError"),
        ("sgverify.schemes.splittings", "from .scheme import Scheme"),
        ("sgverify.samplers.engine", "import torch"),
        ("sgverify.exact.affine", "from sgverify.schemes import exp"),
        ("sgverify.evidence.storage", "from sgverify import __version__"),
        ("sgverify.evidence.storage", "import sgverify\nprint(sgverify.__version__)"),
        ("sgverify.checks.registry", "from sgverify import exact, samplers"),
        ("sgverify.cli.main", "from sgverify import checks, report, strategies"),
        ("sgverify.pytest_plugin", "from sgverify.testing import parametrize_with_checks"),
    ],
)
def test_a_good_import_passes(module: str, line: str) -> None:
    assert faults(line, module) == []


def test_a_planted_circle_is_found() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a", "b", "c"]


# A definition and its splitting, a target and where its mass lies, a ring and the roots in it name one another as types.
BY_TYPE = [
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


@cache
def modules() -> Mapping[str, list[tuple[int, str]]]:
    """What each module imports."""
    found = {}
    # Trees of syntax are no garbage: the search for it among their million nodes would take most of the time.
    gc.disable()
    try:
        for path in sorted(PACKAGE.rglob("*.py")):
            parts = ["sgverify", *path.relative_to(PACKAGE).with_suffix("").parts]
            package = parts[-1] == "__init__"
            module = ".".join(parts[:-1] if package else parts)
            found[module] = list(imports(path.read_text(encoding="utf-8"), module, package))
    finally:
        gc.enable()
    return found


def _part(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def _called(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))

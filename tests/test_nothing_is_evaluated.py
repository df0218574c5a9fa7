"""No pickle is ever loaded, and no text of a user is evaluated: every call in the package's source is looked at."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sgverify"

FORBIDDEN_MODULES = frozenset(
    {
        "pickle",
        "_pickle",
        "cPickle",
        "cloudpickle",
        "dill",
        "joblib",
        "marshal",
        "shelve",
        "runpy",
        "code",
        "yaml",
    }
)
"""Modules that make objects, or run code, of what they read."""

FORBIDDEN_CALLS = frozenset(
    {
        "eval",
        "__import__",
        "parse_expr",
        "nsimplify",
        "read_pickle",
        "read_hdf",
        "to_pickle",
        "unpickle",
        "parse_latex",
    }
)

COMPILES = {
    "schemes/user_files.py": "a file whose code was asked for",
    "advice/diagnosis/source.py": "an edit of a definition whose code was asked for, made on its syntax tree",
    "exact/readings/formula.py": "a definition of the package with a planted bug of the catalogue",
    "testing/planting.py": "the text of a function in which a test plants a bug",
    "samplers/reading/tape.py": "lines made of operations that were recorded",
    "samplers/own/module_gradient.py": "lines made of operations that were recorded",
}
"""The modules that compile or run a text, and whose text it is."""

SUSPICIOUS = re.compile(
    rf"(?:^|;)\s*(?:import|from)\b.*\b({'|'.join(sorted(FORBIDDEN_MODULES))})\b|"
    rf"\b({'|'.join(sorted(FORBIDDEN_CALLS))}|exec|compile|sympify|lambdify|allow_pickle|"
    r"spec_from_file_location)\b|\bload\(|\.S\(",
    re.MULTILINE,
)
"""What a text must hold for a complaint: the others need not be parsed. ("Code" is a word of many docstrings.)"""

IMPORTS = {"schemes/definition/foreign.py": "an import statement in a definition, run as Python runs it"}

LAMBDIFIES = {"exact/posterior/conjugate.py": "densities of the package's own potentials, on symbols"}


def complaints(source: str, place: str) -> Iterator[str]:
    """What the source of a module does that it must not."""
    if not SUSPICIOUS.search(source):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            first = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            names = [first] if first else [alias.name for alias in node.names]
            for name in names:
                if name.split(".")[0] in FORBIDDEN_MODULES and not (
                    isinstance(node, ast.ImportFrom) and node.level
                ):
                    yield f"{place}:{node.lineno}: imports {name}"
        if not isinstance(node, ast.Call):
            continue
        called, whose = _called(node)
        given = {word.arg: word.value for word in node.keywords}
        allowed = given.get("allow_pickle")
        if allowed is not None and not (isinstance(allowed, ast.Constant) and allowed.value is False):
            yield f"{place}:{node.lineno}: allows pickles"
        if (called, whose) in {("load", "np"), ("load", "numpy")} and allowed is None:
            yield f"{place}:{node.lineno}: np.load without allow_pickle=False"
        if (called, whose) in {("load", "torch"), ("load", "jit")}:
            yield f"{place}:{node.lineno}: torch.load, which unpickles"
        excused = (called == "eval" and whose) or (called == "__import__" and place in IMPORTS)
        if called in FORBIDDEN_CALLS and not excused:
            yield f"{place}:{node.lineno}: {called}"
        if called == "sympify" and not _is_true(given.get("strict")):
            yield f"{place}:{node.lineno}: sympify without strict=True evaluates text"
        if called == "S" and whose == "sympy":
            yield f"{place}:{node.lineno}: sympy.S evaluates text"
        if called == "lambdify" and place not in LAMBDIFIES:
            yield f"{place}:{node.lineno}: lambdify"
        runs = (called in ("exec", "compile") and not whose) or called == "spec_from_file_location"
        if runs and place not in COMPILES:
            yield f"{place}:{node.lineno}: {called}"


def _called(node: ast.Call) -> tuple[str, str]:
    """The name that is called, and that of the object or module before its dot."""
    match node.func:
        case ast.Name(id=name):
            return name, ""
        case ast.Attribute(attr=name, value=ast.Name(id=whose)):
            return name, whose
        case ast.Attribute(attr=name, value=ast.Attribute(attr=whose)):
            return name, whose
        case ast.Attribute(attr=name):
            return name, "?"
    return "", ""


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def test_no_module_loads_a_pickle_or_evaluates_text() -> None:
    found = [
        line
        for file in sorted(PACKAGE.rglob("*.py"))
        for line in complaints(file.read_text(encoding="utf-8"), file.relative_to(PACKAGE).as_posix())
    ]
    assert found == []


@each_row(
    "text",
    [
        "import pickle",
        "from joblib import load",
        "np.load(file)",
        "np.load(file, allow_pickle=True)",
        "numpy.lib.npyio.NpzFile(file, allow_pickle=flag)",
        "torch.load(file, weights_only=True)",
        "eval(text)",
        "sympy.sympify(text)",
        "sympify(text, strict=False)",
        "sympy.parsing.sympy_parser.parse_expr(text)",
        "sympy.S(text)",
        "sympy.lambdify(x, text)",
        "exec(text)",
        "compile(text, 'a', 'exec')",
        "pandas.read_pickle(file)",
    ],
)
def test_the_test_sees_it(text: str) -> None:
    assert list(complaints(text, "somewhere.py"))


@pytest.mark.parametrize(
    "text",
    ["np.load(file, allow_pickle=False)", "model.eval()", "re.compile(text)", "sympify(x, strict=True)"],
)
def test_the_test_passes_it(text: str) -> None:
    assert not list(complaints(text, "somewhere.py"))


def test_the_lists_name_modules_that_are_there() -> None:
    assert [place for place in (*COMPILES, *LAMBDIFIES) if not (PACKAGE / place).is_file()] == []

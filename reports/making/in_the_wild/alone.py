"""Run a script with neither sgverify nor this repository; print as JSON what it found and which options it gave the library.

By its path, in an isolated interpreter: `python -I alone.py SCRIPT PACKAGE...`, the packages those of the library.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import json
import runpy
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Options = dict[str, Any]


def main(script: str, *packages: str) -> None:
    """Print `found`, `expected`, `beside` (further numbers by what they are) and `calls`."""
    sys.modules["sgverify"] = sys.modules["reports"] = None  # type: ignore[assignment]
    warnings.simplefilter("ignore")
    names = runpy.run_path(script)
    with open(script, encoding="utf-8") as file:
        calls = calls_of(file.read(), names, packages)
    numbers: dict[str, Any] = {key: float(names[key]) for key in ("found", "expected")}
    beside = {said: float(number) for said, number in names.get("beside", {}).items()}
    print(json.dumps({**numbers, "beside": beside, "calls": calls}))


def calls_of(source: str, names: Mapping[str, Any], packages: Sequence[str]) -> list[Options]:
    """The calls of the packages' functions that have options, each with those that are passed and those that are left.

    `names` are the script's names after its run. An option is a parameter with a default.
    """
    calls = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        function = _value(node.func, names)
        if function is None:
            if node.keywords and _dotted(node.func):
                raise ValueError(f"{ast.unparse(node)}: a call by a name that the script does not keep")
            continue
        # An object of blackjax hands its call on.
        function = getattr(function, "differentiable", function)
        bound: set[str] = set()
        while isinstance(function, functools.partial):
            bound, function = bound | set(function.keywords), function.func
        if (getattr(function, "__module__", None) or "").partition(".")[0] in packages:
            passed, left = _options(node, function, bound)
            if passed or left:
                calls.append({"call": ast.unparse(node.func), "passed": passed, "left": left})
    return calls


def _dotted(node: ast.expr) -> bool:
    """Is an expression a name, or attributes of a name?"""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _dotted(node.value))


def _value(node: ast.expr, names: Mapping[str, Any]) -> Callable[..., Any] | None:
    """The value of a dotted name after the run; None for other expressions and for names of functions' own."""
    if isinstance(node, ast.Name):
        return names.get(node.id, getattr(builtins, node.id, None))
    if isinstance(node, ast.Attribute) and _dotted(node):
        return getattr(_value(node.value, names), node.attr, None)
    return None


def _options(
    node: ast.Call, function: Callable[..., Any], bound: set[str]
) -> tuple[dict[str, Options], dict[str, str]]:
    """The options that a call passes, as {"value", "default"}, and the defaults of those that it leaves."""
    parameters = inspect.signature(function).parameters
    defaults = {
        name: _shown(parameter.default)
        for name, parameter in parameters.items()
        if parameter.default is not inspect.Parameter.empty and name not in bound
    }
    given = {word.arg: word.value for word in node.keywords if word.arg}
    if unknown := given.keys() - parameters.keys():
        raise ValueError(f"{ast.unparse(node)}: no parameter {', '.join(sorted(unknown))} in the signature")
    for name, value in zip((name for name in parameters if name not in bound), node.args, strict=False):
        if isinstance(value, ast.Starred):
            break
        given[name] = value
    passed = {
        name: {"value": ast.unparse(given[name]), "default": default}
        for name, default in defaults.items()
        if name in given
    }
    return passed, {name: default for name, default in defaults.items() if name not in given}


def _shown(default: Any) -> str:
    """A default as a text that is the same in every process."""
    return default.__qualname__ if inspect.isroutine(default) else repr(default)


if __name__ == "__main__":
    main(*sys.argv[1:])

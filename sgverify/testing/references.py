"""By which reference, and by which command line, is a scheme of a test module judged again?"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from hypothesis import currently_in_test_context, note

from sgverify.configuration import Configuration
from sgverify.errors import UserError
from sgverify.schemes import NAMED, Scheme, TorchStep
from sgverify.schemes.loading import load_step
from sgverify.subject.binding import make_subject


def name_of(scheme: Any) -> str:
    """The name of a scheme, a reference, a class, a function (of a partial one, that of its function) or an object's class."""
    if isinstance(scheme, str):
        return scheme
    if isinstance(scheme, (Scheme, TorchStep)):
        return scheme.name
    found = getattr(scheme, "func", scheme)
    return str(getattr(found, "__name__", type(found).__name__))


def reference_of(scheme: Any, namespace: Mapping[str, Any]) -> str:
    """A catalogue name, or `path/to/file.py:attribute` where the scheme stands at the top of a module.

    `namespace` is that of the module that asks; every other module that was imported is searched too, since a
    word does not know where it was made. The file that makes the scheme comes before one that imports it, whose name
    says nothing of the scheme and may be changed any day. A scheme that stands nowhere is called by its name, which no
    command line can load.
    """
    if isinstance(scheme, str):
        return scheme
    if isinstance(scheme, (Scheme, TorchStep)) and scheme.reference:
        return scheme.reference
    if NAMED.get(name_of(scheme)) is scheme:
        return name_of(scheme)
    found = list(_places(scheme, namespace))
    made = (name for name, file, attribute in found if attribute in _made_in(file))
    return next(made, found[0][0] if found else name_of(scheme))


def references_of(scheme: Scheme | TorchStep) -> frozenset[str]:
    """Every name of the scheme in an imported module: an older row of a regression file may use any of them."""
    return frozenset(name for name, _, _ in _places(scheme, {}))


def _places(scheme: Any, namespace: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(reference, file, attribute) wherever a module holds the scheme, the one that asks first."""
    for place in (namespace, *(vars(module) for _, module in sorted(sys.modules.items()))):
        file = place.get("__file__")
        if file:
            for attribute, value in list(place.items()):
                if value is scheme:
                    yield _reference(place, file, attribute), file, attribute


def _reference(place: Mapping[str, Any], file: str, attribute: str) -> str:
    name, package = place.get("__name__"), place.get("__package__")
    if name and package and name != "__main__" and _relative(file):
        # A file that imports its neighbours with a dot runs as a part of its package alone.
        return f"{name}:{attribute}"
    return f"{_short(file)}:{attribute}"


def loadable(reference: str) -> bool:
    """Is the reference one to a file or module, or a name of the catalogue, so that a command line can load it?"""
    if ":" in reference:
        return True
    try:
        load_step(reference)
    except UserError:
        return False
    return True


@lru_cache(maxsize=256)
def _tree(file: str) -> ast.Module:
    try:
        return ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


def _made_in(file: str) -> frozenset[str]:
    """The names that a file assigns or defines, imports left out."""
    made = set()
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            made.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            made.add(node.name)
    return frozenset(made)


def _relative(file: str) -> bool:
    return any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(_tree(file)))


def _short(file: str) -> str:
    path = Path(os.path.abspath(file))
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def replay_command(reference: str, configuration: Configuration, claim: str) -> str:
    """`sgverify verify REFERENCE --checks CLAIM --set ...`: judges the scheme under exactly this configuration.

    >>> from sgverify.configuration import load_configuration
    >>> replay_command("sghmc-aboba", load_configuration(friction=3.0), "chen2015/theorem-4")
    'sgverify verify sghmc-aboba --checks chen2015/theorem-4 --set friction=3.0'
    """
    return make_subject(reference, configuration).command("verify", "--checks", claim)


def note_replay(reference: str, configuration: Configuration, claim: str) -> None:
    """Have hypothesis print that command with the example, should it fail; outside of one, do nothing."""
    if currently_in_test_context():
        note(f"replay: {replay_command(reference, configuration, claim)}")

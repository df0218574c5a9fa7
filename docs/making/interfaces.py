"""The pages of what scripts rely on: commands, public names in Python, JSON documents."""

from __future__ import annotations

import json
from importlib import import_module

import click

from docs.making.markdown import block, page, plain
from docs.making.words import COMMANDS as ALSO
from docs.making.words import also
from sgverify.cli.listing import SCHEMAS, published
from sgverify.cli.main import cli

COMMANDS = """\
# Command line

What `--help` prints, for every command. stdout carries the result, stderr progress and warnings, and `--json -` prints JSON
alone on stdout. Exit codes of `verify`, `rate` and `replay`, the highest that applies first:

| code | meaning |
|---|---|
| 4 | an internal error, with a traceback and how to report it |
| 2 | the call, the configuration or the definition of the scheme is wrong: one message, no traceback |
| 1 | something violates |
| 3 | nothing violates, and something is open |
| 0 | everything that was asked conforms |

`report` exits with 0 once the report is written, whatever it found; `report --strict` exits like `verify`."""

FORMATS = """\
# Data formats

Every JSON document that is written names its schema in the key `"schema"`. `sgverify schema` lists the schemas, `sgverify
schema NAME` prints one (draft 2020-12), and a document of another version is read or refused by name. In `evidence`, `value`
is signed (estimate minus truth; for `mse` the mean square), exponents in h are positive and those in L negative."""

PYTHON = """\
# Python

The public names. What is not in the `__all__` of one of these modules may change without notice. Shapes: a state has the
shape `(*chains, d)`, and everything elementwise goes over the chains."""

MODULES = {
    "sgverify": "What most users need",
    "sgverify.schemes": "Schemes and dynamics",
    "sgverify.schemes.composites": "Replica exchange and adaptive weights",
    "sgverify.evidence": "Evidence",
    "sgverify.testing": "In a test suite",
    "sgverify.strategies": "Hypothesis strategies",
    "sgverify.extending": "What extensions are written with",
}
"""The modules whose public names are documented."""


def commands_page() -> str:
    """The help text of every command, as it is printed."""
    parts = [COMMANDS]
    top = click.Context(cli, info_name="sgverify", **cli.context_settings)
    for name in cli.list_commands(top):
        command = cli.get_command(top, name)
        if command is not None:
            context = click.Context(command, info_name=name, parent=top)
            parts += [f"## sgverify {name}", also(ALSO, name, ""), block("text", command.get_help(context))]
    return page(*parts)


def formats_page() -> str:
    """The JSON schemas."""
    parts = [FORMATS]
    for short in SCHEMAS:
        document = published(short)
        said = (document.kind.__doc__ or "").strip()
        schema = json.dumps(document.schema(), indent=2, ensure_ascii=False)
        parts += [f"## {short}", plain(said), f"`{document.name}`", block("json", schema)]
    return page(*parts)


def python_page(module: str) -> str:
    """The public names of one module; those that a module above it has are documented there."""
    before = [other for other in MODULES if other != module][: list(MODULES).index(module)]
    documented = {_place(other, name) for other in before for name in _names(other)}
    places = {name: _place(module, name) for name in _names(module)}
    elsewhere = [f"`{name}`" for name, place in places.items() if place in documented]
    return page(
        PYTHON if module == "sgverify" else f"# {MODULES[module]}",
        f"Import from `{module}`." + (f" Described before: {', '.join(elsewhere)}." if elsewhere else ""),
        *(f"::: {place}" for place in places.values() if place not in documented),
    )


def _names(module: str) -> list[str]:
    return [name for name in import_module(module).__all__ if name != "__version__"]


def _place(module: str, name: str) -> str:
    """Where a name is defined; a module and a function in it may share a name, so that the shorter path is ambiguous."""
    found = getattr(import_module(module), name)
    home, own = getattr(found, "__module__", module), getattr(found, "__qualname__", "")
    defined = own.isidentifier() and getattr(import_module(home), own, None) is found
    return f"{home}.{own}" if defined else f"{module}.{name}"

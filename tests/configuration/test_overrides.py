"""The typed keywords of `verify`, `rate` and `sample` are the keys of a configuration."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from sgverify.configuration import Configuration, GradientTable, TargetTable
from sgverify.configuration.loading import _table
from sgverify.configuration.overrides import Overrides, SamplingOverrides
from sgverify.gradients import ESTIMATORS
from sgverify.targets.registry import constant_types
from sgverify.values import _whole
from tests.tables import each_row

HINTS = get_type_hints(Overrides)


def keyword_fields() -> dict[str, Any]:
    """The annotation of each key of the model, by the keyword that sets it; tables too."""
    found = {}
    for name, field in Configuration.model_fields.items():
        table = _table(field.annotation)
        found[name] = Mapping[str, Any] if table else annotation_of(field)
        for key, inner in table.model_fields.items() if table else ():
            found[f"{name}__{key}"] = annotation_of(inner)
    return found


def annotation_of(field: Any) -> Any:
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def plain(hint: Any) -> Any:
    """A type without its constraints and without None; lists and sequences are one, and so are dictionaries and mappings."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        # 1e10 is taken for a whole number.
        whole = any(getattr(item, "func", None) is _whole for item in hint.__metadata__)
        return plain(int | float) if whole else plain(arguments[0])
    if origin in (Union, UnionType):
        found: set[Any] = set()
        for argument in arguments:
            inner = plain(argument)
            found |= inner if isinstance(inner, frozenset) else {inner}
        found.discard(type(None))
        return frozenset(found) if len(found) > 1 else found.pop()
    if origin is Literal:
        return arguments
    if origin in (list, Sequence):
        return (Sequence, plain(arguments[0]))
    if origin in (dict, Mapping):
        return (Mapping, plain(arguments[1]))
    return (origin, tuple(map(plain, arguments))) if origin else hint


OPEN = {
    *(f"target__{name}" for name in constant_types()),
    *(f"gradient__{key}" for estimator in ESTIMATORS.values() for key in estimator.own_keys),
}
"""Keys that a target or an estimator declares: who adds one may leave it to the table."""


def test_the_keywords_are_the_keys() -> None:
    keys = set(keyword_fields())
    assert set(HINTS) <= keys
    assert keys - set(HINTS) <= OPEN
    assert set(get_type_hints(SamplingOverrides)) == set(HINTS) - {"target"}


FREE = {"target__data", "gradient__kind", "partition__preset"}
"""Arrays are data too; kinds of gradients and presets are names of a catalogue."""


@each_row("name", sorted(set(HINTS) - FREE))
def test_the_types_are_those_of_the_keys(name: str) -> None:
    assert plain(HINTS[name]) == plain(keyword_fields()[name])


def test_a_wrong_type_would_be_seen() -> None:
    assert plain(HINTS["steps"]) != plain(HINTS["temperature"]) != plain(HINTS["dtype"])
    assert {TargetTable, GradientTable} <= {_table(f.annotation) for f in Configuration.model_fields.values()}


RIGHT = """
import arviz
import sgverify

minibatches = {"kind": "iid", "batch": 5}
sgverify.verify("sgld-euler", gradient=minibatches, friction=3, steps=1e4, sweep__steps=[1, 0.5])
sgverify.rate("sgld-euler", quantity="bias", target={"name": "gaussian"}, schedule__kind="horizon")
draws: arviz.InferenceData = sgverify.sample("sgld-euler", target={"name": "gaussian"}, chains=4)
"""

WRONG = [
    'sgverify.verify("sgld-euler", gradent={"kind": "iid"})',
    'sgverify.verify("sgld-euler", gradient="iid")',
    'sgverify.rate("sgld-euler", quantity="bias", fricton=3.0)',
    'sgverify.rate("sgld-euler", quantity="bias", dtype="float16")',
    'sgverify.sample("sgld-euler", chians=4)',
    'draws: int = sgverify.sample("sgld-euler")',
]


@pytest.mark.power
def test_a_misspelt_keyword_is_a_type_error(tmp_path: Path) -> None:
    """A run of mypy over the package takes a minute."""
    path = tmp_path / "mine.py"
    path.write_text(RIGHT + "\n".join(WRONG) + "\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=silent", str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    first = RIGHT.count("\n") + 1
    told = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    assert told == {first + i for i in range(len(WRONG))}, done.stdout + done.stderr

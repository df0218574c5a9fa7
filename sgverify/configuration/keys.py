"""The keys of a configuration as rows: the type of each, its default, and the kinds that read it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from sgverify.configuration.kinds import SCHEDULE_KINDS
from sgverify.configuration.meanings import MEANINGS
from sgverify.configuration.model import Configuration
from sgverify.gradients import READERS

KINDS_OF_TABLES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "gradient": READERS,
    "schedule": SCHEDULE_KINDS,
}

_WORDS = {float: "number", int: "whole number", str: "text", bool: "true or false"}
_BOUNDS = {
    "gt": "above {:g}",
    "ge": "{:g} or more",
    "lt": "below {:g}",
    "le": "at most {:g}",
    "min_length": "{} or more",
    "max_length": "at most {}",
}


@dataclass(frozen=True)
class Key:
    """A dotted key, its type in words, its default as TOML has it, or "left open", and the kinds that read it, () for all."""

    name: str
    type: str
    default: str
    kinds: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """A clause that says what the key is; "" of a constant that only somebody else's target declares."""
        return MEANINGS.get(self.name, "")

    @property
    def table(self) -> str:
        """The table that it is in, "" at the top."""
        return self.name.rpartition(".")[0]


def keys() -> list[Key]:
    """Every key that a configuration may have, in the order of the tables."""
    return list(_keys(Configuration, ""))


def _keys(table: type[BaseModel], name: str) -> Iterator[Key]:
    for key, field in table.model_fields.items():
        inner = next((part for part in _options(field.annotation) if _is_table(part)), None)
        if inner is not None:
            yield from _keys(inner, key)
            continue
        shown = "left open" if field.default is None else json.dumps(field.default)
        kinds = KINDS_OF_TABLES.get(name, {}).get(key, ())
        what = _type(field.annotation, field.metadata)
        yield Key(f"{name}.{key}".lstrip("."), what, shown, tuple(kinds))


def _is_table(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _options(annotation: Any) -> list[Any]:
    """The parts of a union, None left out."""
    if get_origin(annotation) not in (Union, UnionType):
        return [annotation]
    return [part for part in get_args(annotation) if part is not NoneType]


def _type(annotation: Any, metadata: Iterable[Any] = ()) -> str:
    """A type in words, such as "whole number, 1 or more" or "list of (number, above 0)"."""
    options = _options(annotation)
    if len(options) > 1 or options[0] is not annotation:
        return " or ".join(dict.fromkeys(_type(part, metadata) for part in options))
    if get_origin(annotation) is Annotated:
        inside, *own = get_args(annotation)
        return _type(inside, (*own, *metadata))
    arguments = get_args(annotation)
    match get_origin(annotation):
        case origin if origin is Literal:
            return " | ".join(json.dumps(choice) for choice in arguments)
        case origin if origin in (list, tuple):
            what = f"list of ({_type(arguments[0])})"
        case origin if origin is dict:
            what = f"table of ({_type(arguments[1])})"
        case _:
            what = _WORDS[annotation]
    return what if what == "text" else ", ".join([what, *_limits(metadata)])


def _limits(metadata: Iterable[Any]) -> list[str]:
    flat = [item for one in metadata for item in (one.metadata if isinstance(one, FieldInfo) else [one])]
    return [
        text.format(getattr(item, name))
        for item in flat
        for name, text in _BOUNDS.items()
        if getattr(item, name, None) is not None
    ]


__all__ = ["Key", "keys"]

"""Published schemas: the one place that validates a document, and refuses what does not follow."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, TypeVar, cast

from sgverify.errors import UserError

LONGEST = 200

T = TypeVar("T")


@dataclass(frozen=True)
class Published:
    """A schema (JSON schema, draft 2020-12) that ships with the package: its name, its file, what its documents hold.

    `mend`: how a document of this kind is written anew.
    """

    name: str
    file: str
    noun: str
    mend: str

    def schema(self) -> dict[str, Any]:
        """The schema itself."""
        return _schema(self.file)

    def check(self, document: Any, where: str) -> None:
        """Raise UserError, in one line, unless `document` follows the schema; `where` names it in the message.

        No schema, another version, another kind of document and a broken one are told apart.
        """
        name = document.get("schema") if isinstance(document, Mapping) else None
        if not isinstance(name, str):
            raise UserError(
                f'{where} holds no {self.noun}: it has no "schema"; expected {self.name!r}. {self.mend}'
            )
        if name != self.name:
            kind = (
                f"{self.noun} of another version"
                if _family(name) == _family(self.name)
                else f"not {self.noun}"
            )
            raise UserError(
                f"{where} is {kind}: schema={name!r}; this version reads {self.name!r}. {self.mend}"
            )
        problem = _first_problem(self.file, document)
        if problem is not None:
            raise UserError(f"{where} does not follow {self.name!r}: {problem}. {self.mend}")

    def decode(self, kind: type[T], document: Any, where: str = "document") -> T:
        """A document as the dataclass `kind`, whose fields are its keys; keys that follow from others are left out.

        Raises `UserError` as `check` does.
        """
        self.check(document, where)
        return read_as(kind, document)


def read_as(kind: type[T], document: Any) -> T:
    """JSON values as the dataclass `kind`, with the dataclasses and tuples that its fields ask for."""
    found: T = _adapter(cast(Hashable, kind)).validate_python(document)
    return found


def _family(name: str) -> str:
    return name.rpartition("/")[0]


@cache
def _schema(file: str) -> dict[str, Any]:
    text = resources.files("sgverify.evidence").joinpath("schema", file).read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


@cache
def _adapter(kind: Hashable) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(cast(Any, kind))


@cache
def _validator(file: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(_schema(file))


def _first_problem(file: str, document: Any) -> str | None:
    from jsonschema.exceptions import best_match

    error = best_match(_validator(file).iter_errors(document))
    if error is None:
        return None
    message = " ".join(str(error.message).split())
    return f"at {error.json_path}: {message if len(message) <= LONGEST else message[: LONGEST - 3] + '...'}"

"""Published documents: their JSON schema, from their dataclass, and their origin: command line, versions, platform, seconds."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, TypeVar, cast

import sgverify
from sgverify.errors import UserError
from sgverify.plugins import loaded_distributions

LONGEST = 200

DRAFT = "https://json-schema.org/draft/2020-12/schema"

T = TypeVar("T")


class Says:
    """Schema annotations of a field beside its type: a description, and keywords such as minimum=0.

    A keyword `type` replaces the type of the annotation. An `optional` field may be missing in a document; an `absent` field
    never occurs in one.
    """

    def __init__(self, description: str = "", **keywords: Any) -> None:
        self.keywords = {**({"description": description} if description else {}), **keywords}

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return self.keywords if "type" in self.keywords else {**handler(core), **self.keywords}


Name = Annotated[str, Says(minLength=1)]
Number = int | float
"""A number as JSON is read back: integers remain integers."""
Size = Annotated[Number, Says(minimum=0)]
Count = Annotated[int, Says(minimum=0)]
Chance = Annotated[Number, Says(minimum=0, maximum=1)]


@dataclass(frozen=True)
class Published:
    """A kind of document: its name with the version, the dataclass whose fields are its keys, and a noun for its contents.

    `mend` is the advice how to write such a document again.
    """

    name: str
    kind: type[Any]
    noun: str
    mend: str

    def schema(self) -> dict[str, Any]:
        """The JSON schema (draft 2020-12) of these documents."""
        return _schema(self.name, cast(Hashable, self.kind))

    def check(self, document: Any, where: str) -> None:
        """Raise UserError, in one line, unless `document` follows the schema; `where` names it in the message.

        The messages distinguish a missing schema, another version, another kind of document, and a broken one.
        """
        name = document.get("schema") if isinstance(document, Mapping) else None
        if not isinstance(name, str):
            raise UserError(
                f'{where} holds no {self.noun.removeprefix("a ")}: it has no "schema"; expected {self.name!r}. {self.mend}'
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
        problem = self._first_problem(document)
        if problem is not None:
            raise UserError(f"{where} does not follow {self.name!r}: {problem}. {self.mend}")

    def decode(self, document: Any, where: str = "document") -> Any:
        """A document as the dataclass; keys that follow from others are left out. Raises `UserError` as `check` does."""
        self.check(document, where)
        return read_as(self.kind, document)

    def _first_problem(self, document: Any) -> str | None:
        from jsonschema.exceptions import best_match

        error = best_match(_validator(self.name, cast(Hashable, self.kind)).iter_errors(document))
        if error is None:
            return None
        message = " ".join(str(error.message).split())
        return (
            f"at {error.json_path}: {message if len(message) <= LONGEST else message[: LONGEST - 3] + '...'}"
        )


def read_as(kind: type[T], document: Any) -> T:
    """An object of the dataclass `kind` from JSON values, with nested dataclasses and tuples as its fields declare."""
    found: T = _adapter(cast(Hashable, kind)).validate_python(document)
    return found


def _family(name: str) -> str:
    return name.rpartition("/")[0]


@cache
def _schema(name: str, kind: Hashable) -> dict[str, Any]:
    family, _, version = name.rpartition("/")
    content = _as_written(_adapter(kind).json_schema())
    return {
        "$schema": DRAFT,
        "$id": f"urn:{family.replace('/', ':')}:{version}",
        "title": f"{family.replace('/', ' ')}, version {version}",
        **content,
        "required": ["schema", *content["required"]],
        "properties": {"schema": {"const": name}, **content["properties"]},
    }


def _as_written(node: Any) -> Any:
    """pydantic's schema, adapted to written documents: all keys required, no other keys, no titles and no defaults."""
    if isinstance(node, list):
        return [_as_written(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {
        key: _as_written(value)
        for key, value in node.items()
        if key not in ("title", "default", "properties")
    }
    kinds = kept.get("anyOf", [])
    if kinds and all(set(item) == {"type"} for item in kinds):
        # A union of plain types; a number may be an integer.
        names = list(dict.fromkeys(item["type"] for item in kept.pop("anyOf")))
        names = [item for item in names if item != "integer" or "number" not in names]
        kept["type"] = names if len(names) > 1 else names[0]
    if "properties" in node:
        fields = {key: value for key, value in node["properties"].items() if not value.get("absent")}
        kept["properties"] = {
            key: _as_written({word: told for word, told in value.items() if word != "optional"})
            for key, value in fields.items()
        }
        if node.get("type") == "object" and "additionalProperties" not in node:
            # A surplus key is reported before a missing one, of which it is often a misspelling.
            needed = [key for key, value in fields.items() if not value.get("optional")]
            kept = {"additionalProperties": False, **kept, "required": needed}
    # Of several mistakes the first is reported: a wrong type before a wrong size.
    return {"type": kept["type"], **kept} if "type" in kept else kept


@cache
def _adapter(kind: Hashable) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(cast(Any, kind))


@cache
def _validator(name: str, kind: Hashable) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(_schema(name, kind))


@dataclass(frozen=True)
class Command:
    """`sgverify VERB REFERENCE OPTIONS...`, a setting being the option --set.

    >>> asked = Command("rate", "sghmc-aboba", ("--quantity", "mse", "--method", "exact", "--set", "friction=3.0"))
    >>> print(asked)
    sgverify rate sghmc-aboba --quantity mse --method exact --set friction=3.0
    >>> Command.read(str(asked)) == asked, asked.option("--method"), asked.option("--checks")
    (True, 'exact', None)
    """

    verb: str
    reference: str
    options: tuple[str, ...] = ()

    @classmethod
    def read(cls, line: str) -> Command:
        """Parse a printed command line; other text gives an empty verb and an empty reference."""
        try:
            arguments = shlex.split(line)
        except ValueError:
            arguments = []
        verb, reference = [*arguments[1:3], "", ""][:2]
        return cls(verb, reference, tuple(arguments[3:]))

    def option(self, name: str) -> str | None:
        """The value of an option; None if it is not given."""
        return next((value for option, value in pairwise(self.options) if option == name), None)

    def __str__(self) -> str:
        return shlex.join(["sgverify", self.verb, self.reference, *self.options])


@dataclass(frozen=True)
class ReusedAnswers:
    """How many answers of a run, of `asked` in all, were in a store of earlier ones, and when the oldest and newest were kept."""

    answers: Annotated[int, Says(minimum=1)]
    asked: Annotated[int, Says(minimum=1)]
    oldest: Annotated[str, Says("ISO 8601, UTC")]
    newest: Annotated[str, Says("ISO 8601, UTC")]

    def __str__(self) -> str:
        day = (
            self.oldest[:10]
            if self.oldest[:10] == self.newest[:10]
            else f"{self.oldest[:10]} to {self.newest[:10]}"
        )
        return f"{self.answers} of {self.asked} answers were in the store, kept {day}"


@dataclass(frozen=True)
class Provenance:
    """Versions, platform, the command and its wall-clock seconds, and the sha256 of the user's code that was judged.

    `extensions` are the distributions whose checks, schemes, targets, papers or adapters were loaded, each with its version.
    `reused` says how many answers were not computed by this run.
    """

    version: str
    python: str
    torch: str
    platform: str
    command: str
    seconds: Size
    code: Annotated[
        Mapping[str, str],
        Says(
            "sha256 of the user's files that ran, by path from the folder of the run; left out where none did",
            optional=True,
            additionalProperties={"type": "string", "pattern": "^[0-9a-f]{64}$"},
        ),
    ] = field(default_factory=dict)
    extensions: Annotated[
        tuple[str, ...],
        Says(
            "distributions whose entry points were loaded, as `their-package 1.0`; left out where none was",
            optional=True,
        ),
    ] = ()
    reused: Annotated[
        ReusedAnswers | None, Says("left out where all answers were computed by this run", optional=True)
    ] = None

    def document(self) -> dict[str, Any]:
        """The provenance in the form of the published schema."""
        told = {**asdict(self), "extensions": list(self.extensions)}
        return {
            key: value for key, value in told.items() if value or key not in ("code", "extensions", "reused")
        }

    @classmethod
    def gather(cls, *, command: str, seconds: float) -> Provenance:
        """The provenance of this process, without an import of torch."""
        return cls(
            version=sgverify.__version__,
            python=platform.python_version(),
            torch=_installed("torch"),
            platform=platform.platform(),
            command=command,
            seconds=float(seconds),
            extensions=loaded_distributions(),
        )


def _installed(distribution: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"

"""An erratum: a statement of a paper as printed, as it holds, the computation that tells them apart, and what it weighs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from sgverify.evidence.model import plain
from sgverify.evidence.provenance import Provenance
from sgverify.evidence.published import Name, Published, Says, Size
from sgverify.keeping.files import json_text, write_atomically

Rung = Literal["proof", "exact"]

SEVERITIES = ("consequence", "local", "typographical", "reading")
"""An error that a result, a rate or an algorithm as printed does not survive; a slip or a gap on the way to results that stand; a
misprint; a statement that holds in one reading and not in another. The heaviest first."""

WEIGHT = ("severity", "root", "affects", "because")
"""The fields of a failing statement that are judgements: severity, underlying error, affected results, and the reason."""

Id = Annotated[str, Says("paper/name", pattern="^[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*$")]


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """A printed statement that was checked.

    `printed` quotes the paper and `read_as` is what was computed with. `fails` is what the computation says of that; `holds`
    then is what the same computation confirms, and `WEIGHT` and `elsewhere` (where the paper itself has the right form) are said
    by judgement; all are empty where the printed one stands. The certificate is copied to plain JSON values
    (`sgverify.evidence.model`).
    """

    id: Id
    where: Annotated[Name, Says("where the formula stands: equation, section, proof")]
    printed: Annotated[
        Name, Says("a quotation of the paper; formulas in symbols, ` [...] ` for what is left out")
    ]
    read_as: Annotated[Name, Says("what was computed with")]
    holds: Annotated[Name, Says("what the same computation confirms")] = ""
    severity: Annotated[str, Says("by judgement", enum=list(SEVERITIES))] = ""
    root: Annotated[
        Id, Says("the error that shows here; one error may show in several rows and is counted once")
    ] = ""
    affects: Annotated[Name, Says("what becomes of the results")] = ""
    because: Annotated[Name, Says("the reason for severity and root")] = ""
    elsewhere: Annotated[str, Says("where the paper itself has the right form; empty where nowhere")] = ""
    fails: Annotated[bool, Says(absent=True)]
    method: Rung
    certificate: Annotated[dict[str, Any], Says("what was computed", minProperties=1)]
    seconds: Size = 0.0

    def __post_init__(self) -> None:
        for name in ("id", "where", "printed", "read_as", "certificate"):
            if not getattr(self, name):
                raise ValueError(f"an erratum needs a {name}")
        if self.fails and not self.holds:
            raise ValueError(f"{self.id} fails: say what holds instead")
        if unsaid := [name for name in WEIGHT if self.fails and not getattr(self, name)]:
            raise ValueError(f"{self.id} fails: say its {', '.join(unsaid)}")
        if self.fails and self.severity not in SEVERITIES:
            raise ValueError(f"severity={self.severity!r}; one of {', '.join(SEVERITIES)}")
        if self.method not in get_args(Rung):
            raise ValueError(f"method={self.method!r}; one of {', '.join(get_args(Rung))}")
        certificate, missing = plain(dict(self.certificate))
        if missing:
            raise ValueError(f"the certificate of {self.id} is finite; not so: {missing}")
        object.__setattr__(self, "certificate", certificate)


@dataclass(frozen=True)
class _Standing:
    """The entry of a statement that holds as printed."""

    id: Id
    where: Name
    printed: Name
    read_as: Name
    method: Rung
    certificate: Annotated[dict[str, Any], Says(minProperties=1)]
    seconds: Size


@dataclass(frozen=True)
class _Errata:
    """Statements of papers that were checked: those that fail as printed, with their weight, and those that stand."""

    provenance: Provenance
    errata: tuple[Erratum, ...]
    standing: tuple[_Standing, ...]


ERRATA = Published(
    "sgverify/errata/2", _Errata, "errata", "Write it again with `sgverify errata --json FILE`."
)


def encode_errata(formulas: Iterable[Erratum], provenance: Provenance) -> dict[str, Any]:
    """The formulas in the form of the published schema: `errata`, which fail, and the ones `standing`."""
    failing: list[dict[str, Any]] = []
    standing: list[dict[str, Any]] = []
    for formula in formulas:
        item = asdict(formula)
        (failing if item.pop("fails") else standing).append(item)
    document = {
        "schema": ERRATA.name,
        "provenance": provenance.document(),
        "errata": failing,
        "standing": [{field.name: item[field.name] for field in fields(_Standing)} for item in standing],
    }
    ERRATA.check(document, "the errata to be written")
    return document


def decode_errata(document: Mapping[str, Any]) -> tuple[Erratum, ...]:
    """The inverse of `encode_errata`; raises UserError for a document of another kind or version."""
    ERRATA.check(document, "document")
    return (
        *(Erratum(**item, fails=True) for item in document["errata"]),
        *(Erratum(**item, fails=False) for item in document["standing"]),
    )


def write_errata(path: str | Path, formulas: Iterable[Erratum], provenance: Provenance) -> None:
    """Write the formulas to a file in one step; raises UserError when the place cannot be written."""
    document = encode_errata(formulas, provenance)
    write_atomically(path, json_text(document))

"""Studies: results without a verdict, as curves, points and tables; frozen data, its JSON and its files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from sgverify.evidence.published import Name, Number, Provenance, Published, Says, Size, read_as
from sgverify.evidence.storage import read_json
from sgverify.keeping.files import json_text, write_atomically

SeriesKind = Literal["exact", "sampled", "printed"]
Scale = Literal["linear", "log"]
Cell = str | int | float | None


@dataclass(frozen=True)
class Series:
    """One curve or set of points; `y` holds None where there is no value (diverged, not computed).

    `error`: standard errors of sampled values, or bounds of exact ones; empty where there are none.
    `note` says why values are missing or what else a reader must know.
    """

    label: Name
    kind: SeriesKind
    x: tuple[Number, ...]
    y: Annotated[tuple[Number | None, ...], Says("signed; null where there is no value, and note says why")]
    error: Annotated[
        tuple[Annotated[Number | None, Says(minimum=0)], ...],
        Says("standard errors of sampled values, bounds of exact ones; empty where there are none"),
    ] = ()
    note: str = ""

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y) or (self.error and len(self.error) != len(self.x)):
            raise ValueError(
                f"series {self.label!r}: {len(self.x)} abscissas, {len(self.y)} values, {len(self.error)} errors"
            )
        _check_finite(f"series {self.label!r}", (*self.x, *self.y, *self.error))


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: Name
    x_label: Name
    y_label: Name
    series: tuple[Series, ...]
    x_scale: Scale = "log"
    y_scale: Scale = "log"


@dataclass(frozen=True)
class Table:
    """Columns and rows of text and numbers."""

    title: Name
    columns: Annotated[tuple[Name, ...], Says(minItems=1)]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.title!r}: a row of {len(row)} cells, {len(self.columns)} columns"
                )
            _check_finite(f"table {self.title!r}", row)


@dataclass(frozen=True)
class Study:
    """The results on one question: panels, tables, notes, and the settings behind them.

    `source` names the figure or section of a paper; `summary` is one paragraph that a reader understands.
    """

    id: Annotated[str, Says("suite/name", pattern="^[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*$")]
    title: Name
    source: Annotated[str, Says("the figure or section of a paper")]
    summary: Annotated[str, Says("one paragraph that a reader understands", minLength=1)]
    panels: tuple[Panel, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[Name, ...] = ()
    seconds: Size = 0.0


@dataclass(frozen=True)
class Studies:
    """The studies of one report, and where they were made."""

    studies: tuple[Study, ...]
    provenance: Provenance


def write_studies(path: str | Path, studies: Iterable[Study], provenance: Provenance) -> dict[str, Any]:
    """Write the studies to a file, in one step, and return what was written; it follows the published schema.

    Raises UserError when the place cannot be written, ValueError for two studies of one id.
    """
    document = encode_studies(documented_studies(studies, provenance))
    validate_studies(document, where="the studies to be written")
    write_atomically(path, json_text(document))
    return document


def read_studies(path: str | Path) -> Studies:
    """Read and validate a file of studies.

    Raises UserError for a file that is missing, unreadable, not JSON, no studies or of another schema version.
    """
    where = f"study file {str(path)!r}"
    document = read_json(path, where, "studies.json as `sgverify report` writes it")
    validate_studies(document, where=where)
    return decode_studies(document)


def studies_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of study documents."""
    return STUDIES.schema()


def validate_studies(document: Any, *, where: str = "document") -> None:
    """Raise UserError, in one line, unless `document` follows the schema of studies."""
    STUDIES.check(document, where)


def encode_studies(document: Studies) -> dict[str, Any]:
    """The studies in the form of the published schema, keys in the order of the dataclasses' fields."""
    return {
        "schema": STUDIES.name,
        "provenance": document.provenance.document(),
        "studies": [_lists(asdict(study)) for study in document.studies],
    }


def decode_studies(document: Mapping[str, Any]) -> Studies:
    """The inverse of `encode_studies`, for a document that has been validated."""
    return read_as(Studies, document)


def documented_studies(studies: Iterable[Study], provenance: Provenance) -> Studies:
    """A document of the studies; raises for two studies under one id, which a link could not distinguish."""
    studies = tuple(studies)
    ids = [study.id for study in studies]
    for id in ids:
        if ids.count(id) > 1:
            raise ValueError(f"study id {id!r} occurs twice; ids name one study of a report")
    return Studies(studies, provenance)


def _check_finite(where: str, values: Iterable[Any]) -> None:
    """A value that diverged is None and named in a note: NaN and infinities have no place on an axis or in JSON."""
    for value in values:
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{where}: {value}; expected finite numbers, or None with a note that says why")


STUDIES = Published("sgverify/studies/1", Studies, "studies", "Write it again with `sgverify report`.")


def _lists(value: Any) -> Any:
    """The value with lists in place of tuples, as JSON gives it back."""
    if isinstance(value, dict):
        return {key: _lists(item) for key, item in value.items()}
    return [_lists(item) for item in value] if isinstance(value, list | tuple) else value

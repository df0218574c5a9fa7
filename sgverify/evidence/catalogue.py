"""The answer of `sgverify list`: the rows of one catalogue, as a document."""

from __future__ import annotations

from dataclasses import dataclass

from sgverify.evidence.published import Name, Published


@dataclass(frozen=True)
class CatalogueRow:
    """One entry, what it is, and where it comes from; `source` is empty where nothing is to be named."""

    name: Name
    summary: Name
    source: str


@dataclass(frozen=True)
class CatalogueListing:
    """The entries of one catalogue of `sgverify list`, in its order."""

    kind: Name
    items: tuple[CatalogueRow, ...]


LISTING = Published(
    "sgverify/list/1", CatalogueListing, "a listing", "Write it again with `sgverify list KIND --json FILE`."
)

"""Evidence read back from a file, all of it or one piece by its id."""

from __future__ import annotations

from sgverify.evidence import Evidence, find_evidence, read_evidence


def read_one(reference: str) -> list[Evidence]:
    """The evidence of `FILE` or the one piece of `FILE#ID`."""
    path, separator, id = reference.partition("#")
    document = read_evidence(path)
    return [find_evidence(document, id)] if separator else list(document.evidence)

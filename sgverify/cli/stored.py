"""Evidence read back from a file, all of it or one piece by its id, and replayed where its scheme is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import click

from sgverify.errors import UserError
from sgverify.evidence import Evidence, find_evidence, read_evidence


def read_one(reference: str) -> list[Evidence]:
    """The evidence of `FILE` or the one piece of `FILE#ID`."""
    path, separator, id = reference.partition("#")
    document = read_evidence(path)
    if not separator and not document.evidence:
        raise UserError(
            f"evidence file {path!r} holds no evidence; expected at least one piece to compute anew"
        )
    return [find_evidence(document, id)] if separator else list(document.evidence)


@contextlib.contextmanager
def beside(reference: str, scheme: str) -> Iterator[None]:
    """The working folder from which `scheme`, a reference with a relative path, can be loaded.

    It is the one that we are in, where the file is there; else the folder of the evidence file `reference` or the nearest above
    it that has it, as stderr says: evidence lies in or below the folder where the run that wrote it was started.
    """
    path, file = Path(reference.partition("#")[0]).resolve(), scheme.rpartition(":")[0]
    found = None
    if file.endswith(".py") and not Path(file).is_file():
        found = next((folder for folder in path.parents if (folder / file).is_file()), None)
    if found is None:
        yield
        return
    click.echo(f"{scheme}: taken from {found}", err=True)
    with contextlib.chdir(found):
        yield

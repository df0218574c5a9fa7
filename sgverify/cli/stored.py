"""How does `sgverify replay` read stored evidence (all of a file, or one piece by its id) and the rows of a regression file?"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import click

from sgverify.errors import UserError
from sgverify.evidence import Evidence, find_evidence, read_evidence

SUFFIX = ".jsonl"


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
    """A context in the working folder from which `scheme`, a reference with a relative path, can be loaded.

    This is the current folder if it contains the scheme's file. Otherwise it is the folder of the evidence file `reference`, or
    the nearest one above it that contains the scheme's file, and stderr names it: evidence is usually written in or below the
    folder in which its run was started.
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


def replay_rows(path: str) -> list[Evidence]:
    """The evidence for each row of a regression file, reported on stderr row by row; raises `UserError` with file and line.

    Two rows that differ only in keys at their defaults ask one question, which is answered once.
    """
    from sgverify.checks.progress import Interrupted, keep_evidence
    from sgverify.testing.regressions import Regressions

    if not Path(path).is_file():
        raise UserError(
            f"regression file {path!r} does not exist; expected one that a failing property wrote"
        )
    file = Regressions(Path(path))
    found: dict[str, Evidence] = {}
    rows = file.rows()
    if not rows:
        raise UserError(
            f"{path}: no rows; expected at least one, for nothing is no evidence; leave the file out"
        )
    try:
        for row, configuration in rows:
            evidence = file.judge(row, configuration)
            again = f"{file.place(row)}: still violates: {row.scheme} {row.claim} ({row.check})"
            click.echo(
                again if evidence.verdict == "violates" else file.told_fixed(row, evidence.verdict), err=True
            )
            found[evidence.id] = evidence
    except KeyboardInterrupt:
        raise Interrupted(list(found.values())) from None
    except Exception as error:
        keep_evidence(error, list(found.values()))
        raise
    return list(found.values())

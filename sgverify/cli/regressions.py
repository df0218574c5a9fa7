"""`sgverify replay FILE.jsonl`: every row of a regression file judged anew."""

from __future__ import annotations

from pathlib import Path

import click

from sgverify.errors import UserError
from sgverify.evidence import Evidence

SUFFIX = ".jsonl"


def replay_rows(path: str) -> list[Evidence]:
    """What is found under each row, said on stderr row by row; raises `UserError` with file and line.

    Two rows may name one question, when they differ in keys that are set to their defaults: it is answered once.
    """
    from sgverify.checks.progress import Interrupted, settled_before
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
        settled_before(error, list(found.values()))
        raise
    return list(found.values())

"""The answer of `sgverify sample` as a document: the run and a summary of its draws, which have a file of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from sgverify.evidence.published import Count, Name, Number, Published, Says


@dataclass(frozen=True)
class DrawsSummary:
    """The run behind the draws, their number, and ArviZ's table of each coordinate."""

    scheme: Name
    target: Name
    configuration: dict[str, Any]
    seed: int
    command: Annotated[str, Says("the command line that draws them again; empty for a target made in Python")]
    complete: Annotated[bool, Says("whether all steps were made")]
    steps_done: Count
    diverged: Annotated[str, Says("the chains that diverged, and where; empty for none")]
    chains: Count
    draws: Annotated[Count, Says("draws of each chain")]
    file: Annotated[str | None, Says("the file or folder of the draws; null where none was asked for")]
    summary: Annotated[
        dict[str, dict[str, Number | None]],
        Says(
            "{coordinate: {column: value}}; null for what is not defined, or of too many draws not computed; empty where there are "
            "too few draws"
        ),
    ]


DRAWS = Published(
    "sgverify/draws/1",
    DrawsSummary,
    "a summary of draws",
    "Write it again with `sgverify sample ... --json FILE`.",
)

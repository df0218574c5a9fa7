"""`python -m reports power`: every planted bug under every check."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reports.making.power.kill_matrix import KillMatrix, encode_kill_matrix, write_kill_matrix
from reports.making.sources import sources
from sgverify.cli.sampling import INTERRUPTED
from sgverify.cli.shared import output
from sgverify.cli.shared.options import JSON, PROCESSES, STORE, StoreChoice
from sgverify.evidence.model import CONFORMS, VIOLATES
from sgverify.evidence.published import read_as
from sgverify.keeping.files import write_atomically

if TYPE_CHECKING:
    from sgverify.campaigns.tasks import Task

WIDTH = 120
"""The width of a table, in columns, that is not written to a terminal."""


@click.command("power")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--family",
    metavar="FAMILY",
    help="Only the planted bugs of this family, or of families whose names contain this text.",
)
@click.option(
    "--first", is_flag=True, help="Stop at the first check that refutes the bug, strongest methods first."
)
@click.option(
    "--out", "folder", metavar="DIR", help="Write kill_matrix.md and kill_matrix.json to this folder."
)
@click.option(
    "--workers",
    type=PROCESSES,
    metavar="N",
    help="Processes to use; by default one for each processor. The verdicts do not depend on it.",
)
@STORE
@JSON
def power(
    names: tuple[str, ...],
    family: str | None,
    first: bool,
    folder: str | None,
    workers: int | None,
    choice: StoreChoice,
    json_path: str | None,
) -> int:
    """Plant every bug of the catalogue and show which check refutes it, by which method, in how many milliseconds.

    \b
    Examples:
      # one planted bug, under every check
      python -m reports power aboba-noise-by-friction
      # a family of them, each until the first check that refutes it
      python -m reports power --family "noisy gradients" --first

    Exits with 0 if every bug is refuted and no correct scheme raises an alarm, with 1 otherwise.
    """
    from reports.making.power.judging import chosen, groups, joined
    from reports.making.power.page import render_kill_matrix, verdict
    from sgverify.cli.shared.answering import answers
    from sgverify.report.writing import prepare_folder

    watch = output.Stopwatch()
    output.check_writable(json_path)
    shared = groups(chosen(names, family))
    if folder is not None:
        prepare_folder(folder)
    done = answers([_task(group, first) for group in shared], workers, choice, "planting bugs")
    matrix = joined(done.found.values())
    provenance = done.made_by(watch.provenance())
    if folder is not None:
        write_atomically(Path(folder) / "kill_matrix.md", render_kill_matrix(matrix))
        write_kill_matrix(Path(folder) / "kill_matrix.json", matrix, provenance)
    if json_path:
        output.show_json(encode_kill_matrix(matrix, provenance), json_path)
    if json_path != "-":
        _print(matrix)
        click.echo(verdict(matrix))
    for number, item in done.lost.items():
        click.echo(f"not judged: {', '.join(shared[number])}: {item.reason}", err=True)
    if done.interrupted:
        click.echo("interrupted: these are the bugs that were judged", err=True)
        return INTERRUPTED
    if done.lost:
        return max(item.code for item in done.lost.values())
    return VIOLATES if matrix.survivors or matrix.alarms else CONFORMS


def _task(group: tuple[str, ...], first: bool) -> Task:
    """The task that judges the planted bugs of one scheme under one configuration."""
    from reports.making.power.judging import judge_group
    from sgverify.campaigns.tasks import Task
    from sgverify.cli.shared.answering import listed

    return Task(
        kind="mutants",
        question={"mutants": group, "first": first},
        title=group[0],
        function=judge_group,
        arguments=(group, first),
        files=sources("tests/mutants", "reports/making/power"),
        encode=listed,
        decode=lambda value: read_as(KillMatrix, value),
        sort=group[0],
        # An exception that nobody foresaw, such as memory that ran out, need not come again.
        kept=lambda matrix: all(
            trial.outcome != "crashed" for item in (*matrix.mutants, *matrix.correct) for trial in item.trials
        ),
    )


def _print(matrix: KillMatrix) -> None:
    """Print the matrix, with one letter for each check."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from reports.making.power.page import LEGEND, LETTERS, cell, killer, mark

    console = Console(no_color=bool(os.environ.get("NO_COLOR")) or None)
    if not console.is_terminal:
        console.width = WIDTH
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("planted bug", no_wrap=True)
    table.add_column("killed by", no_wrap=True)
    table.add_column("ms", justify="right", no_wrap=True)
    keys = {check: _key(number) for number, check in enumerate(matrix.checks)}
    table.add_column("".join(keys.values()), no_wrap=True)
    for item in matrix.mutants:
        found = item.cheapest
        marks = [mark(cell(item, check)) for check in keys]
        table.add_row(
            item.name,
            killer(item) if found else "[bold red]SURVIVES[/]",
            f"{found.milliseconds:.0f}" if found else "",
            "".join(f"[green]{text}[/]" if text in LETTERS.values() else text for text in marks),
        )
    console.print(table)
    console.print(
        "  ".join(f"{key} {check}" for check, key in keys.items()), soft_wrap=False, highlight=False
    )
    console.print(LEGEND, highlight=False)
    for scheme, trial in matrix.alarms:
        console.print(
            f"alarm on {scheme.scheme}: {trial.check}, {trial.claim}: {trial.reason}", highlight=False
        )


def _key(number: int) -> str:
    """a, b, ..., z, A, B, ..."""
    return "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[number]

"""`python -m reports calibration`: how often the decision procedures err in simulations, and whether they meet their bars."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from reports.making.calibration.document import Calibration, encode_calibration
from reports.making.sources import sources
from sgverify.campaigns.engines import WRONG_CALL
from sgverify.cli.shared import output
from sgverify.cli.shared.options import JSON, PROCESSES, STORE, StoreChoice
from sgverify.errors import ConfigurationError, SgverifyError, UserError
from sgverify.evidence.model import INCONCLUSIVE, VIOLATES

if TYPE_CHECKING:
    from reports.making.calibration.counting import CalibrationSetting
    from sgverify.campaigns.tasks import Task

DEFAULT_FOLDER = "sgverify-calibration"
REPLICATIONS = 3000
QUICK = 200
SEED = 20150601


@click.command("calibration")
@click.option(
    "--out", "folder", default=DEFAULT_FOLDER, show_default=True, metavar="DIR", help="Where the tables go."
)
@click.option(
    "--replications",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Simulated samples for each cell; {REPLICATIONS} by default, {QUICK} with --quick.",
)
@click.option("--seed", type=click.IntRange(min=0), default=SEED, show_default=True, metavar="S")
@click.option("--quick", is_flag=True, help="One claimed order at one look, and few replications.")
@click.option(
    "--order", type=click.IntRange(min=1), metavar="K", help="Claim this order alone; by default 2, 1 and 4."
)
@click.option(
    "--workers",
    type=PROCESSES,
    metavar="N",
    help="Processes to use; by default one for each processor. The results do not depend on it.",
)
@STORE
@JSON
def calibration(
    folder: str,
    replications: int | None,
    seed: int,
    quick: bool,
    order: int | None,
    workers: int | None,
    choice: StoreChoice,
    json_path: str | None,
) -> int:
    """Simulate how often sampled verdicts are false, and how often the fitted slope that is usual in the field is wrong.

    Writes calibration.json, calibration.md and calibration.svg. Exits with 1 if a bar is missed, with 3 if the replications
    are too few to decide one.

    \b
    Examples:
      # a first look at one claimed order: 200 samples a cell decide few bars
      python -m reports calibration --quick --order 2
      # every claimed order, with more samples a cell than by default
      python -m reports calibration --replications 10000 --out many --json many.json
    """
    from reports.making.calibration.page import counted_bars, write_calibration_report
    from sgverify.report.writing import prepare_folder

    watch = output.Stopwatch()
    output.check_writable(json_path)
    if not folder:
        raise ConfigurationError(f"--out {folder!r}: expected a folder; leave it out for {DEFAULT_FOLDER}")
    prepare_folder(folder)
    asked = replications or (QUICK if quick else REPLICATIONS)
    found = _simulated(order, asked, seed, quick, workers, choice, watch)
    page = write_calibration_report(found, folder)
    if json_path:
        output.show_json(encode_calibration(found), json_path)
    if json_path != "-":
        click.echo(counted_bars(found))
        click.echo(
            f"{page}: {sum(cell.replications for table in found.tables for cell in table.cells)} samples judged"
        )
    outcomes = {bar.outcome for bar in found.bars}
    return VIOLATES if "missed" in outcomes else INCONCLUSIVE if "undecided" in outcomes else 0


def _simulated(
    order: int | None,
    asked: int,
    seed: int,
    quick: bool,
    workers: int | None,
    choice: StoreChoice,
    watch: output.Stopwatch,
) -> Calibration:
    """The calibration with all tables complete. No file is written before: an incomplete table decides no bar."""
    from reports.making.calibration import HABIT, Counts, bars_of, plans, tally
    from reports.making.calibration.counting import chunks_of
    from reports.making.calibration.document import Counted
    from reports.making.calibration.grid import ORDERS
    from sgverify.cli.shared.answering import answers
    from sgverify.rates.decision import MARGIN

    planned = plans(ORDERS if order is None else (order,), quick=quick)
    if not quick:
        from reports.making.calibration.screening import screening_plan

        planned.append(screening_plan())
    tasks: list[Task] = []
    places: list[tuple[int, int]] = []
    for table, plan in enumerate(planned):
        for cell, replications in enumerate(plan.replications(asked)):
            for chunk in chunks_of(replications):
                tasks.append(_task(plan.title, plan.settings[cell][0], seed, *chunk))
                places.append((table, cell))
    done = answers(tasks, workers, choice, "calibrating")
    if done.interrupted:
        raise KeyboardInterrupt
    for lost in done.lost.values():
        raise (UserError if lost.code == WRONG_CALL else SgverifyError)(lost.reason)
    counts: dict[tuple[int, int], Counts] = {}
    for number, result in done.found.items():
        table, cell = places[number]
        counts[table, cell] = counts.get((table, cell), Counts()) + result
    tables = tuple(
        Counted(
            plan.name,
            plan.title,
            plan.note,
            plan.level,
            tuple(tally(setting, counts[table, cell]) for cell, (setting, _) in enumerate(plan.settings)),
        )
        for table, plan in enumerate(planned)
    )
    habit = f"a log-log slope within {HABIT:g} of the claimed order"
    return Calibration(seed, MARGIN, habit, tables, bars_of(tables), done.made_by(watch.provenance()))


def _task(title: str, setting: CalibrationSetting, seed: int, chunk: int, replications: int) -> Task:
    """The task that counts verdicts on one stream of random numbers."""
    from reports.making.calibration import Counts, count_chunk
    from sgverify.campaigns.tasks import Task

    return Task(
        kind="calibration",
        # A setting is a dataclass of plain values, whose text names its class and all of them.
        question={"setting": repr(setting), "seed": seed, "chunk": chunk, "replications": replications},
        title=title,
        function=count_chunk,
        arguments=(setting, seed, chunk, replications),
        files=sources("reports/making/calibration"),
        encode=asdict,
        decode=lambda value: Counts(**value),
        sort=repr(setting),
    )

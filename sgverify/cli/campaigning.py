"""`sgverify campaign`: many schemes under many settings, on this machine or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click

from sgverify.cli.shared import bars, output
from sgverify.cli.shared.options import JSON, RUN_CODE, STORE, StoreChoice
from sgverify.errors import ConfigurationError
from sgverify.evidence.model import exit_code
from sgverify.keeping.stopping import Stopped, raising

if TYPE_CHECKING:
    from sgverify.campaigns.collecting import SpooledAnswers
    from sgverify.campaigns.engines import Engine
    from sgverify.campaigns.questions import CampaignPlan
    from sgverify.evidence.documents import CampaignDocument

DEFAULT_FOLDER = "sgverify-campaign"

FEW = 10
"""The most reasons and problems that are printed one by one."""


@click.command()
@click.argument("file", metavar="FILE.toml")
@click.option(
    "--out",
    "folder",
    default=DEFAULT_FOLDER,
    show_default=True,
    metavar="DIR",
    help="The folder of the report.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes of this machine, by default one for each processor; with 1, all runs in this process. The results do not "
    "depend on it.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Run on the Dask cluster with this scheduler, tcp://host:8786 (needs the extra `cluster`).",
)
@STORE
@click.option("--strict", is_flag=True, help="Exit like verify instead of 0.")
@click.option(
    "--dry-run", is_flag=True, help="Print the plan and what it is expected to cost, and compute nothing."
)
@RUN_CODE
@JSON
def campaign(
    file: str,
    folder: str,
    workers: int | None,
    scheduler: str | None,
    choice: StoreChoice,
    strict: bool,
    dry_run: bool,
    json_path: str | None,
) -> int:
    """Judge many combinations of schemes, targets, gradients, schedules and settings, which FILE lists or has drawn.

    Writes report.json with all evidence, campaign.json with a row for each combination, index.html and report.md. Each answer is
    kept in the store as soon as it is there: after kill -9, or a machine that fails, the same command computes what is missing.

    \b
    Examples:
      # what would be computed, and what it is expected to cost
      sgverify campaign grid.toml --dry-run
      # all of it, with the exit codes of verify
      sgverify campaign grid.toml --strict --out grid

    Exit codes: 0 the report is written; with --strict those of verify, 2 where a combination is refused; 4 a combination is lost;
    130 and 143 it was stopped by Ctrl-C or SIGTERM, and the report holds what was answered.
    """
    from sgverify.campaigns.collecting import SpooledAnswers, write_campaign_report
    from sgverify.campaigns.combinations import combinations_of
    from sgverify.campaigns.file import read_campaign
    from sgverify.campaigns.questions import planned
    from sgverify.report.campaign import UNTITLED_CAMPAIGN
    from sgverify.report.writing import prepare_folder

    watch = output.Stopwatch()
    if not folder:
        raise ConfigurationError(f"--out {folder!r}: expected a folder; leave it out for {DEFAULT_FOLDER}")
    if scheduler is not None and workers is not None:
        raise ConfigurationError(
            f"--workers {workers} beside --scheduler {scheduler}: a cluster has its own workers; expected one of the two"
        )
    described = read_campaign(file)
    questions = combinations_of(described)
    with ExitStack() as open_until_the_end:
        engine = open_until_the_end.enter_context(_engine(workers, scheduler, questions))
        store = choice.opened()
        if store is not None:
            open_until_the_end.enter_context(store)
        plan = planned(questions, engine, store, fresh=choice.fresh)
        _show_plan(plan, engine, err=not dry_run)
        if dry_run:
            for task in plan.tasks:
                output.say_lines(output.wrapped(task.title))
            return 0
        out = prepare_folder(folder)
        answers = open_until_the_end.enter_context(SpooledAnswers(out, len(questions)))
        stopped = _answer(plan, engine, store, choice.fresh, answers)
        title = described.title or UNTITLED_CAMPAIGN
        document = write_campaign_report(out, title, questions, answers, watch.provenance())
        for problem in [] if store is None else store.problems[:FEW]:
            output.say(problem, err=True)
    if json_path:
        output.show_json(document.document(), json_path)
    if json_path != "-":
        _show(document, f"{out}/index.html")
    if stopped is not None:
        output.say(f"{stopped.said}: the report holds what was answered so far", err=True)
        return stopped.code
    return _exit_code(document, strict)


def _answer(
    plan: CampaignPlan, engine: Engine, store: Any, fresh: bool, answers: SpooledAnswers
) -> Stopped | None:
    """Answer all tasks; what ended it before its time, if something did."""
    from sgverify.campaigns.tasks import answered

    try:
        with raising(even_ignored=True), output.progress("campaign") as progress:
            told = None if progress is None else progress.told
            for place, answer in answered(
                plan.tasks, engine, store, costs=plan.costs, fresh=fresh, told=told
            ):
                answers.put(plan.numbers[place], answer)
    except KeyboardInterrupt as stop:
        return stop if isinstance(stop, Stopped) else Stopped()
    return None


@contextmanager
def _engine(workers: int | None, scheduler: str | None, questions: Any) -> Iterator[Engine]:
    from sgverify.campaigns.engines import LocalProcesses
    from sgverify.keeping.workers import default_workers

    if scheduler is None:
        # What ends a process of its own, such as memory that runs out, ends no campaign; who asks for one worker has none.
        yield LocalProcesses(default_workers() if workers is None else workers, here=workers == 1)
        return
    from sgverify.campaigns.cluster import connected
    from sgverify.campaigns.questions import code_of

    with connected(scheduler, code_of(questions)) as cluster:
        for note in cluster.notes:
            output.say(note, err=True)
        yield cluster


def _show_plan(plan: CampaignPlan, engine: Engine, *, err: bool) -> None:
    """Print how many tasks there are, which of them are not asked, and what the others are expected to cost."""
    refused = sum(bool(item.refused) for item in plan.questions)
    parts = [f"{len(plan.questions)} combinations"]
    if plan.misfits:
        parts.append(f"{plan.misfits.total()} do not fit")
    if refused:
        parts.append(f"{refused} are refused")
    if plan.kept:
        parts.append(f"{len(plan.kept)} are in the store")
    told = output.wrapped(f"{', '.join(parts)}; {plan.missing} to compute{_cost(plan, engine)}")
    output.say_lines(told, err=err)
    for reason, count in plan.misfits.most_common(FEW):
        output.say_lines(output.wrapped(f"{output.INDENT}{count} do not fit: {reason}"), err=err)


def _cost(plan: CampaignPlan, engine: Engine) -> str:
    if not plan.missing:
        return ""
    seconds, processes = plan.seconds(), engine.processes
    if seconds is None:
        return "; what they cost is not known, for nothing like them was measured"
    own = sum(
        plan.costs.expected(place) is not None for place in range(len(plan.tasks)) if place not in plan.kept
    )
    at_once = "" if processes == 1 else f", {bars.duration(seconds / processes)} on {processes} processes"
    like = "all are" if own == plan.missing else f"{own} of them are"
    return (
        f"; about {bars.duration(seconds)} of processor time{at_once} ({like} like some that were measured)"
    )


def _show(document: CampaignDocument, page: str) -> None:
    with output.quiet_pipe():
        answers = ", ".join(f"{count} {name}" for name, count in document.answers.items() if count)
        others = [f"{count} {name}" for name, count in document.statuses.items() if name != "answered"]
        said = "; ".join([answers or "no combination has an answer", *others])
        told = f"{page}: {document.evidence} pieces of evidence on {len(document.rows)} combinations: {said}"
        output.say_lines(output.wrapped(told))
        refused = [row for row in document.rows if row.status in ("refused", "lost")]
        for row in refused[:FEW]:
            output.say(f"{row.status}: combination {row.number}, {row.scheme}: {row.reason}", err=True)
        if len(refused) > FEW:
            output.say(f"{len(refused) - FEW} more are in the report", err=True)


def _exit_code(document: CampaignDocument, strict: bool) -> int:
    from sgverify.campaigns.engines import INTERNAL, WRONG_CALL

    statuses = document.statuses
    if "lost" in statuses:
        return INTERNAL
    if not strict:
        return 0
    if "refused" in statuses:
        return WRONG_CALL
    return exit_code(outcome for row in document.rows for outcome in row.outcomes)

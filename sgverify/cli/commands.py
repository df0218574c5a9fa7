"""Which commands has the command line? Each reads its options, calls one function of the layers below and shows the result.

Modules that import torch, sympy, scipy or pydantic take seconds to load. They are imported inside the commands that need them, so
that `--help`, `--version`, a wrong call and `list` are fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from sgverify.cli import output
from sgverify.cli.listing import KINDS, items_of
from sgverify.cli.reporting import DEFAULT_FOLDER, run_report
from sgverify.cli.stored import SUFFIX, beside, read_one, replay_rows
from sgverify.errors import ConfigurationError
from sgverify.evidence import Evidence
from sgverify.evidence.catalogue import LISTING

if TYPE_CHECKING:
    from sgverify.checks import Subject

CONFIG = click.option("--config", metavar="FILE", help="Configuration, TOML or JSON.")
SET = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set one key, over --config; the last wins."
)


def _place(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    if value == "":
        raise click.UsageError("--json '': expected a file, or - for stdout", context)
    return value


JSON = click.option(
    "--json", "json_path", metavar="FILE|-", callback=_place, help="Write the answer as JSON; - is stdout."
)


PLOT = click.option(
    "--plot", "plot_path", metavar="FILE.svg|png", help="Draw the violated rate, or else the first rate."
)


@click.command()
@click.argument("scheme")
@CONFIG
@SET
@click.option("--checks", metavar="ID,...", help="Only these checks or claims.")
@click.option(
    "--explain", is_flag=True, help="Show statement, certificate and replay command of each answer."
)
@click.option(
    "--minimise",
    is_flag=True,
    help="Search for the simplest configuration under which the first violation remains.",
)
@PLOT
@JSON
def verify(
    scheme: str,
    config: str | None,
    settings: tuple[str, ...],
    checks: str | None,
    explain: bool,
    minimise: bool,
    plot_path: str | None,
    json_path: str | None,
) -> int:
    """Judge SCHEME: a catalogue name, module:attribute, or path/to/file.py:attribute."""
    from sgverify.checks import judge, make_subject
    from sgverify.checks.unused_settings import refuse_unused
    from sgverify.checks.verify_and_rate import refuse_stray_tables
    from sgverify.configuration import load_configuration

    watch = output.Stopwatch()
    output.check_writable(json_path)
    check_plot(plot_path)
    subject = make_subject(scheme, load_configuration(config, settings))
    refuse_stray_tables(subject)
    refuse_unused(subject, "verify")
    with output.kept(json_path, explain, watch), output.progress("verifying") as progress:
        evidence = judge(subject, _ids(checks), progress)
    code = output.show(evidence, json_path, explain, watch, subject.reference)
    plot(evidence, plot_path)
    if minimise:
        show_minimal(subject, evidence, quiet=json_path == "-")
    return code


@click.command()
@click.argument("scheme")
@click.option(
    "--quantity",
    required=True,
    metavar="stationary-bias|covariance|wasserstein-2|bias|mse|local-order",
    help="The quantity whose rate is measured.",
)
@click.option(
    "--method", metavar="exact|monte-carlo", help="The method; by default the strongest that applies."
)
@CONFIG
@SET
@PLOT
@JSON
def rate(
    scheme: str,
    quantity: str,
    method: str | None,
    config: str | None,
    settings: tuple[str, ...],
    plot_path: str | None,
    json_path: str | None,
) -> int:
    """Measure one rate of SCHEME and compare it with the printed claim."""
    from sgverify.checks import rate as ask
    from sgverify.configuration import load_configuration

    watch = output.Stopwatch()
    output.check_writable(json_path)
    check_plot(plot_path)
    configuration = load_configuration(config, settings)
    with output.progress("sampling") as progress:
        evidence = ask(scheme, quantity=quantity, config=configuration, method=method, progress=progress)  # type: ignore[arg-type]
    code = output.show([evidence], json_path, False, watch)
    if json_path != "-":
        output.show_fitted(evidence)
    plot([evidence], plot_path)
    return code


@click.command("list")
@click.argument("kind", metavar="|".join(KINDS))
@JSON
def list_(kind: str, json_path: str | None) -> int:
    """List one catalogue: schemes, targets, gradients, schedules, claims, checks, planted bugs (mutants); the keys of a
    configuration with the kinds that read them (config); or the limits of what a definition can express (face).
    """
    items = items_of(kind)
    if json_path:
        output.show_json({"schema": LISTING.name, "kind": kind, "items": items}, json_path)
    if json_path != "-":
        width = max(len(item["name"]) for item in items)
        for item in items:
            click.echo(f"{item['name']:<{width}}  {item['summary']}  [{item['source']}]")
    return 0


@click.command()
@click.option("--suite", default="chen2015", show_default=True, help="The paper whose claims are judged.")
@click.option(
    "--out",
    "folder",
    default=DEFAULT_FOLDER,
    show_default=True,
    metavar="DIR",
    help="The folder of the report.",
)
@click.option(
    "--quick/--full", "quick", default=None, help="Exact methods only, or more samples than by default."
)
@click.option("--strict", is_flag=True, help="Exit like verify instead of 0.")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes to use; by default one for each processor. The results do not depend on it.",
)
def report(suite: str, folder: str, quick: bool | None, strict: bool, workers: int | None) -> int:
    """Judge every claim of a paper, draw its figures and check its formulas.

    Writes report.json, studies.json, errata.json, index.html, report.md and junit.xml.
    """
    return run_report(suite, folder, quick, strict, workers, output.Stopwatch())


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@JSON
def errata(ids: tuple[str, ...], json_path: str | None) -> int:
    """Show statements of the papers, as printed and as corrected, each with the computation that decides and its severity.

    Whether a statement fails is computed. Its severity, and which rows show the same error, are judgements with a reason.
    """
    from sgverify.evidence import encode_errata
    from sgverify.papers.errata import check_errata
    from sgverify.report import explain_errata

    watch = output.Stopwatch()
    output.check_writable(json_path)
    with output.progress("checking formulas") as progress:
        found = check_errata(ids, progress=progress)
    if json_path:
        output.show_json(encode_errata(found, watch.provenance()), json_path)
    if json_path != "-":
        click.echo(explain_errata(found))
    return 0


@click.command()
@click.argument("evidence", metavar="EVIDENCE.json[#ID]|REGRESSIONS.jsonl")
@PLOT
@JSON
def replay(evidence: str, plot_path: str | None, json_path: str | None) -> int:
    """Compute stored evidence again; exit with 1 unless the result is the same.

    For a regression file, every row is judged, and the exit code is that of verify.
    """
    from sgverify.checks import replay as again
    from sgverify.checks.progress import Interrupted, keep_evidence
    from sgverify.checks.verify_and_rate import differing
    from sgverify.evidence.model import VIOLATES

    watch = output.Stopwatch()
    output.check_writable(json_path)
    check_plot(plot_path)
    if evidence.endswith(SUFFIX):
        with output.kept(json_path, False, watch):
            rows = replay_rows(evidence)
        plot(rows, plot_path)
        return output.show(rows, json_path, False, watch)
    results: list[Evidence] = []
    changed = False
    with output.kept(json_path, False, watch):
        try:
            for stored in read_one(evidence):
                with beside(evidence, stored.scheme):
                    result = again(stored)
                different = differing(stored, result)
                found = (
                    f"DIFFERENT from what is stored in {', '.join(different)}" if different else "the same"
                )
                if different and result.exception:
                    found = "not computed anew, an exception ended the check"
                click.echo(f"{stored.id}: {found}", err=True)
                results.append(result)
                # A result that could not be computed again is undecided, not different.
                changed = changed or bool(different and not result.exception)
        except KeyboardInterrupt:
            raise Interrupted(results) from None
        except Exception as error:
            keep_evidence(error, results)
            raise
    code = output.show(results, json_path, False, watch)
    plot(results, plot_path)
    return VIOLATES if changed else code


def show_minimal(subject: Subject, evidence: Sequence[Evidence], *, quiet: bool) -> None:
    """Print the command line with the simplest configuration for the first violation; with `quiet`, to stderr."""
    from sgverify.configuration import tree_of
    from sgverify.testing.shrinking.minimising import minimise_violation, violation

    first = violation(evidence)
    if first is None:
        click.echo("nothing to minimise: nothing violates", err=True)
        return
    found = minimise_violation(subject, first)
    if not found.judgements and not tree_of(found.configuration):
        click.echo(f"minimal: the defaults violate already: {found.evidence.replay}", err=quiet)
        return
    click.echo(f"minimal ({found.judgements} configurations judged): {found.evidence.replay}", err=quiet)


def check_plot(path: str | None) -> None:
    """Raise `ConfigurationError`, before any computation, for a picture that cannot be written."""
    if path is None:
        return
    from sgverify.report.rate_plot import check_plot_path

    check_plot_path(path)
    output.check_writable(path, "--plot")


def plot(evidence: Sequence[Evidence], path: str | None) -> None:
    """Draw one rate of the evidence, a violated one if there is any, and name it on stderr."""
    if path is None:
        return
    from sgverify.report.rate_plot import has_rate, write_rate

    ranked = sorted(evidence, key=lambda item: (item.outcome != "fail", item.outcome != "refuted"))
    drawn = next(filter(has_rate, ranked), None)
    if drawn is None:
        click.echo("no plot: nothing of this is a rate in h or L with points to draw", err=True)
        return
    write_rate(drawn, path)
    click.echo(f"plot of {drawn.claim} ({drawn.check}), {drawn.outcome}: {path}", err=True)


def _ids(text: str | None) -> list[str]:
    if text is None:
        return []
    ids = [part.strip() for part in text.split(",") if part.strip()]
    if not ids:
        raise ConfigurationError(
            f"--checks {text!r}: names nothing; give ids from `sgverify list checks`, or leave it out for all"
        )
    return ids

"""Which commands has the command line? Each reads its options, calls one function of the layers below and shows the result.

Modules that import torch, sympy, scipy or pydantic take seconds to load. They are imported inside the commands that need them, so
that `--help`, `--version`, a wrong call and `list` are fast.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from sgverify.cli.listing import KINDS, items_of
from sgverify.cli.reporting import DEFAULT_FOLDER, run_report
from sgverify.cli.shared import output
from sgverify.cli.shared.options import (
    CONFIG,
    JSON,
    PLOT,
    PROCESSES,
    RUN_CODE,
    SET,
    STORE,
    StoreChoice,
    plot,
)
from sgverify.cli.stored import SUFFIX, Code, read_one, replay_rows
from sgverify.errors import printable
from sgverify.evidence import Evidence
from sgverify.evidence.documents import LISTING
from sgverify.evidence.model import CONFORMS, VIOLATES


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
    """Measure one rate of SCHEME and compare it with the printed claim.

    \b
    Examples:
      # the order of the stationary bias of p^2
      sgverify rate sghmc-baoab --quantity stationary-bias \\
        --set "test_function=p**2"
      # the mean square error with minibatches of 50, as JSON on stdout
      sgverify rate sghmc-aboba --quantity mse --set gradient.kind=iid \\
        --set gradient.batch=50 --json -
      # step sizes of your own, drawn
      sgverify rate mine.py:heun --quantity stationary-bias \\
        --set target.name=gaussian --set "sweep.steps=[0.4,0.2,0.1,0.05]" \\
        --plot heun.svg
    """
    from sgverify.checks import rate as ask
    from sgverify.configuration import load_configuration

    watch = output.Stopwatch()
    configuration = load_configuration(config, settings)
    with output.progress("sampling") as progress:
        evidence = ask(scheme, quantity=quantity, config=configuration, method=method, progress=progress)  # type: ignore[arg-type]
    code = output.show([evidence], json_path, watch)
    if json_path != "-":
        output.show_fitted(evidence)
    plot([evidence], plot_path)
    return code


@click.command("list")
@click.argument("kind", metavar="|".join(KINDS))
@JSON
def list_(kind: str, json_path: str | None) -> int:
    """List one catalogue: schemes, targets, gradients, schedules, claims, checks; the keys of a configuration
    with the kinds that read them (config); or the limits of what a definition can express (face).

    \b
    Examples:
      # the schemes that ship, each with its source
      sgverify list schemes
      # what each check settles, and what it cannot see
      sgverify list checks
      # every configuration key, as JSON
      sgverify list config --json keys.json
    """
    items = items_of(kind)
    width = max(len(item["name"]) for item in items)
    lines = (f"{item['name']:<{width}}  {item['summary']}  [{item['source']}]" for item in items)
    told = "\n".join(map(printable, lines))
    output.show_document({"schema": LISTING.name, "kind": kind, "items": items}, told, json_path)
    return 0


@click.command()
@click.option(
    "--suite",
    default="chen2015",
    show_default=True,
    metavar="PAPER|FILE:NAME",
    help="The paper whose claims are judged, or a list of schemes and settings in a file of your own.",
)
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
    type=PROCESSES,
    metavar="N",
    help="Processes to use; by default one for each processor. The results do not depend on it.",
)
@STORE
def report(
    suite: str, folder: str, quick: bool | None, strict: bool, workers: int | None, choice: StoreChoice
) -> int:
    """Judge every claim of a paper and check its formulas.

    Writes report.json, studies.json, errata.json, index.html, evidence.html, report.md and junit.xml.

    A suite of your own is a list in a file: references of schemes, or tables with the keys scheme, settings, checks, chains.

    \b
    Examples:
      # the claims of Chen, Ding and Carin by exact methods alone
      sgverify report --quick --out quick
      # another paper, with the exit codes of verify
      sgverify report --suite awsgld --quick --out awsgld --strict
    """
    return run_report(suite, folder, quick, strict, workers, choice, output.Stopwatch())


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@JSON
def errata(ids: tuple[str, ...], json_path: str | None) -> int:
    """Show statements of the papers, as printed and as corrected, each with the computation that decides and its severity.

    Whether a statement fails is computed. Its severity, and which rows show the same error, are judgements with a reason.

    \b
    Examples:
      # one paper
      sgverify errata vr-resgld
      # one statement, as JSON
      sgverify errata chen2015/algorithm-2 --json algorithm-2.json
    """
    from sgverify.evidence import encode_errata
    from sgverify.papers.formula import check_errata
    from sgverify.report.errata import explain_errata

    watch = output.Stopwatch()
    with output.progress("checking formulas") as progress:
        found = check_errata(ids, progress=progress)
    output.show_document(encode_errata(found, watch.provenance()), explain_errata(found), json_path)
    return 0


@click.command()
@click.argument("evidence", metavar="EVIDENCE.json[#ID]|REGRESSIONS.jsonl")
@RUN_CODE
@PLOT
@JSON
def replay(evidence: str, plot_path: str | None, json_path: str | None) -> int:
    """Compute stored evidence again; exit with 1 unless the result is the same.

    For a regression file, every row is judged, and the exit code is that of verify.

    Code that the file names runs with --run-code alone. Its sha256 is compared with the one that is stored, and a file that has
    changed is named on stderr.

    \b
    Examples:
      # write evidence, and compute all of it again
      sgverify rate sghmc-aboba --quantity stationary-bias --json aboba.json
      sgverify replay aboba.json
      # evidence about code of your own, which is run, with its picture
      sgverify verify mine.py:heun --checks stationary-bias --json heun.json
      sgverify replay heun.json --run-code --plot heun.svg
    """
    from sgverify.checks import replay as again
    from sgverify.checks.progress import Interrupted, keep_evidence
    from sgverify.checks.verify_and_rate import differing
    from sgverify.evidence.model import VIOLATES

    watch = output.Stopwatch()
    if evidence.endswith(SUFFIX):
        with output.kept(json_path, watch):
            rows = replay_rows(evidence)
        plot(rows, plot_path)
        return output.show(rows, json_path, watch)
    results: list[Evidence] = []
    changed = False
    with output.kept(json_path, watch):
        try:
            document, chosen = read_one(evidence)
            compared = Code(evidence, document.provenance.code)
            for stored in chosen:
                with compared.beside(stored):
                    result = again(stored)
                different = differing(stored, result)
                found = (
                    f"DIFFERENT from what is stored in {', '.join(different)}" if different else "the same"
                )
                if different and result.exception:
                    found = "not computed anew, an exception ended the check"
                output.say(f"{stored.id}: {found}", err=True)
                results.append(result)
                # A result that could not be computed again is undecided, not different.
                changed = changed or bool(different and not result.exception)
        except KeyboardInterrupt:
            raise Interrupted(results) from None
        except Exception as error:
            keep_evidence(error, results)
            raise
    code = output.show(results, json_path, watch)
    plot(results, plot_path)
    return VIOLATES if changed else code


@click.command()
@JSON
def doctor(json_path: str | None) -> int:
    """Is this installation in order? Its libraries, torch's build, the compiler and the extras, and a self-test of some seconds.

    The self-test judges a correct scheme beside a planted bug, three times: a bug in a definition, in torch code, in the code that
    draws random numbers. Each must be refuted, and no correct scheme may be. A kernel in C must have the bits of its definition.

    \b
    Examples:
      # print versions, compiler, extras and self-test
      sgverify doctor
      # write them to a file, to go with a bug report
      sgverify doctor --json doctor.json

    Exit codes: 0 in order; 1 a library does not fit or a part of the self-test fails.
    """
    from sgverify.cli.installation import INSTALLATION, InstalledPart, SelfTest, examine

    def show(found: InstalledPart | SelfTest) -> None:
        if isinstance(found, InstalledPart):
            mend = f"  ({found.mend})" if found.mend else ""
            output.say(
                f"{'  ' if found.fits else '✗ '}{found.name:<18} {found.found}{mend}",
                "" if found.fits else "fail",
            )
        else:
            mark = "✓" if found.passed else "✗"
            output.say(
                f"{mark} {found.name}: {found.said}  {found.seconds:.1f} s",
                "pass" if found.passed else "fail",
            )

    installation = examine() if json_path == "-" else examine(show)
    if json_path:
        output.show_json({"schema": INSTALLATION.name, **asdict(installation)}, json_path)
    if json_path != "-":
        word = "In order." if installation.healthy else "Not in order: see the lines marked ✗."
        output.say(word, "pass" if installation.healthy else "fail", bold=True)
    return CONFORMS if installation.healthy else VIOLATES


ITEMS = ("scheme", "target", "check", "paper", "adapter")


@click.command("new")
@click.argument("kind", metavar="|".join(ITEMS))
@click.argument("name")
@click.option(
    "--in",
    "parent",
    default=".",
    show_default=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="The folder in which the new folder NAME is made.",
)
def new(kind: str, name: str, parent: str) -> int:
    """Write a working distribution NAME, with its test, that adds a scheme, a target, a check, a paper or an adapter.

    \b
    Examples:
      # a scheme of your own, known by its name once it is installed
      sgverify new scheme my-scheme
      # a check with its claim and the bug that it finds
      sgverify new check my-check

    Then `pip install -e NAME` and `pytest NAME`. Nothing is overwritten, and a name that is taken is refused.
    """
    from sgverify.skeletons.writing import write_skeleton

    for path in write_skeleton(kind, name, Path(parent)):
        output.say(path.relative_to(parent) if path.is_relative_to(parent) else path)
    output.say(f"install it: pip install -e {Path(parent, name)}", err=True)
    return 0

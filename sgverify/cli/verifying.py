"""`sgverify verify`: which lines are printed while a scheme is judged, and which block ends them?"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from sgverify.cli.shared import output
from sgverify.cli.shared.github import FORMAT, GITHUB, annotate, annotated_mistakes, refuse_two_on_stdout
from sgverify.cli.shared.options import (
    BADGE,
    CONFIG,
    HTML,
    JSON,
    PLOT,
    PROCESSES,
    SET,
    check_written,
    plot,
)
from sgverify.cli.shared.workers import Call, helpers
from sgverify.errors import ConfigurationError
from sgverify.evidence import Evidence
from sgverify.evidence.model import EXIT_CODES
from sgverify.evidence.recorded import BaselineFile, Compared, write_baseline
from sgverify.keeping.stopping import late

if TYPE_CHECKING:
    from sgverify.subject.subject import Subject
    from sgverify.verdict.results import Results

SHORT, ALL, QUIET, EXPLAIN = "short", "all", "quiet", "explain"


@click.command()
@click.argument("scheme")
@CONFIG
@SET
@click.option(
    "--checks", metavar="ID,...", help="Only these checks or claims, under the configured gradient alone."
)
@click.option(
    "--gradient",
    type=click.Choice(["sum", "mean"]),
    help="The loss whose gradient an optimizer takes, as adapter.gradient: that of all data, or the mean.",
)
@click.option(
    "--loss",
    metavar="FILE.py:NAME",
    help="The loss of a training script, whose own network and data (--loader) are the target.",
)
@click.option(
    "--loader", metavar="FILE.py:NAME", help="The data of that script: a DataLoader, or batches (x, y)."
)
@click.option("--quiet", "style", flag_value=QUIET, help="Print the closing block alone, and no progress.")
@click.option(
    "--all", "style", flag_value=ALL, help="Print every finding, with the consequences of failures."
)
@click.option(
    "--explain",
    "style",
    flag_value=EXPLAIN,
    help="Print claim, finding, formulas and replay command of each answer.",
)
@click.option(
    "--minimise",
    is_flag=True,
    help="Search for the simplest configuration under which the first violation remains.",
)
@click.option(
    "--workers",
    type=PROCESSES,
    metavar="N",
    default=1,
    show_default=True,
    help="Processes that share the questions, which helps where processors are idle and a verdict takes more than a few seconds. "
    "The answer is the same.",
)
@click.option(
    "--baseline",
    "baseline_path",
    metavar="FILE",
    help="Known violations, which do not fail the run: only new ones do.",
)
@click.option(
    "--write-baseline",
    "written_path",
    metavar="FILE",
    help="Write the violations to FILE, or bring it up to date; the exit code stays.",
)
@FORMAT
@PLOT
@HTML
@BADGE
@JSON
def verify(
    scheme: str,
    config: str | None,
    settings: tuple[str, ...],
    checks: str | None,
    gradient: str | None,
    loss: str | None,
    loader: str | None,
    style: str | None,
    minimise: bool,
    workers: int,
    baseline_path: str | None,
    written_path: str | None,
    form: str,
    plot_path: str | None,
    page_path: str | None,
    badge_path: str | None,
    json_path: str | None,
) -> int:
    """Judge SCHEME: a catalogue name, module:attribute, or path/to/file.py:attribute.

    Three groups of findings are printed as they are settled, and a block with the whole answer: PASS, FAIL or UNDECIDED.
    Without a configured gradient, full gradients and random minibatches are both judged.

    \b
    Examples:
      # the function heun of the file mine.py: the closing block alone
      sgverify verify mine.py:heun --quiet
      # a scheme of the catalogue with minibatches of 20, with every finding
      sgverify verify sghmc-aboba --set gradient.kind=iid \\
        --set gradient.batch=20 --all
      # two questions in two dimensions, with claims, formulas and certificates
      sgverify verify sgld-euler --set target.name=gaussian --set target.dim=2 \\
        --checks local-order,stationary-bias --explain
      # the answer as JSON for a script, and the picture of a rate
      sgverify verify mine.py:heun --json heun.json --plot heun.svg
    """
    from sgverify.configuration import load_configuration
    from sgverify.configuration.loading import adapter_settings
    from sgverify.schemes.loading import load_step

    watch = output.Stopwatch()
    if loss and not loader:
        raise ConfigurationError(
            f"--loss {loss}: without its data; expected a DataLoader beside it; add --loader FILE.py:NAME"
        )
    for key, value in (("adapter.gradient", gradient), ("target.name", loss), ("target.loader", loader)):
        settings = (*settings, f"{key}={value}") if value else settings
    check_written(page_path, "--html", ".html", ".htm")
    check_written(badge_path, "--badge", ".svg")
    click.get_current_context().with_resource(output.none_of_before(page_path, badge_path))
    refuse_two_on_stdout(form, json_path)
    baselines = Baselines.opened(baseline_path, written_path)
    selected = _ids(checks)
    configuration = load_configuration(config, settings)
    with annotated_mistakes(form, scheme):
        step = load_step(scheme, adapter_settings(configuration))
    quiet = style == QUIET
    # Points that only illustrate are computed where somebody sees them.
    brief = json_path is None and plot_path is None and page_path is None
    # Other processes load torch and sympy while this one does; on a terminal the bar stands there before.
    with (
        annotated_mistakes(form, scheme),
        helpers(Call(scheme, config, settings, tuple(selected), brief), workers) as others,
        output.progress(f"verifying {scheme}", quiet) as progress,
    ):
        from sgverify.checks.progress import keep_evidence
        from sgverify.verdict.asking import enquire
        from sgverify.verdict.results import Results

        screen = Display(scheme, step, style or SHORT, progress, silent=json_path == "-")
        enquiry = enquire(scheme, configuration, selected, brief=brief)
        with output.kept(json_path, watch, screen.told), screen.cut_short():
            ask = enquiry.ask if others is None else partial(others.answers, enquiry)
            found = ask(progress, screen.tell)
            results = Results(found, enquiry)
            for last in (False, True):
                try:
                    answer, closing = results.answer, results.verdict.lines(output.width())
                    break
                except BaseException as error:
                    # Once its time has ended, the block is made of what is there.
                    if last or not late():
                        keep_evidence(error, found)
                        raise
        if json_path:
            output.write_answer(json_path, found, watch, answer)
    with output.quiet_pipe():
        screen.end(results, closing)
    compared = baselines.close(tuple(results), complete=not selected, err=json_path == "-")
    if form == GITHUB:
        annotate(results, compared)
    plot(results, plot_path)
    if badge_path:
        results.write_badge(badge_path)
        if not quiet:
            output.say(f"badge: {badge_path}", err=True)
    if page_path:
        with output.progress("writing the page", quiet):
            results.write_page(page_path, watch.provenance())
        if not quiet:
            output.say(f"page: {page_path}", err=True)
    if minimise:
        show_minimal(enquiry.subject, results, quiet=json_path == "-")
    return EXIT_CODES[results.outcome if compared is None else compared.outcome]


@dataclass(frozen=True)
class Baselines:
    """The baseline that an answer is compared with, and the file that its violations are written to; None without."""

    known: BaselineFile | None = None
    written: str | None = None

    @classmethod
    def opened(cls, known: str | None, written: str | None) -> Baselines:
        """The options' files; raises `UserError`, before any computation, for one that cannot be read or written."""
        output.check_writable(written, "--write-baseline")
        if written is not None and os.path.exists(written):
            BaselineFile.read(written)
        return cls(None if known is None else BaselineFile.read(known), written)

    def close(self, evidence: tuple[Evidence, ...], *, complete: bool, err: bool = False) -> Compared | None:
        """Print the comparison, with `err` on stderr, and write the violations; None where nothing is compared.

        `complete`: all questions that apply to the scheme were asked.
        """
        compared = None
        if self.known is not None:
            compared = self.known.compared(evidence, complete=complete)
            first, *others = [*compared.told(self.known.path), *_new(compared)]
            with output.quiet_pipe():
                output.say_lines(output.wrapped(first, output.width()), compared.outcome, bold=True, err=err)
                for line in others:
                    output.say_lines(output.wrapped(f"  {line}", output.width()), err=err)
        if self.written is not None:
            output.say(write_baseline(self.written, evidence, complete=complete), err=True)
        return compared


def _new(compared: Compared) -> Iterator[str]:
    """A line for each new violation that follows from no other new one."""
    from sgverify.verdict.findings import consequences, findings_of, folded, said

    for finding in folded(findings_of(compared.new)):
        item = finding.first
        claims = ", ".join(dict.fromkeys(each.claim for each in finding.evidence))
        more = f"; {consequences(finding.folded)}" if finding.folded else ""
        yield f"new: {item.scheme} {item.check} ({claims}): {said(item)}{more}"


class Display:
    """The output of `verify`: findings as they are settled, above the progress bar, and the block at the end."""

    def __init__(self, scheme: str, step: Any, style: str, progress: Any, *, silent: bool) -> None:
        from sgverify.verdict.lines import Lines, introduced

        self.told: list[Evidence] = []
        self._style, self._silent, self._progress = style, silent, progress
        self._heading = [introduced(scheme, step)]
        self._lines = Lines(scheme, output.width(), style == ALL)

    def tell(self, evidence: Sequence[Evidence]) -> None:
        """Print the lines that further answers complete."""
        self.told += evidence
        self._echo(self._lines.tell(evidence))

    @contextmanager
    def cut_short(self) -> Iterator[None]:
        """A context in which an error or Ctrl-C leaves no finding unprinted."""
        try:
            yield
        except BaseException:
            self._echo(self._lines.end())
            raise

    def end(self, results: Results, closing: Sequence[str]) -> None:
        """Print the lines that are left, and the closing block."""
        self._progress = None
        self._echo(self._lines.end())
        if self._silent:
            return
        if self._style == EXPLAIN:
            from sgverify.report.text import explain

            # Failures come last, next to the block.
            for item in sorted(results, key=lambda item: item.outcome == "fail"):
                output.say_lines(explain(item), item.outcome)
        if self._style in (ALL, EXPLAIN):
            for line in results.details(output.width()):
                output.say(line)
        if self._style != QUIET:
            output.say("")
        output.say(closing[0], results.outcome, bold=True)
        for line in closing[1:]:
            output.say(line)

    def _echo(self, lines: Iterable[str]) -> None:
        shown = list(lines)
        if not shown or self._silent or self._style in (QUIET, EXPLAIN):
            return
        shown, self._heading = [*self._heading, *shown], []
        with output.above(self._progress), output.quiet_pipe():
            for line in shown:
                output.say_lines(line, _outcome_of(line))


def _outcome_of(line: str) -> str:
    """The outcome that a finding's line shows by its sign; "" for headings."""
    from sgverify.report.wording import SYMBOLS

    signs = {sign: name for name, sign in SYMBOLS.items()}
    return signs.get(line.strip()[:1], "") if line.startswith("  ") else ""


def show_minimal(subject: Subject, evidence: Sequence[Evidence], *, quiet: bool) -> None:
    """Print the command line with the simplest configuration for the first violation; with `quiet`, to stderr."""
    from sgverify.configuration import tree_of
    from sgverify.testing.shrinking.counterexample import minimise_violation, violation

    first = violation(evidence)
    if first is None:
        output.say("nothing to minimise: nothing violates", err=True)
        return
    found = minimise_violation(subject, first)
    if not found.judgements and not tree_of(found.configuration):
        output.say(f"minimal: the defaults violate already: {found.evidence.replay}", err=quiet)
        return
    output.say(f"minimal ({found.judgements} configurations judged): {found.evidence.replay}", err=quiet)


def _ids(text: str | None) -> list[str]:
    if text is None:
        return []
    ids = [part.strip() for part in text.split(",") if part.strip()]
    if not ids:
        raise ConfigurationError(
            f"--checks {text!r}: names nothing; give ids from `sgverify list checks`, or leave it out for all"
        )
    return ids

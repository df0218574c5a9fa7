"""`verify --baseline FILE` and `--write-baseline FILE`: which violations are known, and what is said about them?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import fill

import click

from sgverify.cli.shared import output
from sgverify.evidence import Evidence
from sgverify.evidence.baseline import BaselineFile, Compared, told, write_baseline

BASELINE = click.option(
    "--baseline",
    "baseline_path",
    metavar="FILE",
    help="Known violations, which do not fail the run: only new ones do.",
)

WRITE_BASELINE = click.option(
    "--write-baseline",
    "written_path",
    metavar="FILE",
    help="Write the violations to FILE, or bring it up to date; the exit code stays.",
)


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
            first, *others = [*told(compared, self.known.path), *_new(compared)]
            with output.quiet_pipe():
                output.say(_wrapped(first), compared.outcome, bold=True, err=err)
                for line in others:
                    click.echo(_wrapped(f"  {line}"), err=err)
        if self.written is not None:
            failed = sum(item.outcome == "fail" for item in evidence)
            rows = len(write_baseline(self.written, evidence, complete=complete).violations)
            click.echo(
                f"{failed} {'violation' if failed == 1 else 'violations'} written to {self.written}, which has {rows} in all",
                err=True,
            )
        return compared


def _new(compared: Compared) -> Iterator[str]:
    """A line for each new violation that follows from no other new one."""
    from sgverify.verdict.findings import consequences, findings_of, folded, said

    for finding in folded(findings_of(compared.new)):
        item = finding.first
        claims = ", ".join(dict.fromkeys(each.claim for each in finding.evidence))
        more = f"; {consequences(finding.folded)}" if finding.folded else ""
        yield f"new: {item.scheme} {item.check} ({claims}): {said(item)}{more}"


def _wrapped(line: str) -> str:
    return fill(
        line, output.width(), subsequent_indent=output.INDENT, break_long_words=False, break_on_hyphens=False
    )

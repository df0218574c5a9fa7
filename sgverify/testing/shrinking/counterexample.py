"""A violation in a form that people can use: a minimal configuration, its evidence and plot as files, a row to keep.

A violated claim as a test failure that can be read without knowing the toolkit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from sgverify.configuration import Configuration, toml_of
from sgverify.errors import UserError
from sgverify.evidence import (
    Evidence,
    Point,
    Provenance,
    RecordedFailure,
    write_evidence,
)
from sgverify.keeping.files import write_atomically
from sgverify.report import explain
from sgverify.report.rate_plot import has_rate, write_rate
from sgverify.testing.references import loadable
from sgverify.testing.regressions import Regressions

SHOWN = 5
"""Points that a failure shows at most: the first ones, at the largest steps or shortest lengths."""


class Violation(AssertionError):
    """Evidence with the verdict `violates`; its text is the claim, what was found, the points and the replay.

    A property adds its minimal configuration, the files that it left and the row of the regression file.
    """

    def __init__(self, evidence: Evidence, counterexample: Counterexample | None = None) -> None:
        kept = [] if counterexample is None else counterexample.lines
        super().__init__(
            "\n".join([f"{evidence.claim}: {evidence.reason}", f"replay: {evidence.replay}", *kept])
        )
        self.evidence, self.counterexample = evidence, counterexample

    @property
    def text(self) -> str:
        """What a test report shows in the place of a traceback."""
        lines = [explain(replace(self.evidence, certificate={}))]
        lines += [f"  {'point':<12}{_point(point)}" for point in self.evidence.points[:SHOWN]]
        more = len(self.evidence.points) - SHOWN
        kept = [] if self.counterexample is None else self.counterexample.lines
        return "\n".join([*lines, *([f"  {'':<12}... and {more} more"] if more > 0 else []), *kept])


def _point(point: Point) -> str:
    place = ", ".join(
        f"{name} = {value:.6g}"
        for name, value in (("h", point.step), ("L", point.length))
        if value is not None
    )
    if point.value is None:
        return f"{place}: {point.note}"
    error = f" (standard error {point.standard_error:.2g})" if point.standard_error else ""
    return f"{place}: {point.value:.6g}{error}"


DEFAULT_FOLDER = "sgverify-counterexamples"


@dataclass(frozen=True)
class Counterexample:
    """The results of a failing property: the paths of evidence and plot (None without), and the row of the regression file.

    `judged` is the number of judged configurations, `kept` a sentence about the row, and `files` the names of the files in the
    failure's message.
    """

    configuration: Configuration
    judged: str
    files: tuple[str, ...]
    stored: Path | None = None
    plot: Path | None = None
    row: RecordedFailure | None = None
    kept: str = ""

    @property
    def lines(self) -> list[str]:
        """Fields as a failure shows them: name, text."""
        settings = toml_of(self.configuration).splitlines()
        first = "the defaults" if not settings else "what differs from the defaults, as a TOML file:"
        lines = [f"  minimal     {first}", *(f"    {setting}" for setting in settings)]
        lines += [f"  judged      {self.judged}", *self.files]
        lines += [f"  regression  {self.kept}"] if self.kept else []
        lines += [f"    {self.row.text}"] if self.row else []
        return lines


def keep_counterexample(
    evidence: Evidence,
    configuration: Configuration,
    *,
    judged: str,
    folder: Path,
    regressions: Regressions | None = None,
) -> Counterexample:
    """Write the evidence of a violation and the plot of its rate into `folder`, and its row into the regression file.

    The folder is created if it is missing, with a `.gitignore` of its own. If a file cannot be written, the reason replaces its
    path: this error must not hide the violation.
    """
    stored, plot = folder / f"{evidence.id}.json", folder / f"{evidence.id}.svg"
    drawn = has_rate(evidence)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / ".gitignore").exists():
            write_atomically(folder / ".gitignore", "*\n")
        provenance = Provenance.gather(command=evidence.replay, seconds=evidence.seconds)
        write_evidence(stored, [evidence], provenance)
        if drawn:
            write_rate(evidence, plot)
        files = [f"  plot        {plot}"] if drawn else []
        files.append(f"  evidence    {stored}#{evidence.id}")
    except (OSError, UserError) as error:
        files = [f"  files       none: {error}"]
    row = None if regressions is None else regressions.row_of(evidence, configuration)
    return Counterexample(
        configuration=configuration,
        judged=judged,
        files=tuple(files),
        stored=stored if stored.exists() else None,
        plot=plot if drawn and plot.exists() else None,
        row=row,
        kept="" if row is None or regressions is None else _kept(regressions, row, evidence.scheme),
    )


def _kept(regressions: Regressions, row: RecordedFailure, scheme: str) -> str:
    """A sentence about the row: written to the regression file, known already, or only shown."""
    if not loadable(scheme):
        return f"no row: {scheme!r} stands at the top of no module, so no command line loads it; give it a name there"
    if not regressions.writes:
        return f"not written where CI is set; add this line to {regressions.path}:"
    try:
        added = regressions.add(row)
    except UserError as error:
        return f"not written: {error}"
    return f"row added to {regressions.path}" if added else f"{regressions.path} has this row"


__all__ = ["DEFAULT_FOLDER", "Counterexample", "Violation", "keep_counterexample"]

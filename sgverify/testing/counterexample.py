"""A violation in a form that people can use: a minimal configuration, its evidence and plot as files, a row to keep."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sgverify.configuration import Configuration, toml_of
from sgverify.errors import UserError
from sgverify.evidence import Evidence, Provenance, Regression, write_atomically, write_evidence
from sgverify.report.rate_plot import has_rate, write_rate
from sgverify.schemes import find_scheme
from sgverify.testing.regressions import Regressions

DEFAULT_FOLDER = "sgverify-counterexamples"


@dataclass(frozen=True)
class Counterexample:
    """What a failing property leaves behind; `stored` and `plot` are files, `row` is what the regression file gets.

    `judged` says how many configurations were judged for it. `plot` is None where the claim is not about a rate.
    """

    configuration: Configuration
    stored: Path
    id: str
    plot: Path | None
    judged: str
    row: Regression | None = None
    kept: str = ""

    @property
    def lines(self) -> list[str]:
        """Fields as a failure shows them: name, text."""
        settings = toml_of(self.configuration).splitlines()
        first = "the defaults" if not settings else "what differs from the defaults, as a TOML file:"
        lines = [f"  minimal     {first}", *(f"    {setting}" for setting in settings)]
        lines += [f"  judged      {self.judged}"]
        lines += [f"  plot        {self.plot}"] if self.plot else []
        lines += [f"  evidence    {self.stored}#{self.id}"]
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

    The folder is made where it is missing, with a `.gitignore` of its own. Raises `UserError` where it cannot be
    written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / ".gitignore").exists():
        write_atomically(folder / ".gitignore", "*\n")
    stored, plot = folder / f"{evidence.id}.json", folder / f"{evidence.id}.svg"
    write_evidence(stored, [evidence], Provenance.gather(command=evidence.replay, seconds=evidence.seconds))
    if has_rate(evidence):
        write_rate(evidence, plot)
    row, kept = None, ""
    if regressions is not None and not _loadable(evidence.scheme):
        kept = f"no row: {evidence.scheme!r} stands at the top of no module, so no command line loads it; give it a name there"
    elif regressions is not None:
        row = regressions.row_of(evidence, configuration)
        added = regressions.add(row)
        there = f"{regressions.path} has this row"
        kept = (
            f"row added to {regressions.path}"
            if added
            else there
            if regressions.writes
            else _shown(regressions)
        )
    return Counterexample(
        configuration=configuration,
        stored=stored,
        id=evidence.id,
        plot=plot if has_rate(evidence) else None,
        judged=judged,
        row=row,
        kept=kept,
    )


def _loadable(reference: str) -> bool:
    """Whether a reference is one to a file or module, or a name of the catalogue."""
    if ":" in reference:
        return True
    try:
        find_scheme(reference)
    except UserError:
        return False
    return True


def _shown(regressions: Regressions) -> str:
    return f"not written here (CI); add this line to {regressions.path}:"


__all__ = ["DEFAULT_FOLDER", "Counterexample", "keep_counterexample"]

"""`--plot FILE`: the rate that a command found, as a picture."""

from __future__ import annotations

from collections.abc import Sequence

import click

from sgverify.cli import output
from sgverify.evidence import Evidence


def check_plot(path: str | None) -> None:
    """Meet a picture that cannot be written before the work is done; raises `ConfigurationError`."""
    if path is None:
        return
    from sgverify.report.rate_plot import check_plot_path

    check_plot_path(path)
    output.check_writable(path, "--plot")


def plot(evidence: Sequence[Evidence], path: str | None) -> None:
    """Draw one rate of the evidence, what violates before the rest, and say on stderr which."""
    if path is None:
        return
    from sgverify.report.rate_plot import has_rate, write_rate

    ranked = sorted(evidence, key=lambda item: (item.verdict != "violates", item.refuted))
    drawn = next(filter(has_rate, ranked), None)
    if drawn is None:
        click.echo("no plot: nothing of this is a rate in h or L with points to draw", err=True)
        return
    write_rate(drawn, path)
    click.echo(f"plot of {drawn.claim} ({drawn.check}), {drawn.verdict}: {path}", err=True)

"""Which options do several commands share, and what do they do?"""

from __future__ import annotations

from collections.abc import Sequence

import click

from sgverify.cli import output
from sgverify.errors import ConfigurationError
from sgverify.evidence import Evidence

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
    from sgverify.report.rate_plot import rate_to_draw, write_rate

    drawn = rate_to_draw(evidence)
    if drawn is None:
        click.echo("no plot: nothing of this is a rate in h or L with points to draw", err=True)
        return
    write_rate(drawn, path)
    click.echo(f"plot of {drawn.claim} ({drawn.check}), {drawn.outcome}: {path}", err=True)


HTML = click.option(
    "--html",
    "page_path",
    metavar="FILE.html",
    help="Write the whole answer as one page that opens from disk.",
)
BADGE = click.option(
    "--badge",
    "badge_path",
    metavar="FILE.svg",
    help="Write the outcome as a small picture: pass, fail or undecided.",
)


def check_written(path: str | None, option: str, *suffixes: str) -> None:
    """Raise `ConfigurationError`, before any computation, for a file of another kind, or one that cannot be written."""
    if path is None:
        return
    if not path.lower().endswith(suffixes):
        raise ConfigurationError(
            f"{option} {path!r}: expected a file that ends in {' or '.join(suffixes)}; name one"
        )
    output.check_writable(path, option)

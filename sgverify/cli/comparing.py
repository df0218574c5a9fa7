"""`sgverify compare`: which of these schemes has the smaller error for its gradients?"""

from __future__ import annotations

from typing import Any

import click

from sgverify.cli.shared import output
from sgverify.cli.shared.options import CONFIG, CURVATURES, JSON, SCALES, SET, drawn
from sgverify.evidence.model import INCONCLUSIVE
from sgverify.user_code import own_code


@click.command()
@click.argument("schemes", nargs=-1, required=True, metavar="SCHEME...")
@click.option(
    "--target", metavar="NAME|FILE.py:NAME", help="The target; by default that of the configuration."
)
@click.option(
    "--error",
    type=float,
    default=0.01,
    show_default=True,
    metavar="E",
    help="The bias of means and standard deviations, in those of the target, whose cost is compared.",
)
@click.option(
    "--cost",
    type=float,
    metavar="G",
    help="The gradients per unit of time at which errors are compared; by default those of the first scheme at its step.",
)
@click.option(
    "--out",
    "folder",
    metavar="DIR",
    help="Write the figure (PDF, SVG, PNG), table.tex, CSV, Markdown, JSON and a page to this folder.",
)
@CURVATURES
@CONFIG
@SET
@SCALES
@drawn("Draw the bias against its cost.")
@JSON
def compare(
    schemes: tuple[str, ...],
    target: str | None,
    folder: str | None,
    config: str | None,
    settings: tuple[str, ...],
    plot_path: str | None,
    json_path: str | None,
    **asked: Any,
) -> int:
    """Compare schemes: orders as proved, leading errors, stability limits, and what a bias costs in gradients.

    SCHEME is a catalogue name, or path/to/file.py:attribute for a definition, a torch step or an optimizer of your own. A single
    scheme is compared with those of the catalogue of its dynamics. The cheapest for the error comes first. Contractions are
    certified for potentials with M <= curvature <= L, by default those with the curvatures of the target, where these are known.

    \b
    Examples:
      # a splitting of your own beside two, with the files of an appendix
      sgverify compare mine.py:aboba sghmc-baoab sghmc-ubu --out compared
      # with minibatches, on another target
      sgverify compare sghmc-ubu sghmc-baoab --target gaussian-mean \\
        --set gradient.kind=iid --plot costs.pdf

    Exit codes: 0 with a curve for every scheme; 3 where one has none; 2 the call is wrong.
    """
    if folder is not None:
        from sgverify.report.writing import prepare_folder

        # Before what takes long.
        prepare_folder(folder)
    from sgverify.configuration import load_configuration

    configuration = load_configuration(
        config, settings, **({} if target is None else {"target.name": target})
    )
    from sgverify.advice.comparison.comparing import compare as ask

    watch = output.Stopwatch()
    with own_code(), output.progress("comparing") as progress:
        found = ask(*schemes, config=configuration, progress=progress, **asked)
    output.show_result(found, json_path, plot_path)
    if folder:
        from sgverify.advice.comparison.writing import write

        names = write(found, folder, watch.provenance())
        output.say(f"{folder}: {', '.join(names)}", err=True)
    return 0 if all(row.curve for row in found.schemes) else INCONCLUSIVE

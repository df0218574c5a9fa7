"""`sgverify sample`: draws to a file, a summary to the terminal."""

from __future__ import annotations

import json

import click

from sgverify.cli.shared import output
from sgverify.cli.shared.options import CONFIG, JSON, SCALES, SET, drawn
from sgverify.errors import UserError
from sgverify.evidence.documents import DRAWS
from sgverify.evidence.model import INCONCLUSIVE
from sgverify.keeping.stopping import late
from sgverify.user_code import own_code

INTERRUPTED = 130
"""The exit code of Ctrl-C, as of a program that SIGINT ends: 128 and the number of the signal; so for other signals."""


@click.command()
@click.argument("scheme")
@CONFIG
@SET
@SCALES
@click.option(
    "--out",
    "place",
    metavar="FILE.nc|DIR.zarr",
    help="The file or folder of the draws, netCDF or Zarr. They are kept while they are drawn; those of a folder need not fit into "
    "memory.",
)
@click.option("--force", is_flag=True, help="Replace an existing file or folder.")
@click.option(
    "--resume",
    is_flag=True,
    help="Go on with a run that was stopped or killed, to the bits that an undisturbed one has; with more steps, make a "
    "complete run in a folder longer.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes that draw disjoint chains into one folder. The draws do not depend on it.",
)
@click.option(
    "--energy/--no-energy",
    default=None,
    help="Record U(theta) of each draw. By default it is recorded where it needs no pass over data: on targets without data and on "
    "quadratic ones.",
)
@drawn("Draw traces, marginals beside the Gaussian of the target, and widths as predicted and found.")
@JSON
def sample(
    scheme: str,
    config: str | None,
    settings: tuple[str, ...],
    place: str | None,
    force: bool,
    resume: bool,
    workers: int,
    energy: bool | None,
    plot_path: str | None,
    json_path: str | None,
) -> int:
    """Draw from SCHEME: chains x draws x coordinates with sample statistics, for ArviZ.

    \b
    Examples:
      # draws of a double well in netCDF
      sgverify sample sghmc-baoab --set target.name=double-well --set chains=4 \\
        --set steps=2000 --out draws.nc
      # an integrator of your own with minibatches, streamed to Zarr
      sgverify sample mine.py:heun --set gradient.kind=iid --set chains=4 \\
        --set burn_in=5000 --set steps=40000 --out draws.zarr
      # the same run made longer; after a kill, the same command goes on
      sgverify sample mine.py:heun --set gradient.kind=iid --set chains=4 \\
        --set burn_in=5000 --set steps=50000 --out draws.zarr --resume
      # chains on two processes, with the bits of one
      sgverify sample sghmc-baoab --set chains=8 --set steps=4000 \\
        --out many.zarr --workers 2

    Draws are kept while they are drawn (of a file in FILE.nc.partial.zarr, until it is written): a process that is killed at any
    moment loses two seconds of work, or a hundred times as long as storing its state takes, and --resume goes on from there.
    Ctrl-C, SIGTERM and SIGHUP lose nothing.

    The last line says TRUST, CHECK or DO NOT TRUST, with the reason and the next command: by R-hat, the effective sample size, the
    predicted bias of means and widths, and what is left of the start.

    Exit codes: 0 TRUST or CHECK, all draws are written; 3 DO NOT TRUST (where a chain diverged, the draws before are written, and
    sample_stats.diverging names the chain); 130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP (the draws before are written); 2
    the call is wrong, or disk or memory is full.

    FILE.nc is read by arviz.from_netcdf("FILE.nc"), DIR.zarr by xarray.open_datatree("DIR.zarr", engine="zarr"). Without
    schedule.step, step, friction and burn_in are those that `sgverify advise` plans for the scheme; where there is no plan it is
    the default, half the stability limit or a share of the time scale. A line on stderr says so.

    A long run takes its steps in C, built by the system's C compiler, or by that of the extra 'kernel'. What is built is
    kept in the user's cache folder; the environment variable SGVERIFY_CACHE names another one, or is off.
    """
    # Errors of the call are reported before torch and ArviZ are loaded, which takes seconds.
    from sgverify.configuration import load_configuration
    from sgverify.draws.files import STREAMED, check_place, reading_line
    from sgverify.draws.step_choice import check_installed
    from sgverify.schemes.loading import load_step

    check_installed()
    if place is not None:
        check_place(place, force=force, resume=resume)
    elif resume or workers > 1:
        given = "--resume" if resume else f"--workers {workers}"
        raise click.UsageError(
            f"{given} without --out: expected --out DIR.zarr or FILE.nc, where the draws are kept"
        )
    configuration = load_configuration(config, settings)
    load_step(scheme)

    from sgverify.draws.inference_data import arviz
    from sgverify.draws.sampling import Sampling
    from sgverify.draws.step_choice import fits, size_text
    from sgverify.draws.stored.run import stopped_text
    from sgverify.draws.summary import summarise_draws
    from sgverify.draws.trust import WORDS
    from sgverify.keeping.stopping import SIGNALS, stoppable

    with own_code():
        streamed = place is not None and place.endswith(STREAMED)
        sampling = Sampling.of(scheme, configuration, energy=energy, streamed=streamed)
    chains = len(sampling.ensemble.chains)
    # Loaded now: after the last draw, no slow or failing import may delay the file.
    arviz()
    kept = f"keeping {sampling.kept:,} draws of {chains:,} chains: {size_text(sampling.size)}"
    output.say(f"{kept}; {sampling.step_text}", err=True)
    for line in (*sampling.warnings, sampling.note, *sampling.covariates):
        if line:
            output.say(line, err=True)
    with own_code(), output.progress("sampling") as progress, stoppable(*SIGNALS) as stop:
        told = None if progress is None else (lambda done, total: progress("", done, total))
        draws = sampling.draw(
            told,
            out=place,
            force=force,
            resume=resume,
            workers=workers,
            stop=None if place is None else stop,
            say=lambda line: output.say(line, err=True),
        )
    attributes = dict(draws.attrs)
    stopped = not attributes["complete"] and not attributes["diverged"]
    ended_by = INTERRUPTED if stop.signal is None else 128 + stop.signal
    ended_by = INCONCLUSIVE if late() else ended_by
    if draws.posterior.sizes["draw"] == 0:
        done = int(attributes["steps_done"])
        onwards = f"; {stopped_text(place)}" if place is not None and done else "; nothing is written"
        output.say(f"stopped at step {done:,}, before any draw was kept{onwards}", err=True)
        return ended_by
    if place is not None and json_path != "-":
        # Said first: whatever becomes of the summary, the draws are there.
        output.say(f"written to {place}; read it by")
        output.say(f"  {reading_line(place)}")
    if stopped:
        onwards = "" if place is None else f"; {stopped_text(place)}"
        output.say(
            f"stopped at step {attributes['steps_done']:,}; the draws up to it are kept{onwards}", err=True
        )
    summarised = fits(sampling.size)
    try:
        if json_path:
            output.show_json(_document(draws, place, summarised=summarised), json_path)
        if json_path != "-":
            output.say_lines(summarise_draws(draws, table=summarised))
    except (MemoryError, ImportError, OSError) as error:
        if place is None:
            raise
        raise UserError(
            f"the draws are written to {place}, and could not be summarised: {type(error).__name__} {error}; expected memory "
            "for both; read the draws, or call it again with more"
        ) from None
    if plot_path and summarised:
        from sgverify.draws.picture import draw_run

        draw_run(draws, sampling.step_bias).save(plot_path)
        output.say(f"plot: {plot_path}", err=True)
    if attributes["diverged"]:
        output.say(f"{attributes['diverged']}; the draws end before that step", err=True)
    if json_path != "-" and "verdict" in attributes:
        output.say(attributes["verdict"])
    if stopped:
        return ended_by
    return INCONCLUSIVE if attributes.get("verdict", "").startswith(WORDS[-1]) else 0


def _document(draws: object, place: str | None, *, summarised: bool) -> dict[str, object]:
    """The answer as JSON: provenance and the summary, not the draws."""
    from sgverify.draws.summary import table_of

    attributes = dict(draws.attrs)  # type: ignore[attr-defined]
    sizes = draws.posterior.sizes  # type: ignore[attr-defined]
    return {
        "schema": DRAWS.name,
        "scheme": attributes["scheme"],
        "target": attributes["target"],
        "configuration": json.loads(attributes["configuration"]),
        "seed": int(attributes["seed"]),
        "command": attributes["command"],
        "complete": bool(attributes["complete"]),
        "steps_done": int(attributes["steps_done"]),
        "diverged": attributes["diverged"],
        "chains": sizes["chain"],
        "draws": sizes["draw"],
        "file": place,
        "verdict": json.loads(attributes["verdict_json"]) if "verdict_json" in attributes else None,
        "summary": table_of(draws) if summarised else {},
    }

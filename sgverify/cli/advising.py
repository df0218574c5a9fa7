"""`sgverify advise`: which scheme, step size, gradient estimator and number of steps know a target within an error?"""

from __future__ import annotations

import click

from sgverify.cli import output
from sgverify.cli.options import CONFIG, JSON, SET
from sgverify.evidence.model import INCONCLUSIVE
from sgverify.user_code import own_code


@click.command()
@click.argument("target")
@click.argument("schemes", nargs=-1, metavar="[SCHEME]...")
@click.option(
    "--error",
    type=float,
    default=0.05,
    show_default=True,
    metavar="E",
    help="The error of each mean and standard deviation of theta, in standard deviations of the target.",
)
@CONFIG
@SET
@JSON
def advise(
    target: str,
    schemes: tuple[str, ...],
    error: float,
    config: str | None,
    settings: tuple[str, ...],
    json_path: str | None,
) -> int:
    """Say how to sample TARGET: the scheme, step size, gradient estimator and number of steps that know it within an error for
    the fewest gradients.

    TARGET is a name of the catalogue or path/to/file.py:attribute. Without SCHEME, overdamped Euler and the usual schemes with a
    momentum are compared. What is configured (gradient.kind, gradient.batch, friction) is kept, the rest is compared. No chain is
    run: biases and autocorrelations are exact on Gaussian targets, else those of a Gaussian approximation at the mode.

    Exit codes: 0 with advice; 3 where none is to be trusted, as the posterior is not near a Gaussian; 2 the call is wrong.
    """
    output.check_writable(json_path)
    # Errors of the call are reported before torch is loaded.
    from sgverify.configuration import load_configuration

    configuration = load_configuration(config, settings, **{"target.name": target})

    from sgverify.advice.plans import advise as ask

    with own_code(), output.progress("comparing") as progress:
        advice = ask(target, schemes, configuration, error=error, progress=progress)
    if json_path:
        output.show_json(advice.document(), json_path)
    if json_path != "-":
        with output.quiet_pipe():
            click.echo(str(advice))
    return 0 if advice.trusted else INCONCLUSIVE

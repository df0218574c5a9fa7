"""`sgverify advise`: which scheme, step size, gradient estimator and number of steps know a target within an error?

`sgverify width`: how wide are draws at a step size?

`sgverify identify`: which published scheme is a step?

`sgverify design`: which words over an alphabet, with which shares, have the smallest error for their gradients?
"""

from __future__ import annotations

from typing import Any

import click

from sgverify.cli.shared import output
from sgverify.cli.shared.options import CONFIG, JSON, SCALES, SET, drawn
from sgverify.errors import ConfigurationError
from sgverify.evidence.model import CONFORMS, INCONCLUSIVE
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
@SCALES
@drawn("Draw the cost of the cheapest plan of each scheme against the step size; of a network the widths.")
@JSON
def advise(
    target: str,
    schemes: tuple[str, ...],
    error: float,
    config: str | None,
    settings: tuple[str, ...],
    plot_path: str | None,
    json_path: str | None,
) -> int:
    """Say how to sample TARGET: the scheme, step size, gradient estimator and number of steps that know it within an error for
    the fewest gradients.

    TARGET is a name of the catalogue or path/to/file.py:attribute. Without SCHEME, overdamped Euler and the usual schemes with a
    momentum are compared. What is configured (gradient.kind, gradient.batch, friction) is kept, the rest is compared. No chain is
    run: biases and autocorrelations are exact on Gaussian targets, else those of a Gaussian approximation at the mode.

    For a torch module a mode is found, and the steps and batches that the largest eigenvalues of the Hessian and the noise of
    single data there allow are told, with one whose first steps were run.

    \b
    Examples:
      # the cheapest plan for an error of 5 % on a target of the catalogue
      sgverify advise gaussian-mean
      # two schemes with minibatches for an error of 1 %, drawn
      sgverify advise gaussian-mean sghmc-baoab mine.py:heun --error 0.01 \\
        --set gradient.kind=iid --plot plans.svg

    Exit codes: 0 with advice; 3 where none is to be trusted, as the posterior is not near a Gaussian; 2 the call is wrong.
    """
    _refuse_second_target(target, settings)
    # Errors of the call are reported before torch is loaded.
    from sgverify.configuration import load_configuration

    given = load_configuration(config, settings).target
    if "name" in given.model_fields_set and given.name != target:
        raise ConfigurationError(
            f"config={config!r}: target.name={given.name!r}, and the argument {target!r} is given; expected one target; leave "
            "it out of the file, or give the same"
        )
    configuration = load_configuration(config, settings, **{"target.name": target})

    from sgverify.advice.plans import advise as ask

    with own_code(), output.progress("comparing") as progress:
        advice = ask(target, schemes, configuration, error=error, progress=progress)
    output.show_result(advice, json_path, plot_path)
    return 0 if advice.trusted else INCONCLUSIVE


@click.command()
@click.argument("target")
@click.argument("scheme")
@click.option("--step", type=float, required=True, metavar="H", help="The step size.")
@click.option("--batch", type=int, metavar="N", help="The batch of minibatches drawn with replacement.")
@CONFIG
@SET
@SCALES
@drawn("Draw the width of each coordinate over that of the target.")
@JSON
def width(
    target: str,
    scheme: str,
    step: float,
    batch: int | None,
    config: str | None,
    settings: tuple[str, ...],
    plot_path: str | None,
    json_path: str | None,
) -> int:
    """Say how wide the draws of SCHEME from TARGET are at a step size, without drawing: the factor of each standard deviation, the
    shift of each mean, the stability limit, and the steps to forget the start.

    Exact on Gaussian targets, from grids on a line, else by a Gaussian approximation at the mode with the empirical covariance of
    the gradient noise.

    \b
    Examples:
      # SGLD with batches of 10 at a step size that is too large for them
      sgverify width gaussian-mean sgld-euler --step 1e-4 --batch 10
      # full gradients on a posterior of one's own, another friction, as JSON
      sgverify width mine.py:posterior sghmc-baoab --step 0.1 \\
        --set friction=1 --json width.json

    Exit codes: 0 told; 3 where it cannot be told, or the chain has no law at this step; 2 the call is wrong.
    """
    _refuse_second_target(target, settings)
    from sgverify.configuration import load_configuration

    configuration = load_configuration(config, settings, **{"target.name": target})

    from sgverify.advice.step_bias import width as ask

    with own_code():
        found = ask(target, scheme, configuration, step=step, batch=batch)
    output.show_result(found, json_path, plot_path)
    return 0 if found.factors and found.distrust is None else INCONCLUSIVE


def _refuse_second_target(target: str, settings: tuple[str, ...]) -> None:
    """Raise `ConfigurationError` for a target that is set beside the one that is given."""
    for setting in settings:
        if setting.partition("=")[0].strip() in ("target", "target.name"):
            raise ConfigurationError(
                f"--set {setting!r}: expected one target, and the argument {target!r} is given; leave the setting out"
            )


@click.command()
@click.argument("scheme")
@CONFIG
@SET
@JSON
def identify(scheme: str, config: str | None, settings: tuple[str, ...], json_path: str | None) -> int:
    """Say which published scheme SCHEME is, from the exact law of one step: a definition, torch code, or what an adapter takes.

    Its step size, friction, temperature and the units of its state are recovered, and the convention is named: a learning rate h^2,
    a momentum decay 1 - h D, a momentum v = h p, a gradient times N/n. What the law cannot separate is printed as a family. Where
    no scheme of the catalogue has the law, the nearest is named with the terms by which it differs.

    \b
    Examples:
      # which scheme is it?
      sgverify identify mine.py:aboba
      # under the numbers of a run; N and n name a factor of the gradient
      sgverify identify mine.py:aboba --set schedule.step=0.01 \\
        --set target.size=5000 --set gradient.batch=50
      # one that is not in the catalogue, as JSON: what is nearest?
      sgverify identify mine.py:heun --json heun.json

    Exit codes: 0 a published scheme at the handed numbers; 3 at other numbers, none, or undecided; 2 the call is wrong.
    """
    from sgverify.configuration import load_configuration

    configuration = load_configuration(config, settings)

    from sgverify.advice.identification.identifying import identify as ask

    found = ask(scheme, configuration)
    output.show_result(found, json_path)
    return CONFORMS if found.identified else INCONCLUSIVE


@click.command()
@click.argument("dynamics")
@click.option(
    "--letters", metavar="ABO", help="All letters of one alphabet of the dynamics; by default the first."
)
@click.option(
    "--gradients",
    default=1,
    show_default=True,
    help="The most gradients a step of a long run; one that the next step needs at the same place counts once.",
)
@click.option("--order", default=2, show_default=True, help="The order of the invariant law, 1 to 4.")
@click.option("--show", default=10, show_default=True, help="The most words that are proved and shown.")
@drawn("Draw the leading error of each word.")
@JSON
def design(dynamics: str, plot_path: str | None, json_path: str | None, **asked: Any) -> int:
    """Search the splittings of DYNAMICS with the smallest leading error of averages, and prove what was found.

    DYNAMICS is kinetic, or a word over an alphabet of your own (path/to/file.py:scheme), whose letters are taken. Words and their
    shares are searched; the orders of one step and of the invariant law are then proved for every smooth potential, and the leading
    error on Gaussians by the exact law of the chain. Words are ranked by the error of means and variances of theta.

    \b
    Examples:
      # one gradient a step: which word is best?
      sgverify design kinetic --letters ABO --gradients 1 --order 2
      # fourth order in the invariant law, the shares found as roots
      sgverify design kinetic --gradients 3 --order 4
      # words over your own letters, as JSON
      sgverify design mine.py:aboba --json design.json

    Exit codes: 0 with words; 3 where none has the order, or the time ended before; 2 the call is wrong.
    """

    from sgverify.advice.design.designing import design as ask

    with output.progress("searching") as progress:
        found = ask(dynamics, **asked, progress=progress)
    output.show_result(found, json_path, plot_path)
    return CONFORMS if found.words and found.searched == found.candidates else INCONCLUSIVE

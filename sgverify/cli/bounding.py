"""`sgverify bound`: what holds for every potential of a class at a step size?"""

from __future__ import annotations

from typing import Any

import click

from sgverify.cli.shared import output
from sgverify.cli.shared.options import CONFIG, CURVATURES, JSON, SET, drawn
from sgverify.evidence.model import INCONCLUSIVE
from sgverify.user_code import own_code


@click.command()
@click.argument("scheme")
@CURVATURES
@click.option(
    "--step", type=float, metavar="H", help="The step size; without it half the largest with a certificate."
)
@click.option(
    "--noise",
    "variance",
    type=float,
    default=0.0,
    metavar="V",
    help="The variance of a coordinate of the minibatches' gradient noise.",
)
@click.option(
    "--hessian-lipschitz",
    type=float,
    metavar="K",
    help="A Lipschitz constant of the Hessian of U: the distance to the next order, in dimension --dim.",
)
@click.option(
    "--dim",
    type=int,
    default=1,
    show_default=True,
    metavar="d",
    help="The dimension, for --hessian-lipschitz.",
)
@CONFIG
@SET
@drawn("Draw the shares by which a step contracts, beside published ones.")
@JSON
def bound(
    scheme: str,
    step: float | None,
    config: str | None,
    settings: tuple[str, ...],
    plot_path: str | None,
    json_path: str | None,
    **asked: Any,
) -> int:
    """Say what holds for every potential with M <= curvature <= L, in every dimension: by how much a step of SCHEME contracts, up
    to which step size, at which friction, and how far its law is from the posterior.

    Rates are proved, roundings included. Without --m and --L, the class is that of the configured target, where bounds of its
    Hessian are known: a Gaussian, or a logistic regression with a Gaussian prior.

    \b
    Examples:
      # BAOAB for every potential with curvatures between 1 and 10
      sgverify bound sghmc-baoab --m 1 --L 10 --set friction=6.3
      # SGLD on a logistic regression, at a step size
      sgverify bound sgld-euler --step 0.01 --set target.name=logistic-regression

    Exit codes: 0 with a certificate; 3 where there is none at this step; 2 the call is wrong.
    """
    from sgverify.configuration import load_configuration

    given = {} if step is None else {"schedule.step": step}
    configuration = load_configuration(config, settings, **given)

    from sgverify.advice.certified.asking import bound as ask

    with own_code(), output.progress("certifying"):
        found = ask(scheme, configuration, **asked)
    output.show_result(found, json_path, plot_path)
    return 0 if found.proved else INCONCLUSIVE

"""The targets, gradients and schemes that the gallery compares: its only choices, all of them settings of the product."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgverify.advice.plans.costs import frictions
from sgverify.configuration import load_configuration
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject

DATA = [(2 * i - 101) / 50 for i in range(1, 101)]
"""A hundred data, evenly spaced and symmetric about 0: the posterior mean is 0, and E theta^2 the posterior variance."""

GAUSSIAN: Mapping[str, Any] = {"name": "gaussian-mean", "data": DATA}
WELL: Mapping[str, Any] = {"name": "double-well"}

FULL: Mapping[str, Any] = {"kind": "full"}
PHI = "theta**2"

KINETIC = (
    "sghmc-baoab", "sghmc-nogin", "sghmc-aboba", "sghmc-ubu", "sghmc-obabo", "sghmc-oabao", "sghmc-euler",
)  # fmt: skip
ALL = (*KINETIC, "sgld-euler")
"""The schemes of every chapter, as many as curves can be told apart."""


@dataclass(frozen=True)
class Chapter:
    """One comparison: schemes under settings of the product, and the words beside it."""

    title: str
    text: str
    settings: Mapping[str, Any]
    schemes: tuple[str, ...] = KINETIC


def gaussian(scheme: str, gradient: Mapping[str, Any], **settings: Any) -> Subject:
    """A scheme on the Gaussian posterior, critically damped."""
    chosen = {
        "target": GAUSSIAN,
        "gradient": gradient,
        "test_function": PHI,
        "friction": damping(),
        **settings,
    }
    return make_subject(scheme, load_configuration(None, **chosen))


def damping() -> float:
    """The friction that `sgverify advise` tries there: 2 sqrt(r) to two figures, critical damping."""
    configuration = load_configuration(None, target=GAUSSIAN)
    target = make_subject("sgld-euler", configuration).target
    (found,) = frictions(configuration, np.array(target.precision, dtype=float))
    return found


def well(scheme: str, **settings: Any) -> Subject:
    """A scheme on the double well with full gradients, under the default settings."""
    return make_subject(scheme, load_configuration(None, target=WELL, test_function=PHI, **settings))


def _posterior(kind: str) -> dict[str, Any]:
    batch = {} if kind == "full" else {"batch": 10}
    return {"target": GAUSSIAN, "friction": damping(), "gradient": {"kind": kind, **batch}}


def _logistic(kind: str) -> dict[str, Any]:
    batch = {} if kind == "full" else {"batch": 32}
    target = {"name": "logistic-regression", "size": 500, "dim": 3}
    return {"target": target, "friction": 14.0, "gradient": {"kind": kind, **batch}}


ON_GAUSSIAN = (
    "x_i ~ N(theta, 1), theta ~ N(0, 1), with 100 data evenly spaced from -1.98 to 1.98: the posterior is N(0, 1/101). The "
    "friction is that of critical damping."
)

CHAPTERS: Mapping[str, Chapter] = {
    "gaussian-full": Chapter("A Gaussian posterior, full gradients", ON_GAUSSIAN, _posterior("full")),
    "gaussian-beside-sgld": Chapter(
        "Beside overdamped dynamics, full gradients",
        f"{ON_GAUSSIAN} Where dynamics differ, costs are per independent draw.",
        _posterior("full"),
        ("sgld-euler", "sghmc-baoab", "sghmc-aboba", "sghmc-euler"),
    ),
    "gaussian-iid": Chapter("Minibatches of 10, drawn anew", ON_GAUSSIAN, _posterior("iid")),
    "gaussian-reshuffle": Chapter(
        "Minibatches of 10, reshuffled",
        f"{ON_GAUSSIAN} The noise of a step depends on those before: the bias is exact, and autocorrelations are not known.",
        _posterior("reshuffle"),
    ),
    "gaussian-svrg": Chapter(
        "SVRG with minibatches of 10",
        f"{ON_GAUSSIAN} Each datum has the same Hessian, so that the estimates have no noise: biases are those of full gradients, "
        "and costs are not.",
        _posterior("svrg"),
    ),
    "gaussian-control-variate": Chapter(
        "Control variates with minibatches of 10",
        f"{ON_GAUSSIAN} Here too the estimates have no noise; the gradient at the mode that each subtracts counts as well.",
        _posterior("control-variate"),
    ),
    "logistic-full": Chapter(
        "A logistic posterior, full gradients",
        "Bayesian logistic regression with 3 covariates and 500 data, by a Gaussian approximation at the mode.",
        _logistic("full"),
    ),
    "logistic-iid": Chapter(
        "A logistic posterior, minibatches of 32",
        "Bayesian logistic regression with 3 covariates and 500 data, by a Gaussian approximation at the mode.",
        _logistic("iid"),
    ),
    "double-well": Chapter(
        "A double well",
        "U = (theta^2 - 1)^2 + theta/4 with full gradients, on grids of position and momentum. Chains of explicit steps escape "
        "from a quartic well in the end; the law is that before they do.",
        {"target": WELL},
        ("sghmc-baoab", "sghmc-aboba", "sghmc-obabo", "sghmc-euler"),
    ),
}

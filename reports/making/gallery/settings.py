"""The targets, gradients and schemes that the gallery compares: its only choices, all of them settings of the product."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sgverify.advice.plans.costs import frictions
from sgverify.configuration import load_configuration
from sgverify.schemes.catalogue import NAMED
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject

DATA = [(2 * i - 101) / 50 for i in range(1, 101)]
"""A hundred data, evenly spaced and symmetric about 0: the posterior mean is 0, and E theta^2 the posterior variance."""

GAUSSIAN: Mapping[str, Any] = {"name": "gaussian-mean", "data": DATA}
WELL: Mapping[str, Any] = {"name": "double-well"}

FULL: Mapping[str, Any] = {"kind": "full"}
MINIBATCH: Mapping[str, Any] = {"kind": "iid", "batch": 10}
GRADIENTS: Mapping[str, Mapping[str, Any]] = {"full": FULL, "minibatch": MINIBATCH}

DEPENDENT: Mapping[str, Mapping[str, Any]] = {
    kind: {"kind": kind, "batch": 10} for kind in ("reshuffle", "svrg")
}
"""Minibatches of which one depends on those before: reshuffled data, and variance reduced by a snapshot."""

LOGISTIC: Mapping[str, Any] = {"name": "logistic-regression", "size": 500, "dim": 3}
LOGISTIC_GRADIENTS: Mapping[str, Mapping[str, Any]] = {
    "full": FULL,
    "minibatch": {"kind": "iid", "batch": 32},
}
LOGISTIC_ERROR = 0.05
"""The error of each mean and standard deviation on the logistic posterior, in standard deviations of the target."""

PHI = "theta**2"
TOLERANCE = 0.01
"""The error of the average of phi, bias and standard error together, as a share of its true value."""

SCHEMES = tuple(NAMED)
DRAWN = ("sgld-euler", "sghmc-euler", "sghmc-aboba", "sghmc-baoab", "sghmc-ubu", "sghmc-nogin")
"""The schemes that the pictures show; the tables have all."""


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

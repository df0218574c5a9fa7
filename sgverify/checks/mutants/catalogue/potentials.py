"""Bugs in the gradients of the potential on torch; the exact rungs read the potential itself, and are right."""

from __future__ import annotations

from typing import Any

from sgverify.checks.mutants.catalogue.estimators import REGRESSION, drawn
from sgverify.checks.mutants.mutant import Mutant

HERE = "sgverify.samplers.differentiation"

COUPLED = {"name": "gaussian", "dim": 2, "precision": [[4.0, 3.0], [3.0, 4.0]], "mean": [1.0, -0.5]}
"""Coordinates that depend on each other strongly."""


def bug(name: str, place: str, was: str, now: str, *, scheme: str = "sghmc-aboba", **rest: Any) -> Mutant:
    """A bug of the gradients that run."""
    return Mutant(
        name=name, family="potentials", scheme=scheme, place=f"{HERE}:{place}", was=was, now=now, **rest
    )


MUTANTS = (
    bug(
        "hessian-off-diagonal-lost",
        "read_affine",
        "alone = torch.equal(hessian, torch.diag(diagonal))",
        "alone = True",
        settings={"target": COUPLED},
        reason="a fast path for diagonal Hessians is taken by every Hessian",
    ),
    bug(
        "prior-curvature-of-wrong-sign",
        "read_affine",
        "hessian + curvature",
        "curvature - hessian",
        reason="the prior's curvature is taken away: a log prior where its negative is due",
    ),
    bug(
        "likelihood-once",
        "read_affine",
        "curvature = len(data) * hessians[0]",
        "curvature = hessians[0]",
        reason="the curvature of one datum where that of all is due",
    ),
    bug(
        "prior-of-wrong-sign",
        "Potential.prior",
        "return value_and_gradient(",
        "return -value_and_gradient(",
        settings=drawn("iid", **REGRESSION),
        reason="the gradient of the log prior where that of its negative is due",
    ),
    bug(
        "likelihood-half-detached",
        "Potential.likelihoods",
        "theta.expand(len(data), *theta.shape))[1]",
        "theta.expand(len(data), *theta.shape))[1] / 2",
        settings=drawn("iid", **REGRESSION),
        reason="one factor of a residual squared is detached, and half of the gradient is lost",
    ),
    bug(
        "sum-over-data-misses-last",
        "Potential.sum_over",
        "self.likelihoods(theta, data[start : start + size]))",
        "self.likelihoods(theta, data[start : start + size])[:-1])",
        settings=drawn("iid", **REGRESSION),
        reason="a range that ends one early",
    ),
)

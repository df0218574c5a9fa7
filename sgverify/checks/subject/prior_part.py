"""The gradient of a target's prior as an expression of the face, where it is simple enough for every exact engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.gradient import Prior
from sgverify.schemes.numbers.constants import constants
from sgverify.schemes.numbers.surd import exact
from sgverify.targets import Target


def prior_part(target: Target, *, noisy: bool) -> Prior | None:
    """grad prior(theta) by grad and numbers; None where it is no a theta + b with one number a.

    `noisy`: calls of grad carry noise of their own, which the prior's part has none of.
    """
    if target.data is None:
        # All of U is its prior.
        if not noisy:
            return lambda grad, theta: grad(theta)
        if not target.quadratic:
            return None
        mean = _vector(target.mean)
        return lambda grad, theta: grad.hessian(theta, theta - mean(theta))
    alone = replace(target, likelihood=None, data=None)
    try:
        rows, gradient = alone.precision, alone.gradient([exact(0)] * target.dim)
    except DefinitionError:
        return None
    size = range(target.dim)
    if any(rows[i][j] != (rows[0][0] if i == j else 0) for i in size for j in size):
        return None
    curvature, at_zero = rows[0][0], _vector(gradient)
    return lambda grad, theta: curvature * theta + at_zero(theta)


def _vector(entries: Any) -> Any:
    """theta -> these numbers, one for each coordinate."""
    if all(entry == entries[0] for entry in entries):
        return lambda theta: entries[0]
    return lambda theta: constants(tuple(entries), theta)


__all__ = ["prior_part"]

"""Can the prior's gradient be written with `grad` and numbers, so that every exact engine reads it?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.gradient import Prior
from sgverify.schemes.numbers.constants import constants
from sgverify.schemes.numbers.surd import exact
from sgverify.targets import Target


def prior_part(target: Target, *, noisy: bool) -> Prior | None:
    """A function of (grad, theta) that gives grad prior(theta); None if that is not a theta + b with one number a.

    `noisy`: each call of `grad` adds noise of its own, which the prior's part must not contain.
    """
    if target.data is None:
        # Without data, U is the prior alone.
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
    """The constant function of theta with these entries, one for each coordinate."""
    if all(entry == entries[0] for entry in entries):
        return lambda theta: entries[0]
    return lambda theta: constants(tuple(entries), theta)


__all__ = ["prior_part"]

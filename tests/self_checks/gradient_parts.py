"""The parts of a gradient estimate, datum by datum: forward differentiation in long double, apart from the torch layer.

grad U = grad prior + sum_i g_i, g_i = grad likelihood(x_i), from the definition of the potential; the factor and the clipping
of the configuration are applied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sgverify.errors import DefinitionError
from sgverify.exact.numbers.jets import Jet
from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.targets import Target

_PIECE = 256
"""Data that are visited at once."""

_PROBE = 2.0**-18
"""The relative change of state and data for the estimate of conditioning: small, and far above rounding."""


Derive = Callable[[Target, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class GradientParts:
    """grad prior (d,), and g_i of each datum (N, d), in long double; N = 0 without data.

    `conditioning`, shape (d,): the change of any part by one relative rounding of the state and of every datum, divided by
    that rounding.
    """

    prior: np.ndarray
    data: np.ndarray
    conditioning: np.ndarray

    @property
    def full(self) -> np.ndarray:
        """grad U. Shape (d,)."""
        return np.asarray(self.prior + self.data.sum(0))

    @property
    def size(self) -> np.ndarray:
        """|grad prior| + sum_i |g_i|, by coordinate. Shape (d,)."""
        return np.asarray(np.abs(self.prior) + np.abs(self.data).sum(0))


def gradient_parts(
    target: Target,
    theta: np.ndarray,
    *,
    scale: float = 1.0,
    clip: float | None = None,
    derive: Derive | None = None,
) -> GradientParts:
    """The parts at a point theta, shape (d,): scale g_i min(1, clip/|g_i|) for each datum.

    `derive(target, theta)` gives grad prior (d,) and g_i (N, d) of a potential that Taylor polynomials cannot evaluate. Raises
    `DefinitionError` where the potential uses a function without a derivative here.
    """

    def parts(at: np.ndarray, of: Target) -> tuple[np.ndarray, np.ndarray]:
        prior, data = (derive or _parts)(of, at)
        if clip is not None:
            norms = np.sqrt((data**2).sum(1, keepdims=True))
            data = data * np.minimum(1, clip / np.maximum(norms, np.finfo(np.float64).tiny))
        return prior, data * EXTENDED(scale)

    theta = np.asarray(theta, dtype=EXTENDED)
    prior, data = parts(theta, target)
    changes = np.zeros_like(prior)
    moved = [(theta * (1 + EXTENDED(_PROBE)), target)]
    if target.data is not None:
        moved.append((theta, replace(target, data=target.data * (1 + _PROBE))))
    for at, of in moved:
        other_prior, other_data = parts(at, of)
        changes = changes + np.abs(other_prior - prior) + np.abs(other_data - data).sum(0)
    return GradientParts(prior, data, changes / EXTENDED(_PROBE))


def _parts(target: Target, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The parts in every direction at once: the batch axis of the polynomials is the coordinate of differentiation."""
    d = len(theta)
    start = Jet(np.stack([np.broadcast_to(theta, (d, d)), np.eye(d, dtype=EXTENDED)]))
    with np.errstate(over="ignore", invalid="ignore"):
        prior = _gradient(target.prior(start), (d,))
        if target.data is None or target.likelihood is None:
            return prior, np.zeros((0, d), dtype=EXTENDED)
        rows = []
        for first in range(0, len(target.data), _PIECE):
            piece = target.data[first : first + _PIECE]
            rows.append(_gradient(target.likelihood(start[:, None, :], piece), (d, len(piece))).T)
    return prior, np.concatenate(rows)


def _gradient(value: object, shape: tuple[int, ...]) -> np.ndarray:
    if not isinstance(value, Jet):
        raise DefinitionError(
            f"a potential returned a {type(value).__name__} for a Taylor polynomial; expected one made of sums, products, "
            "quotients, dot, log, exp, sqrt and softplus"
        )
    return np.broadcast_to(value.c[1], shape)

"""The potentials on which a step is observed: quadratic ones, on which it is affine, and quartic ones that couple coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.exact.readings.long_double import LongDouble
from sgverify.schemes.definition.gradient import FullGradientIngredient

PRIOR = 0.4
"""The precision of the prior, a part of U, for steps that ask for the prior's gradient."""


@dataclass(frozen=True)
class Probe:
    """U = y.A y/2 + bend (sum_i theta_i^4/4 + (w.theta)^3/3), y = theta - centre; quadratic where `bend` is 0.

    `curvatures` are the diagonal of A, `coupling` stands next to it. Every coordinate has numbers of its own, so that a step that
    exchanges coordinates differs.
    """

    name: str
    dim: int
    first: float
    apart: float
    coupling: float
    bend: float = 0.0

    @cached_property
    def precision(self) -> np.ndarray:
        """A, shape (dim, dim)."""
        n = self.dim
        diagonal = self.first + self.apart * np.arange(n)
        return np.diag(diagonal) + self.coupling * (np.eye(n, k=1) + np.eye(n, k=-1))

    @cached_property
    def centre(self) -> np.ndarray:
        """The minimum of the quadratic part, shape (dim,)."""
        return 0.3 - 0.5 * np.arange(self.dim)

    @cached_property
    def direction(self) -> np.ndarray:
        """w, shape (dim,)."""
        return 0.6 - 0.25 * np.arange(self.dim)

    @cached_property
    def _tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        made = [
            torch.tensor(part, dtype=torch.float64) for part in (self.precision, self.centre, self.direction)
        ]
        return made[0], made[1], made[2]

    @cached_property
    def _extended(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return (
            self.precision.astype(EXTENDED),
            self.centre.astype(EXTENDED),
            self.direction.astype(EXTENDED),
        )

    def gradient(self, theta: Tensor) -> Tensor:
        """grad U for torch code, in the shape and dtype of theta."""
        return self._force(theta.to(torch.float64), *self._tensors).to(theta.dtype)

    def at(self, theta: np.ndarray) -> np.ndarray:
        """grad U in long double. Shape (n, dim) -> (n, dim)."""
        return np.asarray(self._force(theta, *self._extended))

    def _force(self, theta: Any, precision: Any, centre: Any, direction: Any) -> Any:
        along = (theta @ direction)[..., None]
        return (theta - centre) @ precision + self.bend * (theta**3 + along**2 * direction)

    def hessian(self, theta: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Hess U(theta) v in long double. Shapes (n, dim)."""
        precision, _, direction = self._extended
        along = (theta @ direction)[..., None] * (vector @ direction)[..., None]
        return np.asarray(vector @ precision + self.bend * (3 * theta**2 * vector + 2 * along * direction))


class ProbeGradient(FullGradientIngredient):
    """The ingredient `grad` of a definition on a probe; |theta|^2 `PRIOR`/2 counts as the prior."""

    def __init__(self, probe: Probe) -> None:
        super().__init__()
        self._probe = probe

    def __call__(self, place: LongDouble) -> LongDouble:
        """grad U."""
        return LongDouble(self._probe.at(place.value))

    def prior(self, place: LongDouble) -> LongDouble:
        """The gradient of the prior's part."""
        return LongDouble(EXTENDED(PRIOR) * place.value)

    def hessian(self, place: LongDouble, vector: LongDouble) -> LongDouble:
        """The Hessian of U times the vector."""
        return LongDouble(self._probe.hessian(place.value, np.broadcast_to(vector.value, place.value.shape)))


def quadratic_probes(dim: int) -> tuple[Probe, ...]:
    """Three quadratic potentials of different curvature: on them draws enter every explicit step linearly."""
    return (
        Probe("quadratic", dim, 1.3, -0.35, 0.2),
        Probe("steeper quadratic", dim, 2.9, 0.8, -0.3),
        Probe("flatter quadratic", dim, 0.45, 0.15, 0.1),
    )


def soft_probe(dim: int) -> Probe:
    """A potential so flat that a step's powers of its curvature beyond the first are small."""
    return Probe("soft quadratic", dim, 2.0**-10, 2.0**-12, 0.0)


def bent_probes(dim: int) -> tuple[Probe, ...]:
    """Two quartic potentials that couple their coordinates."""
    return (
        Probe("quartic", dim, 0.9, 0.4, 0.15, 0.35),
        Probe("other quartic", dim, 1.6, -0.3, -0.2, 0.8),
    )


__all__ = ["Probe", "ProbeGradient", "bent_probes", "quadratic_probes", "soft_probe"]

"""The laws of torch's random draws, each a function of one standard normal number.

Whatever torch is asked for is made of normal numbers: z itself, u = Phi(z), -log(1 - Phi(z)), a quantile of Phi(z). So one
vector of normal numbers stands for all draws of a step, a law is smooth on the whole axis of its number, and what is
singular at an end of it lies at infinity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import special
from torch import Tensor


@dataclass(frozen=True)
class DrawLaw:
    """`kind`: normal, uniform, exponential, gamma, or outcomes, which come with these `chances`, number k being the k-th."""

    kind: str
    chances: tuple[float, ...] = ()

    @property
    def named(self) -> str:
        """The law as text."""
        return f"one of {len(self.chances)} outcomes" if self.chances else self.kind


NORMAL, UNIFORM, EXPONENTIAL, GAMMA = (
    DrawLaw(kind) for kind in ("normal", "uniform", "exponential", "gamma")
)


def uniform_of(z: Tensor, dtype: torch.dtype) -> Tensor:
    """Phi(z), from the least number above 0 that torch draws to the largest below 1; it draws 0 once in 2^53 times."""
    least = torch.finfo(dtype).eps / 2
    return torch.special.ndtr(z).to(dtype).clamp(least, 1 - least)


def exponential_of(z: Tensor) -> Tensor:
    """-log(1 - Phi(z)), accurate in both tails."""
    return -torch.special.log_ndtr(-z)


def gamma_of(z: Tensor, shape: Tensor) -> Tensor:
    """The quantile of the gamma law of this shape and rate 1, from whichever tail is short."""
    number, alpha = z.numpy(), shape.to(torch.float64).detach().numpy()
    lower = special.gammaincinv(alpha, special.ndtr(np.minimum(number, 0.0)))
    upper = special.gammainccinv(alpha, special.ndtr(-np.maximum(number, 0.0)))
    # A number 0 would be the end of what follows, such as its logarithm; torch draws none.
    return torch.as_tensor(np.maximum(np.where(number < 0, lower, upper), np.finfo(float).tiny))


def outcome_of(z: Tensor, chances: Tensor) -> Tensor:
    """The outcome k at which the summed chances reach Phi(z). Shapes (*shape) and (*shape, n)."""
    reached = chances.to(torch.float64).cumsum(-1)
    u = torch.special.ndtr(z)[..., None] * reached[..., -1:]
    # An outcome of chance 0 never comes, not at the ends either.
    return (u > reached[..., :-1]).sum(-1).to(torch.int64)


def numbers_of(law: DrawLaw) -> tuple[np.ndarray, np.ndarray]:
    """Normal numbers at which each outcome comes, and the outcomes' chances."""
    chances = np.array(law.chances) / sum(law.chances)
    reached = np.concatenate([[0.0], np.cumsum(chances)])
    kept = chances > 0
    middle = np.clip((reached[:-1] + reached[1:]) / 2, 1e-300, 1 - 2.0**-53)
    return special.ndtri(middle)[kept], chances[kept]


def own_units(law: DrawLaw, z: np.ndarray) -> np.ndarray:
    """The draw of a continuous law at these normal numbers; a gamma law's, whose shape is not kept, in normal numbers."""
    if law.kind == "uniform":
        return np.asarray(special.ndtr(z))
    if law.kind == "exponential":
        return np.asarray(-special.log_ndtr(-z))
    return z


__all__ = [
    "EXPONENTIAL",
    "GAMMA",
    "NORMAL",
    "UNIFORM",
    "DrawLaw",
    "exponential_of",
    "gamma_of",
    "numbers_of",
    "outcome_of",
    "own_units",
    "uniform_of",
]

"""Adaptively weighted composites: the gradient is bent by how often energies are met, and draws are weighed in return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sgverify.schemes.composites.composite import Composite


@dataclass(frozen=True)
class AdaptivelyWeighted(Composite):
    """A scheme on grad U times 1 + zeta tau/du (log theta(J) - log theta((J-1) v 1)), whose theta adapt as it goes.

    `contour`: theta estimates the masses of the energy regions (CSGLD; Deng, Lin, Liang 2020), which flattens the energies;
    else powers of their cumulated masses (AWSGLD; Deng, Lin, Liang 2022), which deepens low ones. `weighting` has the rules.
    Averages are sum_k theta_k^zeta(J_k) f(x_k) / sum_k theta_k^zeta(J_k).
    """

    contour: bool = False

    kind: ClassVar[str] = "adaptively-weighted"


__all__ = ["AdaptivelyWeighted"]

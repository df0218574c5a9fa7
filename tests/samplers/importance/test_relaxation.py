"""How slowly chains on a target relax: 1 for Gaussians, more between wells and in long tails, and never more than it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy.linalg import eigh_tridiagonal

import sgverify
from sgverify.samplers.importance import draw_weighted, slowness


def slowness_of(energy: Callable[[Any, Any], Any]) -> float:
    """That of exp(-U) in two dimensions, U = `energy`(x, y) + y^2/2."""

    @sgverify.log_density(dim=2)
    def own(theta: torch.Tensor) -> torch.Tensor:
        x, y = theta.unbind(-1)
        return -energy(x, y) - y**2 / 2

    return slowness(draw_weighted(own.target(), 1.0))


def wells(x: Any) -> Any:
    return 1.5 * (x**2 - 1) ** 2 + 0.3 * x


def tail(x: Any) -> Any:
    return (torch if isinstance(x, torch.Tensor) else np).exp(x) - x


def true_slowness(energies: np.ndarray, points: np.ndarray) -> float:
    """The relaxation time of dX = -U' dt + sqrt(2) dW over the variance of exp(-U), by differences on a grid."""
    h = points[1] - points[0]
    density = np.exp(energies.min() - energies)
    between = np.sqrt(density[1:] * density[:-1]) / h**2
    diagonal = np.append(between, 0) + np.append(0, between)
    (_, rate), _ = eigh_tridiagonal(
        diagonal / density,
        -between / np.sqrt(density[1:] * density[:-1]),
        select="i",
        select_range=(0, 1),
    )
    density /= density.sum()
    mean = density @ points
    return float(1 / rate / (density @ (points - mean) ** 2))


def test_a_gaussian_relaxes_as_slowly_as_itself() -> None:
    assert slowness_of(lambda x, y: x**2 / 2 + 0.9 * x * y) == pytest.approx(1, abs=0.01)


@pytest.mark.by_default("wells--4-4")
@pytest.mark.parametrize(("energy", "low", "high"), [(wells, -4, 4), (tail, -25, 5)])
def test_wells_and_tails_slow_a_chain_down(energy: Callable[[Any], Any], low: float, high: float) -> None:
    points = np.linspace(low, high, 2000)
    assert 1.2 < slowness_of(lambda x, y: energy(x)) < true_slowness(energy(points), points)

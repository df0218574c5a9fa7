"""The masses of energy regions in the plane where exp(-U/tau) is wide, and theta* of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb

from sgverify.exact.partition.fixed_point import cumulated_weights
from sgverify.schemes.composites.partition import Partition
from sgverify.targets.multimodal import FUNCTIONS

_STRIP = 64
_DEEPEST = 18.0
"""A grid goes out to where a bowl below U is 18 tau: exp(-18) = 1.5e-8 is left out."""


@dataclass(frozen=True)
class Star:
    """theta* of AWSGLD, and by how much the grid with half the points differs, relative; shape (m,) each."""

    weights: np.ndarray
    errors: np.ndarray


def star_of(name: str, partition: Partition, tau: float, zeta: float, bowl: float, points: int) -> Star:
    """theta* by a grid of the plane, U >= bowl |theta|^2: the midpoint rule on the box where bowl theta_i^2 <= 18 tau.

    U is even in both coordinates, so that a quarter of the `points` x `points` are enough.
    The masses go through the exact recursion (`cumulated_weights`).
    """
    reach = (_DEEPEST * tau / bowl) ** 0.5
    fine, coarse = (
        np.array([float(weight) for weight in cumulated_weights([arb(p) for p in masses], zeta)])
        for masses in (_masses(name, partition, tau, reach, count) for count in (points, points // 2))
    )
    return Star(fine, np.abs(fine - coarse) / fine)


def _masses(name: str, partition: Partition, tau: float, reach: float, points: int) -> np.ndarray:
    function = FUNCTIONS[name]
    points //= 2
    axis = reach * (np.arange(points) + 0.5) / points
    total = np.zeros(partition.bins)
    for start in range(0, points, _STRIP):
        grid = np.stack(np.meshgrid(axis[start : start + _STRIP], axis, indexing="ij"), -1)
        energies = function.value(grid).ravel()
        # Regions are right-closed, as `weighting.region_of` reads them.
        regions = np.searchsorted(partition.inner, energies, side="left")
        total += np.bincount(regions, np.exp(-energies / tau), minlength=partition.bins)
    return np.asarray(total / total.sum())

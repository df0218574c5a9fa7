"""The global minima of the multimodal functions, by descent from where each is near.

A minimum is where a function is least to rounding: an error of 1e-8 in the place is squared in the value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy import optimize

from sgverify.targets.multimodal import FUNCTIONS


def minimisers(name: str, dim: int) -> np.ndarray:
    """The places of the global minima, shape (k, d)."""
    return np.array([_descend(name, np.array(start, dtype=np.float64)) for start in NEAR[name](dim)])


def minimum(name: str, dim: int) -> float:
    """The least value."""
    return float(FUNCTIONS[name].value(minimisers(name, dim)).min())


def _descend(name: str, at: np.ndarray) -> np.ndarray:
    def value(x: np.ndarray) -> float:
        return float(FUNCTIONS[name].value(x))

    # The function rounds by a few units in the last place.
    options = {"xatol": 1e-8, "fatol": 1e-15 * max(1.0, 10 * abs(value(at))), "maxiter": 2000}
    found = optimize.minimize(value, at, method="Nelder-Mead", options=options)
    return np.asarray(found.x if found.fun < value(at) else at)


def _at(value: float) -> Callable[[int], list[list[float]]]:
    return lambda dim: [[value] * dim]


def _near_michalewicz(dim: int) -> list[list[float]]:
    """A point near the global minimum: the function is a sum over coordinates, each of which is minimised on a fine grid."""
    grid = np.linspace(0, np.pi, 20_001)
    waves = [np.sin(grid) * np.sin(i * grid**2 / np.pi) ** (20) for i in range(1, dim + 1)]
    return [[float(grid[np.argmax(wave)]) for wave in waves]]


def _near_shubert(dim: int) -> list[list[float]]:
    """The product of one coordinate's least and the other's greatest value, on a fine grid of the box."""
    grid = np.linspace(-10, 10, 200_001)
    wave = sum((i * np.cos((i + 1) * grid + i) for i in range(1, 6)), start=0 * grid)
    inner = np.flatnonzero((wave[1:-1] < wave[:-2]) & (wave[1:-1] <= wave[2:])) + 1
    outer = np.flatnonzero((wave[1:-1] > wave[:-2]) & (wave[1:-1] >= wave[2:])) + 1
    # Periodic extrema have one height; grid points miss it by less than a spacing's square.
    lows = grid[inner[wave[inner] < wave.min() + 1e-3]]
    highs = grid[outer[wave[outer] > wave.max() - 1e-3]]
    pairs = [[float(a), float(b)] for a in lows for b in highs]
    return pairs + [[b, a] for a, b in pairs]


NEAR: Mapping[str, Callable[[int], list[list[float]]]] = {
    "griewank": _at(0.0),
    "rastrigin": _at(0.0),
    "ackley": _at(0.0),
    "levy": _at(1.0),
    "rosenbrock": _at(1.0),
    "styblinski-tang": _at(-2.9),
    "michalewicz": _near_michalewicz,
    "himmelblau": lambda dim: [[3, 2], [-2.8, 3.1], [-3.8, -3.3], [3.6, -1.8]],
    "six-hump-camel": lambda dim: [[0.1, -0.7], [-0.1, 0.7]],
    "goldstein-price": lambda dim: [[0, -1]],
    "branin": lambda dim: [[-3.1, 12.3], [3.1, 2.3], [9.4, 2.5]],
    "easom": lambda dim: [[3.1, 3.1]],
    "drop-wave": lambda dim: [[0, 0]],
    "shubert": _near_shubert,
}
"""Points near the global minima, in each dimension."""

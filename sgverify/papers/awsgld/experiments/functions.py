"""Ten multimodal functions in the plane, and the scales from which every sampler gets its temperatures, step sizes and level.

The paper's Table 3, with its functions, dimensions, learning rates and tolerances, is not in the text at hand: all this is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from sgverify.targets.multimodal import FUNCTIONS

NAMES = (
    "rastrigin",
    "six-hump-camel",
    "griewank",
    "ackley",
    "levy",
    "styblinski-tang",
    "michalewicz",
    "goldstein-price",
    "drop-wave",
    "shubert",
)
DIM = 2
HOT, COLD = 0.1, 0.01
"""The two temperatures, as shares of the height: their ratio is that of the paper's explorations."""

TOLERANCE = 0.005
"""The tolerance as a share of the height: the minimum counts as reached if U <= U_min + tolerance."""

STRIDE = 1 / 20
RATIO = 5.0
"""The largest step size of the grid moves a hot chain by so much of the box in one iteration; the next are 5 times smaller."""

_GRID = 400


@dataclass(frozen=True)
class Scales:
    """The scales of a function over its box: `height`, the median of U less its minimum; width; root mean square gradient."""

    lowest: float
    height: float
    width: float
    gradient: float
    box: np.ndarray

    @property
    def level(self) -> float:
        """The level of U below which a minimum counts as reached."""
        return self.lowest + TOLERANCE * self.height

    def steps(self, count: int) -> tuple[float, ...]:
        """The grid of step sizes: sqrt(2 h HOT height) is STRIDE of the width at the largest."""
        largest = (STRIDE * self.width) ** 2 / (2 * HOT * self.height)
        return tuple(largest / RATIO**k for k in range(count))

    def starts(self, trials: int, seed: int) -> np.ndarray:
        """The starts of the trials, uniform over the box, shape (trials, 2)."""
        drawn = np.random.default_rng(seed).random((trials, DIM))
        return np.asarray(self.box[:, 0] + drawn * (self.box[:, 1] - self.box[:, 0]))


@cache
def scales_of(name: str) -> Scales:
    """The scales of a function, by a grid of 400 x 400 points over its box; its minimum by descent."""
    function = FUNCTIONS[name]
    box = function.box(DIM)
    axes = [low + (high - low) * (np.arange(_GRID) + 0.5) / _GRID for low, high in box]
    values = function.value(np.stack(np.meshgrid(*axes, indexing="ij"), -1))
    spacings = [axis[1] - axis[0] for axis in axes]
    gradient = np.gradient(values, *spacings)
    lowest = function.minimum(DIM)
    return Scales(
        lowest,
        float(np.median(values)) - lowest,
        float(np.prod(box[:, 1] - box[:, 0]) ** (1 / DIM)),
        float(np.sqrt(np.mean([part**2 for part in gradient]))),
        box,
    )


def share_reached(name: str) -> float:
    """The share of the box's grid points at or below the level: what blind search would find by one draw."""
    scales, function = scales_of(name), FUNCTIONS[name]
    fine = 4 * _GRID
    axes = [low + (high - low) * (np.arange(fine) + 0.5) / fine for low, high in scales.box]
    values = function.value(np.stack(np.meshgrid(*axes, indexing="ij"), -1))
    return float((values <= scales.level).mean())

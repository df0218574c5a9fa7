"""Which settings of its experiments does awsgld print, and which part of the experiments is computed at each effort?

Exact intervals from few independent trials, whatever the law: of a median, and of a chance.

Ten multimodal functions in the plane, and the scales from which every sampler gets its temperatures, step sizes and level.

The paper's Table 3, with its functions, dimensions, learning rates and tolerances, is not in the text at hand: all this is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import stats

from reports.experiments.awsgld.minima import minimum
from sgverify.targets.multimodal import FUNCTIONS

TRIALS = 10
MOST = 100_000
"""A trial that needs more iterations counts as infinite."""

CYCLES = 10
MOMENTUM = 0.9
ZETA_OF_CSGLD = 1.0
"""Ours: what is printed at hand is for AWSGLD, whose weights start at 1. Those of CSGLD are masses of m regions, start at 1/m
and change by at most omega_k theta(J)^(zeta - 1) of themselves in a step: with m = 30 and sum omega_k = 6.3 and 10.7 in the
explorations that is 8e-6 at zeta = 5 and 1e-2 at zeta = 3 in all, and CSGLD would be hot SGLD. At 1 they move.
"""


@dataclass(frozen=True)
class PrintedExploration:
    """The settings of one exploration. `cycle`: the steps that a cycle begins and ends with.

    The energy of the first one is not in the text at hand: Rastrigin's in the plane is our choice, and so are the
    `start`, in standard deviations of the law around the origin, and the `box`, |theta_i| <= box, whose modes are counted.
    """

    name: str
    target: str
    length: int
    step: float
    low: float
    high: float
    cycle: tuple[float, float]
    preset: str
    box: float


FIRST = PrintedExploration("first", "rastrigin", 100_000, 5e-5, 2.0, 20.0, (1e-4, 3e-5), "exploration", 5.12)
GRIEWANK = PrintedExploration(
    "Griewank", "griewank", 200_000, 0.005, 0.2, 2.0, (0.02, 0.005), "griewank", 30.0
)


@dataclass(frozen=True)
class AdaptiveEffort:
    """Shares of the printed lengths, chains, trials, and the grid of step sizes that each sampler is tuned on.

    The full effort has the printed lengths and the printed limit, with twice the printed trials: a batch job of minutes. The
    others are shortened; nothing else that is printed is changed.
    `most`: iterations after which a trial counts as infinite; `tuning`: those of a trial of a step size.
    `functions`: how many of the ten. `grid`: points on an axis of the coarser grid of the masses.
    """

    share: float
    chains: int
    grid: int
    points: int
    functions: int
    trials: int
    most: int
    tuning: int
    steps: int


EFFORTS = {
    "quick": AdaptiveEffort(0.001, 3, 2000, 8, 2, 3, 40, 20, 2),
    "default": AdaptiveEffort(0.005, 4, 3000, 16, 3, 10, 400, 100, 3),
    "full": AdaptiveEffort(1.0, 2 * TRIALS, 4000, 48, 10, 2 * TRIALS, MOST, 2000, 5),
}


LEVEL = 0.95


def median_interval(values: np.ndarray, least: float, most: float) -> tuple[float, float]:
    """Order statistics X_(k) and X_(n + 1 - k) between which the median lies with a chance of at least 0.95, whatever the law.

    The median is below X_(k) with the chance P(Binomial(n, 1/2) < k) at most, and k is the largest with at most 0.025 of it;
    without such a k the interval is all that a value can be, `least` to `most`. `values`, shape (n,), may be infinite.
    """
    ordered, n = np.sort(values), len(values)
    k = int(stats.binom.ppf((1 - LEVEL) / 2, n, 0.5))
    return (float(ordered[k - 1]), float(ordered[n - k])) if k else (least, most)


def chance_interval(count: int, trials: int) -> tuple[float, float]:
    """The Clopper-Pearson interval of a chance p of which `count` successes in independent `trials` are known.

    Every p outside has P(Binomial(trials, p) <= count) < 0.025 or P(Binomial(trials, p) >= count) < 0.025; it contains p with a
    chance of at least 0.95, whatever p is.
    """
    tail = (1 - LEVEL) / 2
    low = float(stats.beta.ppf(tail, count, trials - count + 1)) if count else 0.0
    high = float(stats.beta.ppf(1 - tail, count + 1, trials - count)) if count < trials else 1.0
    return low, high


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
    lowest = minimum(name, DIM)
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

"""Which settings of its experiments does awsgld print, and which part of the experiments is computed at each effort?"""

from __future__ import annotations

from dataclasses import dataclass

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

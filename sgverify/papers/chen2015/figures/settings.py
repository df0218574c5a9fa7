"""The settings that Chen, Ding and Carin (2015) print for the experiments of their figures, as data."""

from __future__ import annotations

from fractions import Fraction

SIZE = 1000
"""N, the number of data."""

BATCH = 10
RUNS = 200
TEST_FUNCTION = "theta**2"

START_MEAN, START_VARIANCE = Fraction(0), Fraction(1)
"""theta_0 is random, its law is not printed: here it is drawn from the prior, N(0, 1)."""

STEPS = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Figure 1, at `LONG` iterations."""

LONG = 10**6
FRICTIONS = (10.0, 20.0, 30.0)
"""D, for Figures 3, 6 and 8; it is not printed for Figures 1, 2, 5 and 7."""

OTHER_FRICTIONS = (40.0, 80.0)
"""Further values of D that the paper prints, for its topic model."""

HORIZON_SCALE, POWER_SCALE = 0.033, 0.045
"""h = 0.033 L^-alpha and h_l = 0.045 l^-alpha, Figures 2, 5 and 7."""

RATES = {"bias": ("0.1", "0.2", "0.33", "0.7"), "mse": ("0.1", "0.2", "0.3", "0.4")}
"""The exponents alpha of Figures 2, 5 and 7."""

OPTIMAL = {"bias": "0.33", "mse": "0.2"}
"""The thick red curves: the theoretically optimal alpha for K = 2, as the legends print it."""

SHORTEST, LONGEST = 10, 10_000
"""The axis of Figures 2, 5 and 7."""

LENGTHS = (20, 100, 250, 400, 550, 700)
"""The axis of Figures 3, 6 and 8."""

TUNED_AT = {"main": 500, "appendix": 200}
"""L at which the constants are selected: Figure 3, and Figures 6 and 8."""

SCALES = tuple(Fraction(1 + 2 * k, 1000) for k in range(250))
"""C from 1e-3 to 0.5 with an interval of 0.002."""

FIRST_STEPS = tuple(Fraction(3 + 2 * k, 1000) for k in range(24))
"""The initial step size within [0.003, 0.05] with an interval of 0.002."""

BEST_RATES = {
    "sgld-euler": {"bias": Fraction(1, 2), "mse": Fraction(1, 3)},
    "sghmc-aboba": {"bias": Fraction(1, 3), "mse": Fraction(1, 5)},
}
"""alpha "according to the theory" of the paper, Figures 3, 6 and 8."""

TICKS: dict[tuple[str, ...], tuple[float, float]] = {
    ("invariant", "bias"): (1e-4, 1e-1),
    ("power", "bias"): (1e-2, 1e1),
    ("horizon", "mse"): (1e-4, 1e2),
    ("main", "horizon", "bias"): (0.0, 0.2),
    ("main", "power", "bias"): (0.0, 0.08),
}
"""First and last label of the vertical axes of Figures 1, 2 (left, right) and 3 (left, right): all that the text of the
paper keeps of the curves."""

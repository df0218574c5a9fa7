"""The settings that Chen, Ding and Carin (2015) print for their figures, as data; and the words that studies share."""

from __future__ import annotations

from collections.abc import Sequence
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


GRADIENTS = {"iid": f"iid minibatches of {BATCH}", "full": "full gradients"}
"""The paper's minibatches, drawn independently, and the full gradients that its rates are about."""

QUANTITIES = {"bias": "bias", "mse": "mean square error"}
TITLES = {"bias": "Bias", "mse": "MSE"}
KINDS = {"horizon": "fixed step, h = C L^-alpha", "power": "decreasing step, h_l = h_1 l^-alpha"}
Y_LABELS = {"bias": "bias of theta^2", "mse": "mean square error of theta^2"}

CLAIM_COLUMNS = ("printed", "asked of", "found", "over draws of the data", "verdict")
"""The columns of the tables of statements in the text."""

MODEL_ROWS: tuple[tuple[str, str, str, str], ...] = (
    (
        "data",
        f"x_i ~ N(theta, 1), theta ~ N(0, 1), N = {SIZE}; the data themselves are not printed",
        "the toolkit's own draw, data_seed 0",
        "another draw shifts the posterior mean, and with it every bias of theta^2: see the statements over draws",
    ),
    (
        "minibatch",
        f"of size {BATCH}; with or without replacement is not printed",
        "independent with replacement (iid), and full gradients beside them",
        "without replacement the noise is smaller by (N - n)/(N - 1)",
    ),
    (
        "expectation",
        f"{RUNS} runs, random initialisation of a law that is not printed",
        "exact; theta_0 ~ N(0, 1), p_0 ~ N(0, 1)",
        "samples average the start by three-point Gauss-Hermite quadrature, exact for these errors",
    ),
)


def listed(values: Sequence[float | int | str]) -> str:
    """`0.001, 0.05`, or `none`."""
    return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values) or "none"


def holds(answers: Sequence[bool]) -> str:
    """Whether a statement holds in all, some or none of the examined cases."""
    if not answers:
        return "not asked"
    return "holds" if all(answers) else "holds in part" if any(answers) else "does not hold"


def number(value: float | None) -> str:
    """A value of a curve in a sentence."""
    return "diverged" if value is None else f"{value:.3g}"

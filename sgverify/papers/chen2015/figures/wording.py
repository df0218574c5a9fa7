"""Words that the studies of the paper's figures share."""

from __future__ import annotations

from collections.abc import Sequence

from sgverify.papers.chen2015.figures import settings

GRADIENTS = {"iid": f"iid minibatches of {settings.BATCH}", "full": "full gradients"}
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
        f"x_i ~ N(theta, 1), theta ~ N(0, 1), N = {settings.SIZE}; the data themselves are not printed",
        "the toolkit's own draw, data_seed 0",
        "another draw shifts the posterior mean, and with it every bias of theta^2: see the statements over draws",
    ),
    (
        "minibatch",
        f"of size {settings.BATCH}; with or without replacement is not printed",
        "independent with replacement (iid), and full gradients beside them",
        "without replacement the noise is smaller by (N - n)/(N - 1)",
    ),
    (
        "expectation",
        f"{settings.RUNS} runs, random initialisation of a law that is not printed",
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

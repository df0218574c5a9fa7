"""What is sampled: each problem once, in numbers that every contender reads.

All contenders take the same steps from the same start: Euler's scheme for Langevin dynamics (SGLD),
theta' = theta - h grad + sqrt(2 T h) z, or for the kinetic one theta' = theta + h p, p' = (1 - D h) p - h grad + sqrt(2 D T h) z,
with minibatches of their own for every chain and step, drawn with replacement.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sgverify.targets import Target, build_target

SIZE, BATCH, FRICTION = 1000, 10, 20.0

HIDDEN = 16
"""The width of the network's hidden layer."""

SMOOTHING, CORRECTION = 0.1, 2.0
"""Of the variance that replica exchange measures, and of its swaps."""

EDGES = tuple(-0.3 + 1.8 * k for k in range(11))
"""u_0, ..., u_10 of the energy regions of CSGLD: below the least energy, and above all but 1e-4 of the law."""

OFFSET, ALPHA = 100.0, 0.75
"""omega_k = 1/(k^ALPHA + OFFSET), the steps of CSGLD's weights."""


@dataclass(frozen=True)
class Problem:
    """One problem: `scheme` and `target` as sgverify names them, `kind` of gradient, step size `h`, `dim` coordinates.

    `ladder` holds the temperatures of two replicas; of one sampler alone it is empty.
    """

    name: str
    said: str
    scheme: str
    target: str
    h: float
    dim: int = 10
    kind: str = "iid"
    ladder: tuple[float, ...] = ()

    @cached_property
    def made(self) -> Target:
        """The target, with its data."""
        table = {"name": self.target, "dim": self.dim}
        if self.target != "double-well":
            table["size"] = SIZE
        return build_target(type("Table", (), table)())

    @cached_property
    def data(self) -> np.ndarray:
        """The data, float64; shape (N, d), or (N, d + 1) with a label; no rows without data."""
        if self.target == "network":
            drawn = np.random.default_rng(5)
            x = drawn.normal(size=(SIZE, 10))
            y = np.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:3] + 0.1 * drawn.normal(size=(SIZE, 1))
            return np.column_stack([x, y])
        data = self.made.data
        return np.empty((0, self.dim)) if data is None else np.asarray(data, dtype=np.float64)

    @cached_property
    def start(self) -> np.ndarray:
        """The point at which every chain starts, float64 of shape (d,)."""
        if self.target == "network":
            drawn = np.random.default_rng(6)
            shapes = ((HIDDEN, 10), (HIDDEN,), (1, HIDDEN), (1,))
            return np.concatenate(
                [drawn.uniform(-1, 1, size=s).ravel() / np.sqrt(s[-1] if len(s) > 1 else 10) for s in shapes]
            )
        return np.asarray(self.made.location_float64(1.0), dtype=np.float64)


PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        Problem("gaussian", "mean of a Gaussian, minibatches of 10", "sgld-euler", "gaussian-mean", 1e-4),
        Problem(
            "gaussian-kinetic",
            "mean of a Gaussian, with a momentum, minibatches of 10",
            "sghmc-euler-explicit",
            "gaussian-mean",
            2e-3,
        ),
        Problem(
            "logistic", "logistic regression, minibatches of 10", "sgld-euler", "logistic-regression", 1e-3
        ),
        Problem(
            "logistic-full",
            "logistic regression, all data",
            "sgld-euler",
            "logistic-regression",
            1e-3,
            kind="full",
        ),
        Problem("double-well-1", "double well, d = 1", "sgld-euler", "double-well", 1e-2, dim=1, kind="full"),
        Problem("double-well-10", "double well, d = 10", "sgld-euler", "double-well", 1e-2, kind="full"),
        Problem(
            "vr-resgld",
            "vr-resgld, two replicas, mean of a Gaussian",
            "vr-resgld",
            "gaussian-mean",
            1e-4,
            ladder=(1.0, 2.0),
        ),
        # Energies over minibatches alone are so noisy that only replicas of nearly one temperature swap.
        Problem(
            "resgld",
            "resgld by energies over minibatches, two replicas, mean of a Gaussian",
            "resgld",
            "gaussian-mean",
            1e-4,
            ladder=(1.0, 1.05),
        ),
        Problem(
            "csgld", "csgld, ten regions, double well, d = 10", "csgld", "double-well", 1e-2, kind="full"
        ),
        Problem("saga", "SAGA, mean of a Gaussian", "sgld-euler", "gaussian-mean", 1e-4, kind="saga"),
        Problem("network", "torch network 10-16-1, minibatches of 10", "sgld-euler", "network", 1e-6),
    )
}


@dataclass(frozen=True)
class Task:
    """A problem with so many chains in one dtype; `thinning`: every so many steps a state is kept, 0 keeps none.

    `chunk`: the steps that a compiled loop takes in one call.
    """

    problem: Problem
    chains: int
    dtype: str = "float32"
    thinning: int = 0
    chunk: int = field(default=200)

    @property
    def numbers(self) -> Any:
        """The dtype in numpy."""
        return np.dtype(self.dtype)

    def data(self) -> np.ndarray:
        """The data in the dtype of the run."""
        return self.problem.data.astype(self.numbers)

    def starts(self) -> np.ndarray:
        """The start of every chain, shape (C, d)."""
        return np.tile(self.problem.start.astype(self.numbers), (self.chains, 1))


@dataclass(frozen=True)
class Answer:
    """What a run of `steps` steps found: averages of theta_0^2 of each chain, shape (C,), and its last state, (C, k)."""

    steps: int
    averages: np.ndarray
    last: np.ndarray


class Absent(Exception):
    """The library is not installed, does not import, or cannot do this."""


def why_absent(error: Exception) -> str:
    """One line on why a library was not imported."""
    reason = str(error).split(" (")[0]
    return (
        f"not installed: {reason}" if isinstance(error, ModuleNotFoundError) else f"does not import: {reason}"
    )

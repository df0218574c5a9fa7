"""The settings at which torch code is tried besides the configured one: a design, not a search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sgverify.checks.settings.gaussian_setting import GaussianSetting
from sgverify.checks.subject.torch import TorchSubject
from sgverify.schemes.dynamics import Dynamics


@dataclass(frozen=True)
class Design:
    """Temperature, friction, and the target's precision (dim, dim) and mean (dim,)."""

    temperature: float
    friction: float
    precision: np.ndarray
    mean: np.ndarray

    def setting(self, dynamics: Dynamics, memory: tuple[str, ...] = ()) -> GaussianSetting:
        """The setting of a dynamics, which takes the numbers that it has, and of a step's memory."""
        known = {"T": self.temperature, "D": self.friction}
        given = {name: known[name] for name in dynamics.parameters}
        return GaussianSetting(dynamics, given, self.precision, self.mean, memory)

    def settings(self) -> dict[str, Any]:
        """As configuration keys."""
        diagonal, off = np.diag(self.precision), self.precision - np.diag(np.diag(self.precision))
        alike = not off.any() and np.ptp(diagonal) == 0 and np.ptp(self.mean) == 0
        precision = self.precision if off.any() else diagonal
        return {
            "temperature": self.temperature,
            "friction": self.friction,
            "target.name": "gaussian",
            "target.dim": len(self.mean),
            "target.precision": float(diagonal[0]) if alike else precision.tolist(),
            "target.mean": float(self.mean[0]) if alike else self.mean.tolist(),
        }

    def hotter(self, factor: float) -> Design:
        """The same at a higher temperature: positions, momenta and gradients all grow with its root."""
        return replace(self, temperature=self.temperature * factor)

    def nearer(self, to: Design) -> Iterator[Design]:
        """The design with one of its parts as in another one."""
        yield replace(self, temperature=to.temperature)
        yield replace(self, friction=to.friction)
        yield replace(self, precision=to.precision, mean=to.mean)

    def same(self, other: Design) -> bool:
        """Whether nothing differs."""
        return (
            (self.temperature, self.friction) == (other.temperature, other.friction)
            and np.array_equal(self.precision, other.precision)
            and np.array_equal(self.mean, other.mean)
        )


def configured_design(subject: TorchSubject) -> Design | None:
    """The configured setting, where its target is Gaussian."""
    if not subject.target.quadratic:
        return None
    c = subject.configuration
    precision = np.array([[float(x) for x in row] for row in subject.target.precision])
    return Design(c.temperature, c.friction, precision, np.array(subject.target.mean_float64(), dtype=float))


def designs() -> list[Design]:
    """T from 2^-12 to 2^14 and D from 2^-8 to 2^8, on both sides of 1; dimensions 1 to 64; slow targets come with large steps,
    fast ones with small.

    The spreads are, of theta, sqrt(T/precision), from 1/36 to 2,560, of p, sqrt(T), from 1/64 to 128, of gradients,
    sqrt(T precision), from 1/1,280 to 2,048: whatever is clipped, or thought to be 0, within 6 of the largest or above the
    smallest of them is another step there. Friction lies between half and 7 times the target's frequency, so that an explicit
    step contracts early, but in one setting, where it is 64 times that: there a step that takes friction exactly contracts to
    D h = 12.
    """
    # The extreme ones are in few dimensions, where a step that is not affine is judged sharply.
    return [
        _design(4.0, 0.5, [1.25, 1.0], 0.5, [1.0, -2.0]),
        _design(0.25, 8.0, [1.0, 2.0, 4.0, 3.0], 0.0, [0.0, 3.0, -1.0, 1.0]),
        _design(2.0, 64.0, [1.0] * 3, 0.0, [1.0] * 3),
        _design(2.0**14, 1 / 16, [1 / 400], 0.0, [5.0]),
        _design(2.0**-12, 1 / 4, [1 / 400] * 2, 0.0, [0.0] * 2),
        _design(1024.0, 256.0, [4096.0] * 2, 0.0, [2.0] * 2),
        _design(1 / 16, 16.0, [81.0] * 5, 0.0, [0.5] * 5),
        _design(1 / 8, 2.0**-8, [2.0**-14] * 8, 0.0, [0.0] * 8),
        _design(16.0, 32.0, [25.0] * 21, 0.0, [1.0] * 21),
        _design(1.0, 2.0, [1.5] * 64, 0.0, [-0.5] * 64),
    ]


def _design(
    temperature: float, friction: float, diagonal: list[float], off: float, mean: list[float]
) -> Design:
    """`off` stands beside the diagonal of the precision."""
    n = len(diagonal)
    precision = np.diag(diagonal) + off * (np.eye(n, k=1) + np.eye(n, k=-1))
    return Design(temperature, friction, precision, np.array(mean))


__all__ = ["Design", "configured_design", "designs"]

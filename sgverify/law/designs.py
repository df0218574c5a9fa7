"""At which settings is torch code tried besides the configured one? A fixed design, not a search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sgverify.law.gaussian_setting import GaussianSetting
from sgverify.schemes.dynamics import Dynamics
from sgverify.schemes.memory import Memory
from sgverify.subject.subject import Subject

FEW = 64
"""The most coordinates of a setting that stands for a target that is not Gaussian."""


@dataclass(frozen=True)
class Design:
    """One setting: temperature, friction, and the target's precision, shape (dim, dim), and mean, shape (dim,)."""

    temperature: float
    friction: float
    precision: np.ndarray
    mean: np.ndarray

    def setting(self, dynamics: Dynamics, memory: tuple[Memory, ...] = ()) -> GaussianSetting:
        """The Gaussian setting of a dynamics, with the parameters that it takes, and of a step's memory."""
        known = {"T": self.temperature, "D": self.friction}
        given = {name: known[name] for name in dynamics.parameters}
        return GaussianSetting(dynamics, given, self.precision, self.mean, memory)

    def settings(self) -> dict[str, Any]:
        """The design as configuration keys and values."""
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
        """The design at a higher temperature: positions, momenta and gradients all grow with its square root."""
        return replace(self, temperature=self.temperature * factor)

    def nearer(self, to: Design) -> Iterator[Design]:
        """The designs that take one part (temperature, friction, or target) from the design `to`."""
        yield replace(self, temperature=to.temperature)
        yield replace(self, friction=to.friction)
        yield replace(self, precision=to.precision, mean=to.mean)

    def same(self, other: Design) -> bool:
        """Are the two designs equal?"""
        return (
            (self.temperature, self.friction) == (other.temperature, other.friction)
            and np.array_equal(self.precision, other.precision)
            and np.array_equal(self.mean, other.mean)
        )


def configured_design(subject: Subject) -> Design | None:
    """The configured setting; None if its target is not Gaussian."""
    if not subject.target.quadratic:
        return None
    c = subject.configuration
    precision = np.array([[float(x) for x in row] for row in subject.target.precision])
    return Design(c.temperature, c.friction, precision, np.array(subject.target.mean_float64(), dtype=float))


def near_design(subject: Subject) -> Design | None:
    """The configured numbers on a Gaussian of the target's dimension, where that has few; None elsewhere."""
    c, dim = subject.configuration, subject.target.dim
    return None if dim > FEW else replace(unit_design(dim), temperature=c.temperature, friction=c.friction)


def unit_design(dim: int) -> Design:
    """A setting of spread 1 about 7/16: a state has about the same size in the user's units and in spreads, and no number is 1."""
    return _design(1.25, 1.5, [1.25] * dim, 0.0, [7 / 16] * dim)


def designs() -> list[Design]:
    """T from 2^-12 to 2^14 and D from 2^-8 to 2^8, on both sides of 1; dimensions 1 to 64; slow targets come with large steps,
    fast ones with small.

    The spreads of theta, sqrt(T/precision), lie between 1/36 and 2,560, those of p, sqrt(T), between 1/64 and 128, and those of
    gradients, sqrt(T precision), between 1/1,280 and 2,048. A threshold in the code, such as a clip or a tolerance, therefore
    changes the step at some setting if it lies between the smallest spread and 6 times the largest. Friction is between half
    and 7 times the target's frequency, so that an explicit step contracts at small h already. In one setting it is 64 times the
    frequency: there a step with exact friction contracts up to D h = 12.
    """
    # The extreme settings have few dimensions, in which a step that is not affine is judged sharply.
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
    """The design whose precision has the given diagonal and the value `off` next to it."""
    n = len(diagonal)
    precision = np.diag(diagonal) + off * (np.eye(n, k=1) + np.eye(n, k=-1))
    return Design(temperature, friction, precision, np.array(mean))


__all__ = ["Design", "configured_design", "designs", "near_design", "unit_design"]

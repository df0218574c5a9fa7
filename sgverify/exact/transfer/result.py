"""The answers of transfer operators on grids: the bias at a step size, and escape.

Every number is an estimate with an estimate of its error, and no ball.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sgverify.targets import Observable


@dataclass(frozen=True)
class Escape:
    """The escape of chains from beyond `edges`, where the step by the drift alone carries a state ever farther out.

    Such a chain is transient at every step size and has no invariant law. `leak` is the mass that the quasi-stationary law
    loses per step (0 where float64 cannot represent it), so that this law describes the first 1/leak steps.
    """

    edges: tuple[float, float]
    leak: float
    text: str


@dataclass(frozen=True, eq=False)
class GridLaw:
    """A (quasi-)stationary law less exp(-U/T) on a grid: `points` are theta, or theta and p; all arrays have one shape."""

    points: tuple[np.ndarray, ...]
    difference: np.ndarray
    target: np.ndarray

    def bias(self, observable: Observable) -> float:
        """pi_h(phi) - pi(phi)."""
        values = np.asarray(observable(*(part[..., None] for part in self.points)))
        return float((self.difference * values).sum())


@dataclass(frozen=True)
class GridBias:
    """pi_h(phi) - pi(phi) at one step size h, from the transition operator on grids.

    `value` is None where there is no (quasi-)stationary law, and `note` says why. `error_bound` adds the changes under
    refinement of the grid, of the quadrature of the noise and of the domain, and rounding: an estimate that relies on
    geometric convergence, and no enclosure. `grid` records sizes, domain and each change; `law` is the law itself.
    """

    step: float
    value: float | None
    error_bound: float
    note: str = ""
    escape: Escape | None = None
    grid: Mapping[str, Any] = field(default_factory=dict)
    law: GridLaw | None = field(default=None, repr=False, compare=False)


FINE = 1e-8, 1e-13
"""Tolerances of a bias under refinement: as a share of it, and of the spread of the test function."""

TOLD = 1e-3, 1e-7
"""The same where three figures are enough."""


class GridAnswers(ABC):
    """pi_h(phi) - pi(phi) of one scheme, target and test function at a step size."""

    @abstractmethod
    def stationary_bias(self, step: float) -> GridBias:
        """The bias at one step size."""

    @abstractmethod
    def forgetting(self, step: float) -> float:
        """The steps that an independent draw costs: the sum of the autocorrelations of the test function."""

    def stationary_biases(self, steps: Sequence[float]) -> list[GridBias]:
        """The bias at several step sizes, which may share work."""
        return [self.stationary_bias(step) for step in steps]

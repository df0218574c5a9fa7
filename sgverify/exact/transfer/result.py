"""The answers of transfer operators on grids: the bias at a step size, the terms of its expansion at h = 0, and escape.

Every number is an estimate with an estimate of its error, and no ball.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from sgverify.exact.answers.questions import Answers, Question


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
    """A (quasi-)stationary law on a grid of the line: points, their weights in the law and in exp(-U/T). Shapes (n,)."""

    points: np.ndarray
    weights: np.ndarray
    target: np.ndarray


@dataclass(frozen=True)
class GridBias:
    """pi_h(phi) - pi(phi) at one step size h, from the transition operator on grids.

    `value` is None where there is no (quasi-)stationary law, and `note` says why. `error_bound` adds the changes under
    refinement of the grid, of the quadrature of the noise and of the domain, and rounding: an estimate that relies on
    geometric convergence, and no enclosure. `grid` records sizes, domain and each change; `law` is the law itself, on the line.
    """

    step: float
    value: float | None
    error_bound: float
    note: str = ""
    escape: Escape | None = None
    grid: Mapping[str, Any] = field(default_factory=dict)
    law: GridLaw | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class BiasTerm:
    """The coefficient of h^order in pi_h(phi) - pi(phi), with the bound of its error.

    `proved_zero`: it vanishes by algebra, for every smooth potential; `value` is then 0 and exact.
    """

    order: Fraction
    value: float
    error_bound: float
    proved_zero: bool = False

    @property
    def told_from_zero(self) -> bool:
        """Whether the coefficient is not 0, beyond its error."""
        return not self.proved_zero and abs(self.value) > self.error_bound


@dataclass(frozen=True)
class LeadingBias:
    """The expansion of pi_h(phi) - pi(phi) at h = 0, as far as its first coefficient that is not 0.

    `order` and `constant` are those of the first of `terms` that is distinguished from 0; None and 0 where none is.
    `terms` begins at h^0 and has every power between. `facts` go into a certificate.
    """

    terms: tuple[BiasTerm, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def leading(self) -> BiasTerm | None:
        """The first term that is distinguished from 0."""
        return next((term for term in self.terms if term.told_from_zero), None)

    @property
    def order(self) -> Fraction | None:
        """The power of h of the leading term."""
        return None if self.leading is None else self.leading.order

    @property
    def constant(self) -> float:
        """The coefficient of the leading term."""
        return 0.0 if self.leading is None else self.leading.value

    @property
    def error_bound(self) -> float:
        """The bound of the error of `constant`."""
        return 0.0 if self.leading is None else self.leading.error_bound

    @property
    def proved_order(self) -> Fraction:
        """The first power whose coefficient is not proved to be 0: pi_h(phi) - pi(phi) = O(h^proved_order)."""
        unproved = (term.order for term in self.terms if not term.proved_zero)
        return next(unproved, self.terms[-1].order + 1 if self.terms else Fraction(0))

    @property
    def untold(self) -> tuple[BiasTerm, ...]:
        """The terms before the leading one that are neither proved to be 0 nor distinguished from 0."""
        end = self.leading
        before = self.terms if end is None else self.terms[: self.terms.index(end)]
        return tuple(term for term in before if not term.proved_zero)


class GridAnswers(Answers[float, GridBias, LeadingBias]):
    """pi_h(phi) - pi(phi) at a step size, and its expansion up to the first coefficient that is distinguished from 0."""

    def why_not(self, question: Question) -> str | None:
        """See `Answers`."""
        return "the grids answer for the invariant law alone"

    def stationary_biases(self, steps: Sequence[float]) -> list[GridBias]:
        """The bias at several step sizes, which may share work."""
        return [self.stationary_bias(step) for step in steps]

"""The power of h in the bias of an invariant law beyond Gaussians: what is proved of a step, and grids at small step sizes.

Powers below the order of the invariant law, or the local order where that is higher, vanish for every smooth potential. The
coefficients of the others are those of the polynomial through the values of grids at falling step sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sgverify.checks.order.invariant_order import invariant_proof
from sgverify.errors import NotExpandableError, Unreached
from sgverify.exact.transfer.result import GridAnswers, GridBias
from sgverify.rates.powers import powers_of_h
from sgverify.subject.subject import Subject

HIGHEST = 4
"""The highest power of h whose coefficient is told."""

FEWEST, MOST = 4, 6
"""Step sizes of a polynomial; the smallest are taken."""

FURTHER, FALL = 5, 0.7
"""Further step sizes below the smallest that is given, and their ratio: the time of a grid grows as 1/h."""

SETTLED = 1e-3
"""A leading coefficient known to this share is good enough: it is told from 0 far beyond doubt, and smaller steps take long."""

WIDE = 2.0
"""Coefficients are told from 0 by so many of their bounds: those are changes of a fit, and no enclosures."""


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
    """pi_h(phi) - pi(phi) in powers of h, from h^0 to the first coefficient that is told from 0.

    `values` are those of the grids to which the polynomial was fitted. `denied`: the coefficient below the proved order, where
    the grids tell it from 0: proof and grids then disagree.
    """

    terms: tuple[BiasTerm, ...]
    values: tuple[GridBias, ...] = ()
    denied: BiasTerm | None = None

    @property
    def leading(self) -> BiasTerm | None:
        """The first term that is told from 0."""
        return next((term for term in self.terms if term.told_from_zero), None)

    @property
    def share(self) -> float:
        """The bound of the leading coefficient's error as a share of it; infinite where none is told from 0."""
        return math.inf if self.leading is None else self.leading.error_bound / abs(self.leading.value)

    @property
    def proved_order(self) -> Fraction:
        """The first power whose coefficient is not proved to be 0: pi_h(phi) - pi(phi) = O(h^proved_order)."""
        unproved = (term.order for term in self.terms if not term.proved_zero)
        return next(unproved, self.terms[-1].order + 1 if self.terms else Fraction(0))

    @property
    def untold(self) -> tuple[BiasTerm, ...]:
        """The terms before the leading one that are neither proved to be 0 nor told from 0."""
        return tuple(term for term in self.terms if not (term.proved_zero or term.told_from_zero))


def leading_bias(subject: Subject, answers: GridAnswers, steps: Sequence[float]) -> LeadingBias:
    """The leading bias by grids at `steps` and, until its first coefficient settles, at smaller ones; raises as `proved_order`."""
    proved = proved_order(subject)
    zeros = tuple(BiasTerm(Fraction(k), 0.0, 0.0, proved_zero=True) for k in range(proved))
    known = [
        bias for bias in answers.stationary_biases(sorted(steps, reverse=True)) if bias.value is not None
    ]
    found = LeadingBias(zeros)
    for further in range(FURTHER + 1):
        if len(known) >= FEWEST:
            before, found = found, _fitted(zeros, known[-MOST:])
            if before.share / 2 < found.share < math.inf:
                # Rounding dominates, and smaller steps do not help.
                return min(before, found, key=lambda one: one.share)
            if found.share <= SETTLED or all(abs(bias.value or 0.0) <= bias.error_bound for bias in known):
                break
        if further < FURTHER:
            smaller = answers.stationary_bias(min(steps) * FALL ** (further + 1))
            known += [smaller] if smaller.value is not None else []
    return found


def proved_order(subject: Subject) -> int:
    """The power of h below which the bias has no terms, for every smooth potential.

    Raises `Unreached` where the step has no expansion in whole powers of h.
    """
    local, invariant = subject.order, invariant_proof(subject)
    orders = [] if isinstance(local, NotExpandableError) else [local.order]
    if not isinstance(invariant, NotExpandableError):
        found = invariant.found
        orders.append(found.order if found.mixes else Fraction(0))
    if not orders:
        assert isinstance(local, NotExpandableError)
        raise Unreached(f"no expansion at h = 0: {local}")
    best = max(orders)
    if best.denominator != 1:
        raise Unreached("the expansion of the step has half powers of h")
    return int(best)


def _fitted(zeros: tuple[BiasTerm, ...], known: list[GridBias]) -> LeadingBias:
    terms = list(zeros)
    for term in _coefficients(len(zeros), known):
        terms.append(term)
        if term.told_from_zero or term.order == HIGHEST:
            break
    denied = next(iter(_coefficients(len(zeros) - 1, known)), None) if zeros else None
    return LeadingBias(
        tuple(terms), tuple(known), denied if denied is not None and denied.told_from_zero else None
    )


def _coefficients(order: int, known: list[GridBias]) -> list[BiasTerm]:
    """The coefficients of h^order and of the powers above it, where those below vanish."""
    steps = np.array([bias.step for bias in known], dtype=np.longdouble)
    values = np.array([bias.value for bias in known], dtype=np.longdouble) / steps**order
    errors = np.array([bias.error_bound for bias in known], dtype=np.longdouble) / steps**order
    powers = powers_of_h(steps, values, errors)
    pairs = zip(powers.coefficients, powers.bounds, strict=True)
    return [
        BiasTerm(Fraction(order + k), float(c), WIDE * float(bound)) for k, (c, bound) in enumerate(pairs)
    ]

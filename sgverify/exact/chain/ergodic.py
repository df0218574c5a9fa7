"""The stationary law of an affine chain, and the bias of its ergodic average, as balls.

With y = X - m, m = (I - M)^-1 c, and phi = constant + b . x + x^T A x: E phi(X_l) - phi_h = b~ . mu_l +
tr(A M^l Delta M^lT) where b~ = b + 2 A m, mu_l = M^l mu_0, Delta = E y_0 y_0^T - Sigma. The sum over l = 1..L
is never formed: with the Poisson equation (I - M^T) e = b~, E - M^T E M = A and chi = e' . y + y^T E' y, e' =
e - b~, E' = E - A, it telescopes to E chi(y_0) - E chi(y_L). Any L costs one matrix power.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import arb, arb_mat

from sgverify.exact.chain.chain import (
    AffineChain,
    ChainProblem,
    ProblemAt,
    QuadraticForm,
    checked_length,
    split,
)
from sgverify.exact.chain.lyapunov import Contraction
from sgverify.exact.numbers.ball import Certified, identity, inner, refine


@dataclass(frozen=True)
class StationaryLaw:
    """Mean (n x 1) and covariance (n x n) of the invariant law, with the contraction that certifies it."""

    mean: arb_mat
    covariance: arb_mat
    contraction: Contraction

    def average(self, phi: QuadraticForm) -> arb:
        """The stationary average of phi: constant + b . m + m^T A m + tr(A Sigma)."""
        bent = phi.quadratic * self.mean
        return phi.constant + inner(phi.linear + bent, self.mean) + inner(phi.quadratic, self.covariance)


@dataclass(frozen=True)
class Poisson:
    """psi = e . y + y^T E y with psi - P psi = phi - phi_h, and chi = P psi; constants are left out."""

    linear: arb_mat
    quadratic: arb_mat
    next_linear: arb_mat
    next_quadratic: arb_mat

    @classmethod
    def solve(cls, chain: AffineChain, law: StationaryLaw, phi: QuadraticForm) -> Poisson:
        """The discrete Poisson equation of phi in the coordinates centred at the stationary mean."""
        gradient = phi.linear + 2 * (phi.quadratic * law.mean)
        linear = (identity(chain.size) - chain.map).transpose().solve(gradient)
        quadratic = law.contraction.adjoint(phi.quadratic)
        return cls(linear, quadratic, linear - gradient, quadratic - phi.quadratic)


@dataclass(frozen=True)
class Centred:
    """The quantities of one problem at one precision that do not depend on the length L."""

    problem: ChainProblem

    @cached_property
    def law(self) -> StationaryLaw:
        """The stationary law of the chain."""
        return stationary_law(self.problem.chain)

    @cached_property
    def poisson(self) -> Poisson:
        """The Poisson equation of the test function."""
        return Poisson.solve(self.problem.chain, self.law, self.problem.observable)

    @cached_property
    def offset(self) -> arb_mat:
        """mu_0 = E y_0."""
        return self.problem.chain.start_mean - self.law.mean

    @cached_property
    def excess(self) -> arb_mat:
        """Delta = E y_0 y_0^T - Sigma."""
        start = self.problem.chain.start_covariance
        second = self.offset * self.offset.transpose() - self.law.covariance
        return second if start is None else second + start

    @cached_property
    def third(self) -> arb_mat | None:
        """The third cumulant of the invariant law, n x n^2; None where it vanishes."""
        noise = self.problem.chain.third
        return None if noise is None else self.law.contraction.tensor(noise, 3)

    @cached_property
    def fourth(self) -> arb_mat | None:
        """The fourth cumulant of the invariant law, n x n^3; None where it vanishes."""
        noise = self.problem.chain.fourth
        return None if noise is None else self.law.contraction.tensor(noise, 4)

    def stationary_bias(self) -> arb:
        """phi_h - target; raises `InstabilityError` for an unstable chain, even where phi is constant."""
        return self.law.average(self.problem.observable) - self.problem.target

    def transient(self, power: arb_mat) -> arb:
        """sum_{l=1..L} (E phi(X_l) - phi_h), from power = M^L."""
        chi = self.poisson
        moved = self.excess - power * self.excess * power.transpose()
        return inner(chi.next_linear, self.offset - power * self.offset) + inner(chi.next_quadratic, moved)


def stationary_law(chain: AffineChain) -> StationaryLaw:
    """The invariant mean and covariance: m = (I - M)^-1 c, Sigma = Q + M Sigma M^T.

    Raises InstabilityError, naming the spectral radius, where the chain has no invariant law.
    """
    contraction = Contraction.of(chain.map)
    mean = (identity(chain.size) - chain.map).solve(chain.shift)
    return StationaryLaw(mean, contraction.forward(chain.covariance), contraction)


def stationary_bias(problem_at: ProblemAt, **options: Any) -> Certified:
    """The stationary average of phi minus the target; options are those of `refine`."""
    return refine(lambda bits: _stationary_bias(problem_at(bits)), **options)


def ergodic_bias(problem_at: ProblemAt, length: int, **options: Any) -> Certified:
    """E[(1/L) sum_{l=1..L} phi(X_l)] - target for a fixed step; options are those of `refine`.

    The cost is that of one matrix power, so that L may be as large as 1e12.
    """
    steps = checked_length(length)
    return refine(lambda bits: _ergodic_bias(problem_at(bits), steps), **options)


def _stationary_bias(problem: ChainProblem) -> arb:
    return sum((Centred(part).stationary_bias() for part in split(problem)), arb(0))


def _ergodic_bias(problem: ChainProblem, length: int) -> arb:
    total = arb(0)
    for part in split(problem):
        centred = Centred(part)
        total += centred.stationary_bias()
        if not part.constant:
            total += centred.transient(part.chain.map**length) / length
    return total

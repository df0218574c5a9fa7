"""The stationary law of an affine chain, and the bias of its ergodic average, as balls.

With y = X - m, m = (I - M)^-1 c, and phi = constant + b . x + x^T A x: E phi(X_l) - phi_h = b~ . mu_l +
tr(A M^l Delta M^lT) where b~ = b + 2 A m, mu_l = M^l mu_0, Delta = E y_0 y_0^T - Sigma. The sum over l = 1..L
is never formed: with the Poisson equation (I - M^T) e = b~, E - M^T E M = A and chi = e' . y + y^T E' y, e' =
e - b~, E' = E - A, it telescopes to E chi(y_0) - E chi(y_L). Any L costs one matrix power.

The first two moments of a law, and distances between two laws by these moments.

The distance of covariances is relative to the second law's. The Wasserstein-2 distance of two Gaussian laws avoids the
cancellation of its trace formula.

W2^2 = |m_1 - m_2|^2 + tr(S_1 + S_2 - 2 (S_2^(1/2) S_1 S_2^(1/2))^(1/2)) is a small difference of large numbers
where the laws are near. The optimal map from N(m_2, S_2) to N(m_1, S_1) is T x with T S_2 T = S_1, and W2^2 is
what it moves: |m_1 - m_2|^2 + |(T - I) S_2^(1/2)|_F^2. With S_2 = L L^T and B = (L^T S_1 L)^(1/2),
T = L^-T B L^-1, so that

    W2^2 = |m_1 - m_2|^2 + |L^-T B - L|_F^2,

a sum of squares of entries, each known to the working precision.

Two laws that are not Gaussian are at least as far apart as the Gaussians of their moments (Gelbrich 1990,
Mathematische Nachrichten, Theorem 2.1): of such laws this is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import arb, arb_mat, fmpq

from sgverify.exact.chain.chain import (
    AffineChain,
    ChainProblem,
    ProblemAt,
    QuadraticForm,
    checked_length,
    restricted,
    split,
)
from sgverify.exact.chain.lyapunov import ContinuousLyapunov, Contraction
from sgverify.exact.numbers.ball import Certified, cholesky, euclidean, identity, inner, refine, square_root


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


@dataclass(frozen=True)
class Moments:
    """Mean (n x 1) and covariance (n x n) of a law; balls or fractions, or a difference of two such."""

    mean: Any
    covariance: Any

    def __sub__(self, other: Moments) -> Moments:
        return Moments(self.mean - other.mean, self.covariance - other.covariance)

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.mean + other.mean, self.covariance + other.covariance)

    def of(self, coordinates: Sequence[int]) -> Moments:
        """The moments of the marginal law of some coordinates."""
        mean = type(self.mean)([[self.mean[i, 0]] for i in coordinates])
        return Moments(mean, restricted(self.covariance, coordinates))

    @property
    def entries(self) -> list[Any]:
        """All entries of mean and covariance."""
        return [*self.mean.entries(), *self.covariance.entries()]

    @property
    def in_balls(self) -> Moments:
        """The same at the working precision."""
        return Moments(arb_mat(self.mean), arb_mat(self.covariance))


@dataclass(frozen=True)
class Distance:
    """A number that compares the moments found with the true ones, and how it falls where they nearly agree.

    `between(found, truth)` is its value, of balls. Where the moments err by E h^q + O(h^(q+1)), q > 0, it is
    `leading(E, truth)` h^q + O(h^(q+1)), of fractions or of balls; `seen(E)` are the entries of E that enter it.
    """

    between: Callable[[Moments, Moments], arb]
    leading: Callable[[Moments, Moments], arb]
    seen: Callable[[Moments], list[Any]]


def covariance_error(found: Moments, truth: Moments) -> arb:
    """|S^(-1/2) (S_h - S) S^(-1/2)|_F, the relative error of a covariance in the Frobenius norm.

    S is the covariance of `truth`, positive definite. A linear change of the coordinates leaves the number as it
    is, so that neither units nor a stiff target hide the error of a coordinate. It has no unit; with S = L L^T
    it is |L^-1 (S_h - S) L^-T|_F.
    """
    inverse = cholesky(truth.covariance).inv()
    return euclidean((inverse * (found.covariance - truth.covariance) * inverse.transpose()).entries())


def leading_covariance_error(error: Moments, truth: Moments) -> arb:
    """The coefficient of h^q in `covariance_error` where S_h - S = error h^q + O(h^(q+1)).

    It is sqrt(tr(S^-1 E S^-1 E)); the moments are fractions, or all balls.
    """
    relative = truth.covariance.inv() * error.covariance
    square = relative * relative
    return arb(sum((square[i, i] for i in range(square.nrows())), fmpq(0))).sqrt()


COVARIANCE = Distance(covariance_error, leading_covariance_error, lambda error: error.covariance.entries())


def wasserstein(found: Moments, truth: Moments) -> arb:
    """W2(N(m_h, S_h), N(m, S)), in units of the coordinates; the covariance of `truth` is positive definite."""
    factor = cholesky(truth.covariance)
    root = square_root(factor.transpose() * found.covariance * factor)
    moved = factor.transpose().solve(root) - factor
    return euclidean([*(found.mean - truth.mean).entries(), *moved.entries()])


def leading_wasserstein(error: Moments, truth: Moments) -> arb:
    """The coefficient of h^q in `wasserstein` where mean and covariance err by `error` h^q + O(h^(q+1)).

    T = I + X h^q + ... gives S X + X S = E from T S T = S + E h^q + ..., and W2^2 = h^(2q) (|m|^2 + tr(X S X)) +
    ...; the moments are fractions, or all balls.
    """
    spread = truth.covariance
    tilt = ContinuousLyapunov(spread * -1, (error.covariance,)).solve(error.covariance * -1)
    moved = tilt * type(tilt)(spread) * tilt
    square = sum((entry * entry for entry in error.mean.entries()), fmpq(0))
    return arb(square + sum((moved[i, i] for i in range(moved.nrows())), fmpq(0))).sqrt()


WASSERSTEIN = Distance(wasserstein, leading_wasserstein, lambda error: error.entries)

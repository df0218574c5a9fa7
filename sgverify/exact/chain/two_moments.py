"""The first two moments of a law, and distances between two laws by these moments.

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
from typing import Any

from flint import arb, arb_mat, fmpq

from sgverify.exact.chain.chain import restricted
from sgverify.exact.chain.lyapunov import ContinuousLyapunov
from sgverify.exact.numbers.ball import cholesky, euclidean, square_root


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

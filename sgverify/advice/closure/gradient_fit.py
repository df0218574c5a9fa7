"""The gradient of U and the noise of its estimate, averaged over a Gaussian law: what a chain near a mode sees of its target.

Over N(m, S) the gradient of U is g + A y + C : (y y^T - S)/2 + ..., y = theta - m, with the averages g of the gradient, A of the
Hessian and C of the third derivatives (the first Hermite coefficients). The covariance of the gradient estimate is V + V_1 y + ...
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sgverify.errors import InstabilityError
from sgverify.exact.numbers.quadrature import normal_cubature
from sgverify.subject.subject import Subject

if TYPE_CHECKING:
    from sgverify.samplers.gradients.differentiation import ArrayGradients

_MOST_GRADIENTS = 3_000_000
"""Numbers in the gradients of single data that one average evaluates: data are left out evenly beyond."""

_PIECE = 20_000
"""Data and points whose gradients are evaluated at once: as many as a core's cache holds in ten coordinates."""

_CHUNK = 400
"""Points whose third powers are held at once."""

_DEGREE, _MOST_OF_DEGREE = 5, 12
"""The degree of the cubature, and the dimension up to which it is used; beyond, 2 d points of degree 3."""


_MOST_OF_PAIRS = 30
"""The dimension up to which the covariances between the entries of data's Hessians are held: d^4 numbers."""


@dataclass(frozen=True, eq=False)
class FittedMinibatchNoise:
    """What one minibatch adds to the gradient at y = theta - mean: zeta + Delta y, random numbers of mean 0 of the minibatch.

    `still` is Cov zeta, `slope` Cov(Delta_ic, zeta_j) with the axes i, c, j, `growth` Cov(Delta_ic, Delta_jm) with the axes
    i, c, j, m, `skewness` the third cumulant of zeta. Delta is the best linear fit to each datum's gradient over the law.
    """

    still: np.ndarray
    slope: np.ndarray
    growth: np.ndarray
    skewness: np.ndarray

    def with_slope(self, averaged: np.ndarray) -> FittedMinibatchNoise:
        """The same where the averaged slope of the covariance, with the axes of `slope`, is more than that of the linear fits."""
        left = averaged - self.slope - self.slope.transpose(2, 1, 0)
        return replace(self, slope=self.slope + left / 2)

    def moved(self, dm: np.ndarray) -> FittedMinibatchNoise:
        """The same where the law's mean is larger by dm, shape (d,), but for the third cumulant."""
        turned = np.einsum("icj,c->ij", self.slope, dm)
        still = self.still + turned + turned.T + np.einsum("icjm,c,m->ij", self.growth, dm, dm)
        return replace(self, still=still, slope=self.slope + np.einsum("icjm,m->icj", self.growth, dm))

    def between(self, covariance: np.ndarray) -> np.ndarray:
        """The covariance of the noise at two places with this covariance, the linear fits alone. Shape (d, d)."""
        return np.asarray(self.still + np.einsum("icjm,cm->ij", self.growth, covariance))


@dataclass(frozen=True, eq=False)
class GradientFit:
    """The averages over N(mean, covariance); n-th derivatives of U have n axes of length d.

    `gradient` g, `hessian` A, `third` C; `noise` V of the estimate, `minibatch` its linear fit where data are drawn. `bent` is the
    covariance of what is not linear in the gradient. `third` is None beyond `_MOST_OF_DEGREE` coordinates, where the points of the
    average do not determine it, `minibatch` beyond `_MOST_OF_PAIRS`.
    """

    mean: np.ndarray
    covariance: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    third: np.ndarray | None
    noise: np.ndarray
    minibatch: FittedMinibatchNoise | None
    bent: np.ndarray

    def moved(self, mean: np.ndarray, covariance: np.ndarray, fourth: np.ndarray | None) -> GradientFit:
        """The fit over a nearby law, to first order in what moves, from the averaged fourth derivatives of U. No new evaluation.

        It is exact where the gradient of every datum is linear in theta.
        """
        dm, ds = mean - self.mean, covariance - self.covariance
        gradient, hessian, noise = self.gradient + self.hessian @ dm, self.hessian, self.noise
        if self.third is not None:
            gradient = gradient + np.einsum("ijk,jk->i", self.third, ds) / 2
            hessian = hessian + self.third @ dm
        if fourth is not None:
            hessian = hessian + np.einsum("ijkl,kl->ij", fourth, ds) / 2
        minibatch = self.minibatch
        if minibatch is not None:
            turned = np.einsum("icj,c->ij", minibatch.slope, dm)
            grown = np.einsum("icjm,cm->ij", minibatch.growth, ds + np.outer(dm, dm))
            noise, minibatch = noise + turned + turned.T + grown, minibatch.moved(dm)
        return replace(
            self,
            mean=mean,
            covariance=covariance,
            gradient=gradient,
            hessian=hessian,
            noise=noise,
            minibatch=minibatch,
        )


@dataclass(frozen=True, eq=False)
class GradientEstimate:
    """The gradient of a subject's target, and the noise of its gradient estimator."""

    subject: Subject

    def fit(self, mean: np.ndarray, covariance: np.ndarray) -> GradientFit:
        """The averages over N(mean, covariance). Shapes (d,), (d, d). `InstabilityError` where the gradient is not finite."""
        if self._linear is None:
            return self._fitted(mean, covariance)
        return self._linear.moved(mean, covariance, None)

    @cached_property
    def _linear(self) -> GradientFit | None:
        """The fit from which those over all laws follow; None unless U is quadratic and the noise's growth is held."""
        subject = self.subject
        if not subject.target.quadratic:
            return None
        variances = float(subject.configuration.temperature) * np.diag(subject.target.covariance_float64())
        found = self._fitted(subject.target.mean_float64(), np.diag(variances))
        drawn = subject.configuration.gradient.estimator.draws_data
        # The third derivatives are 0, and what is not linear in a gradient is rounding.
        held = found.minibatch is not None or not drawn
        return replace(found, third=None, bent=np.zeros_like(found.bent)) if held else None

    def _fitted(self, mean: np.ndarray, covariance: np.ndarray) -> GradientFit:
        nodes, weights = cubature_nodes(len(mean))
        root = _root(covariance)
        away = nodes @ root.T
        slopes = nodes @ np.linalg.inv(root)
        linear = None
        if len(mean) <= _MOST_OF_PAIRS:
            linear = weights[:, None] * np.column_stack([np.ones(len(nodes)), slopes])
        gradients, noises, minibatch = self._averaged(mean + away, linear)
        if not np.isfinite(gradients).all():
            raise InstabilityError("the gradient is not finite within the spread")
        gradient = weights @ gradients
        rows = (weights * gradients.T) @ slopes
        hessian, noise = (rows + rows.T) / 2, np.einsum("k,kij->ij", weights, noises)
        left = gradients - gradient - away @ hessian
        bent, third = (weights * left.T) @ left, None
        if len(mean) <= _MOST_OF_DEGREE:
            third = np.einsum("k,ka,kb,kc->abc", weights, left, slopes, slopes, optimize=True)
            # The rest has the mean 0, so that the identity in z z^T - I adds nothing; what is not symmetric is an error.
            third = sum(third.transpose(order) for order in _ORDERS) / len(_ORDERS)
        if minibatch is not None:
            slope = np.einsum("k,kij,kc->icj", weights, noises, slopes)
            minibatch = minibatch.with_slope(slope)
        return GradientFit(mean, covariance, gradient, hessian, third, noise, minibatch, bent)

    def fourth(self, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray | None:
        """The fourth derivatives of U averaged over N(mean, covariance); None in many coordinates. Shape (d, d, d, d)."""
        dim = len(mean)
        if dim > _MOST_OF_DEGREE:
            return None
        # Of the gradient, a cubic polynomial to this order, times a cubic one.
        nodes, weights = normal_cubature(dim, 7)
        root = _root(covariance)
        slopes, gradients = nodes @ np.linalg.inv(root), self.full(mean + nodes @ root.T)
        if not np.isfinite(gradients).all():
            raise InstabilityError("the gradient is not finite within the spread")
        # What the third Hermite polynomial y y y - 3 sym(S y) leaves of a gradient less its linear fit is its first term.
        left = gradients - weights @ gradients
        left -= nodes @ ((weights * left.T) @ nodes).T
        found = np.zeros((dim,) * 4)
        for first in range(0, len(nodes), _CHUNK):
            part = slice(first, first + _CHUNK)
            pairs = slopes[part, :, None] * slopes[part, None]
            triples = (pairs[..., None] * slopes[part, None, None]).reshape(-1, dim**3)
            found += ((weights[part] * left[part].T) @ triples).reshape(found.shape)
        return np.asarray(
            sum(found.transpose(0, *(1 + k for k in order)) for order in _ORDERS) / len(_ORDERS)
        )

    def full(self, points: np.ndarray) -> np.ndarray:
        """The full gradient of U. Shape (k, d) -> (k, d)."""
        gradients = self._gradients.of_prior(points)
        for chosen, total, _, _ in self._by_datum(points):
            gradients[chosen] += total
        return gradients

    def at(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The full gradient of U, and the covariance of its estimate. Shape (k, d) -> (k, d), (k, d, d)."""
        gradients, noises, _ = self._averaged(points, None)
        return gradients, noises

    def _averaged(
        self, points: np.ndarray, linear: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, FittedMinibatchNoise | None]:
        """Gradients, the covariances of their estimates, and the noise linear in theta by these weights, (k, 1 + d)."""
        table, (count, dim) = self.subject.configuration.gradient, points.shape
        gradients, noises = self._gradients.of_prior(points), np.zeros((count, dim, dim))
        drawn = table.estimator.draws_data and self.subject.target.data is not None
        found = shares = np.zeros(())
        for chosen, total, away, shares in self._by_datum(points):
            gradients[chosen] += total
            if not drawn:
                continue
            weighted = (self._scale(2) * shares)[:, None, None] * away
            noises[chosen] = weighted.transpose(1, 2, 0) @ away.swapaxes(0, 1)
            if linear is not None:
                found = found + away.swapaxes(1, 2) @ linear[chosen]
        if table.estimator.each_evaluation:
            given = np.asarray(table.covariance, dtype=np.float64)
            noises += given * np.eye(dim) if given.ndim < 2 else given
        if not drawn or linear is None:
            return gradients, noises, None
        return gradients, noises, self._minibatch(np.asarray(found), shares)

    def _minibatch(self, found: np.ndarray, shares: np.ndarray) -> FittedMinibatchNoise:
        """The moments over the data of zeta_n + Delta_n y, side by side in one array. Shapes (n, d, 1 + d), (n,)."""
        value, rows = found[:, :, 0], found[:, :, 1:].reshape(len(found), -1)
        dim, twice, thrice = value.shape[1], self._scale(2), self._scale(3)
        weighted = shares[:, None] * value
        pairs = (weighted[:, :, None] * value[:, None]).reshape(len(value), -1)
        return FittedMinibatchNoise(
            twice * weighted.T @ value,
            twice * (rows.T @ weighted).reshape(dim, dim, dim),
            twice * ((shares[:, None] * rows).T @ rows).reshape((dim,) * 4),
            thrice * (pairs.T @ value).reshape(dim, dim, dim),
        )

    def _scale(self, order: int) -> float:
        """The cumulant of N/n times a sum over a minibatch, over the central moment of a single datum: N^k/n^(k - 1).

        Without replacement the variance is smaller by (N - n)/(N - 1), and the third cumulant by (N - n)(N - 2n)/((N - 1)(N - 2)).
        """
        table = self.subject.configuration.gradient
        if not table.estimator.draws_data:
            return 0.0
        size, batch = self._size, table.batch
        left = kept_of_variance(table, size)
        if order == 3 and not table.estimator.replaced:
            left *= (size - 2 * batch) / max(1.0, size - 2)
        return float((table.scale * size) ** order / batch ** (order - 1) * left)

    @cached_property
    def _data(self) -> tuple[np.ndarray, np.ndarray]:
        data, counts = self.subject.target.weighted
        counts = np.ones(len(data)) if counts is None else counts
        dim = self.subject.target.dim
        stride = max(1, -(-len(data) * len(cubature_nodes(dim)[1]) * dim // _MOST_GRADIENTS))
        return data[::stride], counts[::stride] * (counts.sum() / counts[::stride].sum())

    @property
    def _size(self) -> float:
        return float(self._data[1].sum())

    @cached_property
    def _centre(self) -> np.ndarray | None:
        """The gradients of single data that a minibatch subtracts, less their mean. Shape (n, 1, d)."""
        centre = self.subject.configuration.gradient.estimator.centre_float64(self.subject.target)
        if centre is None:
            return None
        each = self._gradients.of_each_datum(np.array([centre]))
        return np.asarray(each - np.tensordot(self._data[1], each, axes=1) / self._size)

    @cached_property
    def _gradients(self) -> ArrayGradients:
        # It brings torch, which a run needs anyway.
        from sgverify.samplers.gradients.differentiation import ArrayGradients

        target = self.subject.target
        return ArrayGradients(target, None if target.data is None else self._data[0])

    def _by_datum(self, points: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]:
        """For pieces of the points: which, the summed gradients, what a minibatch sees of each datum less its mean, and shares.

        Shapes (k, d), (n, k, d), (n,).
        """
        if self.subject.target.data is None:
            return
        data, counts = self._data
        piece = max(1, _PIECE // len(data))
        for first in range(0, len(points), piece):
            chosen = slice(first, first + piece)
            away = self._gradients.of_each_datum(points[chosen])
            total = np.tensordot(counts, away, axes=1)
            away -= total / self._size
            if self._centre is not None:
                away -= self._centre
            yield chosen, total, away, counts / self._size


def kept_of_variance(table: Any, size: float) -> float:
    """The share of the variance of a mean over a minibatch that drawing without replacement leaves; 1 with replacement."""
    return 1.0 if table.estimator.replaced else float((size - table.batch) / max(1.0, size - 1))


_ORDERS = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))


def cubature_nodes(dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights for averages over N(0, I). Shapes (k, d), (k,)."""
    if dim <= _MOST_OF_DEGREE:
        return normal_cubature(dim, _DEGREE)
    far = np.sqrt(dim) * np.eye(dim)
    return np.concatenate([far, -far]), np.full(2 * dim, 0.5 / dim)


def _root(covariance: np.ndarray) -> np.ndarray:
    try:
        return np.asarray(np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        raise InstabilityError(
            "where a gradient is evaluated, theta has no covariance that is positive definite"
        ) from None

"""The gradient of U and the noise of its estimate, averaged over a Gaussian law: what a chain near a mode sees of its target.

Over N(m, S) the gradient of U is g + A y + C : (y y^T - S)/2 + ..., y = theta - m, with the averages g of the gradient, A of the
Hessian and C of the third derivatives (the first Hermite coefficients). The covariance of the gradient estimate is V + V_1 y + ...
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sgverify.checks.subject.subject import Subject
from sgverify.errors import InstabilityError
from sgverify.exact.numbers.quadrature import normal_cubature

_MOST_GRADIENTS = 3_000_000
"""Numbers in the gradients of single data that one average evaluates: data are left out evenly beyond."""

_PIECE = 200_000
"""Data and points whose gradients are evaluated at once."""

_DEGREE, _MOST_OF_DEGREE = 5, 12
"""The degree of the cubature, and the dimension up to which it is used; beyond, 2 d points of degree 3."""


class NoLawError(InstabilityError):
    """Raised if there is no Gaussian law; the message says why."""


@dataclass(frozen=True, eq=False)
class GradientFit:
    """The averages over N(mean, covariance); n-th derivatives of U have n axes of length d.

    `gradient` g, `hessian` A, `third` C; `noise` V of the estimate and `noise_slope` V_1 with the derivative's axis last.
    `bent` is the covariance of what is not linear in the gradient. `third` and `noise_slope` are None beyond `MOST_OF_DEGREE`
    coordinates, where the points of the average do not determine them.
    """

    gradient: np.ndarray
    hessian: np.ndarray
    third: np.ndarray | None
    noise: np.ndarray
    noise_slope: np.ndarray | None
    bent: np.ndarray


@dataclass(frozen=True, eq=False)
class GradientEstimate:
    """The gradient of a subject's target, and the noise of its gradient estimator."""

    subject: Subject

    def fit(self, mean: np.ndarray, covariance: np.ndarray) -> GradientFit:
        """The averages over N(mean, covariance). Shapes (d,), (d, d). Raises `NoLawError` where the gradient is not finite."""
        nodes, weights = cubature_nodes(len(mean))
        root = np.linalg.cholesky(covariance)
        away = nodes @ root.T
        gradients, noises = self.at(mean + away)
        if not np.isfinite(gradients).all():
            raise NoLawError("the gradient is not finite within the spread")
        gradient = weights @ gradients
        slopes = nodes @ np.linalg.inv(root)
        rows = (weights * gradients.T) @ slopes
        hessian, noise = (rows + rows.T) / 2, np.einsum("k,kij->ij", weights, noises)
        left = gradients - gradient - away @ hessian
        bent = (weights * left.T) @ left
        if len(mean) > _MOST_OF_DEGREE:
            return GradientFit(gradient, hessian, None, noise, None, bent)
        third = np.einsum("k,ka,kb,kc->abc", weights, left, slopes, slopes)
        # The rest has the mean 0, so that the identity in z z^T - I adds nothing; what is not symmetric is the cubature's error.
        third = sum(third.transpose(order) for order in _ORDERS) / len(_ORDERS)
        return GradientFit(
            gradient, hessian, third, noise, np.einsum("k,kij,kc->ijc", weights, noises, slopes), bent
        )

    def at(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The full gradient of U, and the covariance of its estimate. Shape (k, d) -> (k, d), (k, d, d)."""
        # It brings torch, which a run needs anyway.
        from sgverify.samplers.own.functions import prior_gradients_at

        table, (count, dim) = self.subject.configuration.gradient, points.shape
        gradients, noises = prior_gradients_at(self.subject.target, points), np.zeros((count, dim, dim))
        for chosen, total, away, shares in self._by_datum(points):
            gradients[chosen] += total
            noises[chosen] = self._scale(2) * np.einsum("n,kni,knj->kij", shares, away, away)
        if table.estimator.each_evaluation:
            given = np.asarray(table.covariance, dtype=np.float64)
            noises += given * np.eye(dim) if given.ndim < 2 else given
        return gradients, noises

    def skewness(self, point: np.ndarray) -> np.ndarray:
        """The third cumulant of the estimate at a point. Shape (d,) -> (d, d, d)."""
        found = np.zeros((len(point),) * 3)
        for _, _, away, shares in self._by_datum(point[None]):
            found = self._scale(3) * np.einsum("n,ni,nj,nk->ijk", shares, away[0], away[0], away[0])
        return np.asarray(found)

    def _scale(self, order: int) -> float:
        """The cumulant of N/n times a sum over a minibatch, over the central moment of a single datum: N^k/n^(k - 1).

        Without replacement the variance is smaller by (N - n)/(N - 1), and the third cumulant by (N - n)(N - 2n)/((N - 1)(N - 2)).
        """
        table = self.subject.configuration.gradient
        if not table.estimator.draws_data:
            return 0.0
        size, batch = self._size, table.batch
        left = 1.0
        if not table.estimator.replaced:
            left = (size - batch) / max(1.0, size - 1)
            if order == 3:
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
        """The gradients of single data that a minibatch subtracts, less their mean. Shape (n, d)."""
        from sgverify.samplers.own.functions import gradients_at

        target = self.subject.target
        centre = self.subject.configuration.gradient.estimator.centre_float64(target)
        if centre is None:
            return None
        each = gradients_at(target, np.array([centre]), self._data[0])[0]
        return np.asarray(each - self._data[1] @ each / self._size)

    def _by_datum(self, points: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]:
        """For pieces of the points: which, the summed gradients, what a minibatch sees of each datum less its mean, and shares."""
        from sgverify.samplers.own.functions import gradients_at

        if self.subject.target.data is None:
            return
        data, counts = self._data
        piece = max(1, _PIECE // len(data))
        for first in range(0, len(points), piece):
            chosen = slice(first, first + piece)
            each = gradients_at(self.subject.target, points[chosen], data)
            total = np.einsum("n,knd->kd", counts, each)
            away = each - total[:, None] / self._size
            if self._centre is not None:
                away = away - self._centre
            yield chosen, total, away, counts / self._size


_ORDERS = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))


def cubature_nodes(dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights for averages over N(0, I). Shapes (k, d), (k,)."""
    if dim <= _MOST_OF_DEGREE:
        return normal_cubature(dim, _DEGREE)
    far = np.sqrt(dim) * np.eye(dim)
    return np.concatenate([far, -far]), np.full(2 * dim, 0.5 / dim)

"""The interpreter in long double: definitions and potentials are evaluated as written, on many states at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sgverify.errors import DefinitionError, Unreached
from sgverify.exact.numbers.jets import Jet, coefficients_of
from sgverify.exact.numbers.quadrature import EXTENDED, to_extended
from sgverify.schemes import Scheme, dot
from sgverify.schemes.definition.binding import Arithmetic, Carrier, GradientIngredient, bind, in_order
from sgverify.schemes.definition.mathematics import erf, first_entry, power, register
from sgverify.schemes.numbers.constants import constants_like, linear_image, repeated, repeated_rows
from sgverify.targets import Target
from sgverify.targets.metric import CoordinateMetric, MatrixMetric
from sgverify.targets.potential import ARRAYS

_PIECE = 256
"""Data that are visited at once."""


class LongDouble(Arithmetic):
    """A value in long double: a number, or an array of one vector for each state, shape (n, d) or (n, 1)."""

    __slots__ = ("value",)
    __array_ufunc__ = None

    def __init__(self, value: Any) -> None:
        self.value = value

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> LongDouble:
        if isinstance(other, LongDouble):
            return type(self)(operation(self.value, other.value))
        number = to_extended(other)
        # A constant of a run in float64 stays one.
        return type(self)(
            operation(self.value, np.float64(number) if type(self.value) is np.float64 else number)
        )

    def __pow__(self, exponent: Any) -> LongDouble:
        if not isinstance(exponent, int):
            return power(self, exponent)
        return type(self)(self.value**exponent)

    def __neg__(self) -> LongDouble:
        return type(self)(-self.value)


class LongDoubleGradient(GradientIngredient):
    """grad U on all data, by Taylor polynomials of degree 1, coordinate by coordinate, without autograd and closed forms.

    `clip` bounds the norm of a datum's gradient, as in the configuration.
    """

    def __init__(self, target: Target, *, clip: float | None = None) -> None:
        super().__init__()
        self._target, self._clip = target, clip

    def evaluate(self, place: LongDouble, minibatch: int) -> LongDouble:
        """grad U at `place`, (n, d) -> (n, d). Raises `DefinitionError` for a potential without Taylor polynomials."""
        target = self._target
        # A clipped gradient is clipped datum by datum.
        whole = target.data is None or self._clip is not None
        data, weights = (target.data, None) if whole else target.weighted
        return type(place)(self._at(place.value, data, 1, weights))

    def prior(self, place: LongDouble) -> LongDouble:
        """The part of the prior. Shape (n, d) -> (n, d)."""
        return type(place)(_gradients(self._target.prior, place.value))

    def hessian(self, place: LongDouble, vector: LongDouble) -> LongDouble:
        """The Hessian of U, times a vector. Shapes (n, d) -> (n, d). Raises as a call does."""
        return type(place)(self._bend(place.value, vector.value, self._target.data))

    def _at(
        self,
        theta: np.ndarray,
        data: np.ndarray | None,
        factor: Any = 1,
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        """grad prior + factor times the sum over these data, each with its weight. Shape (n, d) -> (n, d)."""
        target = self._target
        starts = [_along(theta, i) for i in range(theta.shape[-1])]
        total = _gradients(target.prior, theta)
        if data is None or target.likelihood is None:
            return total
        for first in range(0, len(data), _PIECE):
            piece = data[first : first + _PIECE]
            each = np.stack(
                [coefficients_of(target.likelihood(start[:, None, :], piece))[1] for start in starts], axis=-1
            )
            if self._clip is not None:
                sizes = np.sqrt((each**2).sum(-1, keepdims=True))
                each = each * np.minimum(1, EXTENDED(self._clip) / np.maximum(sizes, EXTENDED(1e-300)))
            if weights is not None:
                each = each * weights[first : first + _PIECE, None]
            total = total + factor * each.sum(1)
        return total

    def _bend(
        self, theta: np.ndarray, vector: np.ndarray, data: np.ndarray | None, factor: Any = 1
    ) -> np.ndarray:
        """The Hessian of the same sum, times a vector. Shapes (n, d) -> (n, d)."""
        if self._clip is not None:
            raise DefinitionError(
                "a clipped gradient has no Hessian of a potential; expected gradient.clip to be left out"
            )
        at, along = np.broadcast_arrays(theta, vector)
        total, likelihood = _bends(self._target.prior, at, along), self._target.likelihood
        if data is None or likelihood is None:
            return total
        for first in range(0, len(data), _PIECE):
            piece = data[first : first + _PIECE]

            def summed(start: Jet, piece: np.ndarray = piece) -> Any:
                return Jet(likelihood(start[:, None, :], piece).c.sum(-1))

            total = total + factor * _bends(summed, at, along)
        return total


class LongDoubleRootMatrix:
    """The metric ingredient of a matrix B: entries and their derivatives as arrays, put together by the product rule."""

    def __init__(self, metric: MatrixMetric) -> None:
        self._metric = metric

    def root(self, theta: Any, vector: Any) -> Any:
        """B v."""
        return _summed("nij,nj->ni", theta, self._metric.root(theta.value), vector.value)

    def transposed(self, theta: Any, vector: Any) -> Any:
        """B^T v."""
        return _summed("nji,nj->ni", theta, self._metric.root(theta.value), vector.value)

    def inverse(self, theta: Any, vector: Any) -> Any:
        """G^-1 v."""
        root = self._metric.root(theta.value)
        return _summed("nik,njk,nj->ni", theta, root, root, vector.value)

    def divergence(self, theta: Any) -> Any:
        """sum_jk (d_j B_ik) B_jk + B_ik d_j B_jk."""
        root, derivatives = self._metric.root(theta.value), self._metric.derivatives(theta.value)
        first = _summed("nikj,njk->ni", theta, derivatives, root)
        return first + _summed("nik,njkj->ni", theta, root, derivatives)

    def root_divergence(self, theta: Any) -> Any:
        """sum_j d_j B_ji."""
        return _summed("njij->ni", theta, self._metric.derivatives(theta.value))


def _summed(subscripts: str, like: Any, *arrays: np.ndarray) -> Any:
    return type(like)(np.einsum(subscripts, *arrays))


def step_in_long_double(
    scheme: Scheme,
    state: Sequence[np.ndarray],
    draws: Sequence[np.ndarray],
    *,
    h: float,
    gradient: GradientIngredient,
    parameters: Mapping[str, float],
    dim: int,
    metric: CoordinateMetric | MatrixMetric,
    carrier: Carrier | None = None,
) -> list[np.ndarray]:
    """X_1 of a definition from many states, each with its draws; shapes (n, d or 1), the draws (n, d) one by one.

    `carrier`: how values enter the definition and leave it; by `extended` where it is left out.
    """
    bound = bind(scheme, carrier or extended(), parameters, dim=dim, metric=_metric_ingredient(metric))
    with np.errstate(all="ignore"):
        values = bound.step(state, h=h, grad=gradient, draw=in_order(draws))
    return [np.broadcast_to(value, np.shape(before)) for value, before in zip(values, state, strict=True)]


def extended(constants: type = EXTENDED, kind: type[LongDouble] = LongDouble) -> Carrier:
    """Arrays in extended precision as values of this kind; h, the parameters and functions of them in the format `constants`."""
    return Carrier(
        lambda value: kind(np.asarray(value, dtype=EXTENDED)),
        lambda value: kind(constants(value)),
        lambda found: found.value if isinstance(found, LongDouble) else EXTENDED(float(found)),
    )


def start_in_long_double(
    scheme: Scheme,
    state: Sequence[np.ndarray],
    *,
    h: float,
    gradient: GradientIngredient,
    parameters: Mapping[str, float],
    dim: int,
    metric: CoordinateMetric | MatrixMetric,
) -> list[np.ndarray]:
    """The states of the dynamics and the memory that a definition starts there, its draws at 0; shapes as of the states."""
    bound = bind(scheme, extended(), parameters, dim=dim, metric=_metric_ingredient(metric))
    with np.errstate(all="ignore"):
        values = bound.start(state, h=h, grad=gradient, draw=lambda law: np.zeros(np.shape(state[0])))
    shapes = [*(np.shape(value) for value in state), *(np.shape(state[0]) for _ in scheme.memory)]
    return [np.broadcast_to(value, shape) for value, shape in zip(values, shapes, strict=True)]


def _metric_ingredient(metric: CoordinateMetric | MatrixMetric) -> CoordinateMetric | LongDoubleRootMatrix:
    return metric if isinstance(metric, CoordinateMetric) else LongDoubleRootMatrix(metric)


def _along(theta: np.ndarray, i: int) -> Jet:
    c = np.zeros((2, *theta.shape), dtype=EXTENDED)
    c[0] = theta
    c[1, ..., i] = 1
    return Jet(c)


def _gradients(function: Callable[[Jet], Any], theta: np.ndarray) -> np.ndarray:
    return np.stack([coefficients_of(function(_along(theta, i)))[1] for i in range(theta.shape[-1])], axis=-1)


def _bends(function: Callable[[Jet], Any], theta: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """The Hessian times a vector: (H v)_i = |v| (e_i.H u + u.H e_i)/2, u = v/|v|, from (e_i + u).H (e_i + u) and its parts.

    Vectors of one length, so that the differences lose no more than a few bits of |H|.
    """
    size = np.sqrt((vector**2).sum(-1, keepdims=True))
    unit = vector / np.where(size > 0, size, 1)

    def square(direction: np.ndarray) -> np.ndarray:
        value = function(Jet(np.stack([theta, direction, np.zeros_like(direction)])))
        coefficients_of(value)[1]
        return np.asarray(2 * value.c[2])

    own = square(unit)
    rows = []
    for i in range(theta.shape[-1]):
        axis = np.zeros_like(unit)
        axis[..., i] = 1
        rows.append((square(axis + unit) - own - square(axis)) / 2)
    return np.stack(rows, axis=-1) * size


@dot.register
def _(left: LongDouble, right: Any) -> LongDouble:
    return type(left)((left * right).value.sum(-1, keepdims=True))


def _evaluated(function: Any, value: LongDouble) -> LongDouble:
    if function is erf:
        raise Unreached("the error function has no values of extended precision")
    return type(value)(ARRAYS[function](value.value))


register(LongDouble, _evaluated)


@constants_like.register
def _(like: LongDouble, numbers: tuple[Any, ...]) -> LongDouble:
    return type(like)(_extended(repeated(numbers, like.value.shape[-1])))


@linear_image.register
def _(vector: LongDouble, rows: tuple[Any, ...]) -> LongDouble:
    matrix = np.stack([_extended(row) for row in repeated_rows(rows, vector.value.shape[-1])])
    return type(vector)((vector.value[..., None, :] * matrix).sum(-1))


def _extended(numbers: tuple[Any, ...]) -> np.ndarray:
    return np.array([to_extended(number) for number in numbers], dtype=EXTENDED)


@first_entry.register
def _(draw: LongDouble) -> LongDouble:
    return type(draw)(draw.value[..., :1])

"""A model under changing step sizes: the float64 arrays that the recursion over a decreasing schedule takes."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np

from sgverify.exact.affine.carrier import AffineStep, Polynomial, read_affine
from sgverify.exact.affine.field import FLOATS, Scalar
from sgverify.exact.affine.model import Model
from sgverify.exact.varying import StepArrays, VaryingProblem

Array = Any


def varying_problem(model: Model) -> VaryingProblem:
    """The chain of `model` at any array of step sizes, with its start, test function and true average.

    The minibatch noises of a step, independent of one another, are stacked into one vector g.
    """
    c, b, a = model.observable.quadratic_form()
    n = model.size
    linear, quadratic = np.zeros(n), np.zeros((n, n))
    linear[: len(b)] = [float(v) for v in b]
    quadratic[: len(b), : len(b)] = [[float(v) for v in row] for row in a]
    with flint.ctx.workprec(128):
        mean, spread = model.start_law()
        start_mean = np.array([float(v.mid()) for v in mean.entries()])
        start_covariance = np.zeros((n, n))
        if spread is not None:
            start_covariance += np.array([float(v.mid()) for v in spread.entries()]).reshape(n, n)
    gradients = _read(model, np.array([1.0])).gradients
    return VaryingProblem(
        arrays=lambda steps: _arrays(model, steps),
        start_mean=start_mean,
        start_covariance=start_covariance,
        constant=float(c),
        linear=linear,
        quadratic=quadratic,
        target=float(model.truth),
        third=_stacked_tensor(model.noise.third, model.target.dim, gradients, 3),
        fourth=_stacked_tensor(model.noise.fourth, model.target.dim, gradients, 4),
    )


def _arrays(model: Model, steps: Array) -> StepArrays:
    read = _read(model, steps)
    dim, n, count = model.target.dim, model.size, len(steps)
    precision = np.array([[float(v) for v in row] for row in model.target.precision])
    mean = np.array([float(v) for v in model.target.mean])
    names = list(model.scheme.state)

    def column(base: tuple[str, Any]) -> Array:
        """The n x d blocks of one base at every step size, steps last."""
        out = np.zeros((n, dim, count))
        for k, name in enumerate(names):
            out[k * dim : (k + 1) * dim] = _block(read.rows[name].get(base, ()), precision, count)
        return out

    maps = np.concatenate([column(("state", name)) for name in names], axis=1)
    shift = np.einsum("idk,d->ik", column(("mean", 0)), mean) + column(("ones", 0)).sum(axis=1)
    covariance = np.zeros((n, n, count))
    for k in range(read.draws):
        drawn = column(("noise", k))
        covariance += np.einsum("idk,jdk->ijk", drawn, drawn)
    injection = None
    if model.noise.covariance is not None:
        own = np.array([[float(v) for v in row] for row in _rows(model.noise.covariance)])
        blocks = [column(("gradient", k)) for k in range(read.gradients)]
        for block in blocks:
            covariance += np.einsum("idk,de,jek->ijk", block, own, block)
        injection = np.concatenate(blocks, axis=1) if blocks else None
    return StepArrays(maps, shift, covariance, injection)


def _read(model: Model, steps: Array) -> AffineStep:
    given = {
        name: Scalar(FLOATS, np.full_like(steps, float(model.parameters[name])))
        for name in model.scheme.parameters
    }
    return read_affine(
        model.scheme, {"h": Scalar(FLOATS, steps), **given}, each_evaluation=model.noise.each_evaluation
    )


def _block(polynomial: Polynomial, precision: Array, count: int) -> Array:
    dim = len(precision)
    total, power = np.zeros((dim, dim, count)), np.eye(dim)
    for coefficient in polynomial:
        factor = coefficient if isinstance(coefficient, np.ndarray) else float(coefficient)
        total = total + power[:, :, None] * np.broadcast_to(factor, (count,))
        power = power @ precision
    return total


def _stacked_tensor(tensor: Any | None, dim: int, copies: int, order: int) -> Array | None:
    """The cumulants of several independent copies of g: equal blocks on the diagonal."""
    if tensor is None or not copies:
        return None
    own = np.array([[float(v) for v in row] for row in _rows(tensor)]).reshape((dim,) * order)
    out = np.zeros((dim * copies,) * order)
    for copy in range(copies):
        at = slice(copy * dim, (copy + 1) * dim)
        out[(at,) * order] = own
    return out


def _rows(matrix: Any) -> list[list[float]]:
    return [[float(flint.arb(v).mid()) for v in row] for row in matrix.tolist()]

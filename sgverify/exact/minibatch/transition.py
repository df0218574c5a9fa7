"""The moments of a step with multiplicative noise are those of an affine chain without noise, exactly.

With X_1 = sum_s c_s (symbol s), the mean of a monomial of X_1 given X_0 = x is a sum of products of scalars c_s
times averages of products of symbols, which are polynomials in x of no higher degree (`averages`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from flint import arb, arb_mat

from sgverify.errors import NotExpandableError
from sgverify.exact.affine.field import coefficient
from sgverify.exact.affine.matrices import alike, as_ball, minus_identity, nonzero, rational_or_balls
from sgverify.exact.chain.expansion import ORDERS
from sgverify.exact.minibatch.hessians import (
    HessianProductStep,
    KroneckerAverages,
    MinibatchLaw,
    Product,
    letters,
)
from sgverify.exact.numbers.cumulants import MultiIndex, multi_indices
from sgverify.exact.numbers.matrix_series import MatrixSeries
from sgverify.exact.rings.ring import Ring

MOST_MOMENTS = 30_000
"""The largest number of joint moments of one minibatch that operators may need."""

Image = dict[Product, Any]
"""Scalar coefficients by products of components."""


def transition(averages: KroneckerAverages, step: HessianProductStep, degree: int) -> arb_mat:
    """T: E X_1^a given X_0 = x in the monomials of x, a row for each a of degree 0 to `degree`.

    Columns are the same monomials; `step` was read in balls.
    """
    columns = multi_indices(averages.size, 0, degree)
    place = {key: k for k, key in enumerate(columns)}
    rows = [[arb(1)] + [arb(0)] * (len(columns) - 1)]
    for image in _images(averages, step, degree, as_ball):
        row = [arb(0)] * len(columns)
        for product, factor in image.items():
            for key, weight in averages.average(product).items():
                row[place[key]] += factor * weight
        rows.append(row)
    return arb_mat(rows)


def leading_blocks(averages: KroneckerAverages, step: HessianProductStep, degree: int, count: int) -> Any:
    """The block of T that takes the monomials of exactly this degree to themselves, in float64.

    `step` was read on arrays of `count` step sizes. Shape (count, m, m).
    """
    columns = multi_indices(averages.size, degree, degree)
    place = {key: k for k, key in enumerate(columns)}
    images = list(_images(averages, step, degree, _as_float))[-len(columns) :]
    blocks = np.zeros((len(columns), len(columns), count))
    for k, image in enumerate(images):
        for product, factor in image.items():
            for key, weight in averages.average(product).items():
                if key in place:
                    blocks[k, place[key]] += factor * float(arb(weight).mid())
    return np.moveaxis(blocks, -1, 0)


def transition_series(
    averages: KroneckerAverages, step: HessianProductStep, degree: int, ring: Ring
) -> MatrixSeries:
    """T as a power series in h, in fractions where they are.

    `step` was read in series of `ring`. Raises `NotExpandableError` where the step does not tend to the identity
    or has odd powers of sqrt(h).
    """
    columns = multi_indices(averages.size, 0, degree)
    place = {key: k for k, key in enumerate(columns)}
    powers = range(2 * ORDERS + 1)
    tables: list[list[list[Any]]] = [
        [[int(power == j == 0) for j in range(len(columns))]] for power in powers
    ]
    for image in _images(averages, step, degree, lambda value: value):
        rows: list[list[Any]] = [[0] * len(columns) for _ in powers]
        for product, factor in image.items():
            average = averages.average(product)
            for power in powers if average else ():
                value = coefficient(ring, factor, power)
                if value != 0:
                    for key, weight in average.items():
                        rows[power][place[key]] += weight * value
        for table, row in zip(tables, rows, strict=True):
            table.append(row)
    terms = [rational_or_balls(table) for table in tables]
    if nonzero(minus_identity(terms[0])):
        raise NotExpandableError("the step does not tend to the identity as h -> 0")
    for power in powers[1::2]:
        if nonzero(terms[power]):
            raise NotExpandableError(f"the step has the power s^{power} of s = sqrt(h)")
    return MatrixSeries(alike(terms[::2]))


def is_reached(law: MinibatchLaw, step: HessianProductStep, degree: int) -> bool:
    """Whether the joint moments of the minibatch that the operators on this degree need are not too many."""
    return math.comb(law.width + degree * _longest(step), law.width) <= MOST_MOMENTS


def _longest(step: HessianProductStep) -> int:
    """The largest number of entries of minibatches that a coordinate multiplies in one step."""
    return max(letters(symbol) for row in step.rows.values() for symbol in row)


def _images(
    averages: KroneckerAverages, step: HessianProductStep, degree: int, convert: Callable[[Any], Any]
) -> Iterator[Image]:
    """The monomials of X_1 of degree 1 to `degree`, in order, as combinations of products."""
    n, dim = averages.size, averages.law.dim
    # Once for the highest order, instead of anew for each.
    averages.law.moments(degree * _longest(step))
    linear = [
        [(averages.number((symbol, i)), convert(c)) for symbol, c in step.rows[name].items()]
        for name in averages.names
        for i in range(dim)
    ]
    known: dict[MultiIndex, Image] = {}
    for powers in multi_indices(n, 1, degree):
        lead = next(i for i, power in enumerate(powers) if power)
        smaller = tuple(p - (i == lead) for i, p in enumerate(powers))
        image: Image = {}
        for product, factor in known.get(smaller, {(): None}).items():
            for number, c in linear[lead]:
                key = tuple(sorted((*product, number)))
                value = c if factor is None else factor * c
                image[key] = image[key] + value if key in image else value
        known[powers] = image
        yield image


def _as_float(value: Any) -> Any:
    return value if isinstance(value, np.ndarray) else float(value)

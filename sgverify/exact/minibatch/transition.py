"""The blocks of a random permutation, by their exact joint moments and as a signed mixture of independent blocks.

Let u_i, i = 1..N, be centred numbers and g_b the mean of those in the b-th block of n of a random permutation.
Blocks are exchangeable, so a joint moment depends only on the powers, m_pi = E g_1^pi_1 ... g_k^pi_k. Expanding
every g_b^r over the set partitions of its r factors into groups of one datum each leaves distinct data only:

    m_pi = n^-|pi| sum  prod_b (n)_{k_b}  A_lambda / (N)_G,        (n)_k = n (n-1) ... (n-k+1),

k_b the groups of block b, lambda the sizes of all G groups, A_lambda = sum over distinct i of prod_j
u_{i_j}^lambda_j.

A finite exchangeable sequence is a mixture of independent ones, if weights may be negative (Kerns and Szekely
2006, "De Finetti's theorem for abstract finite exchangeable sequences"). To a finite order that takes
finitely many: weights w_k and moments mu^(k) with sum_k w_k prod_j mu^(k)_{pi_j} = m_pi for every |pi| <=
order. They need not be the moments of any law; only this identity is used.

The moments of a step with multiplicative noise are those of an affine chain without noise, exactly.

With X_1 = sum_s c_s (symbol s), the mean of a monomial of X_1 given X_0 = x is a sum of products of scalars c_s
times averages of products of symbols, which are polynomials in x of no higher degree (`averages`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq, fmpq_mat

from sgverify.errors import ConfigurationError
from sgverify.exact.affine.matrices import as_ball
from sgverify.exact.minibatch.hessians import (
    HessianProductStep,
    KroneckerAverages,
    MinibatchLaw,
    Product,
    letters,
)
from sgverify.exact.numbers.matrix_series import MultiIndex, multi_indices
from sgverify.targets.power_sums import PolynomialVectors

Pattern = tuple[int, ...]
"""A partition pi: the powers of distinct blocks in a joint moment, largest first."""


@dataclass(frozen=True)
class Component:
    """One sequence of independent blocks: its weight, and the moments mu_1, mu_2, ... of a block."""

    weight: fmpq
    moments: tuple[fmpq, ...]


def block_moments(
    values: Sequence[Any] | PolynomialVectors, batch: int, *, order: int = 4
) -> dict[Pattern, fmpq]:
    """m_pi for every partition pi of 0 to `order`; 0 where an epoch has fewer blocks than pi has parts.

    `values` are N exact numbers, or as many polynomials in the data; a block holds `batch` of them. They are centred here.
    """
    size = len(values)
    if isinstance(batch, bool) or not isinstance(batch, int) or not 1 <= batch <= size:
        raise ConfigurationError(f"batch={batch!r}: a block of a permutation holds 1 to {size} of its data")
    sums, scale = _centred_sums(values, order)
    found = {}
    for pattern in partitions(order):
        total = fmpq(0)
        if len(pattern) <= size // batch:
            for groups in _groupings(pattern):
                sizes = tuple(k for block in groups for k in block)
                chosen = math.prod(math.perm(batch, len(block)) for block in groups)
                # A term with more distinct data than exist is absent from the moment.
                if chosen:
                    total += fmpq(chosen, math.perm(size, len(sizes))) * _distinct(sizes, sums)
        found[pattern] = total / fmpq(batch * scale) ** sum(pattern)
    return found


def _centred_sums(values: Sequence[Any] | PolynomialVectors, order: int) -> tuple[list[Any], int]:
    """N and the sums of the powers 1 to `order` of the centred values times a whole number, and that number."""
    size = len(values)
    if isinstance(values, PolynomialVectors):
        found = values.power_sums([(k,) for k in range(order + 1)])
        raw = [fmpq(size), *(found[(k,)] for k in range(1, order + 1))]
        centre = raw[1] / size if order else fmpq(0)
        return [
            sum((math.comb(k, j) * (-centre) ** (k - j) * raw[j] for j in range(k + 1)), fmpq(0))
            for k in range(order + 1)
        ], 1
    exact = [Fraction(value) for value in values]
    middle = sum(exact, Fraction(0)) / size
    scale = math.lcm(*(value.denominator for value in exact)) * size
    whole = [int((value - middle) * scale) for value in exact]
    sums: list[Any] = [size]
    powers = [1] * size
    for _ in range(order):
        powers = [p * u for p, u in zip(powers, whole, strict=True)]
        sums.append(sum(powers))
    return sums, scale


def independent_components(moments: Mapping[Pattern, fmpq]) -> list[Component]:
    """Independent blocks whose weighted joint moments are `moments`, exactly.

    The moments of the components lie on a grid, scaled to the size of a block: for the pattern with e_r parts r
    the node has mu_r = t_{e_r}, t = 0, 1, -1, 2, ... Patterns are closed under leaving out parts, and on such a
    set of exponents polynomials are determined by their values at these nodes.
    """
    patterns = sorted(moments, key=lambda pattern: (sum(pattern), pattern))
    order = max(map(sum, patterns))
    unit = _unit(moments.get((2,), fmpq(0)))
    nodes = [tuple(_node(pattern.count(r)) for r in range(1, order + 1)) for pattern in patterns]
    values = fmpq_mat([[math.prod(node[r - 1] for r in pattern) for node in nodes] for pattern in patterns])
    right = fmpq_mat(len(patterns), 1, [moments[pattern] / unit ** sum(pattern) for pattern in patterns])
    weights = values.solve(right)
    return [
        Component(weights[k, 0], tuple(fmpq(value) * unit**r for r, value in enumerate(node, start=1)))
        for k, node in enumerate(nodes)
        if weights[k, 0] != 0
    ]


def partitions(order: int) -> list[Pattern]:
    """Every partition of 0 to `order`, parts in descending order.

    >>> partitions(3)
    [(), (1,), (2,), (1, 1), (3,), (2, 1), (1, 1, 1)]
    """
    return [pattern for total in range(order + 1) for pattern in _partitions(total, total)]


def _partitions(total: int, largest: int) -> Iterator[Pattern]:
    if total == 0:
        yield ()
    for first in range(min(total, largest), 0, -1):
        for rest in _partitions(total - first, first):
            yield (first, *rest)


def _groupings(pattern: Pattern) -> Iterator[tuple[Pattern, ...]]:
    """For each set partition of the factors of every block, the sizes of its groups."""
    if not pattern:
        yield ()
        return
    for first in _set_partitions(pattern[0]):
        for rest in _groupings(pattern[1:]):
            yield (first, *rest)


@cache
def _set_partitions(count: int) -> tuple[Pattern, ...]:
    """Group sizes of every set partition of `count` things, as often as they occur."""
    if count == 0:
        return ((),)
    found: list[Pattern] = []
    for sizes in _set_partitions(count - 1):
        found.append((*sizes, 1))
        found += [(*sizes[:k], sizes[k] + 1, *sizes[k + 1 :]) for k in range(len(sizes))]
    return tuple(found)


def _distinct(sizes: Pattern, sums: Sequence[Any]) -> Any:
    """A_lambda from the power sums: the last index differs from the others, or equals one of them."""
    if not sizes:
        return 1
    *others, last = sizes
    total = _distinct(tuple(others), sums) * sums[last]
    for k in range(len(others)):
        total -= _distinct((*others[:k], others[k] + last, *others[k + 1 :]), sums)
    return total


def _unit(variance: fmpq) -> fmpq:
    """A power of two near the standard deviation, so that moments in it are of size 1."""
    if variance == 0:
        return fmpq(1)
    bits = int(variance.p).bit_length() - int(variance.q).bit_length()
    return fmpq(2) ** (bits // 2)


def _node(k: int) -> int:
    return (k + 1) // 2 * (1 if k % 2 else -1)


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

    Only products of Hessians with the state enter it: `averages` are those of a law of Hessians. `step` was read on arrays of
    `count` step sizes. Shape (count, m, m).
    """
    linear = {name: {of: c for of, c in row.items() if of[0] == "state"} for name, row in step.rows.items()}
    step = replace(step, rows=linear)
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

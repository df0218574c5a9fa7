"""Nodes and weights that stand for independent numbers of classical laws: exact for polynomials up to a total degree."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import product

import numpy as np
from scipy.special import ndtri, ndtri_exp

from sgverify.exact.transfer.hermite import normal_quadrature

DIGITS = 14
"""Nodes that agree so far are one node."""


def normal_cubature(dim: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """z and w with E f(Z) = sum_k w_k f(z_k) for polynomials f of total degree <= `degree`, Z ~ N(0, I).

    Shapes (n, dim) and (n,); up to rounding of the nodes and weights, of which some may be negative. In one dimension
    Gauss and Hermite's rule of (degree + 1)/2 nodes; beyond, Smolyak's sum of products of such rules,
    sum_{l + 1 <= |i| <= l + dim} (-1)^(l + dim - |i|) C(dim - 1, l + dim - |i|) U_i1 x ... x U_id, U_i of i nodes and
    l = floor(degree / 2) (Novak and Ritter 1999, Simple cubature formulas with high polynomial exactness).
    """
    return cubature(("normal",) * dim, degree)


@lru_cache(maxsize=64)
def cubature(kinds: tuple[str, ...], degree: int) -> tuple[np.ndarray, np.ndarray]:
    """z and w with E f(X) = sum_k w_k f(x_k) for polynomials f of X, its coordinates independent and of these kinds.

    A kind is normal, uniform (on (0, 1)) or exponential, with Gauss and Hermite's, Legendre's or Laguerre's rule; z_k are the
    standard normal numbers with the same quantiles as x_k. Else as `normal_cubature`, which is this for normal numbers.
    """
    dim, level = len(kinds), degree // 2
    if dim == 0:
        return np.zeros((1, 0)), np.ones(1)
    total: dict[tuple[float, ...], tuple[np.ndarray, float]] = {}
    for sizes in _sizes(dim, level):
        short = level + dim - sum(sizes)
        factor = (-1) ** short * math.comb(dim - 1, short)
        rules = [_gauss(kind, size) for kind, size in zip(kinds, sizes, strict=True)]
        for choice in product(*(range(size) for size in sizes)):
            node = np.array([rules[axis][0][k] for axis, k in enumerate(choice)])
            weight = factor * math.prod(float(rules[axis][1][k]) for axis, k in enumerate(choice))
            key = tuple(np.round(node, DIGITS) + 0.0)
            known = total.get(key, (node, 0.0))
            total[key] = (known[0], known[1] + weight)
    kept = [(node, weight) for node, weight in total.values() if abs(weight) > 1e-15]
    return np.array([node for node, _ in kept]), np.array([weight for _, weight in kept])


def _sizes(dim: int, level: int) -> Iterator[tuple[int, ...]]:
    """The multi-indices i >= 1 with level + 1 <= |i| <= level + dim."""
    for sizes in product(range(1, level + 2), repeat=dim) if dim <= 3 else _compositions(dim, level + dim):
        if level + 1 <= sum(sizes) <= level + dim:
            yield sizes


def _compositions(dim: int, most: int) -> Iterator[tuple[int, ...]]:
    if dim == 1:
        yield from ((k,) for k in range(1, most + 1))
        return
    for first in range(1, most - dim + 2):
        for rest in _compositions(dim - 1, most - first):
            yield (first, *rest)


@lru_cache(maxsize=64)
def _gauss(kind: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Each node and weight rounded once; normal nodes are symmetric and the middle one 0, so that equal ones are found equal."""
    if kind == "normal":
        z, w = normal_quadrature(count)
        return z.astype(np.float64), w.astype(np.float64)
    if kind == "uniform":
        x, w = np.polynomial.legendre.leggauss(count)
        # From the middle, in which the nodes are symmetric.
        return np.sign(x) * -ndtri((1 - np.abs(x)) / 2), w / 2
    x, w = np.polynomial.laguerre.laggauss(count)
    return -ndtri_exp(-x), w / w.sum()

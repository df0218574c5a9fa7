"""Quadrature for normal noise, in long double.

Nodes and weights that stand for independent numbers of classical laws: exact for polynomials up to a total degree.

Few nodes with positive weights in place of many, with the same expectation of given functions and all products of them.

The orthonormal polynomials of a weight on the line, by Stieltjes' procedure, and the Gauss rule of that weight.

With the weight held on a fine uniform grid whose ends carry no mass, sums over the grid are integrals to rounding (the trapezoidal
rule of a function that vanishes at both ends with its derivatives). Source: Gautschi 2004, Orthogonal Polynomials, section 2.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from scipy.special import ndtri, ndtri_exp

from sgverify.errors import Unreached
from sgverify.schemes import exact
from sgverify.schemes.numbers.algebraic import Algebraic

EXTENDED = np.longdouble
"""The working precision of grids: long double with 64 bits of mantissa on x86, float64 where the platform has no more."""


MOST_GAUSSIAN = 64
"""Nodes of the Gaussian rule at most."""

_REACH = 9.5
"""The trapezoid rule goes out to 9.5, beyond which the normal density is below 1e-20."""


def to_extended(value: Any) -> Any:
    """An exact number in extended precision."""
    number = exact(value)
    roots = number.radicands() if isinstance(number, Algebraic) else None
    if roots is not None:
        return sum((to_extended(r) * np.sqrt(EXTENDED(q)) for q, r in roots.items()), EXTENDED(0))
    if isinstance(number, Fraction):
        return EXTENDED(number.numerator) / EXTENDED(number.denominator)
    return EXTENDED(float(number))


@lru_cache(maxsize=32)
def normal_quadrature(count: int) -> tuple[np.ndarray, np.ndarray]:
    """z and w with E f(Z) = sum_k w_k f(z_k), Z ~ N(0, 1). Shapes (count,).

    Up to 64 nodes exact for polynomials up to degree 2 count - 1. Beyond, the trapezoid rule: as good for smooth f,
    and no worse than its spacing where f jumps, as it does where states are lost.
    """
    return _gaussian(count) if count <= MOST_GAUSSIAN else _trapezoid(count)


def _trapezoid(count: int) -> tuple[np.ndarray, np.ndarray]:
    z = np.linspace(-EXTENDED(_REACH), EXTENDED(_REACH), count)
    weights = np.exp(-(z**2) / 2)
    return z, weights / weights.sum()


def _gaussian(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss and Hermite's nodes, mended by Newton's method on the orthonormal polynomial
    sqrt(k) p_k = z p_(k-1) - sqrt(k - 1) p_(k-2); w = 1/(count p_(count-1)^2).
    """
    z: np.ndarray = np.polynomial.hermite_e.hermegauss(count)[0].astype(EXTENDED)
    for _ in range(4):
        before, value = _orthonormal(z, count)
        z = z - value / (np.sqrt(EXTENDED(count)) * before)
    # The nodes are symmetric, and their rounding need not be.
    z = (z - z[::-1]) / 2
    before, _ = _orthonormal(z, count)
    weights = 1 / (count * before**2)
    return z, weights / weights.sum()


def _orthonormal(z: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    before: np.ndarray = np.zeros_like(z)
    value: np.ndarray = np.ones_like(z)
    for k in range(1, count + 1):
        before, value = value, (z * value - np.sqrt(EXTENDED(k - 1)) * before) / np.sqrt(EXTENDED(k))
    return before, value


DIGITS = 14
"""Nodes that agree to this many digits are one node."""


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


NEW = 1e-8
"""A function is new where its distance from polynomials of the earlier ones exceeds this share of the largest function's size."""

MOST_FUNCTIONS = 2
"""The largest number of functions of which all products are kept."""

CANDIDATES = 600
"""The number of nodes to choose from at first: evenly spaced in the order of the first function, with its ends."""

DEPENDENT = 1e-10
"""A product is linearly dependent where its distance from the span of the earlier ones is below this."""

EXACT = 1e-12
"""The largest error allowed in the expectations of products, of size 1 each."""


class IncompressibleError(Exception):
    """There are more functions than `MOST_FUNCTIONS`, or no small set of nodes has their expectations."""


def leading_functions(values: np.ndarray, weights: np.ndarray, degree: int, noise: float = 0.0) -> np.ndarray:
    """Functions of which all columns are polynomials, on average: shape (n, q) -> (n, r), each of mean 0 and variance 1.

    `noise`: a bound of the rounding of a value. The first function is the largest part of the columns; each further one is
    the largest residual after projection on polynomials of the earlier ones. Raises `IncompressibleError` for too many.
    """
    share = weights / weights.sum()
    centred = values - share @ values
    left, size = centred, np.sqrt(share @ centred**2).max(initial=0.0)
    found = np.zeros((len(values), 0))
    while size > 0:
        if np.sqrt(share @ left**2).max() <= max(NEW * size if found.size else 0.0, 4 * noise):
            break
        if found.shape[1] == MOST_FUNCTIONS:
            raise IncompressibleError
        _, _, rows = np.linalg.svd(left * np.sqrt(share)[:, None], full_matrices=False)
        # Only the linear part is subtracted: a polynomial would come back in the products, with too high a degree.
        lead = centred @ rows[0]
        lead = lead - found @ (found.T @ (share * lead))
        found = np.column_stack([found, lead / np.sqrt(share @ lead**2)])
        basis = products(found, weights, degree)
        left = centred - basis @ (basis.T @ (share[:, None] * centred))
    return found


def products(functions: np.ndarray, weights: np.ndarray, degree: int) -> np.ndarray:
    """All products of at most `degree` of the functions, made orthonormal under the weights. Shape (n, count).

    Each product is a function times an earlier product, orthogonalised against all earlier ones (Arnoldi). Values are then
    accurate at nodes of small weight too, where a decomposition of weighted columns would lose them to rounding.
    """
    share = weights / weights.sum()
    found = [np.ones(len(share))]
    before: dict[tuple[int, ...], int] = {(): 0}
    for number in range(1, degree + 1):
        here: dict[tuple[int, ...], int] = {}
        for chosen in combinations_with_replacement(range(functions.shape[1]), number):
            source = before.get(chosen[:-1])
            if source is None:
                continue
            column = functions[:, chosen[-1]] * found[source]
            size = np.sqrt(share @ column**2)
            table = np.stack(found, axis=1)
            for _ in range(2):
                column = column - table @ (table.T @ (share * column))
            left = np.sqrt(share @ column**2)
            # Products may be linearly dependent: z^2 = 1 for a sign z.
            if left > DEPENDENT * size:
                here[chosen] = len(found)
                found.append(column / left)
        before = here
    return np.stack(found, axis=1)


def compressed(functions: np.ndarray, weights: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of nodes, and weights that give the expectations of all products of at most `degree` functions.

    No more nodes than products are needed (Caratheodory's theorem); non-negative least squares finds a set. Raises
    `IncompressibleError` where it finds none.
    """
    # scipy.optimize takes a while to import, and only compressed nodes need it.
    from scipy.optimize import nnls

    root = np.sqrt(weights / weights.sum())
    basis = products(functions, weights, degree)
    due = np.eye(basis.shape[1])[0]
    basis = basis * root[:, None]
    order = np.argsort(functions[:, 0]) if functions.shape[1] else np.arange(len(weights))
    for count in (CANDIDATES, 5 * CANDIDATES):
        chosen = order[np.unique(np.linspace(0, len(order) - 1, min(count, len(order))).astype(int))]
        try:
            found, off = nnls(basis[chosen].T, due)
        except RuntimeError:
            continue
        if off <= EXACT:
            kept = found > 0
            return chosen[kept], found[kept] * root[chosen][kept]
    raise IncompressibleError


@dataclass(frozen=True)
class OrthonormalPolynomials:
    """x q_k = beta_(k+1) q_(k+1) + alpha_k q_k + beta_k q_(k-1), q_0 = 1, orthonormal in a law on the line.

    `alpha` has shape (n,), `beta` shape (n,) with beta_0 unused.
    """

    alpha: np.ndarray
    beta: np.ndarray

    @staticmethod
    def of(points: np.ndarray, log_weight: np.ndarray, count: int) -> OrthonormalPolynomials:
        """The first `count` recurrence coefficients of the law with this log density at uniform points.

        Raises `Unreached` if the points do not carry so many polynomials.
        """
        weight = np.exp(log_weight - log_weight.max())
        weight /= weight.sum()
        alpha, beta = np.zeros(count), np.zeros(count)
        before, here = np.zeros_like(points), np.ones_like(points)
        for k in range(count):
            alpha[k] = weight @ (points * here**2)
            following = (points - alpha[k]) * here - beta[k] * before
            size = float(np.sqrt(weight @ following**2))
            if k + 1 < count:
                beta[k + 1] = size
            if not size > 0 or not np.isfinite(size):
                raise Unreached(f"a weight on {len(points)} points has no {count} polynomials")
            before, here = here, following / size
        return OrthonormalPolynomials(alpha, beta)

    def gauss(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights of the rule that is exact for polynomials of degree 2 count - 1 (Golub and Welsch 1969)."""
        jacobi = (
            np.diag(self.alpha[:count]) + np.diag(self.beta[1:count], 1) + np.diag(self.beta[1:count], -1)
        )
        nodes, vectors = np.linalg.eigh(jacobi)
        return nodes, vectors[0] ** 2

    def at(self, x: np.ndarray, count: int) -> np.ndarray:
        """q_0, ..., q_(count-1) at points of shape (n,): shape (n, count)."""
        found = np.ones((len(x), count))
        for k in range(count - 1):
            before = self.beta[k] * found[:, k - 1] if k else 0.0
            found[:, k + 1] = ((x - self.alpha[k]) * found[:, k] - before) / self.beta[k + 1]
        return found

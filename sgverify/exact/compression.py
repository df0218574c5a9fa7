"""Few nodes with positive weights in place of many, with the same expectation of given functions and all products of them."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
from scipy.optimize import nnls

NEW = 1e-8
"""A function is new where polynomials of those before leave so much of it, next to the largest function's size."""

MOST_FUNCTIONS = 2
"""Functions of which all products are kept, at most."""

CANDIDATES = 600
"""Nodes to choose from at first: those at even distances in the order of the first function, and its ends."""

DEPENDENT = 1e-10
"""A product is none of its own where those before leave so little of it."""

EXACT = 1e-12
"""How well the expectations of products, of size 1 each, have to be met."""


class IncompressibleError(Exception):
    """More functions than `MOST_FUNCTIONS` are there, or no few nodes stand for them."""


def leading_functions(values: np.ndarray, weights: np.ndarray, degree: int, noise: float = 0.0) -> np.ndarray:
    """Functions of which all columns are polynomials, on average: shape (n, q) -> (n, r), each of mean 0 and variance 1.

    `noise`: what rounding may put a value off.
    The first is the largest part of the columns; another one is what polynomials of those before leave. Raises
    `IncompressibleError` where it goes on.
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
        # Less its linear part alone: a polynomial taken off would come back in the products, with a degree too many.
        lead = centred @ rows[0]
        lead = lead - found @ (found.T @ (share * lead))
        found = np.column_stack([found, lead / np.sqrt(share @ lead**2)])
        basis = products(found, weights, degree)
        left = centred - basis @ (basis.T @ (share[:, None] * centred))
    return found


def products(functions: np.ndarray, weights: np.ndarray, degree: int) -> np.ndarray:
    """All products of at most `degree` of the functions, made orthonormal under the weights. Shape (n, count).

    Each is a function times one before, less its part in those before (Arnoldi): so that values are accurate at nodes of
    small weight too, which a decomposition of weighted columns would leave to rounding.
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
            # Products may depend on one another, as z^2 = 1 does of a sign.
            if left > DEPENDENT * size:
                here[chosen] = len(found)
                found.append(column / left)
        before = here
    return np.stack(found, axis=1)


def compressed(functions: np.ndarray, weights: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of nodes and their weights, which have the expectations of all products of at most `degree` functions.

    No more nodes than products are needed (Caratheodory); non-negative least squares find some. Raises
    `IncompressibleError` where it does not.
    """
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


__all__ = ["IncompressibleError", "compressed", "leading_functions", "products"]

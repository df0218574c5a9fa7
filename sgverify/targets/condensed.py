"""Many numbers as few weighted ones that stand for them in sums of a smooth function: Gauss's rule on each panel.

The rule of K nodes for the measure that puts 1 on every datum of a panel has positive weights and sums polynomials up
to degree 2K - 1 exactly. So sum_i f(x_i) is missed by at most 2 n E for each panel of n data, E the distance of f from
those polynomials. For f analytic and bounded by M inside the ellipse around the panel [c - w, c + w] whose half-axes
sum to rho w, E <= 2 M rho^(1 - 2K)/(rho - 1). Sources: Golub and Welsch 1969; Trefethen 2013, theorems 8.2 and 19.3.

With f(x) = softplus(s x) nearest to singular at a distance pi/|s| from the line, rho is about 2 pi/(|s| w): with s w = 1
and K = 10 the bound is n M 1e-14, which is rounding. Only sums over all data may use it; minibatches take the data.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

NODES = 10
PANELS = 100
FEWEST = 4 * NODES
"""A panel of fewer data keeps them."""
SMALLEST = 4 * NODES * PANELS
"""Fewer data are not worth it."""


class Weighted(NamedTuple):
    """Data and how often each counts. Shapes (M, 1), (M,), float64."""

    data: np.ndarray
    weights: np.ndarray


def condense(data: np.ndarray) -> Weighted:
    """At most max(NODES, FEWEST) * PANELS weighted numbers that stand for the data in smooth sums. Shape (N, 1)."""
    x = np.sort(data[:, 0])
    edges = np.linspace(x[0], x[-1], PANELS + 1)[1:-1]
    nodes, weights = [], []
    for panel in np.split(x, np.searchsorted(x, edges)):
        if len(panel) < FEWEST or panel[0] == panel[-1]:
            found, counts = np.unique(panel, return_counts=True)
            nodes.append(found)
            weights.append(counts.astype(np.float64))
            continue
        middle, half = (panel[0] + panel[-1]) / 2, (panel[-1] - panel[0]) / 2
        found, shares = _gauss((panel - middle) / half)
        nodes.append(middle + half * found)
        weights.append(shares)
    return Weighted(_frozen(np.concatenate(nodes))[:, None], _frozen(np.concatenate(weights)))


def _gauss(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss's rule for the sum over t in [-1, 1], from its orthogonal polynomials."""
    diagonal, beside = np.zeros(NODES), np.zeros(NODES - 1)
    before, now = np.zeros_like(t), np.full_like(t, len(t) ** -0.5)
    for k in range(NODES):
        diagonal[k] = (t * now**2).sum()
        if k < NODES - 1:
            following = (t - diagonal[k]) * now - (beside[k - 1] * before if k else 0.0)
            beside[k] = np.sqrt((following**2).sum())
            if not beside[k] > 1e-12 * np.sqrt(len(t)):
                # Fewer than K different data.
                return np.unique(t, return_counts=True)[0], np.unique(t, return_counts=True)[1].astype(float)
            before, now = now, following / beside[k]
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    return values, len(t) * vectors[0] ** 2


def _frozen(values: np.ndarray) -> np.ndarray:
    values.flags.writeable = False
    return values

"""The joint law of state and weights of a running sampler with two regions, at every step: averages carried back to the start.

theta(1) moves, theta(2) is 1 (AWSGLD) or 1 - theta(1) (CSGLD). The state lives on the nodes of `LineChain`, log theta(1), or its
logit, on Chebyshev's, between the least and the largest value that any path reaches: both rules converge as for smooth functions.
So nothing is taken for small: not eps, nor omega, nor 1/k.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sgverify.exact.partition.line_chain import LineChain
from sgverify.schemes.composites.weighting import importance


@dataclass(frozen=True)
class AfterSteps:
    """Of k steps: E theta_k(1) and E theta_k(1)^2, E of the sums of 1{J = 1}, of theta_l^zeta(J_l) 1{J_l = 1} and of
    theta_l^zeta(J_l), l = 1, ..., k, all over k; `leaving` bounds the chance that a chain has left the grid by then.
    """

    theta: float
    square: float
    visits: float
    counted: float
    counts: float
    leaving: float

    @property
    def ratio(self) -> float:
        """E sum w f/E sum w, f = 1 in region 1."""
        return self.counted / self.counts


@dataclass(frozen=True, eq=False)
class RunningWeights:
    """The chain of (x_k, theta_k) from x_0 = `start` and theta_0 flat, over at most `length` steps; two regions."""

    chain: LineChain
    length: int
    start: float
    points: int = 16

    @cached_property
    def weights(self) -> np.ndarray:
        """The nodes of theta(1). Shape (p,)."""
        low, high = self._range
        angles = (2 * np.arange(self.points) + 1) / (2 * self.points) * np.pi
        place = (low + high) / 2 + (high - low) / 2 * np.cos(angles)
        return np.exp(place) if self.chain.adaptation.cumulative else 1 / (1 + np.exp(-place))

    def _place(self, t: np.ndarray) -> np.ndarray:
        """log theta(1), or its logit: what the multiplier is linear in."""
        return np.asarray(np.log(t) - np.log(self._other(t)))

    def after(self, length: int) -> AfterSteps:
        """What `length` steps lead to, by f <- P_k (f + what step k adds), k = length, ..., 1."""
        t = self.weights
        n = len(self.chain.nodes)
        ends = np.zeros((6, n, len(t)))
        ends[0], ends[1] = t, t**2
        values = ends
        for k in range(length, 1, -1):
            # Batches of the nodes of theta: (p, n, n) @ (p, n, 6).
            told = self._told(values, k, length)
            kernels, leaving = self._kernels
            values = (kernels @ told.transpose(2, 1, 0)).transpose(2, 1, 0)
            values[5] += leaving.T
        flat = self.chain.adaptation.start
        told = self._told(values, 1, length, np.array([flat]))
        rows, leaving = self.chain.rows_and_leaving(self._both(flat), np.array([self.start]))
        found = [float(rows[0] @ told[i, :, 0]) for i in range(6)]
        found[5] += float(leaving[0])
        return AfterSteps(*found)

    def _told(self, values: np.ndarray, k: int, length: int, at: np.ndarray | None = None) -> np.ndarray:
        """E over what the weights are told, of what step k adds and of the values after it. (6, n, p) -> (6, n, q)."""
        old, total = self.weights if at is None else at, 0.0
        zeta = self.chain.adaptation.zeta
        for region in (1, 2):
            new = self._moved(old, region, k)
            here = new if region == 1 else self._other(new)
            count = importance(here, zeta=zeta) / length
            added = np.stack(
                [0 * new, 0 * new, 0 * new + (region == 1) / length, count * (region == 1), count, 0 * new]
            )
            shares = self.chain.shares(region)[None, :, None]
            total = total + shares * (values @ self._interpolation(new).T + added[:, None, :])
        return np.asarray(total)

    def _moved(self, old: np.ndarray, region: int, k: int) -> np.ndarray:
        a = self.chain.adaptation
        here = old if region == 1 else self._other(old)
        return np.asarray(a.next_weight(old, k=k, here=here, indicator=a.indicator(1, region)))

    def _other(self, first: np.ndarray) -> np.ndarray:
        return np.ones_like(first) if self.chain.adaptation.cumulative else 1 - first

    def _both(self, first: float) -> np.ndarray:
        return np.array([first, float(self._other(np.array([first]))[0])])

    @cached_property
    def _kernels(self) -> tuple[np.ndarray, np.ndarray]:
        """Kernels and chances to leave, for each node of theta(1). Shapes (p, n, n), (p, n)."""
        pairs = [self.chain.rows_and_leaving(self._both(t), self.chain.nodes) for t in self.weights]
        return np.stack([pair[0] for pair in pairs]), np.stack([pair[1] for pair in pairs])

    @cached_property
    def _range(self) -> tuple[float, float]:
        """The places where every step is in region 2, and where every one is in region 1."""
        ends = []
        for region in (2, 1):
            t = np.array([self.chain.adaptation.start])
            for k in range(1, self.length + 1):
                t = self._moved(t, region, k)
            ends.append(float(self._place(t)[0]))
        return ends[0], ends[1]

    def _interpolation(self, t: np.ndarray) -> np.ndarray:
        """The polynomial through the nodes' places, by barycentric weights. Shape (q,) -> (q, p)."""
        nodes, p = self._place(self.weights), self.points
        shares = (-1.0) ** np.arange(p) * np.sin((2 * np.arange(p) + 1) / (2 * p) * np.pi)
        away = self._place(t)[:, None] - nodes
        met = away == 0
        terms = shares / np.where(met, 1.0, away)
        found = terms / terms.sum(1)[:, None]
        return np.where(met.any(1)[:, None], met, found)


__all__ = ["AfterSteps", "RunningWeights"]

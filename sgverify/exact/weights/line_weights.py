"""The weights of adaptively weighted samplers on the line: their limit and spread, and their joint law with the state.

`rest`: the limit theta solves h(theta) = 0 for the mean field under the law that the chain itself has at this theta, at a step
size and with noisy energies; eps, Var and 1/m enter exactly. E|theta_k - theta|^2/omega_k tends to the trace of the solution P of
A P + P A^T + S = 0, where A is the derivative of the mean field and S sums the autocovariances of the field along the chain, by
its Poisson equation.

`RunningWeights`: the joint law of state and weights at every step, for two regions, by averages that are carried back to the
start. theta(1) moves, theta(2) is 1 (AWSGLD) or 1 - theta(1) (CSGLD). The nodes of the state are those of `LineChain`, the nodes
of log theta(1), or its logit, Chebyshev's between the least and the largest value on any path: both rules converge as for smooth
functions. Neither eps, nor omega, nor 1/k is assumed to be small.

E|theta_k - theta*|^2 for two regions, computed: the weights follow a Markov chain of regions whose law is exact.

theta(2) = 1 stays, x = theta(1) moves. Given x the region J stays with the chance `memory` and is drawn anew from its
piecewise law otherwise, so that this law is invariant and the noise of the adaptation is Markovian, with autocorrelations
memory^t. Averages are carried back from step k to the start on a grid of x: no sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg, optimize

from sgverify.errors import Unreached
from sgverify.exact.weights.fixed_point import AWSGLD, WeightRule, mean_field, random_field, region_chances
from sgverify.exact.weights.line_chain import LineChain
from sgverify.schemes.composites import composite as weighting
from sgverify.schemes.composites.composite import importance

_SHIFT = 1e-5
_RESIDUAL = 1e-9
_LEAVING = 1e-9


@dataclass(frozen=True, eq=False)
class Rest:
    """The limit theta, shape (m,), the law of the chain there, shape (n,), and the residual of the mean field."""

    chain: LineChain
    theta: np.ndarray
    law: np.ndarray
    residual: float

    def average(self, values: np.ndarray) -> float:
        """The average of f along the chain, from its values at the nodes. Shape (n,)."""
        return float(self.law @ values)

    def weighted_average(self, values: np.ndarray) -> float:
        """sum theta^zeta(J) f/sum theta^zeta(J) along the chain, J being the region by which the weights adapt."""
        counts = self.counts
        return float(self.law @ (counts * values) / (self.law @ counts))

    @property
    def counts(self) -> np.ndarray:
        """The weight of a draw at each node, averaged over minibatches. Shape (n,)."""
        zeta = self.chain.adaptation.zeta
        sizes = weighting.importance(self.theta, zeta=zeta)
        return np.asarray(sizes[self.chain.regions - 1].mean(0))

    def forgetting(self, values: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """sum_(i >= 0) (E f(x_i) - its limit) from x_0, given at one of the nodes: k times the error of an average over
        x_0, ..., x_(k-1), k large. Shapes (n,), (q,) of places -> (q,).
        """
        return self._solve(values - self.law @ values)[starts]

    def _solve(self, centred: np.ndarray) -> np.ndarray:
        """The solution of Poisson's equation."""
        return np.linalg.solve(self._system, centred)

    @cached_property
    def _system(self) -> np.ndarray:
        kernel = self.chain.kernel(self.theta)
        return np.eye(len(kernel)) - kernel + self.law[None, :]

    def spread(self) -> tuple[float, float]:
        """lim E|theta_k - theta|^2/omega_k, omega_k ~ k^-alpha with alpha < 1, and the largest real part of dh's eigenvalues.

        NaN for the first where theta is not stable.
        """
        free = slice(0, -1) if self.chain.adaptation.cumulative else slice(None)
        gradient = self._derivative()[free, free]
        noise = self._noise()[free, free]
        slowest = float(np.linalg.eigvals(gradient).real.max())
        if slowest >= 0:
            return float("nan"), slowest
        return float(np.trace(linalg.solve_continuous_lyapunov(gradient, -noise))), slowest

    def _derivative(self) -> np.ndarray:
        """d h_i/d theta(j), by central differences."""
        columns = []
        for j in range(len(self.theta)):
            size = _SHIFT * self.theta[j]
            up, down = (self._field_at(j, sign * size) for sign in (1, -1))
            columns.append((up - down) / (2 * size))
        return np.stack(columns, axis=1)

    def _field_at(self, place: int, shift: float) -> np.ndarray:
        moved = self.theta.copy()
        moved[place] += shift
        return field_of(self.chain, moved, self.chain.law(moved))

    def _noise(self) -> np.ndarray:
        """Cov H + sum_(t >= 1) (C_t + C_t^T). The weights' minibatch is fresh at every step: its noise is white."""
        chain = self.chain
        table = fields_of(chain, self.theta)
        told = table[chain.regions - 1]  # (minibatches, n, m)
        mean = told.mean(0)
        at_once = np.einsum("n,snk,snl->kl", self.law, told, told) / len(told)
        centred = mean - self.law @ mean
        solved = self._solve(centred)
        later = (self.law[:, None] * centred).T @ (solved - centred)
        overall = self.law @ mean
        return np.asarray(at_once - np.outer(overall, overall) + later + later.T)


def fields_of(chain: LineChain, theta: np.ndarray) -> np.ndarray:
    """H(theta, J) for J = 1, ..., m. Shape (m,) -> (m, m)."""
    bins, weights = len(theta), theta.tolist()
    return np.array([random_field(weights, j, chain.adaptation) for j in range(1, bins + 1)])


def field_of(chain: LineChain, theta: np.ndarray, law: np.ndarray) -> np.ndarray:
    """h(theta) under a law of the nodes. Shapes (m,), (n,) -> (m,)."""
    return np.asarray(chain.chances(law) @ fields_of(chain, theta))


def rest(chain: LineChain, start: Sequence[float] | np.ndarray, *, flow: bool = False) -> Rest:
    """The limit of the weights, sought from `start`; `flow`: as h -> 0. Raises `Unreached` where none is found."""
    cumulative = chain.adaptation.cumulative

    def whole(logs: np.ndarray) -> np.ndarray:
        return np.append(np.exp(logs), 1.0) if cumulative else np.exp(logs)

    def law(theta: np.ndarray) -> np.ndarray:
        return chain.law_of_flow(theta) if flow else chain.law(theta)

    def moving(logs: np.ndarray) -> np.ndarray:
        theta = whole(logs)
        # In a rarely visited region the field is small because theta is: the ratio of the two decides.
        found = field_of(chain, theta, law(theta)) / theta
        return found[:-1] if cumulative else found

    first = np.log(np.asarray(start, dtype=np.float64))
    solved = optimize.root(moving, first[:-1] if cumulative else first, tol=1e-12)
    theta = whole(solved.x)
    residual = float(np.abs(moving(solved.x)).max())
    if not residual < _RESIDUAL:
        raise Unreached(
            f"at h={chain.step:.6g} the weights were not brought to rest: their field is still {residual:.1e}"
        )
    found = law(theta)
    leaving = 0.0 if flow else float(found @ chain.rows_and_leaving(theta, chain.nodes)[1])
    if not leaving < _LEAVING:
        raise Unreached(
            f"h={chain.step:.6g}: with its weights at rest the chain leaves the grid with chance {leaving:.1e} a step; the "
            "multiplied gradient carries it off; expected a smaller step"
        )
    return Rest(chain, theta, found, residual)


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
        """log theta(1), or its logit, in which the multiplier is linear."""
        return np.asarray(np.log(t) - np.log(self._other(t)))

    def after(self, length: int) -> AfterSteps:
        """The averages over `length` steps, by f <- P_k (f + summand of step k), k = length, ..., 1."""
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
        """The average of the summand of step k and of the later values over the weights' energies. (6, n, p) -> (6, n, q)."""
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
        """The range of log theta(1), or its logit: its values if every step were in region 2, and if every one in region 1."""
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


_STEP = 1e-6
_SMALLEST = 1e-9
_DIGITS = 250
"""x^-zeta stays below 10^250, within float64."""
_POINTS = (2001, 1001)


@dataclass(frozen=True)
class TwoRegions:
    """The chain for masses (p_1, p_2), zeta, and the rule by which theta follows."""

    masses: tuple[float, float]
    zeta: float
    star: float
    rule: WeightRule = AWSGLD
    memory: float = 0.5

    def squared_errors(
        self, omega: Callable[[int], float], lengths: Sequence[int], start: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """E (x_k - x*)^2 at the lengths k from x_0 = start in region 1, and bounds of their errors. Shapes (n,), (n,).

        Two grids, extrapolated by the order 2 of linear interpolation; the bound is what the extrapolation changes.
        """
        fine, coarse = (
            np.array([self._carried_back(omega, length, start, points) for length in lengths])
            for points in _POINTS
        )
        change = (fine - coarse) / 3
        return fine + change, np.abs(change) + 1e-13

    def _carried_back(self, omega: Callable[[int], float], length: int, start: float, points: int) -> float:
        """E f(x_length) for f(x) = (x - x*)^2, by f <- P_k f for k = length, ..., 1 on a grid of [0, 1].

        Interpolation is linear, so that every step is an average: errors do not grow.
        """
        x = np.linspace(0.0, 1.0, points)
        first, second = self._chances_on(x)
        fields = [random_field((x, 1.0), region, self.rule)[0] for region in (1, 2)]
        values = [(x - self.star) ** 2] * 2
        for k in range(length, 0, -1):
            step = omega(k)
            moved = [
                np.interp(x + step * field, x, value) for field, value in zip(fields, values, strict=True)
            ]
            anew = (1 - self.memory) * (first * moved[0] + second * moved[1])
            values = [self.memory * value + anew for value in moved]
        return float(np.interp(start, x, values[0]))

    def _chances_on(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # At x = 0 the law is all in region 1, in the limit.
        inside = np.maximum(x, max(_SMALLEST, 10.0 ** (-_DIGITS / float(self.zeta))))
        first, second = region_chances((inside, np.ones_like(x)), self.masses, self.zeta)
        return first, second

    @property
    def decay(self) -> float:
        """-dh/dx at x*, by a central difference."""
        up, down = (
            mean_field((self.star + s, 1.0), self.masses, self.zeta, self.rule)[0] for s in (_STEP, -_STEP)
        )
        return float((down - up) / (2 * _STEP))

    @property
    def limit(self) -> float:
        """lim E (x_k - x*)^2/omega_k = S/(2 |h'|) for omega_k ~ k^-alpha, alpha < 1: the linearised equation (Lyapunov).

        S = Var H (1 + memory)/(1 - memory) sums the autocovariances of the field at theta*.
        """
        chances = np.array(region_chances((self.star, 1.0), self.masses, self.zeta))
        fields = np.array([random_field((self.star, 1.0), j, self.rule)[0] for j in (1, 2)])
        variance = chances @ fields**2 - (chances @ fields) ** 2
        return float(variance * (1 + self.memory) / (1 - self.memory) / (2 * self.decay))

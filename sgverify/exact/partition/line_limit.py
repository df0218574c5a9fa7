"""Where the weights of an adaptively weighted sampler come to rest at a step size and with noisy energies, and their spread there.

theta solves h(theta) = 0 for the mean field under the law that the chain itself has at that theta: no eps, no Var and no 1/m
is left out. About it E|theta_k - theta|^2/omega_k tends to the trace of the solution P of A P + P A^T + S = 0, where A is the
derivative of the mean field and S sums the autocovariances of the field along the chain, by its Poisson equation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg, optimize

from sgverify.errors import OutOfReachError
from sgverify.exact.partition.line_chain import LineChain
from sgverify.exact.partition.mean_field import random_field
from sgverify.schemes.composites import weighting

_SHIFT = 1e-5
_RESIDUAL = 1e-9
_LEAVING = 1e-9


@dataclass(frozen=True, eq=False)
class Rest:
    """theta at rest, shape (m,), the law of the chain there, shape (n,), and what is left of the mean field."""

    chain: LineChain
    theta: np.ndarray
    law: np.ndarray
    residual: float

    def average(self, values: np.ndarray) -> float:
        """The average of f along the chain, from its values at the nodes. Shape (n,)."""
        return float(self.law @ values)

    def weighted_average(self, values: np.ndarray) -> float:
        """sum theta^zeta(J) f/sum theta^zeta(J) along the chain, by the regions that the weights are told."""
        counts = self.counts
        return float(self.law @ (counts * values) / (self.law @ counts))

    @property
    def counts(self) -> np.ndarray:
        """What a draw at each node counts, on average over minibatches. Shape (n,)."""
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
        """Cov H + sum_(t >= 1) (C_t + C_t^T). The minibatch that the weights are told is drawn afresh: it is white."""
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
    """Where the weights rest, looked for from `start`; `flow`: as h -> 0. Raises `OutOfReachError` where none is found."""
    cumulative = chain.adaptation.cumulative

    def whole(logs: np.ndarray) -> np.ndarray:
        return np.append(np.exp(logs), 1.0) if cumulative else np.exp(logs)

    def law(theta: np.ndarray) -> np.ndarray:
        return chain.law_of_flow(theta) if flow else chain.law(theta)

    def moving(logs: np.ndarray) -> np.ndarray:
        theta = whole(logs)
        # Of a region that is hardly met the field is small because theta is: what counts is the ratio.
        found = field_of(chain, theta, law(theta)) / theta
        return found[:-1] if cumulative else found

    first = np.log(np.asarray(start, dtype=np.float64))
    solved = optimize.root(moving, first[:-1] if cumulative else first, tol=1e-12)
    theta = whole(solved.x)
    residual = float(np.abs(moving(solved.x)).max())
    if not residual < _RESIDUAL:
        raise OutOfReachError(
            f"at h={chain.step:.6g} the weights were not brought to rest: their field is still {residual:.1e}"
        )
    found = law(theta)
    leaving = 0.0 if flow else float(found @ chain.rows_and_leaving(theta, chain.nodes)[1])
    if not leaving < _LEAVING:
        raise OutOfReachError(
            f"h={chain.step:.6g}: with its weights at rest the chain leaves the grid with chance {leaving:.1e} a step; the "
            "multiplied gradient carries it off; expected a smaller step"
        )
    return Rest(chain, theta, found, residual)


__all__ = ["Rest", "field_of", "fields_of", "rest"]

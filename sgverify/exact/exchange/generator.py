"""Replica exchange Langevin diffusion on a grid: two replicas on a line, finite volumes, and swaps as jumps.

Replica h moves from cell i to i + 1 at the rate tau_h B((U_(i+1) - U_i)/tau_h)/(w_i d_(i+1/2)), B(z) = z/(e^z - 1), with w
the width of a cell and d the distance of two midpoints: reversible for w_i exp(-U_i/tau_h), since B(-z) = e^z B(z)
(Scharfetter and Gummel 1969). Both replicas share the cells, and (i, j) jumps to (j, i) at the rate r min(1, S(i, j)).
As the cells shrink the generator tends to

    L_S f = sum_h (-U' d_h f + tau_h d_h^2 f) + r min(1, S) (f(x2, x1) - f(x1, x2)),      Deng et al. 2021, above equation (2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

_FAR = 700.0
"""exp overflows beyond; B(z) is -z below -700 and 0 above 700, up to rounding."""

Energy = Callable[[np.ndarray], np.ndarray]
Chance = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(U1, U2) -> the chance of a swap."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of a line by their edges, shape (n + 1,); U is read at their middles."""

    edges: np.ndarray
    energy: Energy

    @cached_property
    def middles(self) -> np.ndarray:
        """Shape (n,)."""
        return (self.edges[1:] + self.edges[:-1]) / 2

    @cached_property
    def widths(self) -> np.ndarray:
        """Shape (n,)."""
        return np.diff(self.edges)

    @cached_property
    def heights(self) -> np.ndarray:
        """U at the midpoints, less its least value. Shape (n,)."""
        values = self.energy(self.middles)
        return np.asarray(values - values.min())

    def law(self, tau: float) -> np.ndarray:
        """The Gibbs law of one replica. Shape (n,)."""
        weights = self.widths * np.exp(-self.heights / tau)
        return np.asarray(weights / weights.sum())

    def motion(self, tau: float) -> scipy.sparse.csr_matrix:
        """The generator of one replica without swaps; rows sum to 0. Shape (n, n)."""
        gaps = np.diff(self.middles)
        rise = np.diff(self.heights) / tau
        up = tau * _bernoulli(rise) / (self.widths[:-1] * gaps)
        down = tau * _bernoulli(-rise) / (self.widths[1:] * gaps)
        leaving = np.append(up, 0.0) + np.append(0.0, down)
        return scipy.sparse.diags_array([up, -leaving, down], offsets=[1, 0, -1], format="csr")

    def displacement(self, tau: float, time: float) -> float:
        """E (x_t - x_0)^2 of one replica from its Gibbs law: 2 sum_k (1 - exp(-l_k t)) <x, e_k>^2 over eigenfunctions."""
        motion = self.motion(tau)
        beside = -np.sqrt(motion.diagonal(1) * motion.diagonal(-1))
        values, vectors = scipy.linalg.eigh_tridiagonal(-motion.diagonal(), beside)
        shares = (vectors.T @ (np.sqrt(self.law(tau)) * self.middles)) ** 2
        return float(-2 * np.expm1(-np.clip(values, 0, None) * time) @ shares)

    def gap(self, tau: float) -> float:
        """The spectral gap of one replica without swaps, in 1/time."""
        motion = self.motion(tau)
        beside = -np.sqrt(motion.diagonal(1) * motion.diagonal(-1))
        values = scipy.linalg.eigh_tridiagonal(
            -motion.diagonal(), beside, select="i", select_range=(0, 1), eigvals_only=True
        )
        return float(values[1])


@dataclass(frozen=True, eq=False)
class Replicas:
    """Two replicas on shared cells; the states are the pairs (i, j) in row-major order."""

    cells: Cells
    tau_1: float
    tau_2: float
    intensity: float
    chance: Chance

    @cached_property
    def law(self) -> np.ndarray:
        """The joint Gibbs law. Shape (n^2,)."""
        return np.outer(self.cells.law(self.tau_1), self.cells.law(self.tau_2)).ravel()

    @cached_property
    def generator(self) -> scipy.sparse.csr_matrix:
        """Q, with rows that sum to 0. Shape (n^2, n^2)."""
        n = len(self.cells.widths)
        one = scipy.sparse.eye_array(n)
        moves = scipy.sparse.kron(self.cells.motion(self.tau_1), one) + scipy.sparse.kron(
            one, self.cells.motion(self.tau_2)
        )
        rates = self.intensity * self.swaps.ravel()
        here = np.arange(n * n)
        swapped = here.reshape(n, n).T.ravel()
        jumps = scipy.sparse.csr_array((rates, (here, swapped)), shape=(n * n, n * n))
        return (moves + jumps - scipy.sparse.diags_array(rates)).tocsr()

    @cached_property
    def swaps(self) -> np.ndarray:
        """The chance of a swap from each pair. Shape (n, n)."""
        u = self.cells.heights
        return self.chance(u[:, None], u[None, :])

    @property
    def unbalanced(self) -> float:
        """The largest |pi(x) q(x, y) - pi(y) q(y, x)| over the largest flow: 0 up to rounding where pi is reversible."""
        flow = scipy.sparse.diags_array(self.law) @ self.generator
        apart = abs(flow - flow.T)
        return float(apart.max() / abs(flow - scipy.sparse.diags_array(flow.diagonal())).max())

    @cached_property
    def symmetric(self) -> scipy.sparse.csr_matrix:
        """-Q between square roots of the law: its entries off the diagonal are -sqrt(q_ij q_ji) where Q is reversible.

        This form needs no law, which would be lost in rounding far out.
        """
        flat = self.generator - scipy.sparse.diags_array(self.generator.diagonal())
        return (-flat.multiply(flat.T).sqrt() - scipy.sparse.diags_array(self.generator.diagonal())).tocsr()

    def gap(self) -> float:
        """The spectral gap: the least eigenvalue above 0, in 1/time."""
        shift = -1e-3 * float(self.symmetric.diagonal().min())
        start = np.cos(np.arange(len(self.law)))
        values = scipy.sparse.linalg.eigsh(
            self.symmetric.tocsc(), k=3, sigma=shift, which="LM", v0=start, return_eigenvectors=False
        )
        return float(np.sort(values)[1])

    def dirichlet(self, f: np.ndarray) -> tuple[float, float]:
        """(-<f, Q f>, the form of equation (2)): both in the joint law; they agree for a reversible generator."""
        pi, grid = self.law, f.reshape(len(self.cells.widths), -1)
        by_generator = -float(pi @ (f * (self.generator @ f)))
        law_1, law_2 = self.cells.law(self.tau_1), self.cells.law(self.tau_2)
        vanilla = 0.0
        for axis, (tau, along, other) in enumerate(((self.tau_1, law_1, law_2), (self.tau_2, law_2, law_1))):
            rates = self.cells.motion(tau).diagonal(1) * along[:-1]
            steps = np.diff(grid, axis=axis) ** 2
            vanilla += float((rates @ steps @ other) if axis == 0 else (other @ steps @ rates))
        acceleration = self.intensity / 2 * float(pi @ (self.swaps * (grid.T - grid) ** 2).ravel())
        return by_generator, vanilla + acceleration

    def transient(self, start: np.ndarray, times: np.ndarray) -> np.ndarray:
        """The law at each time from a law on the pairs, by all eigenvectors. Shape (times, n^2)."""
        root = np.sqrt(self.law)
        values, vectors = scipy.linalg.eigh(self.symmetric.toarray())
        weights = vectors.T @ np.divide(start, root, out=np.zeros_like(start), where=start > 0)
        decay = np.exp(-np.outer(times, np.clip(values, 0, None)))
        return np.asarray((decay * weights) @ vectors.T * root)


def wasserstein_of_marginals(cells: Cells, law: np.ndarray, truth: np.ndarray) -> float:
    """W2 of two laws on the cells, uniform within each: exact, by quantiles, which are linear between the levels."""
    heads = [np.append(0.0, np.cumsum(np.clip(p, 0, None))) for p in (law, truth)]
    heads = [head / head[-1] for head in heads]
    levels = np.unique(np.concatenate(heads))
    apart = _quantiles(cells, heads[0], levels) - _quantiles(cells, heads[1], levels)
    first, last = apart[:, 0], apart[:, 1]
    return float(np.sqrt(np.sum(np.diff(levels) * (first**2 + first * last + last**2)) / 3))


def _quantiles(cells: Cells, head: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """The quantiles at both ends of every interval of levels, from within it: they jump over empty cells. Shape (k, 2)."""
    middle = (levels[1:] + levels[:-1]) / 2
    place = np.clip(np.searchsorted(head, middle) - 1, 0, len(cells.widths) - 1)
    mass = head[place + 1] - head[place]
    ends = np.stack([levels[:-1], levels[1:]], axis=1) - head[place][:, None]
    return np.asarray(cells.edges[place][:, None] + cells.widths[place][:, None] * ends / mass[:, None])


def wasserstein_bounds(replicas: Replicas, law: np.ndarray) -> tuple[float, float]:
    """Bounds of the joint W2 to the Gibbs law: of the marginals below, sqrt(2 sum |x - c|^2 |nu - pi|) above.

    The upper one is Villani 2009, theorem 6.15, with c the mean of each replica under the Gibbs law.
    """
    cells, n = replicas.cells, len(replicas.cells.widths)
    grid, truth = law.reshape(n, n), replicas.law.reshape(n, n)
    lower = np.sqrt(
        sum(wasserstein_of_marginals(cells, grid.sum(axis), truth.sum(axis)) ** 2 for axis in (0, 1))
    )
    x = cells.middles
    first, second = (x - x @ truth.sum(axis) for axis in (1, 0))
    away = first[:, None] ** 2 + second[None, :] ** 2
    return float(lower), float(np.sqrt(2 * np.sum(away * np.abs(grid - truth))))


def graded_edges(cold: tuple[float, float], warm: tuple[float, float], count: int) -> np.ndarray:
    """Edges of cells over the warm interval, as many within the cold one as outside, for laws of two widths."""

    def filled(x: np.ndarray) -> np.ndarray:
        within = np.clip((x - cold[0]) / (cold[1] - cold[0]), 0, 1)
        return np.asarray(within + (x - warm[0]) / (warm[1] - warm[0]))

    fine = np.linspace(*warm, 64 * count + 1)
    return np.asarray(np.interp(np.linspace(0, 2, count + 1), filled(fine), fine))


def _bernoulli(z: np.ndarray) -> np.ndarray:
    """z/(e^z - 1), 1 at 0."""
    far = np.clip(z, -_FAR, _FAR)
    near = np.abs(far) < 1e-8
    safe = np.where(near, 1.0, far)
    return np.where(near, 1 - far / 2, np.where(z < -_FAR, -z, safe / np.expm1(safe)))

"""One step of an adaptively weighted sampler on the line at fixed weights: its kernel, its invariant law, and averages.

A step of a drift and one normal draw has a smooth density, so that its invariant law solves a linear system at Gauss's nodes.
The multiplier jumps where the energy crosses an edge: panels of nodes end at such places, so that the rule converges as for
smooth functions. Nothing is sampled, and no step size is assumed to be small.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from sgverify.errors import Unreached
from sgverify.exact.numbers.entrywise import EntrywiseVector
from sgverify.exact.numbers.jets import Jet, derivatives_of
from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.exact.transfer.line.operator import ON_ARRAYS, Mass
from sgverify.schemes import Scheme
from sgverify.schemes.composites import composite as weighting
from sgverify.schemes.composites.adaptation import Adaptation
from sgverify.schemes.definition.binding import FullGradientIngredient, bind
from sgverify.targets import Target

_LEVEL = 34.0
"""(U - min U)/tau at the ends of the grid, where the density is e^-34 = 2e-15 of its largest value."""
_ORDER = 8
_PANEL = 1.6
"""The widest panel as a share of the standard deviation of a step."""
MOST_NODES = 900
_LOOKS = 4001
_BISECTIONS = 60


@dataclass(frozen=True, eq=False)
class LineChain:
    """A scheme of one gradient and one normal draw on a target of the line, with the regions of an adaptation.

    `tilt` c makes the energy of a minibatch U(x) + c x or U(x) - c x, each with probability 1/2, as for one datum of two: its
    noise has the variance c^2 x^2 in the energy and c^2 in the gradient. The weights adapt by another minibatch.
    `finer` multiplies the number of panels. Raises `Unreached` for other schemes and targets.
    """

    scheme: Scheme
    target: Target
    adaptation: Adaptation
    step: float
    tilt: float = 0.0
    finer: float = 1.0

    def __post_init__(self) -> None:
        _refuse(self.scheme, self.target)

    @cached_property
    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights of the quadrature. Shapes (n,), (n,)."""
        low, high = self._ends_of_grid
        ends = np.array(sorted({low, high, *self._crossings(low, high)}))
        width = _PANEL * self.spread / self.finer
        count = sum(int(np.ceil((b - a) / width)) for a, b in itertools.pairwise(ends)) * _ORDER
        if count > MOST_NODES * self.finer:
            raise Unreached(
                f"h={self.step:.6g}: {count} nodes would be needed, above {MOST_NODES}; expected a larger step"
            )
        cuts = [
            np.linspace(a, b, int(np.ceil((b - a) / width)) + 1)[:-1] for a, b in itertools.pairwise(ends)
        ]
        edges = np.append(np.concatenate(cuts), high)
        x, w = np.polynomial.legendre.leggauss(_ORDER)
        half = np.diff(edges)[:, None] / 2
        nodes = edges[:-1, None] + half * (1 + x)
        return nodes.ravel(), (half * w).ravel()

    @property
    def nodes(self) -> np.ndarray:
        """The nodes of the quadrature. Shape (n,)."""
        return self.grid[0]

    @cached_property
    def spread(self) -> float:
        """The standard deviation of one step."""
        return float(self._moved(np.zeros(1), np.zeros(1))[1])

    @cached_property
    def regions(self) -> np.ndarray:
        """J at the nodes, by the energy of each minibatch. Shape (1 or 2, n)."""
        return np.stack([self._region(energy) for energy, _ in self._energies(self.nodes)])

    def shares(self, region: int) -> np.ndarray:
        """The probability that the weights adapt by `region`, at each node. Shape (n,)."""
        return np.asarray((self.regions == region).mean(0))

    def kernel(self, theta: Sequence[float] | np.ndarray) -> np.ndarray:
        """P(x_i, x_j) w_j under the weights theta; rows sum to 1. Shape (m,) -> (n, n)."""
        return self.rows(theta, self.nodes)

    def rows(self, theta: Sequence[float] | np.ndarray, x: np.ndarray) -> np.ndarray:
        """The kernel's rows from arbitrary states x. Shapes (m,), (k,) -> (k, n)."""
        return self.rows_and_leaving(theta, x)[0]

    def rows_and_leaving(
        self, theta: Sequence[float] | np.ndarray, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The rows, and the probability of leaving the grid; such mass is put at its ends. Shapes (k, n), (k,)."""
        weights, (nodes, sizes) = np.asarray(theta, dtype=np.float64), self.grid
        total = np.zeros((len(x), len(nodes)))
        energies = self._energies(x)
        for energy, gradient in energies:
            centre, spread = self._moved(x, gradient * self._multiplier(weights, energy))
            away = (nodes[None, :] - centre[:, None]) / spread
            one = np.exp(-(away**2) / 2) * (sizes / (spread * np.sqrt(2 * np.pi)))
            held = np.clip(1 - one.sum(1), 0, 1)
            one[np.arange(len(x)), np.where(centre > nodes.mean(), len(nodes) - 1, 0)] += held
            total += one / len(energies)
        sums = total.sum(1)
        return np.asarray(total / sums[:, None]), self._leaving(weights, x)

    def _leaving(self, weights: np.ndarray, x: np.ndarray) -> np.ndarray:
        low, high = self._ends_of_grid
        found = np.zeros(len(x))
        energies = self._energies(x)
        for energy, gradient in energies:
            centre, spread = self._moved(x, gradient * self._multiplier(weights, energy))
            found += (ndtr((low - centre) / spread) + ndtr((centre - high) / spread)) / len(energies)
        return found

    def law(self, theta: Sequence[float] | np.ndarray) -> np.ndarray:
        """The invariant probabilities of the nodes. Shape (m,) -> (n,)."""
        return invariant(self.kernel(theta))

    def law_of_flow(self, theta: Sequence[float] | np.ndarray) -> np.ndarray:
        """The invariant probabilities as h -> 0: exp(-U/tau)/Psi_theta(U)^zeta. Shape (m,) -> (n,)."""
        weights, a = np.asarray(theta, dtype=np.float64), self.adaptation
        (energy, _), *_ = LineChain._energies(self, self.nodes, 0.0)
        region = self._region(energy)
        here, below = self._ends(weights, region)
        edges = np.array(a.partition.edges)
        psi = weighting.log_psi(
            here,
            below,
            energy=np.minimum(energy, edges[-1]),
            lower=edges[region - 1],
            width=np.array(a.partition.widths)[region - 1],
        )
        logs = -energy / a.tau - a.zeta * psi
        shares = self.grid[1] * np.exp(logs - logs.max())
        return np.asarray(shares / shares.sum())

    def chances(self, law: np.ndarray) -> np.ndarray:
        """The probabilities of the regions by which the weights adapt. Shape (n,) -> (m,)."""
        bins = self.adaptation.partition.bins
        found: np.ndarray = np.mean([np.bincount(r - 1, law, minlength=bins) for r in self.regions], axis=0)
        return found

    def _energies(self, x: np.ndarray, tilt: float | None = None) -> list[tuple[np.ndarray, np.ndarray]]:
        """U and U' of each minibatch."""
        c = self.tilt if tilt is None else tilt
        energy, gradient = np.asarray(derivatives_of(self.target, x, 1), dtype=np.float64)
        return [(energy + s * x, gradient + s) for s in ((c, -c) if c else (0.0,))]

    def _region(self, energy: np.ndarray) -> np.ndarray:
        return np.asarray(weighting.region_of(energy, self.adaptation.partition.inner) + 0 * energy).astype(
            int
        )

    def _ends(self, weights: np.ndarray, region: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return weights[region - 1], weights[weighting.region_below(region) - 1]

    def _multiplier(self, weights: np.ndarray, energy: np.ndarray) -> np.ndarray:
        region, partition = self._region(energy), self.adaptation.partition
        widths = np.where(energy > partition.edges[-1], np.inf, np.array(partition.widths)[region - 1])
        return np.asarray(self.adaptation.multiplier(*self._ends(weights, region), widths))

    def _moved(self, x: np.ndarray, gradient: np.ndarray) -> tuple[np.ndarray, float]:
        """The mean of X_1 and its standard deviation, from the definition at the draws 0, 1 and 2."""
        at = [self._after(x, gradient, float(z)) for z in (0, 1, 2)]
        once, twice = at[1] - at[0], at[2] - at[1]
        if np.ptp(once) > 1e-12 * (1 + np.abs(at[0]).max()) or np.abs(twice - once).max() > 1e-12 * (
            1 + np.abs(at[0]).max()
        ):
            raise Unreached(f"a step of `{self.scheme.name}` is no drift plus one normal draw")
        return at[0], abs(float(once[0]))

    def _after(self, x: np.ndarray, gradient: np.ndarray, z: float) -> np.ndarray:
        start = np.asarray(x, dtype=EXTENDED)

        def at_start(place: EntrywiseVector) -> EntrywiseVector:
            if not np.array_equal(place.entries[0].c[0], start):
                raise Unreached("the step asks for the gradient elsewhere than where it starts")
            return EntrywiseVector([Jet(np.asarray(gradient, dtype=EXTENDED)[None])])

        known = FullGradientIngredient(at_start, hessian=_no_hessian, prior=_no_part, likelihood=_no_part)
        (moved,) = bind(self.scheme, ON_ARRAYS, {"T": self.adaptation.tau}, dim=1).step(
            (start,),
            h=self.step,
            grad=known,
            draw=lambda law: np.full(1, z),
        )
        return np.broadcast_to(moved, len(x)).astype(np.float64)

    def _crossings(self, low: float, high: float) -> list[float]:
        """The places where the energy of a minibatch equals an edge u_1, ..., u_m."""
        x = np.linspace(low, high, _LOOKS)
        found: list[float] = []
        for s in {self.tilt, -self.tilt}:
            for edge in self.adaptation.partition.edges[1:]:
                signs = self._height(x, s) > edge
                places = np.flatnonzero(signs[1:] != signs[:-1])
                a, b, above = x[places], x[places + 1], signs[places]
                for _ in range(_BISECTIONS if len(places) else 0):
                    middle = (a + b) / 2
                    same = (self._height(middle, s) > edge) == above
                    a, b = np.where(same, middle, a), np.where(same, b, middle)
                found += ((a + b) / 2).tolist()
        return found

    @cached_property
    def _ends_of_grid(self) -> tuple[float, float]:
        return self._mass.interval(_LEVEL)

    def _height(self, x: np.ndarray, tilt: float) -> np.ndarray:
        return np.asarray(self._line(x) + tilt * x)

    @cached_property
    def _line(self):  # type: ignore[no-untyped-def]
        return self.target.energy_of_coordinate(0)

    @cached_property
    def _mass(self) -> Mass:
        return Mass.of(lambda x: self._line(x) / self.adaptation.tau, *self.target.hint(0))


def _no_hessian(place: EntrywiseVector, vector: EntrywiseVector) -> EntrywiseVector:
    raise Unreached("the step asks for Hessian-vector products, and the weights bend the gradient alone")


def _no_part(place: EntrywiseVector) -> EntrywiseVector:
    raise Unreached("the step asks for prior and likelihood apart, and the weights bend the whole gradient")


def invariant(kernel: np.ndarray) -> np.ndarray:
    """a P = a, sum a = 1. Shape (n, n) -> (n,)."""
    n = len(kernel)
    return np.asarray(np.linalg.solve((np.eye(n) - kernel + 1.0).T, np.ones(n)))


def _refuse(scheme: Scheme, target: Target) -> None:
    if target.dim != 1:
        raise Unreached(f"the chain is one of the line, and the target has dim={target.dim}")
    if scheme.dynamics.state != ("theta",) or scheme.memory or scheme.dynamics.riemannian:
        raise Unreached(f"the state of `{scheme.name}` is no point of the line")
    if len(scheme.laws) != 1 or not scheme.laws[0].normal:
        raise Unreached(f"a step of `{scheme.name}` is no drift plus one normal draw")

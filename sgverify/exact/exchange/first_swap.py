"""W2 between replica exchange with noisy energies and the diffusion that it approximates, after one step: from both sides.

Two data -1 and 1 of unit variance and a flat prior: U(beta) = beta^2 up to a constant. Replicas start where energies agree, at
x and -x. After the step eta they swap with the chance r eta min(1, S~), and those of the diffusion with r eta min(1, S) (Deng et
al. 2021, (34) and (35)); energies are those of a minibatch of one datum with the control at the start, so that L~1 - L~2 has the
noise +-2 ((beta1 - x) - (beta2 + x)). Given beta1 - beta2 both log S and log S~ are normal: their chances are in closed form, and
one integral is left, a Gauss-Hermite sum.

On the line u = (beta1 - beta2)/sqrt 2 a swap is u -> -u, and mass that swaps in one law and not in the other is 2a away where
|u| >= a. For every coupling

    W2^2 >= (2a)^2 (P(u <= -a; diffusion) - P(u < a; algorithm)),    and    W2^2 <= r eta E |dS| 2 (beta1 - beta2)^2 + E |d beta|^2

for the coupling that shares noise and uniforms, with |dS| <= |log S~ - log S| <= gap (|noise| + gap variance/F).

The exact joint law of two replicas on a few discrete energies, with local moves and noisy swaps.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, arb_mat

from sgverify.exact.exchange.acceptance import GAP, TAUS, expected_minimum, normal_cdf, swap_chance
from sgverify.exact.numbers.ball import identity, number
from sgverify.schemes.composites.composite import inverse_gap, log_swap_rate

ENERGIES = (Fraction(0), Fraction(1), Fraction(5, 2))


def joint_law(variance: Any, *, F: Any) -> tuple[list[arb], list[arb]]:
    """The invariant law of (state 1, state 2) and the joint Gibbs law, in the order of the pairs of states.

    A step is a local Metropolis move of each replica at its own temperature, uniform among the other states, which keeps
    the Gibbs law; then a swap with the chance that normal noise of this variance in log S leaves.
    """
    size = len(ENERGIES)
    states = list(itertools.product(range(size), repeat=2))
    cold, warm = (_metropolis(ENERGIES, number(TAUS[name])) for name in ("tau_1", "tau_2"))
    chance = {(i, j): swap_chance(GAP * (ENERGIES[i] - ENERGIES[j]), variance, F=F) for i, j in states}
    count = len(states)
    local = arb_mat(count, count, [cold[a, c] * warm[b, d] for a, b in states for c, d in states])
    swap = arb_mat(count, count)
    for row, (i, j) in enumerate(states):
        swap[row, states.index((j, i))] += chance[i, j]
        swap[row, row] += 1 - chance[i, j]
    step = local * swap
    # pi (P - 1) = 0 with one equation replaced by sum pi = 1.
    system = step.transpose() - identity(count)
    for column in range(count):
        system[count - 1, column] = 1
    right = arb_mat(count, 1, [*[0] * (count - 1), 1])
    found = system.solve(right).entries()
    weights = [
        (-number(ENERGIES[i]) / number(TAUS["tau_1"]) - number(ENERGIES[j]) / number(TAUS["tau_2"])).exp()
        for i, j in states
    ]
    total = sum(weights, arb(0))
    return found, [weight / total for weight in weights]


def distance_from_gibbs(variance: Any, *, F: Any) -> arb:
    """The total variation distance of the two laws of `joint_law`."""
    found, gibbs = joint_law(variance, F=F)
    return sum((abs(a - b) for a, b in zip(found, gibbs, strict=True)), arb(0)) / 2


def _metropolis(energies: Sequence[Fraction], temperature: arb) -> arb_mat:
    size = len(energies)
    moves = arb_mat(size, size)
    for i in range(size):
        for j in range(size):
            if i != j:
                rise = number(energies[j] - energies[i])
                moves[i, j] = arb.min(arb(1), (-rise / temperature).exp()) / (size - 1)
        moves[i, i] = 1 - sum((moves[i, j] for j in range(size) if j != i), arb(0))
    return moves


CURVATURE = SIZE = 2
"""U'' = N for N = 2 data of unit variance under a flat prior; a minibatch of one datum differs by 1 from their mean."""

NODES = 80


@dataclass(frozen=True)
class FirstSwap:
    """One step of size `eta` from (x, -x) at two temperatures; F as in equation (6), r the intensity of swaps."""

    eta: float
    start: float = 2.0
    taus: tuple[float, float] = (1.0, 2.0)
    F: float = 2.0
    intensity: float = 1.0
    nodes: int = NODES

    @cached_property
    def missing(self) -> float:
        """E min(1, S) under the diffusion less E min(1, S~) under the algorithm."""
        return float(self._exact - self._noisy)

    @property
    def below(self) -> float:
        """A lower bound of W2."""
        swaps = self.intensity * self.eta * (float(self._exact) - float(self._noisy))
        left = swaps - 2 * self._tail
        return 2 * self._middle * left**0.5 if left > 0 else 0.0

    @property
    def above(self) -> float:
        """An upper bound of W2."""
        return float(np.sqrt(self.mass * 2 * self._largest_square + self._euler))

    @property
    def above_where_temperatures_swap(self) -> float:
        """An upper bound of W2 after a second step, where a swap exchanges temperatures and leaves the replicas in place."""
        cold, warm = np.sqrt(2 * self.eta * np.array(self.taus))
        return float(np.sqrt(2 * self.mass * 2 * (warm - cold) ** 2) + 2 * np.sqrt(self._euler))

    @property
    def mass(self) -> float:
        """r eta E |min(1, S~) - min(1, S)|, from above: the mass that swaps in one law alone."""
        gap = abs(inverse_gap(*self.taus))
        move = 2 * self.eta * sum(self.taus) + (2 * CURVATURE * self.eta * self.start) ** 2
        # By Cauchy-Schwarz, the fourth moment of a normal variable being three squares of its second at most.
        noise = SIZE * np.sqrt(move) + 2 * gap * SIZE**2 * move / self.F
        # |log S| of the two positions, Euler's and the diffusion's; its sixth moments cost at most sqrt(15).
        apart = 4 * gap * CURVATURE * np.sqrt(self._largest_square * self._euler)
        return float(self.intensity * self.eta * (gap * noise + apart))

    def _chance(self, shrunk: float, width: float, noisy: bool) -> arb:
        """E min(1, S) where the replicas' means are shrunk by a factor, and their variances are tau times `width`."""
        cold, warm = self.taus
        z, weights = np.polynomial.hermite_e.hermegauss(self.nodes)
        total, whole = cold + warm, width * (cold + warm)
        tied, left = (cold - warm) / total, width * 4 * cold * warm / total
        found = arb(0)
        for node, weight in zip(z, weights / weights.sum(), strict=True):
            moved = np.sqrt(whole) * node
            apart = 2 * self.start * shrunk + moved
            strayed = SIZE * (apart - 2 * self.start)
            energy = CURVATURE * tied * moved * apart / 2
            slope = inverse_gap(cold, warm) * CURVATURE * apart / 2
            for sign in (-1.0, 1.0) if noisy else (0.0,):
                mean = log_swap_rate(
                    energy + sign * strayed,
                    0.0,
                    tau_1=cold,
                    tau_2=warm,
                    variance=strayed**2 if noisy else 0.0,
                    F=self.F,
                )
                share = arb(float(weight)) / (2 if noisy else 1)
                found += share * expected_minimum(arb(float(mean)), arb(float(slope**2 * left)))
        return found

    @cached_property
    def _exact(self) -> arb:
        rate = CURVATURE * self.eta
        return self._chance(float(np.exp(-rate)), float(-np.expm1(-2 * rate) / CURVATURE), noisy=False)

    @cached_property
    def _noisy(self) -> arb:
        return self._chance(1 - CURVATURE * self.eta, 2 * self.eta, noisy=True)

    @property
    def _middle(self) -> float:
        """a: half of the start's u."""
        return self.start / np.sqrt(2)

    @property
    def _tail(self) -> float:
        """P(u < a) of a replica pair that has not swapped, the larger of the two laws'."""
        centre = np.sqrt(2) * self.start * (1 - CURVATURE * self.eta)
        deviation = np.sqrt(self.eta * sum(self.taus))
        return float(normal_cdf(arb(float((self._middle - centre) / deviation))))

    @property
    def _largest_square(self) -> float:
        """sqrt E (beta1 - beta2)^4 from above: of N(a, v) it is a^4 + 6 a^2 v + 3 v^2, at most (2 (a^2 + v))^2."""
        return float(2 * ((2 * self.start) ** 2 + 2 * self.eta * sum(self.taus)))

    @property
    def _euler(self) -> float:
        """E |Euler - diffusion|^2 on one Brownian path, from above: (rate^2 eta^2 x/2)^2 and rate^2 eta^3/3 2 tau."""
        drift = 2 * (CURVATURE**2 * self.eta**2 * self.start / 2) ** 2
        return drift + CURVATURE**2 * self.eta**3 / 3 * 2 * sum(self.taus)

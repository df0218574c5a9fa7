"""The exact joint law of two replicas on a few discrete energies, with local moves and noisy swaps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flint import arb, arb_mat

from sgverify.exact.ball import number
from sgverify.exact.exchange.acceptance import GAP, TAUS, Rule, swap_chance

ENERGIES = (Fraction(0), Fraction(1), Fraction(5, 2))


def joint_law(
    variance: Any, *, F: Any, energies: Sequence[Fraction] = ENERGIES, rule: Rule | None = None
) -> tuple[list[arb], list[arb]]:
    """The invariant law of (state 1, state 2) and the joint Gibbs law, in the order of the pairs of states.

    A step is a local Metropolis move of each replica at its own temperature, uniform among the other states, which keeps
    the Gibbs law; then a swap with the chance that normal noise of this variance in log S leaves.
    """
    size = len(energies)
    states = list(itertools.product(range(size), repeat=2))
    cold, warm = (_metropolis(energies, number(TAUS[name])) for name in ("tau_1", "tau_2"))
    chance = {
        (i, j): swap_chance(GAP * (energies[i] - energies[j]), variance, F=F, rule=rule) for i, j in states
    }
    count = len(states)
    local = arb_mat(count, count, [cold[a, c] * warm[b, d] for a, b in states for c, d in states])
    swap = arb_mat(count, count)
    for row, (i, j) in enumerate(states):
        swap[row, states.index((j, i))] += chance[i, j]
        swap[row, row] += 1 - chance[i, j]
    step = local * swap
    # pi (P - 1) = 0 with one equation replaced by sum pi = 1.
    system = step.transpose() - arb_mat(
        count, count, [int(i == j) for i in range(count) for j in range(count)]
    )
    for column in range(count):
        system[count - 1, column] = 1
    right = arb_mat(count, 1, [*[0] * (count - 1), 1])
    found = system.solve(right).entries()
    weights = [
        (-number(energies[i]) / number(TAUS["tau_1"]) - number(energies[j]) / number(TAUS["tau_2"])).exp()
        for i, j in states
    ]
    total = sum(weights, arb(0))
    return found, [weight / total for weight in weights]


def distance_from_gibbs(
    variance: Any, *, F: Any, energies: Sequence[Fraction] = ENERGIES, rule: Rule | None = None
) -> arb:
    """The total variation distance of the two laws of `joint_law`."""
    found, gibbs = joint_law(variance, F=F, energies=energies, rule=rule)
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

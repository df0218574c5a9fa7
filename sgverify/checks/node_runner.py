"""Moments of the increment of torch code at the nodes of a quadrature for its draws, with what rounding may be off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from sgverify.checks.draw_nodes import UNIT, StepAtNodes
from sgverify.checks.draw_rules import DrawRules, QuadratureRule
from sgverify.exact.series.probe import PolynomialPotential
from sgverify.samplers.intercepted import BlackBox
from sgverify.schemes.torch_step import TorchStep

BLOCK = 2_000
"""Nodes of which moments are formed at a time."""


class NodeRunner:
    """Runs the step from one state of a polynomial potential at nodes.

    `first` is the largest step size, `look` the one at which it is looked at how the step uses its draws.
    """

    def __init__(
        self,
        step: TorchStep,
        potential: PolynomialPotential,
        state: dict[tuple[str, int], Fraction],
        dim: int,
        *,
        parameters: Mapping[str, Fraction],
        first: float,
        look: float,
    ) -> None:
        powers, numbers = potential.gradient_terms()
        exponents = torch.tensor(powers, dtype=torch.float64)
        factors = torch.tensor(numbers, dtype=torch.float64)

        def gradient(theta: Tensor, minibatch: int) -> Tensor:
            return (theta.to(torch.float64)[..., None, :] ** exponents).prod(-1) @ factors

        given = {name: float(parameters[name]) for name in step.parameters}
        self.x = np.array([float(value) for value in state.values()])
        self._look = look
        self._step = StepAtNodes(BlackBox(step, gradient, dim, given), self.x, first)
        # A gradient takes a power, a product and a sum for each of its terms.
        self._roundings = self._step.operations + 4 * len(powers)
        self.draws = self._step.draws
        self.reach = self._step.reach

    def rules(self, degree: int) -> DrawRules:
        """How the step uses its draws, at a step size so small that all that enters with sqrt(h) is nearly linear."""
        return DrawRules(
            lambda nodes: self._step.after(nodes, self._look),
            self._step.laws(self._look),
            noise=self._off(self.x[None]),
            degree=degree,
            most=self._step.most,
            thorough=self._step.together,
        )

    def pair(self, rules: DrawRules, degree: int, h: float) -> tuple[QuadratureRule, QuadratureRule]:
        """The two rules at a step size: the chances of outcomes may depend on it."""
        return rules.pair(degree, self._step.laws(h))

    def moments(
        self, rule: QuadratureRule, h: float, indices: Sequence[tuple[int, ...]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """E (X_1 - x)^a for every a, and what rounding may be off.

        Every operation of a step rounds once, relative to numbers no larger than the state before and after: that adds up to
        a step that is off by (operations) u (largest of the states, 1), and a moment by its derivative times that.
        """
        after = self._step.after(rule.nodes, h)
        self.reach = max(self.reach, float(np.abs(after).max()))
        off = self._off(after)
        exponents = np.array(indices)
        value, error = np.zeros(len(indices)), np.zeros(len(indices))
        # Sums go pairwise over blocks of 128, eight at a time.
        summing = min(len(after), 32 + len(after) // BLOCK)
        for first in range(0, len(after), BLOCK):
            delta = after[first : first + BLOCK] - self.x
            weights = rule.weights[first : first + BLOCK]
            sizes = np.abs(delta) + off
            large = _monomials(sizes, exponents)
            relative = (off / sizes) @ exponents.T + (exponents.sum(1) + 2) * UNIT
            value += (weights * _monomials(delta, exponents).T).sum(axis=1)
            error += np.abs(weights) @ (large * (relative + summing * UNIT))
        return value, error

    def _off(self, after: np.ndarray) -> float:
        size = max(1.0, float(np.abs(after).max()), float(np.abs(self.x).max()))
        return self._roundings * self._step.unit * size


def _monomials(values: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Products of powers of the columns. Shapes (n, q), (k, q) -> (n, k)."""
    found = np.ones((len(values), len(exponents)))
    for j in range(values.shape[1]):
        powers = values[:, j, None] ** np.arange(exponents[:, j].max(initial=0) + 1)
        found *= powers[:, exponents[:, j]]
    return found


__all__ = ["UNIT", "NodeRunner"]

"""How is torch code run from one state at many draws, and what are the moments of its increment?

The moments are sums over the nodes of a quadrature for the draws, each with a bound of its rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import SgverifyError, Unreached
from sgverify.exact.series.probe import PolynomialPotential, generic_potential
from sgverify.law.draw_rules import DrawRules, QuadratureRule
from sgverify.rates.powers import powers_of_h
from sgverify.samplers.intercepted import BlackBox
from sgverify.samplers.intercepted.dtypes import DtypeAudit, default_dtype
from sgverify.samplers.intercepted.interception import DEPENDENT
from sgverify.samplers.intercepted.replacing import DrawLaw
from sgverify.schemes.memory import shape_at
from sgverify.schemes.torch_step import TorchStep

UNIT, NARROW_UNIT = 2.0**-53, 2.0**-24

COMPARED, AGAIN = 16, 4
"""The number of draws at which a step is compared with itself in one tensor, at first and at each further step size."""

FEW, MANY = 4_000, 40_000
"""The most draws at one step size: for a step that is run once per draw, and for one that takes all draws at once."""


class StepAtNodes:
    """X_1 from one state x at given draws, which are all made of normal numbers.

    Code for one chain is run once per draw, unless one of `many_at_once` gives equal results for all draws in one tensor. Raises
    `Unreached` if the step is still random with its draws given, or if a chain in a batch gives another result than alone.
    """

    def __init__(self, box: BlackBox, x: np.ndarray, h: float, *, compared: int = COMPARED) -> None:
        """`compared` is the number of draws, small and large, at which one chain is run alone and in one tensor with others."""
        self.box, self.x = box, x
        self.reach = float(np.abs(x).max(initial=0.0))
        self._laws: dict[float, tuple[DrawLaw, ...]] = {}
        self._way: TorchStep | None = box.step if box.step.chains else None
        self.draws = len(self.laws(h))
        audit = DtypeAudit(())
        # Not zeros: a step may divide by a function of its draws, and 0/0 would follow.
        some = torch.tensor(np.random.default_rng(1).standard_normal((1, self.draws)))
        some = some if box.step.chains else some[0]
        with default_dtype(torch.float64):
            once, _ = box.run(self._state(1), some, h, witness=audit)
            again, _ = box.run(self._state(1), some, h)
        if any(not torch.equal(a, b) for a, b in zip(once, again, strict=True)):
            raise Unreached(
                "the step is random although every torch draw was put in, or it keeps something from call to call"
            )
        self.operations = audit.operations
        self.unit = NARROW_UNIT if audit.found else UNIT
        if self.draws:
            sizes = np.linspace(0.5, 4.0, compared)[:, None]
            tried = sizes * np.random.default_rng(0).standard_normal((compared, self.draws))
            self._way = self._agreeing(torch.tensor(tried), h)
            if box.step.chains and not self.together:
                raise Unreached(
                    "what a chain does depends on the others in its batch: see the check pure-step"
                )

    @property
    def together(self) -> bool:
        """Do all draws go through the code in one tensor?"""
        return self._way is not None

    def laws(self, h: float) -> tuple[DrawLaw, ...]:
        """The law of each draw at step size h; the probabilities of outcomes may depend on h."""
        if h not in self._laws:
            with default_dtype(torch.float64):
                self._laws[h] = self.box.laws(self._state(1), h)
        return self._laws[h]

    @property
    def most(self) -> int:
        """The most draws at which the step is evaluated at one step size."""
        return MANY if self.together else FEW

    def after(self, nodes: np.ndarray, h: float) -> np.ndarray:
        """X_1 at every node; nodes of shape (n, draws) give shape (n, coordinates)."""
        draws = torch.tensor(nodes, dtype=torch.float64)
        moved = self._each(draws, h) if self._way is None else self._all(draws, h, self._way)
        if not np.isfinite(moved).all():
            raise Unreached(f"a step of size {h:g} from a state of size {self.reach:.2g} is not finite")
        return moved

    def _agreeing(self, draws: Tensor, h: float) -> TorchStep | None:
        alone = self._each(draws, h)
        for way in many_at_once(self.box.step, self.box.dim):
            try:
                if np.allclose(self._all(draws, h, way), alone, rtol=1e-14, atol=1e-15):
                    return way
            except SgverifyError:
                pass
        return None

    def _all(self, draws: Tensor, h: float, way: TorchStep) -> np.ndarray:
        box = replace(self.box, step=way)
        with default_dtype(torch.float64):
            moved, handed = box.take(self._state(len(draws), True), draws, h)
        box.check_rows(handed.asked, len(draws))
        self._compare(handed.laws, h)
        rows = [value.to(torch.float64).reshape(len(draws), -1) for value in moved]
        return np.asarray(torch.cat(rows, dim=-1).numpy())

    def _each(self, draws: Tensor, h: float) -> np.ndarray:
        rows = []
        with default_dtype(torch.float64):
            for row in draws[:, None] if self.box.step.chains else draws:
                moved, handed = self.box.take(self._state(1), row, h)
                self._compare(handed.laws, h)
                rows.append(torch.cat([value.to(torch.float64).reshape(-1) for value in moved]))
        return np.asarray(torch.stack(rows).numpy())

    def _compare(self, laws: Sequence[DrawLaw], h: float) -> None:
        due = self.laws(h)
        if DEPENDENT in laws or any(a != b for a, b in zip(laws, due, strict=True)):
            raise Unreached(
                "the chances of a draw, or its law, depend on the draws before it: no quadrature here stands for that"
            )

    def _state(self, chains: int, together: bool = False) -> tuple[Tensor, ...]:
        x, many = torch.tensor(self.x, dtype=torch.float64), self.box.step.chains or together
        return self.box.step.tensors(x.repeat(chains, 1) if many else x, self.box.dim, chains=many)


def many_at_once(step: TorchStep, dim: int) -> list[TorchStep]:
    """The ways in which a step may take many chains in one tensor: as it is and, if it takes one chain, by torch's vmap."""
    as_it_is = replace(step, chains=True)
    return [as_it_is] if step.chains else [as_it_is, replace(as_it_is, function=_mapped(step, dim))]


def _mapped(step: TorchStep, dim: int) -> Callable[..., Any]:
    """The function of one chain, vectorised over chains by torch's vmap."""

    @wraps(step.function)
    def many(*state: Tensor, **given: Any) -> tuple[Tensor, ...]:
        def one(*parts: Tensor) -> tuple[Tensor, ...]:
            shapes = step.shapes.values()
            alone = (part.reshape(shape_at(shape, dim)) for part, shape in zip(parts, shapes, strict=True))
            value = step.function(*alone, **given)
            value = value if isinstance(value, (tuple, list)) else (value,)
            return tuple(new.reshape(old.shape) for new, old in zip(value, parts, strict=True))

        found: tuple[Tensor, ...] = torch.func.vmap(one, randomness="different")(*state)
        return found

    return many


LOOK = 2.0**-17
"""The step size at which the step's dependence on its draws is examined: sqrt(2 T h) is 0.003, rounding 1e-11 of it."""

DEGREE = 5
"""The degree of the rules for the increments' moments: second moments to order h^2 contain products of four draws."""

BLOCK = 2_000
"""The number of nodes whose contributions to the moments are formed at a time."""


class NodeRunner:
    """Runs the step at the nodes of a quadrature, from one state of a polynomial potential.

    `first` is the largest step size; at the step size `LOOK` the step's dependence on its draws is examined.
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
        compared: int = COMPARED,
    ) -> None:
        powers, numbers = potential.gradient_terms()
        exponents = torch.tensor(powers, dtype=torch.float64)
        factors = torch.tensor(numbers, dtype=torch.float64)

        def gradient(theta: Tensor, minibatch: int) -> Tensor:
            return (theta.to(torch.float64)[..., None, :] ** exponents).prod(-1) @ factors

        given = {name: float(parameters[name]) for name in step.parameters}
        self.x = np.array([float(value) for value in state.values()])
        self._known: dict[tuple[int, float], DrawRules] = {}
        self._step = StepAtNodes(BlackBox(step, gradient, dim, given), self.x, first, compared=compared)
        # A gradient has a power, a product and a sum for each of its terms.
        self._roundings = self._step.operations + 4 * len(powers)
        self.draws = self._step.draws
        self.reach = self._step.reach

    def rules(self, degree: int) -> DrawRules:
        """The rules for the step's draws, from a step size so small that every draw entering with sqrt(h) is nearly linear."""
        return self._rules(degree, LOOK)

    def pair(self, rules: DrawRules, degree: int, h: float) -> tuple[QuadratureRule, QuadratureRule]:
        """The two rules at step size h, on which the probabilities of outcomes and the places of jumps may depend.

        A uniform number that is compared with a probability in h jumps elsewhere at each step size, so that panels are cut anew.
        """
        if rules.irregular:
            rules = self._rules(degree, h)
        return rules.pair(degree, self._step.laws(h))

    def _rules(self, degree: int, h: float) -> DrawRules:
        if (degree, h) not in self._known:
            self._known[degree, h] = DrawRules(
                lambda nodes: self._step.after(nodes, h),
                self._step.laws(h),
                noise=self._off(self.x[None]),
                degrees=(degree,),
                most=self._step.most,
                thorough=self._step.together,
                cut=None if h == LOOK else self._rules(degree, LOOK).cut,
            )
        return self._known[degree, h]

    def moments(
        self, rule: QuadratureRule, h: float, indices: Sequence[tuple[int, ...]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """E (X_1 - x)^a for every multi-index a in `indices`, and bounds of the rounding errors.

        Every operation of a step rounds once, relative to numbers no larger than the state before and after the step. The step
        is therefore off by at most (operations) u max(|states|, 1), and a moment by its derivative times this.
        """
        after = self._step.after(rule.nodes, h)
        self.reach = max(self.reach, float(np.abs(after).max()))
        off = self._off(after)
        exponents = np.array(indices)
        value, error = np.zeros(len(indices)), np.zeros(len(indices))
        # numpy adds pairwise over blocks of 128 entries, eight at a time.
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


def increments(
    step: TorchStep,
    state: dict[tuple[str, int], Fraction],
    dim: int,
    parameters: Mapping[str, Fraction],
    steps: Sequence[float],
    rules: Sequence[int] = (0,),
) -> list[tuple[np.ndarray, np.ndarray]]:
    """E D, shape (steps, n), and Cov D, shape (steps, n, n), of D = X_1 - x at a state of the generic potential.

    By each of some `rules`: the first quadrature rule for the draws is 0, and the second 1.
    """
    n = len(state)
    pairs = list(combinations_with_replacement(range(n), 2))
    units = np.eye(n, dtype=int)
    indices = [tuple(row) for row in [*units, *(units[i] + units[j] for i, j in pairs)]]
    runner = NodeRunner(
        step,
        generic_potential(dim),
        state,
        dim,
        parameters=parameters,
        first=steps[0],
        compared=AGAIN,
    )
    known = [runner.pair(runner.rules(DEGREE), DEGREE, h) for h in steps]
    found = []
    for rule in rules:
        values = np.array(
            [runner.moments(two[rule], h, indices)[0] for two, h in zip(known, steps, strict=True)]
        )
        mean, square = values[:, :n], np.zeros((len(steps), n, n))
        for (i, j), column in zip(pairs, values[:, n:].T, strict=True):
            square[:, i, j] = square[:, j, i] = column - mean[:, i] * mean[:, j]
        found.append((mean, square))
    return found


def first_power(steps: Sequence[float], values: np.ndarray) -> np.ndarray:
    """The coefficient of h in values at falling step sizes, shape (steps, ...)."""
    return powers_of_h(np.array(steps), values, np.zeros_like(values)).coefficients[1]


def _monomials(values: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Products of powers of the columns: values (n, q) and exponents (k, q) give shape (n, k)."""
    found = np.ones((len(values), len(exponents)))
    for j in range(values.shape[1]):
        powers = values[:, j, None] ** np.arange(exponents[:, j].max(initial=0) + 1)
        found *= powers[:, exponents[:, j]]
    return found


__all__ = ["LOOK", "UNIT", "NodeRunner", "StepAtNodes", "first_power", "increments", "many_at_once"]

"""How is torch code run from one state at many draws, and what are the moments of its increment?

The moments are sums over the nodes of a quadrature for the draws, each with a bound of its rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
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
from sgverify.samplers.intercepted.black_box import BlackBox, NotFiniteError
from sgverify.samplers.intercepted.dtypes import DtypeAudit, default_dtype
from sgverify.samplers.intercepted.interception import DEPENDENT
from sgverify.samplers.intercepted.replacing import DrawLaw
from sgverify.schemes.memory import shape_at
from sgverify.schemes.torch_step import TorchStep

UNIT, NARROW_UNIT = 2.0**-53, 2.0**-24

FEW_NODES, MANY_NODES = 4_000, 40_000
"""The most draws at one step size: for a step that is run once per draw, and for one that takes all draws at once."""

FEW = 3
"""The number of rows that are always run one by one."""

TRIED = 8
"""The number of rows by which it is told whether rows go through the code together."""

ALIKE = 1e-12
"""The relative tolerance between a row in a batch and the same row alone: a batch may sum in another order."""


UNREPEATED = (
    "the step is random although every torch draw was put in, or it keeps something from call to call"
)
"""Of a step that gives another result with the same state and draws."""


class MemoryRangeError(Unreached):
    """Raised if a step has no finite value at a memory that was tried; a second moment, for one, is never below 0."""


class StepRuns:
    """A step as a function of rows of states and of draws, which are all made of normal numbers, in the code's own units.

    Three ways are tried in turn: all rows in one tensor with the chains first; for code that takes one chain, torch's vmap; one
    row at a time. A way is abandoned as soon as some row, run alone as well, gives another result. Raises `Unreached` if the step
    is still random with its draws given.
    """

    def __init__(self, box: BlackBox, x: np.ndarray, h: float, units: np.ndarray | float = 1.0) -> None:
        """The code is looked at from the state x; `units` of the coordinates tell which rows are the farthest."""
        self.box, self.x, self._units = box, x, units
        self._ways = [replace(box, step=way) for way in many_at_once(box.step, box.dim)]
        self._compared: BlackBox | None = None
        self._draws: dict[float, int] = {}
        # Not zeros: a step may divide by a function of its draws, and 0/0 would follow.
        audit, some = DtypeAudit(()), np.random.default_rng(1).standard_normal((1, self.draws(h)))
        with default_dtype(torch.float64):
            once, again = (self._taken(x[None], some, h, witness=seen) for seen in (audit, None))
        if not np.array_equal(once, again):
            raise Unreached(UNREPEATED)
        self.operations, self.narrow = audit.operations, bool(audit.found)
        if some.size:
            sizes = np.linspace(0.5, 4.0, TRIED)[:, None]
            draws = sizes * np.random.default_rng(0).standard_normal((TRIED, some.size))
            with suppress(SgverifyError):
                self.moved(np.repeat(x[None], TRIED, axis=0), draws, h)

    @property
    def together(self) -> bool:
        """Do rows go through the code together, so that many rows cost little?"""
        return bool(self._ways)

    @property
    def unit(self) -> float:
        """The rounding of one operation, relative to its result."""
        return NARROW_UNIT if self.narrow else UNIT

    def draws(self, h: float) -> int:
        """The number of normal draws in a step of size h."""
        if h not in self._draws:
            with default_dtype(torch.float64):
                self._draws[h] = self.box.census(self._state(self.x[None]), h)
        return self._draws[h]

    def moved(self, states: np.ndarray, draws: np.ndarray, h: float) -> np.ndarray:
        """The states after one step of size h; shapes (n, coordinates) and (n, draws) -> (n, coordinates)."""
        with default_dtype(torch.float64):
            while self._ways and len(states) > FEW:
                found = self._all(self._ways[0], states, draws, h)
                if found is not None:
                    return found
                self._ways.pop(0)
            rows = [self._taken(states[k : k + 1], draws[k : k + 1], h) for k in range(len(states))]
        return np.vstack(rows)

    def _all(self, box: BlackBox, states: np.ndarray, draws: np.ndarray, h: float) -> np.ndarray | None:
        """The states after one step of all rows in one batch; None if single rows give another result."""
        try:
            after = self._taken(states, draws, h, box)
        except (NotFiniteError, MemoryRangeError):
            raise
        except SgverifyError:
            return None
        # What depends on all rows, or on any, shows where a row has the largest state and draws, or the smallest, which is looked
        # at once.
        away = np.abs((states - self.x) / self._units).sum(axis=1) + np.abs(draws).sum(axis=1)
        ends = [np.argmax(away)] if self._compared is box else [np.argmin(away), np.argmax(away)]
        for k in dict.fromkeys(map(int, ends)):
            (single,) = self._taken(states[k : k + 1], draws[k : k + 1], h)
            size = max(float(np.abs(states[k]).max()), float(np.abs(single).max()), 1e-300)
            if not np.abs(after[k] - single).max() <= ALIKE * size:
                return None
        self._compared = box
        return after

    def _taken(
        self, states: np.ndarray, draws: np.ndarray, h: float, box: BlackBox | None = None, **more: Any
    ) -> np.ndarray:
        """The rows after one step by a box of many chains, or one row by the code itself."""
        chains, box = box is not None or self.box.step.chains, box or self.box
        z = torch.tensor(draws if chains else draws[0], dtype=torch.float64)
        try:
            after, handed = box.take(self._state(states, box), z, h, **more)
        except NotFiniteError as error:
            if not box.step.memory:
                raise
            raise MemoryRangeError(
                f"not finite at values of the memory that were tried; {error}, or a memory that is brought into its range "
                f"before it is used, as by `{box.step.memory[0].name}.clamp(min=0)` under a root"
            ) from error
        if chains:
            box.check_rows(handed.asked, len(states))
        self._check(handed.laws, h)
        flat = [value.to(torch.float64).reshape(len(states), -1) for value in after]
        return np.asarray(torch.cat(flat, dim=-1).numpy())

    def _check(self, laws: Sequence[DrawLaw], h: float) -> None:
        """Raise `Unreached` for laws of draws that a reading cannot have."""

    def _state(self, rows: np.ndarray, box: BlackBox | None = None) -> tuple[Tensor, ...]:
        step, x = (box or self.box).step, torch.tensor(rows, dtype=torch.float64)
        return step.tensors(x if step.chains else x[0], self.box.dim)


class StepAtNodes(StepRuns):
    """X_1 from one state x at given draws. Raises `Unreached` if a chain in a batch gives another result than alone."""

    def __init__(self, box: BlackBox, x: np.ndarray, h: float) -> None:
        self._laws: dict[float, tuple[DrawLaw, ...]] = {}
        super().__init__(box, x, h)
        self.reach = float(np.abs(x).max(initial=0.0))
        if box.step.chains and not self.together:
            raise Unreached("what a chain does depends on the others in its batch: see the check pure-step")

    def laws(self, h: float) -> tuple[DrawLaw, ...]:
        """The law of each draw at step size h; the probabilities of outcomes may depend on h."""
        if h not in self._laws:
            with default_dtype(torch.float64):
                self._laws[h] = self.box.laws(self._state(self.x[None]), h)
        return self._laws[h]

    @property
    def most(self) -> int:
        """The most draws at which the step is evaluated at one step size."""
        return MANY_NODES if self.together else FEW_NODES

    def after(self, nodes: np.ndarray, h: float) -> np.ndarray:
        """X_1 at every node; nodes of shape (n, draws) give shape (n, coordinates)."""
        return self.moved(np.repeat(self.x[None], len(nodes), axis=0), nodes, h)

    def _check(self, laws: Sequence[DrawLaw], h: float) -> None:
        if DEPENDENT in laws or any(a != b for a, b in zip(laws, self.laws(h), strict=True)):
            raise Unreached(
                "the chances of a draw, or its law, depend on the draws before it: no quadrature here stands for that"
            )


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
    ) -> None:
        gradient_terms, terms = potential.gradient_terms(), potential.terms.items()
        slope = _polynomial(*gradient_terms)
        value = _polynomial([powers for powers, _ in terms], [[float(factor)] for _, factor in terms])

        def gradient(theta: Tensor, minibatch: int) -> Tensor:
            return slope(theta)

        given = {name: float(parameters[name]) for name in step.parameters}
        self.x = np.array([float(value) for value in state.values()])
        self._known: dict[tuple[int, float], DrawRules] = {}
        box = BlackBox(step, gradient, dim, given, potential=lambda theta: value(theta)[..., 0])
        self._step = StepAtNodes(box, self.x, first)
        # A gradient, or a density, has a power, a product and a sum for each of its terms.
        self._roundings = self._step.operations + 4 * max(len(gradient_terms[0]), len(terms))
        self.draws = self._step.draws(first)
        self.reach = self._step.reach

    def rules(self, degree: int, h: float = LOOK) -> DrawRules:
        """The rules for the step's draws, by default from a step size so small that each one with sqrt(h) is nearly linear."""
        if (degree, h) not in self._known:
            self._known[degree, h] = DrawRules(
                lambda nodes: self._step.after(nodes, h),
                self._step.laws(h),
                noise=self._off(self.x[None]),
                degrees=(degree,),
                most=self._step.most,
                thorough=self._step.together,
                cut=None if h == LOOK else self.rules(degree).cut,
            )
        return self._known[degree, h]

    def pair(self, degree: int, h: float) -> tuple[QuadratureRule, QuadratureRule]:
        """The two rules at step size h, on which the probabilities of outcomes and the places of jumps may depend.

        A uniform number that is compared with a probability in h jumps elsewhere at each step size, so that panels are cut anew.
        """
        rules = self.rules(degree)
        if rules.irregular:
            rules = self.rules(degree, h)
        return rules.pair(degree, self._step.laws(h))

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
    potential: PolynomialPotential | None = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """E D, shape (steps, n), and Cov D, shape (steps, n, n), of D = X_1 - x at a state of the generic potential, or of another.

    By each of some `rules`: the first quadrature rule for the draws is 0, and the second 1.
    """
    n = len(state)
    pairs = list(combinations_with_replacement(range(n), 2))
    units = np.eye(n, dtype=int)
    indices = [tuple(row) for row in [*units, *(units[i] + units[j] for i, j in pairs)]]
    runner = NodeRunner(
        step, potential or generic_potential(dim), state, dim, parameters=parameters, first=steps[0]
    )
    known = [runner.pair(DEGREE, h) for h in steps]
    found = []
    for rule in rules:
        read = [runner.moments(two[rule], h, indices) for two, h in zip(known, steps, strict=True)]
        values, errors = (np.array(part) for part in zip(*read, strict=True))
        mean, square = values[:, :n], np.zeros((len(steps), n, n))
        for column, (i, j) in enumerate(pairs, n):
            of_means, off = mean[:, i] * mean[:, j], errors[:, column]
            off = (
                off
                + abs(mean[:, i]) * errors[:, j]
                + abs(mean[:, j]) * errors[:, i]
                + 2 * UNIT * abs(of_means)
            )
            # What is within the rounding is 0: it goes as a power of h that means nothing.
            apart = values[:, column] - of_means
            square[:, i, j] = square[:, j, i] = np.where(abs(apart) <= off, 0.0, apart)
        found.append((mean, square))
    return found


def first_power(steps: Sequence[float], values: np.ndarray) -> np.ndarray:
    """The coefficient of h in values at falling step sizes, shape (steps, ...)."""
    return powers_of_h(np.array(steps), values, np.zeros_like(values)).coefficients[1]


def _polynomial(
    powers: Sequence[Sequence[int]], numbers: Sequence[Sequence[float]]
) -> Callable[[Tensor], Tensor]:
    """theta, shape (..., dim), to the polynomials sum_k numbers[k][i] theta^powers[k], shape (..., number of them)."""
    exponents = torch.tensor(powers, dtype=torch.float64)
    factors = torch.tensor(numbers, dtype=torch.float64)
    return lambda theta: (theta.to(torch.float64)[..., None, :] ** exponents).prod(-1) @ factors


def _monomials(values: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Products of powers of the columns: values (n, q) and exponents (k, q) give shape (n, k)."""
    found = np.ones((len(values), len(exponents)))
    for j in range(values.shape[1]):
        powers = values[:, j, None] ** np.arange(exponents[:, j].max(initial=0) + 1)
        found *= powers[:, exponents[:, j]]
    return found

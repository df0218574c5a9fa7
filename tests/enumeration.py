"""One oracle for averages over finitely many steps: every path of a short run through the definition itself.

A path is one start, one order of the data, one minibatch and one outcome of each draw at every step. All paths run at once, as
arrays with the paths first: in fractions, where draws have rational atoms and coefficients are rational; else in numpy's long
double, where a normal draw is one of the three nodes 0, +-sqrt(3) with probabilities 2/3, 1/6, 1/6. Those have the moments of a
normal variable to order five: enough for the mean of a quadratic and of its square; four nodes of a stationary momentum have
those to order seven. Data enter by their own formula. Nothing here
shares one with the engines.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sgverify.schemes import NoiseLaw, exact
from sgverify.schemes.definition.mathematics import NORMAL, Noise
from sgverify.subject.subject import Subject
from sgverify.targets.constants import read_precision
from tests.zoo.carriers import EPS, Extended, Real, real

_SIX = np.sqrt(Real(6))
NORMAL_NODES = [(Real(0), Fraction(2, 3)), *((s * np.sqrt(Real(3)), Fraction(1, 6)) for s in (1, -1))]
STATIONARY = [(s * np.sqrt(3 + r * _SIX), (3 - r * _SIX) / 12) for r in (1, -1) for s in (1, -1)]
"""Nodes and probabilities of the Gauss rules of three and four points for the normal law."""

Batch = tuple[int, ...]
Draws = tuple[Any, Any]
"""The probabilities of the outcomes of one random quantity, shape (n,), and the outcomes, shape (n, ...)."""


@dataclass(frozen=True)
class Outcome:
    """Averages over all paths after l steps, and what rounding may be off where they are no fractions.

    `error`: of phi(X_l) less the true average; `bias` and `mean_square`: of their weighted average over steps 1, ..., l, and of its
    square.
    """

    error: Any
    bias: Any
    mean_square: Any
    bias_error: float = 0.0
    mean_square_error: float = 0.0


def enumerate_runs(
    subject: Subject, steps: Sequence[Any], weights: Sequence[Any] | None = None, *, number: Any = real
) -> list[Outcome]:
    """The outcome after each of `steps`, which are step sizes; `number` is Fraction or `real`, a long double."""
    return _Paths(subject, len(steps), number).follow(steps, [1] * len(steps) if weights is None else weights)


def longest(subject: Subject, most: int) -> int:
    """The number of steps whose paths stay within `most` for any one order of the data; 0 where not even one step's do."""
    paths = _Paths(subject, 0, real)
    each = math.prod(len(chances) for chances, _ in (*paths.draws, *paths.minibatches, *paths.kicks))
    start, steps = (len(STATIONARY) ** subject.target.dim if paths.stationary_momentum else 1), 0
    while start * each ** (steps + 1) <= most and steps < 64:
        steps += 1
    return steps


class _Paths:
    def __init__(self, subject: Subject, length: int, number: Any) -> None:
        self.subject, self.number, self.dim = subject, number, subject.target.dim
        self.table = subject.configuration.gradient
        self.dtype, self.carrier = (object, lambda x: x) if number is Fraction else (Real, Extended)
        prior, hessians, gradients = quadratics(subject)
        self.prior = [self.array(part) for part in prior]
        self.likelihood = [self.array(hessians), self.array(gradients)] if hessians else None
        self.batches: list[Batch] = []
        self.minibatches: list[Draws] = []
        self.kicks: list[Draws] = []
        self.orders, self.chances = None, self.array([1])
        self.draws = [self.outcomes(law) for law in subject.scheme.laws]
        self.stationary_momentum = (
            subject.configuration.start_momentum == "stationary" and "p" in subject.scheme.state
        )
        self.enumerate_noise(length)
        if self.likelihood:
            averages = [[part[list(batch)].sum(axis=0) for batch in self.batches] for part in self.likelihood]
            sizes = self.array([len(batch) for batch in self.batches])
            self.of_batches = [
                self.stacked(values) / sizes.reshape(-1, *[1] * (len(part.shape) - 1))
                for values, part in zip(averages, self.likelihood, strict=True)
            ]

    def enumerate_noise(self, length: int) -> None:
        """The random quantities of the gradient, each with its outcomes; under reshuffling the orders of minibatches."""
        kind, scheme = self.table.kind, self.subject.scheme
        if kind == "additive":
            self.kicks = [self.additive()] * scheme.gradients
        if not self.likelihood:
            return
        data = range(len(self.likelihood[0]))
        used = max(1, scheme.minibatches)
        if kind in ("iid", "svrg"):
            drawn = Counter(
                tuple(sorted(batch)) for batch in itertools.product(data, repeat=self.table.batch)
            )
        elif kind == "without-replacement":
            drawn = Counter(itertools.combinations(data, self.table.batch))
        else:
            drawn = Counter([tuple(data)])
        if kind in ("reshuffle", "symmetric"):
            drawn = Counter(itertools.combinations(data, self.table.batch))
            plans = Counter(_plans(len(data), self.table.batch, kind == "symmetric", used, length))
            places = {batch: place for place, batch in enumerate(drawn)}
            self.orders = np.array([[[places[batch] for batch in step] for step in plan] for plan in plans])
            self.chances = self.array(list(plans.values())) / self.number(sum(plans.values()))
        elif kind not in ("full", "additive"):
            chances = self.array(list(drawn.values())) / self.number(sum(drawn.values()))
            self.minibatches = [(chances, np.arange(len(drawn)))] * used
        self.batches = list(drawn)

    def array(self, values: Any) -> Any:
        nested = np.array(values, dtype=object)
        return np.array([self.number(v) for v in nested.ravel()], dtype=self.dtype).reshape(nested.shape)

    def stacked(self, arrays: list[Any]) -> Any:
        return np.array(arrays, dtype=self.dtype)

    def outcomes(self, law: NoiseLaw) -> Draws:
        """What one draw may be in all coordinates."""
        assert not law.normal or self.number is not Fraction, "the nodes of a normal draw are no fractions"
        return self.product(NORMAL_NODES if law.normal else law.atoms)

    def product(self, atoms: Sequence[tuple[Any, Any]]) -> Draws:
        """Independent coordinates, each with these values and probabilities."""

        def held(value: Any) -> Any:
            return value if isinstance(value, Real) else self.number(value)

        several = list(itertools.product(atoms, repeat=self.dim))
        chances = [math.prod(held(w) for _, w in each) for each in several]
        values = [[held(x) for x, _ in each] for each in several]
        return np.array(chances, dtype=self.dtype), np.array(values, dtype=self.dtype)

    def additive(self) -> Draws:
        """N(0, V) by its root."""
        values: Any = np.array(self.table.covariance, dtype=float)
        matrix = values if values.ndim == 2 else np.diag(np.broadcast_to(values, self.dim))
        chances, nodes = self.outcomes(NORMAL)
        return chances, nodes @ _root(self.array(matrix)).T

    def follow(self, steps: Sequence[Any], weights: Sequence[Any]) -> list[Outcome]:
        scheme, c = self.subject.scheme, self.subject.configuration
        truth = self.number(self.subject.truth)
        numbers = {"T": self.carrier(self.number(exact(c.temperature))), "dim": self.dim}
        numbers["D"] = self.carrier(self.number(exact(c.friction)))
        order, chance = np.arange(len(self.chances)), self.chances
        state = self.start(len(order))
        if self.stationary_momentum:
            chances, momenta = self.product(STATIONARY)
            momenta = momenta * np.sqrt(self.number(exact(c.temperature)))
            count, paths = len(chances), len(order)
            chance, order = np.repeat(chance, count) * np.tile(chances, paths), np.repeat(order, count)
            state = [np.repeat(value, count, axis=0) for value in state]
            state[scheme.state.index("p")] = np.tile(momenta, (paths, 1))
        total, snapshot, whole, largest = chance * 0, state[0], self.number(0), 0.0
        chances, drawn = self.one_step()
        found = []
        for number, (h, weight) in enumerate(zip(steps, weights, strict=True)):
            if self.table.kind == "svrg" and number % self.subject.noise.refresh == 0:
                snapshot = state[0]
            count, paths = len(chances), len(chance)
            *state, snapshot, total, order = (
                np.repeat(value, count, axis=0) for value in (*state, snapshot, total, order)
            )
            chance = np.repeat(chance, count) * np.tile(chances, paths)
            made = [np.tile(values, (paths, *[1] * (values.ndim - 1))) for values in drawn]
            draws, rest = made[: len(self.draws)], made[len(self.draws) :]
            chosen, kicks = rest[: len(self.minibatches)], rest[len(self.minibatches) :]
            if self.orders is not None:
                chosen = list(self.orders[order, number].T)
            handed = iter(draws)
            values = scheme.step(
                tuple(map(self.carrier, state)),
                h=self.carrier(self.number(exact(h))),
                grad=_Gradient(self, chosen, kicks, snapshot),
                noise=Noise(lambda law, handed=handed: self.carrier(next(handed))),
                **numbers,
            )
            state = [v.value if isinstance(v, Extended) else v for v in values]
            phi, weight = self.phi(state), self.number(exact(weight))
            total, whole = total + weight * (phi - truth), whole + weight
            largest = max(largest, float(np.abs(phi).max()))
            found.append(self.outcome(chance, phi - truth, total / whole, largest, number + 1))
        return found

    def outcome(self, chance: Any, error: Any, average: Any, largest: float, length: int) -> Outcome:
        bias, square = (chance * average).sum(), (chance * average * average).sum()
        values = (chance * error).sum(), bias, square
        if self.number is Fraction:
            return Outcome(*values)
        # Each path rounds some 40 operations a step, each at most EPS of numbers that stay below a few hundred times
        # phi's largest value; pairwise summation adds log2 of the number of paths.
        slack = 100 * EPS * (200 * length * self.dim**2 + 64 + np.log2(len(chance)))
        size = float((chance * np.abs(average)).sum()) + largest
        spread = float(np.sqrt(square)) + abs(float(self.subject.truth))
        return Outcome(*values, float(slack * size), float(slack * (size + spread) ** 2))

    def start(self, paths: int) -> list[Any]:
        posterior, c = self.subject.target, self.subject.configuration
        centre, away = self.array(posterior.mean), exact(c.start_of())
        if away:
            assert self.number is not Fraction, "a start beside the mean is no fraction"
            variances = [exact(c.temperature) * posterior.covariance[i][i] for i in range(self.dim)]
            centre = centre + self.number(away) * np.sqrt(self.array(variances))
        still = centre * self.number(0)
        return [
            np.repeat([centre if name == "theta" else still], paths, axis=0)
            for name in self.subject.scheme.state
        ]

    def one_step(self) -> tuple[Any, list[Any]]:
        """The joint outcomes of all that one step draws: their probabilities, and the values of each."""
        parts = [*self.draws, *self.minibatches, *self.kicks]
        if not parts:
            return self.array([1]), []
        grid = np.indices([len(chances) for chances, _ in parts]).reshape(len(parts), -1)
        chance = self.array([1])
        for (chances, _), places in zip(parts, grid, strict=True):
            chance = chance * chances[places]
        return chance, [values[places] for (_, values), places in zip(parts, grid, strict=True)]

    def phi(self, state: list[Any]) -> Any:
        observable, names = self.subject.observable, self.subject.scheme.state
        columns = [column for name in observable.state for column in state[names.index(name)].T]
        total = columns[0] * self.number(0)
        for powers, c in observable.terms.items():
            term = total * self.number(0) + self.number(c)
            for column, power in zip(columns, powers, strict=True):
                for _ in range(power):
                    term = term * column
            total = total + term
        return total

    def full(self, theta: Any) -> Any:
        """grad U, path by path."""
        hessian, pull = self.prior
        if self.likelihood:
            size = self.number(len(self.likelihood[0]))
            hessian, pull = (
                part + values.sum(axis=0) / size
                for part, values in zip(self.prior, self.likelihood, strict=True)
            )
        return theta @ hessian + pull

    def on_batch(self, theta: Any, batch: Any) -> Any:
        """The estimate N/n sum_B grad_i + that of the prior, on the minibatch of each path."""
        return self.bend(theta, batch) + self.prior[1] + self.of_batches[1][batch]

    def bend(self, vector: Any, batch: Any) -> Any:
        """The Hessian of the minibatch of each path, prior and all, times a vector."""
        hessians = self.prior[0] + self.of_batches[0][batch]
        return (hessians * vector[:, None, :]).sum(axis=2)


class _Gradient:
    """`grad` of one step: its first minibatch, `fresh()` the next one."""

    def __init__(self, paths: _Paths, chosen: list[Any], kicks: list[Any], snapshot: Any) -> None:
        self._given = paths, chosen, kicks, snapshot
        self._opened = {"minibatches": 0, "evaluations": 0}
        self._number: int | None = None

    def fresh(self) -> _Gradient:
        other = _Gradient(*self._given)
        other._opened = self._opened
        return other

    def __call__(self, theta: Any) -> Any:
        paths, _, kicks, snapshot = self._given
        place = theta.value if isinstance(theta, Extended) else theta
        if kicks:
            self._opened["evaluations"] += 1
            found = paths.full(place) + kicks[self._opened["evaluations"] - 1]
        elif paths.table.kind in ("full", "additive"):
            found = paths.full(place)
        else:
            batch = self._chosen()
            found = paths.on_batch(place, batch)
            if paths.table.kind == "svrg":
                found = found - paths.on_batch(snapshot, batch) + paths.full(snapshot)
        return paths.carrier(found)

    def hessian(self, theta: Any, vector: Any) -> Any:
        paths = self._given[0]
        pushed = vector.value if isinstance(vector, Extended) else vector
        return paths.carrier(paths.bend(pushed, self._chosen()))

    def _chosen(self) -> Any:
        if self._number is None:
            self._number = self._opened["minibatches"]
            self._opened["minibatches"] += 1
        return self._given[1][self._number]


def quadratics(subject: Subject) -> tuple[tuple[Any, Any], Any, Any]:
    """((Q, q), H, g): the prior has the gradient Q theta + q, and N grad likelihood_i = H_i theta + g_i.

    x_i ~ N(theta, R^-1) has H_i = s N R and g_i = -s N R x_i, and y_i ~ N(x_i . theta, 1/r) has H_i = s N r x_i x_i^T and
    g_i = -s N r y_i x_i, for the factor s of `gradient.scale`. Without data Q and q are all.
    """
    target, table, d = subject.target, subject.configuration.target, subject.target.dim
    if target.data is None:
        precision = target.precision
        return (precision, [-_dot(row, target.mean) for row in precision]), [], []
    prior = read_precision("prior_precision", table.prior_precision or 1, d).rows
    wanted = table.prior_mean or 0
    mean = [Fraction(str(m)) for m in (wanted if isinstance(wanted, list) else [wanted] * d)]
    factor = Fraction(str(subject.configuration.gradient.scale)) * len(target.data)
    data = [[Fraction(float(x)) for x in row] for row in target.data]
    if target.name == "linear-regression":
        factor *= Fraction(str(table.noise_precision or 1))
        hessians = [[[factor * a * b for b in row[:d]] for a in row[:d]] for row in data]
        gradients = [[-factor * row[d] * a for a in row[:d]] for row in data]
    else:
        noise = read_precision("noise_precision", table.noise_precision or 1, d).rows
        hessians = [[[factor * Fraction(r) for r in line] for line in noise]] * len(data)
        gradients = [[-factor * _dot(line, row) for line in noise] for row in data]
    return (prior, [-_dot(row, mean) for row in prior]), hessians, gradients


def _dot(left: Any, right: Any) -> Fraction:
    return sum((Fraction(a) * Fraction(b) for a, b in zip(left, right, strict=True)), Fraction(0))


def _plans(size: int, batch: int, symmetric: bool, used: int, length: int) -> Iterator[Any]:
    """The minibatches of `length` steps, `used` of them in each, for every way to cut every epoch into blocks."""
    epochs = []
    for blocks in _cuts(tuple(range(size)), batch):
        swept = (*blocks, *blocks[::-1]) if symmetric else blocks
        epochs.append([swept[k : k + used] for k in range(0, len(swept), used)])
    for several in itertools.product(epochs, repeat=-(-length // len(epochs[0]))):
        yield tuple(step for epoch in several for step in epoch)[:length]


def _cuts(rest: Batch, batch: int) -> Iterator[tuple[Batch, ...]]:
    if not rest:
        yield ()
        return
    for block in itertools.combinations(rest, batch):
        for others in _cuts(tuple(i for i in rest if i not in block), batch):
            yield (block, *others)


def _root(matrix: Any) -> Any:
    """R with R R^T = matrix, by elimination without roots of negative numbers, in long double."""
    n = len(matrix)
    lower = np.zeros((n, n), dtype=Real)
    for j in range(n):
        pivot = matrix[j, j] - (lower[j, :j] ** 2).sum()
        lower[j, j] = np.sqrt(max(pivot, Real(0)))
        for i in range(j + 1, n):
            if lower[j, j] > 0:
                lower[i, j] = (matrix[i, j] - (lower[i, :j] * lower[j, :j]).sum()) / lower[j, j]
    return lower

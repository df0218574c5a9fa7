"""One oracle for every kind of randomness: each minibatch, order and draw of a short run, in plain fractions.

The definition itself is run on all paths at once, arrays of fractions with the paths first. Draws are +-1, so that a scheme
under test has `noise.two_point()` and coefficients that are fractions. Nothing here shares a formula with the engines.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sgverify.checks.subject import Subject
from sgverify.schemes import exact


@dataclass(frozen=True)
class Enumerated:
    """Averages over all paths: of phi(X_l) less the true average, of their sums S_l, and of S_l^2, for l = 1, 2, ..."""

    errors: list[Fraction]
    sums: list[Fraction]
    squares: list[Fraction]


def enumerate_runs(subject: Subject, length: int) -> Enumerated:
    """All paths of `length` steps from where chains start; `start=0`, so that the start is a fraction."""
    runs = [_Run(subject, choice).follow(length) for choice in _choices(subject, length)]
    columns = (
        zip(*(getattr(run, name) for run in runs), strict=True) for name in ("errors", "sums", "squares")
    )
    return Enumerated(*([sum(values, Fraction(0)) / len(runs) for values in column] for column in columns))


def _choices(subject: Subject, length: int) -> Iterator[list[list[tuple[int, ...]]] | None]:
    """The minibatches of the whole run, step by step, for each order of every epoch; None where each step draws its own."""
    table, size = subject.configuration.gradient, subject.target.size
    if table.kind not in ("reshuffle", "symmetric"):
        yield None
        return
    used = subject.scheme.minibatches
    orders = {
        tuple(tuple(sorted(order[k : k + table.batch])) for k in range(0, size, table.batch))
        for order in itertools.permutations(range(size))
    }
    epochs = []
    for blocks in sorted(orders):
        swept = [*blocks, *(blocks[::-1] if table.kind == "symmetric" else ())]
        epochs.append([swept[k : k + used] for k in range(0, len(swept), used)])
    for several in itertools.product(epochs, repeat=-(-length // len(epochs[0]))):
        yield [step for epoch in several for step in epoch]


class _Run:
    def __init__(self, subject: Subject, choice: list[list[tuple[int, ...]]] | None) -> None:
        self.subject, self.choice = subject, choice
        self.table, self.target = subject.configuration.gradient, subject.felt
        if self.table.kind not in ("full", "additive"):
            parts = self.target.data_quadratics()
            dim = self.target.dim
            self.slopes = [[_fraction(v) for v in row] for row in parts.gradients.tolist()]
            self.hessians = [[_fraction(v) for v in row] for row in parts.hessians.tolist()]
            self.hessians = [[row[i * dim : (i + 1) * dim] for i in range(dim)] for row in self.hessians]

    def follow(self, length: int) -> Enumerated:
        scheme, dim = self.subject.scheme, self.target.dim
        centre = np.array([list(self.subject.target.mean)], dtype=object)
        state = [centre if name == "theta" else centre * 0 for name in scheme.state]
        total, snapshot = np.array([Fraction(0)], dtype=object), centre
        found = Enumerated([], [], [])
        for number in range(length):
            minibatches = self._minibatches(number)
            signs = list(itertools.product((Fraction(1), Fraction(-1)), repeat=dim))
            joint = list(itertools.product(minibatches, itertools.product(signs, repeat=scheme.draws)))
            if self.table.kind == "svrg" and number % self.subject.noise.refresh == 0:
                snapshot = state[0]
            paths = len(total)
            *state, snapshot = (np.repeat(value, len(joint), axis=0) for value in (*state, snapshot))
            total = np.repeat(total, len(joint))
            batches = [chosen for chosen, _ in joint] * paths
            draws = iter(np.array([drawn for _, drawn in joint] * paths, dtype=object).transpose(1, 0, 2))
            c = self.subject.configuration
            state = scheme.step(
                tuple(state),
                h=exact(self.subject.step),
                T=exact(c.temperature),
                D=exact(c.friction),
                grad=_Gradient(self, batches, snapshot),
                noise=_Noise(draws),
            )
            state = list(state)
            errors = self._phi(state) - self.subject.truth
            total = total + errors
            found.errors.append(_mean(errors))
            found.sums.append(_mean(total))
            found.squares.append(_mean(total * total))
        return found

    def _minibatches(self, number: int) -> list[Any]:
        """The minibatches of one step, all equally likely."""
        if self.choice is not None:
            return [self.choice[number]]
        if self.table.kind == "full":
            return [()]
        data = range(self.target.size)
        several = (
            itertools.combinations(data, self.table.batch)
            if self.table.kind == "without-replacement"
            else itertools.product(data, repeat=self.table.batch)
        )
        return list(itertools.product(several, repeat=self.subject.scheme.minibatches))

    def _phi(self, state: list[Any]) -> Any:
        phi = self.subject.observable
        names = self.subject.scheme.state
        columns = [column for name in phi.state for column in state[names.index(name)].T]
        total = columns[0] * 0
        for powers, c in phi.terms.items():
            term = total * 0 + c
            for column, power in zip(columns, powers, strict=True):
                term = term * column**power if power else term
            total = total + term
        return total

    def full(self, theta: Any) -> Any:
        """grad U, path by path."""
        precision = np.array([list(row) for row in self.target.precision], dtype=object)
        return (theta - np.array(list(self.target.mean), dtype=object)) @ precision

    def on_minibatch(self, theta: Any, chosen: list[tuple[int, ...]]) -> Any:
        """The estimate N/n sum_B grad_i + that of the prior, on the minibatch of each path."""
        rows, everything = [], range(len(self.slopes))
        whole = self.full(theta)
        for place, batch, full in zip(theta, chosen, whole, strict=True):
            rows.append(full + self._likelihood(place, batch) - self._likelihood(place, everything))
        return np.array(rows, dtype=object)

    def _likelihood(self, place: Any, batch: Any) -> Any:
        parts = [
            np.array(self.hessians[i], dtype=object) @ place + np.array(self.slopes[i], dtype=object)
            for i in batch
        ]
        return sum(parts) / Fraction(len(parts))


class _Gradient:
    """`grad` of one step: its first minibatch, `fresh()` the next one."""

    def __init__(self, run: _Run, batches: list[Any], snapshot: Any, opened: list[int] | None = None) -> None:
        self._run, self._batches, self._snapshot = run, batches, snapshot
        self._opened = [] if opened is None else opened
        self._number: int | None = None

    def __call__(self, theta: Any) -> Any:
        run = self._run
        if run.table.kind == "full":
            return run.full(theta)
        if self._number is None:
            self._number = len(self._opened)
            self._opened.append(self._number)
        chosen = [batches[self._number] for batches in self._batches]
        found = run.on_minibatch(theta, chosen)
        if run.table.kind == "svrg":
            found = found - run.on_minibatch(self._snapshot, chosen) + run.full(self._snapshot)
        return found

    def fresh(self) -> _Gradient:
        return _Gradient(self._run, self._batches, self._snapshot, self._opened)


class _Noise:
    def __init__(self, draws: Iterator[Any]) -> None:
        self._draws = draws

    def two_point(self) -> Any:
        return next(self._draws)


def _mean(values: Any) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _fraction(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q))

"""One oracle for every kind of randomness: each minibatch, order and draw of a short run, in plain fractions.

The definition itself is run on all paths at once, arrays of fractions with the paths first. Draws are +-1, so that a scheme
under test has `noise.two_point()` and coefficients that are fractions; or else everything is in float64, and a normal draw is one
of three points with its moments to order five. Nothing here shares a formula with the engines.
"""

from __future__ import annotations

import itertools
import math
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

    errors: list[Any]
    sums: list[Any]
    squares: list[Any]


def enumerate_runs(subject: Subject, length: int, number: Any = Fraction) -> Enumerated:
    """All paths of `length` steps from where chains start, at the mean where `number` is Fraction and not float."""
    runs = [_Run(subject, choice, number).follow(length) for choice in _choices(subject, length)]
    columns = (
        zip(*(getattr(run, name) for run in runs), strict=True) for name in ("errors", "sums", "squares")
    )
    return Enumerated(*([sum(values) / len(runs) for values in column] for column in columns))


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
    def __init__(self, subject: Subject, choice: list[list[tuple[int, ...]]] | None, number: Any) -> None:
        self.subject, self.choice, self.number = subject, choice, number
        self.table, self.target = subject.configuration.gradient, subject.effective_target
        self.kind = object if number is Fraction else float
        self.precision, self.mean = self.array(self.target.precision), self.array(self.target.mean)
        if self.table.kind != "full":
            parts, dim = self.target.data_quadratics(), self.target.dim
            self.gradients = self.array([[_fraction(v) for v in row] for row in parts.gradients.tolist()])
            rows = [[_fraction(v) for v in row] for row in parts.hessians.tolist()]
            self.hessians = self.array(rows).reshape(-1, dim, dim)

    def array(self, values: Any) -> Any:
        return np.array(
            [[self.number(v) for v in row] for row in np.atleast_2d(np.array(values, dtype=object))],
            dtype=self.kind,
        )

    def follow(self, length: int) -> Enumerated:
        scheme, c = self.subject.scheme, self.subject.configuration
        centre = self._start()
        state = [centre if name == "theta" else centre * 0 for name in scheme.state]
        total, snapshot = centre[:, 0] * 0, centre
        chance, found = total + self.number(1), Enumerated([], [], [])
        nodes = self._nodes()
        for step in range(length):
            joint = list(
                itertools.product(self._minibatches(step), itertools.product(nodes, repeat=scheme.draws))
            )
            if self.table.kind == "svrg" and step % self.subject.noise.refresh == 0:
                snapshot = state[0]
            paths = len(total)
            *state, snapshot = (np.repeat(value, len(joint), axis=0) for value in (*state, snapshot))
            total = np.repeat(total, len(joint))
            weights = [math.prod((w for w, _ in drawn), start=self.number(1)) for _, drawn in joint]
            share = self.number(len(joint)) / self.number(len(nodes) ** scheme.draws)
            chance = (
                np.repeat(chance, len(joint)) * np.tile(np.array(weights, dtype=self.kind), paths) / share
            )
            batches = [chosen for chosen, _ in joint] * paths
            drawn = np.array([[z for _, z in drawn] for _, drawn in joint], dtype=self.kind)
            draws = np.tile(drawn.reshape(len(joint), scheme.draws, -1), (paths, 1, 1)).transpose(1, 0, 2)
            values = scheme.step(
                tuple(state),
                grad=_Gradient(self, batches, snapshot),
                noise=_Noise(iter(draws), self.number),
                **{name: self.number(exact(v)) for name, v in self._given(c).items()},
            )
            state = list(values)
            errors = self._phi(state) - self.number(self.subject.truth)
            total = total + errors
            found.errors.append((chance * errors).sum())
            found.sums.append((chance * total).sum())
            found.squares.append((chance * total * total).sum())
        return found

    def _start(self) -> Any:
        posterior, c = self.subject.target, self.subject.configuration
        centre = self.array(posterior.mean)
        if self.number is Fraction:
            assert c.start_of() == 0, "a start beside the mean is no fraction"
            return centre
        spread = [(c.temperature * float(posterior.covariance[i][i])) ** 0.5 for i in range(posterior.dim)]
        return centre + c.start_of() * np.array([spread])

    def _given(self, c: Any) -> dict[str, Any]:
        return {"h": self.subject.step, "T": c.temperature, "D": c.friction}

    def _nodes(self) -> list[tuple[Any, tuple[Any, ...]]]:
        """What a draw may be in all coordinates, with its probability."""
        half = self.number(Fraction(1, 2))
        one = [(half, self.number(1)), (half, self.number(-1))]
        if all(law.normal for law in self.subject.scheme.laws):
            one = [(2 / 3, 0.0), (1 / 6, math.sqrt(3)), (1 / 6, -math.sqrt(3))]
        several = itertools.product(one, repeat=self.target.dim)
        return [
            (math.prod((w for w, _ in each), start=self.number(1)), tuple(z for _, z in each))
            for each in several
        ]

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
        return (theta - self.mean) @ self.precision

    def on_minibatch(self, theta: Any, chosen: list[tuple[int, ...]]) -> Any:
        """The estimate N/n sum_B grad_i + that of the prior, on the minibatch of each path."""
        moved = np.array(
            [self._likelihood(place, batch) for place, batch in zip(theta, chosen, strict=True)],
            dtype=self.kind,
        )
        everything = list(range(len(self.gradients)))
        whole = np.array([self._likelihood(place, everything) for place in theta], dtype=self.kind)
        return self.full(theta) + moved - whole

    def bend(self, vector: Any, chosen: list[tuple[int, ...]]) -> Any:
        """The Hessian of the minibatch of each path, prior and all, times a vector."""
        return self.on_minibatch(vector, chosen) - self.on_minibatch(vector * 0, chosen)

    def _likelihood(self, place: Any, batch: Any) -> Any:
        rows = list(batch)
        total = self.hessians[rows].sum(axis=0) @ place + self.gradients[rows].sum(axis=0)
        return total / self.number(len(rows))


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
        chosen = self._chosen()
        found = run.on_minibatch(theta, chosen)
        if run.table.kind == "svrg":
            found = found - run.on_minibatch(self._snapshot, chosen) + run.full(self._snapshot)
        return found

    def _chosen(self) -> list[tuple[int, ...]]:
        if self._number is None:
            self._number = len(self._opened)
            self._opened.append(self._number)
        return [batches[self._number] for batches in self._batches]

    def fresh(self) -> _Gradient:
        return _Gradient(self._run, self._batches, self._snapshot, self._opened)

    def hessian(self, theta: Any, vector: Any) -> Any:
        return self._run.bend(vector, self._chosen())


class _Noise:
    def __init__(self, draws: Iterator[Any], number: Any) -> None:
        self._draws, self._number = draws, number

    def __call__(self) -> Any:
        return _Drawn(next(self._draws))

    def two_point(self) -> Any:
        drawn = next(self._draws)
        return drawn if self._number is Fraction else _Drawn(drawn)


class _Drawn:
    """A draw in float64, which meets an exact number before it as the float that it is."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def __mul__(self, factor: Any) -> Any:
        return float(factor) * self._values

    __rmul__ = __mul__


def _fraction(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q))

"""Bias and mean square error by enumerating every path of a short run: the definition itself, nothing else.

Normal draws become the three nodes 0, +-sqrt(3) with weights 2/3, 1/6, 1/6, which have the moments of a normal
variable to order five: enough for the mean of a quadratic and of its square. Minibatches are enumerated one by one,
reshuffled epochs permutation by permutation. Everything runs in numpy's long double.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgverify.checks import Subject
from sgverify.schemes.noise import Noise
from tests.properties.extended import EPS, Extended, Real, real
from tests.properties.nodes import Nodes, drift_of, epoch_orders, gradient_nodes, law_nodes, normal_nodes


@dataclass(frozen=True)
class Outcome:
    """E phi^ - truth, E (phi^ - truth)^2, and what rounding may be off: `slack` times a quantity's own size."""

    bias: float
    mean_square: float
    bias_error: float
    mean_square_error: float


def longest(subject: Subject, most: int) -> int:
    """The number of steps whose paths stay within `most`; 0 where not even one step's do."""
    d, start = subject.target.dim, 1
    if subject.configuration.start_momentum == "stationary" and "p" in subject.scheme.state:
        start = 3**d
    each = 1
    for law in subject.scheme.laws:
        each *= len(law_nodes(law, d))
    table = subject.configuration.gradient
    if table.kind not in ("full", "reshuffle", "symmetric", "svrg"):
        for nodes in gradient_nodes(subject, 0, None):
            each *= len(nodes)
    steps = 0
    while start * each ** (steps + 1) <= most:
        steps += 1
    return steps


def enumerate_paths(
    subject: Subject, steps: Sequence[float], weights: Sequence[float] | None = None
) -> Outcome:
    """The average over every path of sum_l w_l phi(X_l) / sum_l w_l, by default with equal weights."""
    scheme, target, configuration = subject.scheme, subject.target, subject.configuration
    d = target.dim
    hessian, minimiser = drift_of(subject)
    precision = np.array([[real(x) for x in row] for row in hessian])
    centre = np.array([real(x) for x in minimiser])
    state = [_one_path(v) for v in _starts(subject)]
    chance = np.ones(1, dtype=Real)
    if configuration.start_momentum == "stationary" and "p" in scheme.state:
        width = np.sqrt(real(configuration.temperature))
        state, chance, momenta = _branched(state, chance, [], normal_nodes(d, width))
        state[scheme.state.index("p")] = momenta
    total = np.zeros(len(chance), dtype=Real)
    numbers = {
        "D": Extended(real(configuration.friction)),
        "T": Extended(real(configuration.temperature)),
        "dim": d,
    }
    order = epoch_orders(subject)
    if order is not None:
        return _mixed(
            [
                _run(subject, steps, weights, state, chance, total, precision, centre, numbers, one)
                for one in order
            ]
        )
    return _run(subject, steps, weights, state, chance, total, precision, centre, numbers, None)


def _run(
    subject: Subject,
    steps: Sequence[float],
    weights: Sequence[float] | None,
    state: list[Any],
    chance: Any,
    total: Any,
    precision: Any,
    centre: Any,
    numbers: dict[str, Any],
    blocks: Sequence[Any] | None,
) -> Outcome:
    scheme, d = subject.scheme, subject.target.dim
    extras = [total]
    largest = Real(0)
    for number, h in enumerate(steps):
        draws = []
        for law in scheme.laws:
            state, chance, made = _branched(state, chance, [*extras, *draws], law_nodes(law, d))
            kept = len(extras)
            extras, draws = (
                list(state[len(scheme.state) :][:kept]),
                [*state[len(scheme.state) :][kept:], made],
            )
            state = state[: len(scheme.state)]
        noises = []
        for nodes in gradient_nodes(subject, number, blocks):
            state, chance, made = _branched(state, chance, [*extras, *draws, *noises], nodes)
            rest = state[len(scheme.state) :]
            state = state[: len(scheme.state)]
            extras, draws, noises = (
                list(rest[: len(extras)]),
                list(rest[len(extras) : len(extras) + len(draws)]),
                [*rest[len(extras) + len(draws) :], made],
            )
        handed = iter(draws)
        gradient = _Gradient(precision, centre, noises, subject.noise.each_evaluation)
        values = scheme.step(
            tuple(Extended(v) for v in state),
            h=Extended(real(h)),
            grad=gradient,
            noise=Noise(lambda law, handed=handed: Extended(next(handed))),
            **numbers,
        )
        state = [v.value for v in values]
        phi = _evaluate(subject, state)
        weight = real(1 if weights is None else weights[number])
        extras = [extras[0] + weight * phi]
        largest = max(largest, np.abs(phi).max())
    (total,) = extras
    whole = sum((real(1 if weights is None else weights[k]) for k in range(len(steps))), Real(0))
    error = total / whole - real(subject.truth)
    bias, square = (chance * error).sum(), (chance * error * error).sum()
    # Each path rounds some 40 operations a step, each at most EPS of numbers that stay below a few hundred times
    # phi's largest value; pairwise summation adds log2 of the number of paths.
    slack = EPS * (200 * len(steps) * d * d + 64 + np.log2(len(chance)))
    size = float((chance * np.abs(error)).sum()) + float(largest)
    spread = float(np.sqrt(square)) + float(abs(real(subject.truth)))
    return Outcome(float(bias), float(square), 100 * slack * size, 100 * slack * (size + spread) ** 2)


def _mixed(outcomes: Sequence[Outcome]) -> Outcome:
    n = len(outcomes)
    return Outcome(
        sum(o.bias for o in outcomes) / n,
        sum(o.mean_square for o in outcomes) / n,
        max(o.bias_error for o in outcomes) + 2e-16 * n * max(abs(o.bias) for o in outcomes),
        max(o.mean_square_error for o in outcomes) + 2e-16 * n * max(o.mean_square for o in outcomes),
    )


class _Gradient:
    def __init__(self, precision: Any, centre: Any, noises: list[Any], each: bool) -> None:
        self._parts = (precision, centre, noises, each)
        self._shared = {"evaluations": 0, "minibatches": 0}
        self._minibatch = -1

    def fresh(self) -> _Gradient:
        other = _Gradient(*self._parts)
        other._shared = self._shared
        return other

    def __call__(self, position: Extended) -> Extended:
        precision, centre, noises, each = self._parts
        if self._minibatch < 0:
            self._minibatch = self._shared["minibatches"]
            self._shared["minibatches"] += 1
        number = self._shared["evaluations"] if each else self._minibatch
        self._shared["evaluations"] += 1
        pull = (position.value - centre) @ precision
        return Extended(pull + noises[number] if noises else pull)


def _one_path(values: Sequence[Any]) -> Any:
    return np.array([values], dtype=Real)


def _starts(subject: Subject) -> Iterator[list[Any]]:
    target, configuration = subject.target, subject.configuration
    T, away = real(configuration.temperature), real(configuration.start)
    for name in subject.scheme.dynamics.state:
        if name == "theta":
            yield [
                real(m) + away * np.sqrt(T * real(target.covariance[i][i])) for i, m in enumerate(target.mean)
            ]
        else:
            yield [Real(0)] * target.dim


def _branched(state: list[Any], chance: Any, extras: list[Any], nodes: Nodes) -> tuple[list[Any], Any, Any]:
    """Every path once for each node: the repeated state followed by the extras, the chances, and the new values."""
    count, paths = len(nodes), len(chance)
    repeated = [np.repeat(v, count, axis=0) for v in (*state, *extras)]
    values = np.tile(np.array([x for _, x in nodes], dtype=Real), (paths, 1))
    return (
        repeated,
        np.repeat(chance, count) * np.tile(np.array([w for w, _ in nodes], dtype=Real), paths),
        values,
    )


def _evaluate(subject: Subject, state: list[Any]) -> Any:
    names = subject.scheme.state
    coordinates = []
    for name in subject.observable.state:
        coordinates += list(state[names.index(name)].T)
    total = np.zeros(len(state[0]), dtype=Real)
    for exponents, c in subject.observable.terms.items():
        term = np.full(len(state[0]), real(c))
        for place, power in enumerate(exponents):
            for _ in range(power):
                term = term * coordinates[place]
        total = total + term
    return total

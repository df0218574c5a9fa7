"""The shipped conformance suite of carriers: inherit it, say how your carrier takes a step, and run it.

    class TestMine(CarrierConformance):
        def schemes(self):
            return sgverify.strategies.schemes()

        def step(self, case):
            return ...  # {"theta": [...], "p": [...]}, the state after case.scheme's step with case's numbers

It needs no pytest: a plain call of `TestMine().test_one_step()` raises `AssertionError` with the smallest step on which the
carrier and the definition part. A `Case` is a step on which all interpreters of a definition must agree: its state, its draws and
its minibatches are prescribed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.configuration import GradientTable, TargetTable
from sgverify.gradients import ESTIMATORS
from sgverify.schemes import NoiseLaw, Scheme, exact
from sgverify.schemes.definition.binding import Carrier, GradientIngredient, bind, parameters_of
from sgverify.strategies import decimals, frictions, gradients, schemes, targets, temperatures
from sgverify.strategies.gradients import NEED_DATA, UNASKED
from sgverify.targets import Target, build_target
from sgverify.testing.conformance.reference import DOUBLE, Numbers, TrackedBall, as_ball

GRID = 64
"""States and draws are multiples of 1/64: float32, float64 and exact numbers all hold them."""


@dataclass(frozen=True)
class Case:
    """One step of `scheme`, every random number given.

    `state`: each variable's coordinates (one for a scalar). `draws`: the values of the draws, call by call, each of
    length d. `minibatches`: the data of each minibatch in the order of first use. `shifts`: what the `additive`
    estimator adds, evaluation by evaluation.
    """

    scheme: Scheme
    table: TargetTable
    gradient: GradientTable
    step: float
    temperature: float
    friction: float
    state: dict[str, list[float]]
    draws: list[list[float]]
    minibatches: list[list[int]]
    shifts: list[list[float]]

    @cached_property
    def target(self) -> Target:
        """The target itself."""
        return build_target(self.table)

    @property
    def parameters(self) -> dict[str, Fraction]:
        """T and D as exact numbers."""
        return {name: Fraction(exact(value)) for name, value in parameters_of(self).items()}

    def minibatch_noise(self, number: int) -> list[Fraction]:
        """The gradient estimate on a minibatch less the full gradient, exactly; it does not depend on theta."""
        if not self.minibatches:
            return [Fraction(0)] * self.target.dim
        chosen, each = self.minibatches[number], self.target.data_gradients()
        return [sum((each[i][k] for i in chosen), Fraction(0)) / len(chosen) for k in range(self.target.dim)]

    def noise_of(self, minibatch: int, evaluation: int) -> list[Fraction]:
        """The noise of the estimator, estimate minus full gradient, at one evaluation."""
        if self.gradient.estimator.each_evaluation:
            return [Fraction(value) for value in self.shifts[evaluation]]
        return self.minibatch_noise(minibatch)

    def expected(self, unit: float = DOUBLE) -> dict[str, list[TrackedBall]]:
        """The definition itself on balls, each with the error that arithmetic of roundoff `unit` may make."""
        run = _Run(self, unit)
        state = tuple(run.variable(name) for name in self.scheme.state)
        carrier = Carrier(number=lambda value: TrackedBall.rounded(value, unit))
        bound = bind(self.scheme, carrier, self.parameters, dim=self.target.dim)
        values = bound.step(state, h=self.step, grad=_Gradient(run), draw=run.draw)
        return {
            name: value.entries if isinstance(value, Numbers) else [value]
            for name, value in zip(self.scheme.state, values, strict=True)
        }


class _Run:
    def __init__(self, case: Case, unit: float) -> None:
        self.case, self.unit = case, unit
        self._draws = iter(case.draws)

    def variable(self, name: str) -> Any:
        entries = [TrackedBall.held(Fraction(value), self.unit) for value in self.case.state[name]]
        return Numbers(entries) if self.case.scheme.shapes[name] == "vector" else entries[0]

    def draw(self, law: NoiseLaw) -> Numbers:
        return Numbers([TrackedBall.held(Fraction(value), self.unit) for value in next(self._draws)])


class _Gradient(GradientIngredient):
    """P (theta - mu) + g in balls, with a bound for every way to evaluate it in floating point."""

    def __init__(self, run: _Run) -> None:
        super().__init__()
        self._run = run

    def evaluate(self, place: Numbers, minibatch: int) -> Numbers:
        run = self._run
        noise = run.case.noise_of(minibatch, self.asked.evaluations - 1)
        target = run.case.target
        result = []
        for i, row in enumerate(target.precision):
            value, inherited = as_ball(noise[i]), arb(0)
            for entry, at, centre in zip(row, place.entries, target.mean, strict=True):
                value += as_ball(entry) * (at.value - as_ball(centre))
                inherited += abs(as_ball(entry)) * at.error
            result.append(TrackedBall(value, inherited + self._rounding(i, place, noise[i]), run.unit))
        return Numbers(result)

    def _rounding(self, i: int, position: Numbers, noise: Fraction) -> arb:
        """The bound k u S: k is the most roundings that affect a term, S the sum of the terms' absolute values.

        The estimate is Q (theta - m) + N/n sum over a minibatch of R (theta - x), whether the data are visited or
        their sums were taken beforehand. With P = Q + N R positive definite |Q_ij| and N |R_ij| are at most
        sqrt(P_ii P_jj), and Q m = P mu - R sum x. So every term of every such sum is bounded by
        sqrt(P_ii P_jj) (|theta_j| + |mu_j| + max |x_j|), of which six sums are taken: prior and likelihood, at theta and at
        the centre, the offset and the minibatch's deviation from it.
        """
        target, unit = self._run.case.target, self._run.unit
        size, data = target.size or 0, target.data
        roundings = size + self._run.case.gradient.batch + 4 * target.dim + 16
        total = abs(as_ball(noise))
        for j, at in enumerate(position.entries):
            factor = (as_ball(target.precision[i][i]) * as_ball(target.precision[j][j])).sqrt()
            reach = abs(at.value) + at.error + abs(as_ball(target.mean[j]))
            if data is not None:
                reach += arb(float(abs(data[:, j]).max()))
            total += 6 * factor * reach
        return arb((total * roundings * arb(unit)).abs_upper())


@st.composite
def cases(
    draw: Any,
    *,
    schemes: SearchStrategy[Scheme],
    dims: Sequence[int] = (1, 2, 3),
    kinds: Sequence[str] | None = None,
) -> Case:
    """Steps of `schemes` on generated targets, with generated states, draws and minibatches."""
    scheme = draw(schemes)
    with_data = True if kinds is not None and set(kinds) <= set(NEED_DATA) else None
    table = draw(targets(dims=dims, data=with_data, sizes=(3, 4, 6)))
    # A table of gradients is carried from step to step, and is no part of one.
    possible = [kind for kind in kinds or UNASKED if not ESTIMATORS[kind].remembers_minibatches]
    gradient = draw(gradients(target=table, kinds=possible))
    target = build_target(table)
    vectors = st.lists(_dyadics(), min_size=target.dim, max_size=target.dim)
    batches: list[list[int]] = []
    # On a target with one Hessian these minibatches cancel: their gradients are the full ones.
    if gradient.estimator.draws_data and gradient.estimator.plain:
        assert target.size is not None
        indices = st.lists(
            st.integers(0, target.size - 1),
            min_size=gradient.batch,
            max_size=gradient.batch,
            unique=not gradient.estimator.replaced,
        )
        batches = [draw(indices) for _ in range(max(1, scheme.minibatches))]
    additive = gradient.estimator.each_evaluation
    return Case(
        scheme=scheme,
        table=table,
        gradient=gradient,
        step=draw(decimals(low=0.01, high=1.0)),
        temperature=draw(temperatures()),
        friction=draw(frictions()),
        state={
            name: draw(vectors) if shape == "vector" else [draw(_dyadics())]
            for name, shape in scheme.shapes.items()
        },
        draws=[draw(vectors) for _ in range(scheme.draws)],
        minibatches=batches,
        shifts=[draw(vectors) for _ in range(scheme.gradients)] if additive else [],
    )


def _dyadics() -> SearchStrategy[float]:
    whole = st.integers(-3, 3).map(float)
    return st.one_of(whole, st.integers(-3 * GRID, 3 * GRID).map(lambda k: k / GRID))


BITS = 256


class CarrierConformance:
    """One step of the carrier under test equals the definition on balls, number for number.

    Two methods to override: `schemes` (optional), the schemes to try, and `step`. `unit` is the roundoff of
    the carrier's arithmetic, from which the tolerance of each number is derived; exact results must lie in the balls.
    `dims`, `kinds` (gradient estimators) and `examples` bound what is tried.
    """

    unit: float = DOUBLE
    dims: Sequence[int] = (1, 2, 3)
    kinds: Sequence[str] | None = None
    examples: int = 100

    def schemes(self) -> SearchStrategy[Scheme]:
        """The schemes that the carrier is to carry."""
        return schemes()

    def step(self, case: Case) -> Mapping[str, Sequence[Any]]:
        """The state after the step: floats, or exact numbers (arb, Fraction, int), by the state's names."""
        raise NotImplementedError("a carrier under test says how it takes one step: override `step`")

    def test_one_step(self) -> None:
        """The carrier's step is the definition's, for generated schemes, targets, estimators and draws."""

        @settings(max_examples=self.examples, deadline=None)
        @given(cases(schemes=self.schemes(), dims=self.dims, kinds=self.kinds))
        def agrees(case: Case) -> None:
            self.check(case)

        agrees()

    def check(self, case: Case) -> None:
        """Compare one case with the definition; raises `AssertionError` with the found and the expected values."""
        with flint.ctx.workprec(BITS):
            expected = case.expected(self.unit)
            found = self.step(case)
            if set(found) != set(expected):
                raise AssertionError(f"the step returned {sorted(found)}; expected {sorted(expected)}")
            for name, numbers in expected.items():
                if len(found[name]) != len(numbers):
                    raise AssertionError(f"{name}: {len(found[name])} coordinates; expected {len(numbers)}")
                for i, (value, number) in enumerate(zip(found[name], numbers, strict=True)):
                    gap = _gap(value, number)
                    if gap:
                        raise AssertionError(
                            f"{case.scheme.reference or case.scheme.name}: {name}[{i}] {gap}"
                        )


def _gap(value: Any, number: TrackedBall) -> str:
    """The difference in a coordinate as a sentence; empty where there is none."""
    if isinstance(value, arb):
        return "" if value.overlaps(number.value) else f"is {value}, the definition gives {number.value}"
    if isinstance(value, float):
        ball, bound = arb(value), number.error
    else:
        ball, bound = arb(fmpq(value.numerator, value.denominator)), arb(0)
    distance = (ball - number.value).abs_lower()
    if ball.is_finite() and distance <= bound.abs_upper():
        return ""
    return (
        f"is {value!r}, the definition gives {float(number.value.mid())!r}: apart by {float(arb(distance).mid()):.3g}, and "
        f"rounding explains at most {float(bound.mid()):.3g}"
    )

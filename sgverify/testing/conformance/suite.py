"""The shipped conformance suites of readings: inherit one, say how your reading takes a step or what it expects, and run it.

    class TestMine(CarrierConformance):
        def schemes(self):
            return sgverify.strategies.schemes()

        def step(self, case):
            return ...  # {"theta": [...], "p": [...]}, the state after case.scheme's step with case's numbers

    class TestExpectations(ExpansionConformance):
        def expand(self, case):
            return ...  # {exponents: [coefficient of h^0, h^1, ...]} for the monomials f of degree 1 and 2

They need no pytest: a plain call of `TestMine().test_one_step()` raises `AssertionError` with the smallest step on which the
reading and the definition part. E f(X_1) in powers of h is held against the affine series of the step: on a quadratic potential
the two must agree coefficient by coefficient, at any state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import flint
from flint import arb, arb_mat, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.exact.answers import QuadraticAnswers, answers_for
from sgverify.exact.chain.expansion import AffineSeries
from sgverify.exact.numbers import ball
from sgverify.schemes import Scheme
from sgverify.strategies import configurations, schemes
from sgverify.subject.subject import Subject
from sgverify.testing.conformance.case import Case, cases
from sgverify.testing.conformance.reference import DOUBLE, TrackedBall

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


Monomial = tuple[int, ...]


@dataclass(frozen=True)
class Expectation:
    """E f(X_1) is asked for at X_0 = `state` (flat, theta before p), through h^`orders`."""

    subject: Subject
    state: tuple[Fraction, ...]
    orders: int

    @property
    def monomials(self) -> list[Monomial]:
        """The exponents of every monomial of degree 1 and 2 in the coordinates of the state."""
        size = len(self.state)
        places = [p for degree in (1, 2) for p in combinations_with_replacement(range(size), degree)]
        return [tuple(p.count(i) for i in range(size)) for p in places]

    def by_affine_series(self) -> dict[Monomial, list[arb]]:
        """Mean m = x + sum h^j (M_j x + c_j) and second moment m m^T + sum h^j Q_j, by the affine reading."""
        answers = answers_for(self.subject.model)
        assert isinstance(answers, QuadraticAnswers)
        series, start = answers.series, ball.column(self.state)
        assert isinstance(series, AffineSeries)
        means = [start]
        means += [arb_mat(m) * start + arb_mat(c) for m, c in zip(series.map, series.shift, strict=True)]
        found: dict[Monomial, list[arb]] = {}
        for exponents in self.monomials:
            i, *rest = [k for k, power in enumerate(exponents) for _ in range(power)]
            values = []
            for j in range(self.orders + 1):
                if not rest:
                    values.append(means[j][i, 0])
                    continue
                value = sum((means[a][i, 0] * means[j - a][rest[0], 0] for a in range(j + 1)), arb(0))
                values.append(value + arb_mat(series.covariance[j - 1])[i, rest[0]] if j else value)
            found[exponents] = values
        return found


@st.composite
def expectations(
    draw: Any, *, schemes: SearchStrategy[Scheme], dims: Sequence[int], kinds: Sequence[str], orders: int
) -> Expectation:
    """Questions about `schemes` on generated targets, at generated states."""
    scheme = draw(schemes)
    configuration = draw(configurations(scheme=scheme, dims=dims, kinds=kinds, sizes=(3, 4)))
    subject = Subject(scheme, configuration, scheme.reference)
    size = subject.target.dim * len(scheme.dynamics.state)
    entries = st.integers(-6, 6).map(lambda k: Fraction(k, 2))
    return Expectation(subject, tuple(draw(st.lists(entries, min_size=size, max_size=size))), orders)


class ExpansionConformance:
    """The coefficients of E f(X_1) in powers of h equal those of the affine series, ball for ball.

    Two methods to override: `schemes` (optional) and `expand`. `dims`, `kinds` (gradient estimators), `orders` (the
    highest power of h) and `examples` bound what is tried.
    """

    dims: Sequence[int] = (1,)
    kinds: Sequence[str] = ("full", "iid", "without-replacement")
    orders: int = 3
    examples: int = 60

    def schemes(self) -> SearchStrategy[Scheme]:
        """The schemes that the reading is to read."""
        return schemes()

    def expand(self, case: Expectation) -> Mapping[Monomial, Sequence[Any]]:
        """For each of `case.monomials` the coefficients of h^0, ..., h^orders, in balls."""
        raise NotImplementedError("a reading under test says what it expects: override `expand`")

    def test_expectations(self) -> None:
        """The reading's expectations are the affine ones, for generated schemes, targets, estimators and states."""

        @settings(max_examples=self.examples, deadline=None)
        @given(expectations(schemes=self.schemes(), dims=self.dims, kinds=self.kinds, orders=self.orders))
        def agrees(case: Expectation) -> None:
            self.check(case)

        agrees()

    def check(self, case: Expectation) -> None:
        """Hold one question against the affine series; raises `AssertionError` where a coefficient differs."""
        with flint.ctx.workprec(BITS):
            due, found = case.by_affine_series(), self.expand(case)
            for exponents, values in due.items():
                for j, value in enumerate(values):
                    mine = arb(found[exponents][j])
                    if not mine.overlaps(value):
                        raise AssertionError(
                            f"{case.subject.reference}: E x^{exponents} at h^{j} is {mine.str(15)}, by the affine series "
                            f"{value.str(15)}"
                        )

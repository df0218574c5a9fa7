"""Readings of expectations against the affine series: inherit `ExpansionConformance` and say what the reading expects.

E f(X_1) in powers of h is held against the affine series of the step: on a quadratic potential the two must agree coefficient by
coefficient, at any state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import flint
from flint import arb, arb_mat
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.exact.answers import QuadraticAnswers, answers_for
from sgverify.exact.chain.expansion import AffineSeries
from sgverify.exact.numbers import ball
from sgverify.schemes import Scheme
from sgverify.strategies import configurations, schemes
from sgverify.subject.subject import Subject
from sgverify.testing.conformance.suite import BITS

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

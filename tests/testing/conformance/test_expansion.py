"""The power series and the affine series expect the same, by the suite that ships; wrong readings fail it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from flint import arb
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.schemes import Scheme, exp, scheme, sqrt
from sgverify.schemes.dynamics import kinetic
from sgverify.strategies import schemes, words
from sgverify.testing import examples as at_least
from tests.testing.conformance.exact_readings import series_expansion
from tests.testing.conformance.expansion import ExpansionConformance, Expectation, Monomial


@scheme(kinetic)
def two_minibatches(theta, p, *, h, grad, noise, D, T):
    other = grad.fresh()
    middle = theta + h / 3 * p
    p = (
        exp(-D * h / 2) * p
        - h / 2 * (grad(middle) + other(theta))
        + sqrt(2 * D * T * h) * (noise() - noise() / 3)
    )
    return middle + h / 3 * p + h**2 * grad(theta), p


def expandable() -> SearchStrategy[Scheme]:
    # The noise of (46) with a share of the gradient's divides by D T, and a reciprocal is no number of the brute force.
    return schemes(most=0).filter(lambda item: item.name != "sghmc-momentum-0.001")


class TestPowerSeries(ExpansionConformance):
    examples = at_least(12)

    def schemes(self) -> SearchStrategy[Scheme]:
        return st.one_of(expandable(), words(most=5), st.just(two_minibatches))

    def expand(self, case: Expectation) -> Mapping[Monomial, Sequence[Any]]:
        return series_expansion(case)


class TestPowerSeriesInTwoDimensions(TestPowerSeries):
    dims = (2,)
    orders = 2
    examples = at_least(12)

    def schemes(self) -> SearchStrategy[Scheme]:
        return expandable()


class Nudged(TestPowerSeries):
    examples = 20

    def expand(self, case: Expectation) -> Mapping[Monomial, Sequence[Any]]:
        found = series_expansion(case)
        return {exponents: [*values[:-1], values[-1] + arb(2) ** -200] for exponents, values in found.items()}


class BlindToNoise(TestPowerSeries):
    """The gradient's noise left out of the average."""

    kinds = ("iid",)

    def expand(self, case: Expectation) -> Mapping[Monomial, Sequence[Any]]:
        full = case.subject.configuration.model_copy(
            update={"gradient": type(case.subject.configuration.gradient)()}
        )
        plain = type(case.subject)(case.subject.scheme, full, case.subject.reference)
        return series_expansion(Expectation(plain, case.state, case.orders))


@pytest.mark.usefixtures("no_shrinking")
@pytest.mark.parametrize("wrong", [Nudged, BlindToNoise])
def test_a_wrong_reading_fails(wrong: type[ExpansionConformance]) -> None:
    with pytest.raises(AssertionError, match="by the affine series"):
        wrong().test_expectations()


@pytest.mark.usefixtures("no_shrinking")
def test_the_suite_asks_for_an_expansion() -> None:
    with pytest.raises(NotImplementedError, match="override `expand`"):
        ExpansionConformance().test_expectations()

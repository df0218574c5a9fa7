"""Rates in the length on biases summed term by term, and the rule that a mean square error is of bias or of variance."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sgverify.errors import UserError
from sgverify.rates.decision import Decision
from sgverify.rates.length import decide_length, decide_length_mse
from sgverify.rates.sample import Sample

F = Fraction
L = 100 * 2 ** np.arange(7)


def horizon(alpha: Fraction, terms: dict[int, float], transient: float = 0.3) -> np.ndarray:
    h = L ** -float(alpha)
    return np.asarray(sum(c * h**j for j, c in terms.items()) + transient * (1 + h) / (L * h))


def power(alpha: Fraction, terms: dict[int, float], transient: float = 0.3) -> np.ndarray:
    """Weighted averages by a plain loop over the steps."""
    found = []
    total = 0.0
    sums = dict.fromkeys(terms, 0.0)
    for l in range(1, int(L[-1]) + 1):
        h = l ** -float(alpha)
        total += h
        for j in terms:
            sums[j] += h ** (j + 1)
        if l in L:
            found.append((sum(c * sums[j] for j, c in terms.items()) + transient) / total)
    return np.array(found)


def judge(values: np.ndarray, order: int, alpha: Fraction, **options: Any) -> Decision:
    errors = np.full(len(values), 5e-4 * abs(values[0]))
    sample = Sample.of(values, errors, 1000)
    return decide_length(L[: len(values)], sample, order=order, alpha=alpha, level=0.01, **options)


@pytest.mark.parametrize(
    ("order", "alpha", "terms", "verdict", "named"),
    [
        (2, F(1, 3), {2: 1.0}, "conforms", "L^(-1/3) carries"),
        (2, F(1, 3), {2: 1.0, 3: 0.5}, "conforms", "L^(-1/3) carries"),
        (2, F(1, 3), {1: 0.5, 2: 1.0}, "violates", "L^(-1/3) carries"),
        (2, F(1, 3), {0: 0.05, 2: 1.0}, "violates", "a constant carries"),
        (1, F(1, 2), {1: 1.0}, "conforms", "a constant carries"),
        (1, F(1, 2), {0: 0.1, 1: 1.0}, "violates", "a constant carries"),
        (2, F(1, 3), {}, "conforms", "L^(-1/3) carries"),
        # Beyond the best alpha the transient leads, and order 1 is fast enough there.
        (2, F(7, 10), {1: 1.0, 2: 1.0}, "conforms", "a constant carries"),
        (2, F(7, 10), {0: 0.3, 2: 1.0}, "violates", "a constant carries"),
    ],
)
@pytest.mark.parametrize("kind", ["horizon", "power"])
def test_biases(
    kind: str, order: int, alpha: Fraction, terms: dict[int, float], verdict: str, named: str
) -> None:
    values = horizon(alpha, terms) if kind == "horizon" else power(alpha, terms)
    for sign in (1, -1):
        found = judge(sign * values, order, alpha, kind=kind)
        assert (found.verdict, named in found.reason) == (verdict, True), found.reason
        assert "L=100" in found.reason
        assert found.exponent is not None and found.exponent < 0
        local = np.diff(np.log(np.abs(values))) / np.diff(np.log(L))
        assert local.min() <= found.exponent <= local.max()
        assert found.low is not None and found.high is not None
        assert found.low < found.exponent < found.high


def test_a_strong_transient_is_a_term_of_its_own() -> None:
    """1 / S_L, five times the bias and of the other sign, describes itself on all points."""
    found = judge(power(F(1, 4), {2: 1.0}, transient=-5.0), 2, F(1, 4), kind="power")
    assert (found.verdict, found.kept) == ("conforms", 7)


def test_exponents_that_meet_are_one_term() -> None:
    """At alpha = 33/100 the transient is L^(-67/100), the bias L^(-66/100): one term for any affordable length."""
    found = judge(horizon(F(33, 100), {2: 1.0}), 2, F(33, 100))
    assert found.verdict == "conforms"


def mse(values: np.ndarray, ratio: float, chains: int = 4096, **options: Any) -> Decision:
    """Biases whose square is `ratio` times a single chain's variance at the first length and on the optimal schedule."""
    single = values[0] ** 2 / ratio * (L / L[0]) ** -0.8
    given: dict[str, Any] = {"order": 2, "alpha": F(1, 5), "level": 0.01, **options}
    return decide_length_mse(L, Sample.of(values, np.sqrt(single / chains), chains), **given)


def test_a_mean_square_error_is_judged_by_its_bias() -> None:
    good, bad = horizon(F(1, 5), {2: 1.0}), horizon(F(1, 5), {1: 0.6, 2: 0.4})
    assert mse(good, 30).verdict == "conforms"
    found = mse(bad, 30)
    assert found.verdict == "violates"
    assert "L^(-1/5)" in found.reason
    assert json.loads(json.dumps(found.certificate)) == found.certificate
    # E (phi_hat - phi_bar)^2 = b^2 + v, and exponents describe that.
    whole = bad**2 + bad[0] ** 2 / 30 * (L / L[0]) ** -0.8
    local = np.diff(np.log(whole)) / np.diff(np.log(L))
    assert found.exponent is not None and local.min() <= found.exponent <= local.max()
    assert found.certificate["bias^2/variance"][0] == pytest.approx(30, rel=1e-3)


@pytest.mark.parametrize("terms", [{2: 1.0}, {1: 0.6, 2: 0.4}])
def test_where_the_variance_leads_nothing_is_decided(terms: dict[int, float]) -> None:
    """A scheme with first-order bias keeps the slope -4/5 while its variance leads: no verdict may rest on it."""
    values = horizon(F(1, 5), terms)
    found = mse(values, 0.2)
    assert found.verdict == "inconclusive"
    assert found.more is None
    lowest = min(found.certificate["bias^2/variance"])
    assert "raise schedule.scale" in found.reason and "not the lengths" in found.reason
    # The ratio grows like C^5 at order 2, so this scale brings it to 1.
    assert f"(at least {lowest ** (-1 / 5):.3g} times the scale)" in found.reason


def test_correlated_squares() -> None:
    """The covariance of squares that Gaussian errors have, against a simulation."""
    rng = np.random.default_rng(2)
    values, single = np.array([1.0, 0.5, 0.2, 0.1]), np.diag([0.2, 0.1, 0.05, 0.02]) + 0.01
    from sgverify.rates.length import _squares

    chains = 50
    formula = _squares(Sample.of(values, single / chains, chains), chains)
    errors = values + rng.multivariate_normal(np.zeros(4), single, size=400_000)
    np.testing.assert_allclose(formula.covariance * chains, np.cov((errors**2).T), rtol=0.06, atol=3e-4)
    expected = values**2 + np.diagonal(single) * (1 - 1 / chains)
    np.testing.assert_allclose(formula.values, expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": F(0), "order": 2}, "alpha=0"),
        ({"alpha": F(1), "order": 2}, "alpha=1"),
        ({"alpha": F(1, 3), "order": 0}, "order=0"),
        ({"alpha": F(1, 3), "order": 2, "kind": "fixed"}, "kind='fixed'"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        judge(horizon(F(1, 3), {2: 1.0}), **options)


def test_zero_errors_conform() -> None:
    zero = np.zeros(7)
    for decide in (decide_length, decide_length_mse):
        found = decide(L, Sample.of(zero, zero, 10), order=2, alpha=F(1, 5), level=0.01)
        assert found.verdict == "conforms"

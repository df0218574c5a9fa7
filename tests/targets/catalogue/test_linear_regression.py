"""Linear regression: the exact posterior and each datum's own gradient, against numpy's textbook formulas."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sgverify.configuration import load_configuration
from sgverify.errors import ConfigurationError
from sgverify.exact.posterior.polynomials import posterior_average, posterior_formula
from sgverify.schemes import dot
from sgverify.targets import Target, build_target, parse_observable
from sgverify.targets.catalogue.quadratic import draw
from tests.tables import each_row
from tests.zoo.quadratics import quadratics_of

ROWS = [[1.0, 2.0, 0.5], [0.5, -1.0, 2.0], [2.0, 0.25, -1.5], [-0.75, 1.5, 3.0]]
WRITTEN: dict[str, Any] = {
    "prior_precision": [[2.0, 0.5], [0.5, 1.0]],
    "prior_mean": [0.5, -1.0],
    "noise_precision": 0.75,
}


def build(**keys: Any) -> Target:
    return build_target(SimpleNamespace(name="linear-regression", **{**WRITTEN, "data": ROWS, **keys}))


def textbook() -> tuple[np.ndarray, np.ndarray]:
    """Bishop 2006, equations 3.50 and 3.51."""
    x, y = np.array(ROWS)[:, :2], np.array(ROWS)[:, 2]
    prior, noise = np.array(WRITTEN["prior_precision"]), WRITTEN["noise_precision"]
    precision = prior + noise * x.T @ x
    return precision, np.linalg.solve(precision, prior @ np.array(WRITTEN["prior_mean"]) + noise * x.T @ y)


def agrees(target: Target) -> bool:
    precision, mean = textbook()
    # Four data of size 3 and a condition number below 10: float64 leaves fourteen digits.
    close = np.allclose(target.precision_float64(), precision, rtol=1e-13, atol=1e-13)
    return bool(close and np.allclose(target.mean_float64(), mean, rtol=1e-12, atol=1e-12))


def per_datum_agree(target: Target) -> bool:
    """N grad -log p(y_i | x_i, theta) = N r x_i (x_i . theta - y_i), at two points that differ in size and sign."""
    found = quadratics_of(target)
    for theta in ([Fraction(1, 2), Fraction(-3)], [Fraction(0), Fraction(7, 4)]):
        for (hessian, gradient), (*x, y) in zip(found, ROWS, strict=True):
            residual = sum(Fraction(a) * t for a, t in zip(x, theta, strict=True)) - Fraction(y)
            for a in range(2):
                value = sum((hessian[a][b] * theta[b] for b in range(2)), gradient[a])
                if value != 4 * Fraction(3, 4) * Fraction(x[a]) * residual:
                    return False
    return True


PLANTED: dict[str, Callable[[Target], Target]] = {
    "prior scaled by N/n": lambda t: Target(
        t.name, t.dim, lambda theta: t.prior(theta) * 2, t.likelihood, t.data
    ),
    "prior once per datum": lambda t: Target(
        t.name, t.dim, t.prior, lambda theta, z: t.likelihood(theta, z) + t.prior(theta), t.data
    ),
    "label with the wrong sign": lambda t: Target(
        t.name, t.dim, t.prior, lambda theta, z: t.likelihood(-theta, z), t.data
    ),
    "label as a covariate": lambda t: Target(t.name, t.dim, t.prior, t.likelihood, t.data[:, [0, 2, 1]]),
    "covariate not squared": lambda t: Target(
        t.name, t.dim, t.prior, lambda theta, z: dot(theta, theta) / 2, t.data
    ),
    "one datum lost": lambda t: Target(t.name, t.dim, t.prior, t.likelihood, t.data[:-1]),
}


def test_the_posterior_and_each_datum_are_those_of_the_textbook() -> None:
    target = build()
    assert (target.dim, target.size, target.quadratic, target.common_curvature) == (2, 4, True, False)
    assert agrees(target)
    assert per_datum_agree(target)
    assert target.gradient(target.mean) == (0, 0)


@each_row("bug", PLANTED)
def test_the_comparison_refutes_a_planted_bug(bug: str) -> None:
    assert not agrees(PLANTED[bug](build()))


@pytest.mark.parametrize("bug", ["label with the wrong sign", "prior once per datum", "label as a covariate"])
def test_the_comparison_of_single_data_refutes_a_planted_bug(bug: str) -> None:
    assert not per_datum_agree(PLANTED[bug](build()))


def test_the_data_add_up_to_the_potential() -> None:
    target, prior = build(), build(data=[[0.0, 0.0, 0.0]])
    found = quadratics_of(target)
    for a in range(2):
        for b in range(2):
            total = sum((hessian[a][b] for hessian, _ in found), Fraction(0)) / 4
            assert total == target.precision[a][b] - prior.precision[a][b]


def test_data_that_share_a_hessian_have_quadratics_too() -> None:
    target = build_target(SimpleNamespace(name="gaussian-mean", data=[0.5, 2.0, -4.0], noise_precision=0.5))
    assert target.common_curvature
    found = quadratics_of(target)
    assert [hessian for hessian, _ in found] == [[[Fraction(3, 2)]]] * 3
    centred = [gradient for _, (gradient,) in found]
    average = sum(centred) / 3
    assert [(g - average,) for g in centred] == target.data_gradients()


def test_gradients_without_theta_are_refused_where_the_hessians_differ() -> None:
    with pytest.raises(ConfigurationError, match="'linear-regression'.*differ in their Hessians"):
        build().data_gradients()


def test_averages_and_their_formula() -> None:
    target = build(data=[[1.0, 2.0], [-0.5, 3.0]], prior_precision=2.0, prior_mean=0.5)
    observable = parse_observable("theta**2", 1)
    # precision 2 + 0.75 (1 + 1/4), slope 2/2 + 0.75 (2 - 3/2)
    precision, mean = Fraction(47, 16), Fraction(11, 8) / Fraction(47, 16)
    assert posterior_average(target, observable, 2) == mean**2 + 2 / precision
    formula = posterior_formula("linear-regression", observable, prior_precision=2, prior_mean=Fraction(1, 2))
    values = {"N": 2, "T": 2, "noise_precision": 0.75, "mean(x**2)": 0.625, "mean(x*y)": 0.25}
    value = formula.subs({symbol: values[symbol.name] for symbol in formula.free_symbols})
    assert float(value) == pytest.approx(float(mean**2 + 2 / precision), rel=1e-14)


def test_more_data_begin_with_fewer_and_nothing_in_them_is_symmetric() -> None:
    assert np.array_equal(draw(20, 3, 1)[:5], draw(5, 3, 1))
    x = draw(100_000, 2, 0)[:, :2]
    # E x_0 = 3/4, Var x_0 = 1 + 1/8, Cov(x_0, x_1) = 9/16: ten standard errors are below 0.05.
    assert np.allclose(x[:, 0].mean(), 0.75, atol=0.05)
    assert np.allclose(np.cov(x.T), [[9 / 8, 9 / 16], [9 / 16, 45 / 32]], atol=0.05)
    assert abs(((x - x.mean(0)) ** 3).mean(0)).min() > 0.5


def test_labels_are_drawn_around_the_model() -> None:
    target = build_target(SimpleNamespace(name="linear-regression", dim=3, size=4000, data_seed=2))
    truth = np.random.default_rng(2).standard_normal(3)
    spread = np.sqrt(np.diag(target.covariance_float64()))
    assert (abs(target.mean_float64() - truth) < 5 * spread).all()


@each_row(
    ("keys", "message"),
    [
        ({"data": [1.0, 2.0]}, "at least 2 numbers, the covariates and then what they explain"),
        (
            {"data": [[1.0, 2.0], [1.0]], "prior_mean": 0, "prior_precision": 1},
            "data\\[1\\].*expected 2 numbers",
        ),
        ({"data": ROWS, "dim": 3}, "data\\[0\\].*expected 4 numbers"),
        ({"noise_precision": [1.0, 2.0]}, "noise_precision=.*expected a number"),
        ({"noise_precision": -1.0}, "noise_precision=-1.0: expected a number above 0"),
        ({"precision": 1.0}, "does not belong to target.name='linear-regression'"),
    ],
)
def test_what_is_wrong_is_named(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build(**keys)


def test_a_configuration_names_it() -> None:
    table = load_configuration({"target": {"name": "linear-regression", "dim": 3, "size": 12}}).target
    assert build_target(table).data.shape == (12, 4)  # type: ignore[union-attr]


def test_a_thousand_data_take_no_time() -> None:
    target = build_target(SimpleNamespace(name="linear-regression", dim=3))
    start = time.process_time()
    _ = target.mean, target.data_vectors()
    # Measured 0.02 s; the margin is for a machine that other work shares.
    assert time.process_time() - start < 0.3

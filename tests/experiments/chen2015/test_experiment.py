"""The numbers behind the figures against moments written out by hand, and sampled points against the exact ones."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest

from reports.experiments.chen2015 import settings
from reports.experiments.chen2015.experiment import BEYOND, NODES, Experiment, experiment
from sgverify.exact.affine.model import Model, fixed_step
from sgverify.exact.answers import QuadraticAnswers
from sgverify.samplers import horizon, power
from tests.papers.chen2015.plain_moments import bias, fixed_sizes, gaussian_mse, power_sizes
from tests.tables import each_row

SCHEMES = ("sghmc-aboba", "sghmc-euler", "sghmc-euler-explicit")
FIXED, DECREASING = settings.HORIZON_SCALE, settings.POWER_SCALE


@pytest.mark.parametrize("gradient", ["full", "iid"])
@pytest.mark.parametrize("alpha", settings.RATES["bias"])
def test_the_biases_of_figures_2_5_and_7_are_those_of_a_plain_recursion(alpha: str, gradient: str) -> None:
    chain = experiment("sghmc-aboba", gradient, 10.0)
    for length in (10, 100, 316):
        fixed = chain.at_horizon("bias", FIXED, Fraction(alpha), length)
        falling = chain.at_power("bias", DECREASING, Fraction(alpha), length)
        sizes = fixed_sizes(FIXED, float(alpha), length)
        assert fixed is not None and falling is not None
        assert fixed.value == pytest.approx(bias("sghmc-aboba", sizes, 10.0, gradient), rel=1e-10)
        sizes = power_sizes(DECREASING, float(alpha), length)
        assert falling == pytest.approx(bias("sghmc-aboba", sizes, 10.0, gradient), rel=1e-10)


@pytest.mark.parametrize("alpha", settings.RATES["mse"])
def test_mean_square_errors_with_full_gradients_are_those_of_a_gaussian_path(alpha: str) -> None:
    chain = experiment("sghmc-aboba", "full", 10.0)
    fixed = chain.at_horizon("mse", FIXED, Fraction(alpha), 60)
    falling = chain.at_power("mse", DECREASING, Fraction(alpha), 60)
    assert fixed is not None and falling is not None
    rate = float(alpha)
    assert fixed.value == pytest.approx(
        gaussian_mse("sghmc-aboba", fixed_sizes(FIXED, rate, 60), 10.0), rel=1e-9
    )
    assert falling == pytest.approx(
        gaussian_mse("sghmc-aboba", power_sizes(DECREASING, rate, 60), 10.0), rel=1e-9
    )


@pytest.mark.parametrize("gradient", ["full", "iid"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_biases_of_figure_1_are_those_of_a_plain_recursion(scheme: str, gradient: str) -> None:
    found = experiment(scheme, gradient, 40.0).at_step("bias", 0.01, 2000)
    assert found is not None
    assert found.value == pytest.approx(bias(scheme, [0.01] * 2000, 40.0, gradient), rel=1e-9)


PLANTED = {
    "the exponent of the schedule": lambda: bias("sghmc-aboba", fixed_sizes(FIXED, 0.3, 100), 10.0, "iid"),
    "fixed for decreasing steps": lambda: bias("sghmc-aboba", power_sizes(FIXED, 0.33, 100), 10.0, "iid"),
    "the minibatch noise left out": lambda: bias("sghmc-aboba", fixed_sizes(FIXED, 0.33, 100), 10.0, "full"),
    "another scheme": lambda: bias("sghmc-euler", fixed_sizes(FIXED, 0.33, 100), 10.0, "iid"),
    "another friction": lambda: bias("sghmc-aboba", fixed_sizes(FIXED, 0.33, 100), 11.0, "iid"),
}


@each_row("bug", PLANTED)
def test_a_planted_bug_is_far_outside_of_what_agrees(bug: str) -> None:
    found = experiment("sghmc-aboba", "iid", 10.0).at_horizon("bias", FIXED, Fraction("0.33"), 100)
    assert found is not None
    assert abs(PLANTED[bug]() / found.value - 1) > 1e-3


def test_the_two_euler_schemes_are_not_swapped() -> None:
    for mine, other in (("sghmc-euler", "sghmc-euler-explicit"), ("sghmc-euler-explicit", "sghmc-euler")):
        found = experiment(mine, "full", 40.0).at_step("bias", 0.01, 2000)
        assert found is not None
        assert abs(found.value / bias(other, [0.01] * 2000, 40.0, "full") - 1) > 0.1


@pytest.mark.parametrize("quantity", ["bias", "mse"])
def test_three_starts_average_to_the_random_start(quantity: str) -> None:
    chain = experiment("sghmc-aboba", "iid", 10.0)
    places, weights = np.polynomial.hermite_e.hermegauss(NODES)
    model, step = chain.subject.model, fixed_step(0.02)
    unit = float(chain.subject.target.covariance_float64()[0, 0]) ** 0.5
    centre = float(chain.subject.target.mean_float64()[0])
    total = 0.0
    for place, weight in zip(places, weights / weights.sum(), strict=True):
        start = Fraction((float(place) - centre) / unit)
        point = QuadraticAnswers(
            Model(**{**{f.name: getattr(model, f.name) for f in fields(Model)}, "start": start})
        )
        values = point.mean_square_error if quantity == "mse" else point.bias
        total += weight * values(step, 40).value
    found = chain.at_step(quantity, 0.02, 40)
    assert found is not None
    assert total == pytest.approx(found.value, rel=1e-9)


@pytest.mark.parametrize("gradient", ["full", "iid"])
@pytest.mark.parametrize("kind", ["horizon", "power"])
def test_sampled_points_lie_on_the_exact_curves(kind: str, gradient: str) -> None:
    chain, lengths = experiment("sghmc-aboba", gradient, 10.0), (10, 100)
    alpha = Fraction("0.33")
    if kind == "horizon":
        rows, places = horizon(FIXED, float(alpha), lengths), [(0, 0), (1, 0)]
    else:
        rows, places = power([DECREASING], float(alpha), lengths), [(0, 0), (0, 1)]
    errors = chain.sampled(rows, 2000)
    scale = FIXED if kind == "horizon" else DECREASING
    for quantity in ("bias", "mse"):
        for length, place in zip(lengths, places, strict=True):
            found, truth = errors.at(quantity, *place), chain.error(kind, quantity, scale, alpha, length)
            assert found is not None and truth is not None
            assert abs(found[0] - truth) < 4.5 * found[1]
            # A start at one point instead of at random would be this far off.
            assert found[1] < 0.1 * truth


def test_the_start_is_random_in_the_samples_too() -> None:
    chain = experiment("sghmc-aboba", "full", 10.0)
    errors = chain.sampled(horizon(FIXED, 0.33, [1]), 600)
    found = errors.at("bias", 0, 0)
    one = chain.at_step("bias", FIXED, 1)
    assert found is not None and one is not None
    assert abs(found[0] - one.value) < 4.5 * found[1]
    assert [part.values.shape[-1] for part in errors.parts] == [100, 400, 100]
    assert len({part.values[0, 0, 0, 0] for part in errors.parts}) == NODES


def test_an_unstable_step_has_no_value() -> None:
    chain = experiment("sgld-euler", "full", 10.0)
    assert chain.at_step("bias", chain.limit * 1.001, 100) is None
    assert chain.at_step("bias", chain.limit * 0.999, 100) is not None
    assert chain.at_horizon("mse", 1.0, Fraction(1, 3), 10) is None


def test_a_decreasing_schedule_that_starts_far_beyond_the_limit_has_diverged() -> None:
    chain = experiment("sgld-euler", "iid", 10.0)
    assert chain.at_power("bias", 0.05, Fraction(1, 2), 500) is None
    assert chain.at_power("mse", 0.05, Fraction(1, 2), 500) is None
    mild = chain.at_power("bias", 0.003, Fraction(1, 2), 500)
    assert mild is not None and abs(mild) < BEYOND
    sizes = power_sizes(0.003, 0.5, 500)
    assert mild == pytest.approx(bias("sgld-euler", sizes, 10.0, "iid"), rel=1e-9)


def test_diverged_samples_are_none() -> None:
    chain = Experiment("sgld-euler", "full", 10.0)
    errors = chain.sampled(horizon(1.0, 0.5, [200]), 30)
    assert errors.at("bias", 0, 0) is None
    assert replace(errors, truth=0.0).at("mse", 0, 0) is None

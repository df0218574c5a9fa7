"""The mixture of vr-resgld: its potential against mpmath, its averages against scipy, its condensed sums against the data."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from scipy import integrate

from sgverify.errors import ConfigurationError
from sgverify.exact.numbers.jets import derivatives_of
from sgverify.exact.posterior.reference import reference_average
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.targets import Target, build_target, parse_observable
from sgverify.targets.line import average_on_line, average_on_peaks, condense, find_frame


def mixture(**keys: Any) -> Target:
    return build_target(SimpleNamespace(name="tied-means-mixture", **keys))


def density(x: float, beta: Any, phi: float = 20.0, sigma: float = 5.0) -> Any:
    """-log of the printed density, constants left out, in 30 digits."""
    one = mpmath.exp(-((x - beta) ** 2) / (2 * mpmath.mpf(sigma) ** 2))
    other = mpmath.exp(-((x - (phi - beta)) ** 2) / (2 * mpmath.mpf(sigma) ** 2))
    return -mpmath.log(one + other)


def test_the_potential_and_its_slope_are_those_of_the_printed_density() -> None:
    data = [-7.0, 3.0, 11.5, 26.0]
    target = mixture(data=data)
    for beta in (-400.0, -5.0, 0.3, 10.0, 14.0, 25.0, 3000.0):
        with mpmath.workdps(1000 if abs(beta) > 100 else 40):
            value = sum(density(x, mpmath.mpf(beta)) for x in data)
            slope = mpmath.diff(
                lambda b: sum(density(x, b) for x in data), mpmath.mpf(beta), h=mpmath.mpf(10) ** -12
            )
        found = derivatives_of(target, np.array([beta]), 1)[:, 0]
        assert float(found[0]) == pytest.approx(float(value), rel=1e-13)
        assert float(found[1]) == pytest.approx(float(slope), rel=1e-9, abs=1e-11)
        assert float(target.energy_float64(np.array([[beta]]))[0]) == pytest.approx(float(value), rel=1e-13)


def test_autograd_stays_finite_and_right_where_a_naive_sum_underflows() -> None:
    target = mixture(data=[-7.0, 3.0, 26.0])
    theta = torch.tensor([[[-1e4]], [[1e4]], [[-5.0]]], dtype=torch.float64)
    found = Potential(target, dtype=torch.float64, device="cpu").full(theta)
    wanted = derivatives_of(target, theta.flatten().numpy(), 1)[1]
    np.testing.assert_allclose(found.flatten().numpy(), wanted, rtol=1e-12)


def test_the_data_are_drawn_from_both_components() -> None:
    target = mixture(size=100_000)
    assert target.data is not None
    # Standard errors: sqrt(15^2 + 5^2)/sqrt(N) = 0.05 and, of the mean square, below 0.7; five of them.
    assert abs(target.data.mean() - 10) < 0.25
    assert abs(((target.data - 10) ** 2).mean() - 250) < 3.5
    assert np.array_equal(target.data[:7], mixture(size=7).data)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1, 20])
def test_averages_agree_with_scipys_quadrature(size: int) -> None:
    target = mixture(size=size)
    lowest = float(target.energy_float64(np.array(target.peaks)[:, None]).min())

    def weighted(power: int) -> float:
        def integrand(x: float) -> float:
            return float(x**power * np.exp(lowest - target.energy_float64(np.array([[x]]))[0]))

        points = [*target.peaks, 10.0]
        return float(
            integrate.quad(integrand, -60, 80, points=points, limit=400, epsabs=1e-12, epsrel=1e-11)[0]
        )

    found = reference_average(target, parse_observable("theta**2", 1), 1)
    assert found.method == "certified"
    assert float(found) == pytest.approx(weighted(2) / weighted(0), rel=1e-9)


@pytest.mark.power  # 2.0 s
def test_the_posterior_of_a_hundred_thousand_data_is_symmetric_and_has_the_moments_of_its_two_peaks() -> None:
    target = mixture()
    mean = reference_average(target, parse_observable("theta", 1), 1)
    assert float(mean) == pytest.approx(10.0, abs=mean.error_bound)
    square = reference_average(target, parse_observable("theta**2", 1), 1)
    # Laplace at the right-hand peak: E (theta - 10)^2 is r^2 + 1/U'' but for terms of relative size 1/N.
    at = np.array([max(target.peaks)])
    for _ in range(6):
        slope, curvature = derivatives_of(target, at, 2)[1:, 0]
        at = at - slope / curvature
    assert float(square) == pytest.approx(100 + float((at[0] - 10) ** 2 + 1 / curvature), rel=1e-6)
    assert square.error_bound < 1e-6


@pytest.mark.parametrize("temperature", [1, 10])
def test_peaks_apart_and_one_enclosure_agree(temperature: int) -> None:
    target = mixture(size=40)
    certified = reference_average(target, parse_observable("theta**2", 1), temperature)
    assert certified.method == "certified"

    def energy(x: np.ndarray) -> np.ndarray:
        return np.asarray(target.energy_float64(x[:, None]) / temperature)

    found = average_on_peaks(energy, lambda x: (x**2)[None, :], 10.0, 15.0, target.peaks)
    assert float(found.values[0]) == pytest.approx(
        float(certified), abs=float(found.error_bounds[0]) + certified.error_bound
    )


def test_peaks_that_are_not_apart_are_integrated_as_one() -> None:
    def energy(x: np.ndarray) -> np.ndarray:
        return np.asarray(x**2 / 2)

    one = average_on_line(energy, lambda x: (x**2)[None, :], find_frame(energy))
    assert (
        average_on_peaks(energy, lambda x: (x**2)[None, :], 0.0, 1.0, (-1.0, 1.0)).values[0] == one.values[0]
    )
    assert one.log_mass == pytest.approx(0.5 * np.log(2 * np.pi), rel=1e-13)


def test_unequal_peaks_get_their_masses() -> None:
    def energy(x: np.ndarray) -> np.ndarray:
        left, right = np.log(0.25) - (x + 50) ** 2 / 2, np.log(0.75 / 2) - (x - 50) ** 2 / 8
        return np.asarray(-np.logaddexp(left, right))

    found = average_on_peaks(energy, lambda x: np.stack([x, x**2]), 0.0, 50.0, (-50.2, 49.7))
    np.testing.assert_allclose(found.values, [25.0, 0.25 * 2501 + 0.75 * 2504], rtol=1e-12)
    assert found.log_mass == pytest.approx(0.5 * np.log(2 * np.pi), rel=1e-12)


def test_condensed_data_sum_polynomials_exactly_and_the_potential_to_rounding() -> None:
    target = mixture()
    assert target.data is not None
    few, weights = condense(target.data, 32)
    assert len(few) <= 40 * 32
    assert (weights > 0).all()
    centred, at = (target.data[:, 0] - 10) / 60, (few[:, 0] - 10) / 60
    for power in range(20):
        assert float(weights @ at**power) == pytest.approx(float((centred**power).sum()), rel=1e-12, abs=1e-9)
    theta = np.array([-12.0, -5.0, 0.0, 9.0, 10.0, 25.0, 40.0])
    plain = replace(target, condensable=False)
    assert len(target.weighted[0]) < 1000
    # A sum of 1e5 terms: a few units in the last place either way.
    np.testing.assert_allclose(
        target.energy_float64(theta[:, None]), plain.energy_float64(theta[:, None]), rtol=1e-14
    )
    slopes = [derivatives_of(t, theta, 1)[1] for t in (target, plain)]
    np.testing.assert_allclose(slopes[0], slopes[1], atol=1e-9)
    on_torch = [Potential(t, dtype=torch.float64, device="cpu") for t in (target, plain)]
    point = torch.tensor([[[-4.9]]], dtype=torch.float64)
    energies, gradients = zip(*((made.energy(point), made.full(point)) for made in on_torch), strict=True)
    assert float(energies[0]) == pytest.approx(float(energies[1]), rel=1e-14)
    assert float(gradients[0]) == pytest.approx(float(gradients[1]), abs=1e-8)


def test_condensing_keeps_data_that_repeat() -> None:
    data = np.repeat([0.0, 1.0, 5.0], 2000)[:, None]
    few, weights = condense(data, 4)
    assert few[:, 0].tolist() == [0.0, 1.0, 5.0]
    assert weights.tolist() == [2000.0] * 3


def test_few_data_are_not_condensed() -> None:
    assert mixture(size=300).weighted[1] is None


def test_the_barrier_between_the_modes_is_that_of_the_energy() -> None:
    target = mixture(size=40)
    low, high = (target.energy_float64(np.array([[x]]))[0] for x in (max(target.peaks), 10.0))
    assert target.barrier_float64(2.0) == pytest.approx(float(high - low) / 2)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"dim": 2}, "has dimension 1"),
        ({"sigma": 0}, "expected a number above 0"),
        ({"data": [1.0, 2.0], "beta": -4}, "target.beta=-4 has no effect"),
        ({"beta": [1.0, 2.0]}, "expected a number"),
    ],
)
def test_wrong_keys_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        mixture(**keys)


def test_beta_moves_the_data_alone() -> None:
    near, far = mixture(size=50, beta=8, sigma=1), mixture(size=50, sigma=1)
    theta = np.array([[3.0]])
    assert near.data is not None
    assert np.ptp(near.data) < 10 < np.ptp(far.data)  # type: ignore[arg-type]
    assert replace(near, data=far.data).energy_float64(theta) == far.energy_float64(theta)
    assert reference_average(near, parse_observable("theta", 1), Fraction(1)).method == "certified"

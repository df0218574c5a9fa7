"""The regression on points: no exponent from noise, intervals of what they say, slopes among the local ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from sgverify.rates.fit import fit_terms, regress, regress_exact
from sgverify.rates.sample import Sample

H = np.array([2.0**-k for k in range(5)])


def sample(values: np.ndarray, noise: float, chains: int | None = 256) -> Sample:
    return Sample.of(values, np.full(len(values), noise), chains)


@pytest.mark.parametrize("power", [0.5, 1, 2, -1])
def test_a_power_has_its_exponent_and_no_residuals(power: float) -> None:
    found = regress(H, sample(-(H**power), 1e-3))
    assert found.exponent == pytest.approx(power)
    assert found.low < power < found.high  # type: ignore[operator]
    assert np.abs(found.residuals).max() < 1e-6 and found.lack_of_fit == pytest.approx(1)


def test_noise_alone_has_no_exponent(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)

    def often() -> int:
        return sum(regress(H, sample(rng.standard_normal(5), 1.0)).exponent is not None for _ in range(100))

    assert often() == 0
    monkeypatch.setattr("sgverify.rates.fit.TOLD", 0.1)
    assert often() > 0


def test_what_is_left_out_is_named_and_three_points_are_needed() -> None:
    found = regress(H, sample(H**2, 0.01))
    assert found.used == (0, 1, 2) and [i for i, _ in found.left_out] == [3, 4]
    named = found.certificate(H.tolist(), "h")
    assert named["left_out"]["h=0.125"] == "1.6 standard errors from 0" and named["h"] == [1.0, 0.5, 0.25]
    none = regress(H, sample(H**2, 0.05))
    assert none.exponent is None
    assert none.why == "2 of 5 points are more than 3 standard errors from 0, and a fit needs 3"
    assert none.certificate(H.tolist(), "h").keys() == {"why_none", "left_out"}


def test_values_of_two_signs_have_no_exponent() -> None:
    assert regress(H, sample(H - 0.6 * H**0, 1e-3)).why == "the values change their sign"


def test_the_slope_is_a_mean_of_local_ones_also_where_points_are_coupled() -> None:
    """Generalised least squares leaves the range of all slopes there are where the values are no power."""
    values = 1.4 * H**2 - 0.7 * H**3 + 0.3 * H**4
    shared = 1e-6 * (0.01 * np.eye(5) + 0.99)
    coupled = Sample.of(values, shared, 4096)
    found = regress(H, coupled)
    slopes = [
        np.log(a / b) / np.log(x / y) for (x, a), (y, b) in combinations(zip(H, values, strict=True), 2)
    ]
    assert min(slopes) <= found.exponent <= max(slopes)
    logs = Sample(np.log(values), shared / np.outer(values, values), 4096, True)
    general = fit_terms(logs, np.stack([np.ones(5), np.log(H)], axis=1)).estimates[1]
    assert not min(slopes) <= general <= max(slopes)
    assert found.lack_of_fit is not None and found.lack_of_fit < 1e-3


def test_more_looks_widen_the_interval() -> None:
    one, three = (regress(H, replace(sample(H, 1e-3), looks=looks)) for looks in (1, 3))
    assert three.high - three.low > one.high - one.low  # type: ignore[operator]


def test_exact_points_have_the_range_of_their_local_slopes() -> None:
    values = H + H**2
    found = regress_exact(H[::-1], values[::-1], np.zeros(5))
    local = np.diff(np.log(values)) / np.diff(np.log(H))
    assert (found.low, found.high) == pytest.approx((local.min(), local.max()))
    assert found.exponent == pytest.approx(np.polyfit(np.log(H), np.log(values), 1)[0])
    assert found.lack_of_fit is None
    assert found.certificate(H.tolist(), "h")["interval"] == "range of local slopes"
    unsure = regress_exact(H[::-1], values[::-1], 0.01 * values[::-1])
    assert unsure.low < found.low and unsure.high > found.high  # type: ignore[operator]


def test_exact_zeros_and_values_within_their_bounds_are_left_out() -> None:
    found = regress_exact(H[::-1], np.array([0.0, 1e-9, 0.25, 0.5, 1.0]), np.full(5, 1e-8))
    assert found.exponent == pytest.approx(1)
    assert dict(found.left_out) == {0: "exactly 0", 1: "0 within its error bound"}
    assert regress_exact(H, np.zeros(5), np.zeros(5)).why.startswith("0 of 5 points are told from 0")
    assert regress_exact(H, H - 0.3, np.zeros(5)).why == "the values change their sign"

"""Targets in other coordinates: the same energies and draws, and a posterior in years that is sampled in a few steps."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

import numpy as np
import pytest

import sgverify
import sgverify.samplers
from sgverify.advice.closure.linear_chain import lyapunov
from sgverify.advice.covariates import scale_line
from sgverify.configuration import load_configuration
from sgverify.draws.summary import table_of
from sgverify.errors import ConfigurationError
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.subject.binding import make_subject
from sgverify.targets import build_target
from sgverify.targets.derived import FramedTarget
from tests.conftest import LogCapture


@pytest.fixture
def years(tmp_path: Path) -> str:
    """A regression on years that are not centred: the condition number of its posterior is 1e11."""
    random = np.random.default_rng(0)
    year = np.arange(1952, 2014)
    rows = np.column_stack([year, 9 + 0.02 * (year - 1982) + random.normal(size=len(year))])
    np.savetxt(tmp_path / "years.csv", rows, delimiter=",", header="year,y", comments="")
    return str(tmp_path / "years.csv")


@pytest.mark.parametrize("how", [True, "diagonal", "standardise"])
def test_energies_are_those_of_the_same_points(how: bool | str, years: str) -> None:
    table = {"name": "linear-regression", "file": years, "intercept": True, "prior_precision": 1e-4}
    key = {"standardise": True} if how == "standardise" else {"whiten": how}
    target = build_target(load_configuration(target={**table, **key}).target)
    plain = build_target(load_configuration(target=table).target)
    assert isinstance(target, FramedTarget)
    z = np.random.default_rng(1).normal(size=(5, 2))
    np.testing.assert_allclose(
        target.energy_float64(z), plain.energy_float64(target.frame.back(z)), rtol=1e-9
    )
    # Dense, the precision is the identity, exactly up to the rounding of A.
    condition = np.linalg.cond(target.precision_float64())
    assert condition < (1.001 if how is True else 30 if how == "standardise" else 1e11)


def test_a_posterior_in_years_is_known_from_few_steps(years: str, caplog: LogCapture) -> None:
    table = {"name": "linear-regression", "file": years, "intercept": True, "prior_precision": 1e-4}
    said = scale_line(make_subject("sghmc-baoab", load_configuration(target=table)))
    assert said.startswith("badly scaled: the condition number of the posterior is ")
    assert "theta[0] (intercept) and theta[1] (year) are correlated by -0.9999" in said
    logging.getLogger("sgverify").setLevel(logging.INFO)
    draws = sgverify.sample("sghmc-baoab", target={**table, "whiten": True}, chains=4, steps=1500)
    assert "badly scaled" not in caplog.text
    assert draws.attrs["verdict"].startswith("TRUST")
    plain = build_target(load_configuration(target=table).target)
    for row, mean, sd in zip(
        table_of(draws).values(), plain.mean_float64(), plain.spread_float64(1.0), strict=True
    ):
        assert row["mean"] is not None and row["sd"] is not None
        # 5,900 draws that are worth 3,000: five standard errors.
        assert abs(row["mean"] - mean) < 5 * sd / 3000**0.5
        assert abs(row["sd"] / sd - 1) < 5 / 6000**0.5


def test_a_log_density_of_ones_own_is_whitened_at_its_mode() -> None:
    @sgverify.log_density(dim=2)
    def narrow(theta):  # type: ignore[no-untyped-def]
        x, y = theta.unbind(-1)
        return -0.5 * ((x - 4000) / 30) ** 2 - 0.5 * ((y + x / 4000) / 1e-4) ** 2

    target = FramedTarget.of(narrow.target(), "dense")
    centre, axes = target.frame.arrays
    np.testing.assert_allclose(centre, [4000, -1], atol=1e-2)
    np.testing.assert_allclose(axes @ axes.T, [[900, -0.225], [-0.225, 0.225 / 4000 + 1e-8]], rtol=1e-4)


def test_what_cannot_be_is_refused_and_what_is_lost_is_said() -> None:
    with pytest.raises(ConfigurationError, match="expected a regression"):
        build_target(load_configuration(target={"name": "gaussian", "standardise": True}).target)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PrecisionLostError, match="float64 loses its covariance"):
            lyapunov(np.array([[1 - 1.2e-16, 1e8], [0.0, 0.5]]), np.eye(2))

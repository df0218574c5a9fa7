"""Covariates of a regression: their names, the intercept, and the condition numbers, against the posterior of standardised data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sgverify.advice.covariates import Covariates, covariates_of
from sgverify.configuration import load_configuration
from sgverify.targets import build_target


def read(rows: np.ndarray, path: Path, header: str, **more: object) -> Covariates | None:
    np.savetxt(path, rows, delimiter=",", header=header, comments="")
    settings = {"name": "linear-regression", "file": str(path), **more}
    table = load_configuration(target=settings).target
    target = build_target(table)
    return covariates_of(target, target.covariance_float64(), 1.0, table)


def rows_of(*, intercept: bool, raw: bool) -> np.ndarray:
    random = np.random.default_rng(1)
    age, dose = random.normal(50, 12, 60), random.gamma(2, 0.1, 60)
    columns = [age, dose] if raw else [(x - intercept * x.mean()) / x.std() for x in (age, dose)]
    return np.column_stack([*[np.ones(60)] * intercept, *columns, 0.1 * age + random.normal(size=60)])


@pytest.mark.parametrize("intercept", [True, False])
def test_the_condition_number_of_standardised_covariates_is_that_of_their_posterior(
    intercept: bool, tmp_path: Path
) -> None:
    header = "one,age,dose,y" if intercept else "age,dose,y"
    raw, changed = (
        read(rows_of(intercept=intercept, raw=raw), tmp_path / f"{raw}.csv", header, prior_precision=0.5)
        for raw in (True, False)
    )
    assert raw is not None and changed is not None
    assert raw.standardised == pytest.approx(changed.condition, rel=1e-9)
    assert changed.standardised == pytest.approx(changed.condition, rel=1e-9)
    assert raw.worth and raw.condition > 1000 * raw.standardised and not changed.worth
    assert raw.names == tuple(header.split(",")[:-1]) and raw.intercept == (0 if intercept else None)
    said = " ".join(raw.lines())
    assert "of age" in said and "N(0, 2) in each coordinate" in said and "standardise them" in said
    assert (
        ("theta[0] (one) is the intercept" in said)
        == ("mean 0 and standard deviation 1" in said)
        == intercept
    )
    assert "well scaled" in changed.lines()[-1]


def test_of_a_posterior_that_is_no_regression_nothing_is_said() -> None:
    table = load_configuration().target
    target = build_target(table)
    assert covariates_of(target, target.covariance_float64(), 1.0, table) is None

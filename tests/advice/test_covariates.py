"""Covariates of a regression: their names, the intercept, and the prior."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sgverify.advice.covariates import covariate_lines
from sgverify.configuration import load_configuration
from sgverify.subject.binding import make_subject


def lines_of(rows: np.ndarray, path: Path, header: str) -> tuple[str, ...]:
    np.savetxt(path, rows, delimiter=",", header=header, comments="")
    target = {"name": "linear-regression", "file": str(path), "prior_precision": 0.5}
    return covariate_lines(make_subject("sgld-euler", load_configuration(target=target)))


@pytest.mark.parametrize("intercept", [True, False])
def test_covariates_have_the_names_of_their_columns(intercept: bool, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    age, dose = random.normal(50, 12, 60), random.gamma(2, 0.1, 60)
    columns = [*[np.ones(60)] * intercept, age, dose, 0.1 * age + random.normal(size=60)]
    header = "one,age,dose,y" if intercept else "age,dose,y"
    places, prior = lines_of(np.column_stack(columns), tmp_path / "data.csv", header)
    assert f"theta[{int(intercept)}] " in places.partition("age")[0]
    assert ("theta[0] (one) is the intercept" in places) == intercept
    assert ("there is no intercept" in places) != intercept
    assert "N(0, 2) in each coordinate" in prior


def test_of_a_posterior_that_is_no_regression_nothing_is_said() -> None:
    assert covariate_lines(make_subject("sgld-euler", load_configuration())) == ()

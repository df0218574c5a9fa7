"""Logistic, Poisson and robust regression: potentials by formulas of their own, declared bounds of the Hessian, files of data."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sgverify.checks import verify
from sgverify.configuration import load_configuration
from sgverify.errors import ConfigurationError
from sgverify.subject.binding import make_subject
from sgverify.targets import Target, build_target
from sgverify.targets.landscape import hessian
from tests.self_checks.registry import self_check

REGRESSIONS = ("linear-regression", "logistic-regression", "poisson-regression", "robust-regression")
BOUNDED = REGRESSIONS[1:]
DATA = {
    "linear-regression": [[0.5, -1.0, 0.3], [1.0, 2.0, -0.7]],
    "logistic-regression": [[0.5, -1.0, 1.0], [1.0, 2.0, 0.0]],
    "poisson-regression": [[0.5, -1.0, 3.0], [1.0, 2.0, 0.0]],
    "robust-regression": [[0.5, -1.0, 0.3], [1.0, 2.0, -7.0]],
}
CONSTANTS = {"robust-regression": {"noise_precision": 2.0, "degrees_of_freedom": 3.0}}


def build(name: str, **keys: Any) -> Target:
    return build_target(SimpleNamespace(name=name, **{**CONSTANTS.get(name, {}), **keys}))


def minus_log(name: str, score: float, y: float) -> float:
    """-log p(y | score) of scipy's laws."""
    if name == "poisson-regression":
        return -float(stats.poisson(math.exp(score)).logpmf(y))
    return -float(stats.t(3.0, loc=score, scale=1 / math.sqrt(2.0)).logpdf(y))


@pytest.mark.parametrize("name", BOUNDED[1:])
def test_the_potential_is_that_of_the_law_up_to_a_constant(name: str) -> None:
    target = build(name, data=DATA[name])
    points = [np.array([0.3, -0.2]), np.array([-1.0, 0.5])]

    def known(theta: np.ndarray) -> float:
        terms = [minus_log(name, float(np.dot(row[:2], theta)), row[2]) for row in DATA[name]]
        return sum(terms) + float(theta @ theta) / 2

    found = [float(target.energy_float64(theta)) for theta in points]
    assert found[1] - found[0] == pytest.approx(known(points[1]) - known(points[0]), rel=1e-12)


@pytest.mark.parametrize("name", BOUNDED)
@given(theta=st.lists(st.floats(-3, 3), min_size=2, max_size=2))
def test_the_hessian_is_within_the_declared_bounds(name: str, theta: list[float]) -> None:
    target = build(name, dim=2, prior_precision=[[2.0, 0.5], [0.5, 1.0]])
    assert target.hessian_bounds is not None
    least, largest = target.hessian_bounds
    found = np.linalg.eigvalsh(hessian(target.gradient_float64, np.array(theta), np.ones(2)))
    # Differences over 1e-4 err by about 1e-8 of the derivative but one.
    slack = 1e-6 * (1 + np.abs(found).max())
    assert least - slack <= found[0] and found[-1] <= largest + slack


def test_the_bounds_are_attained() -> None:
    """One datum at the score of the largest, and of the least, second derivative."""
    logistic = build("logistic-regression", data=[[2.0, 1.0, 0.0]])
    curve = hessian(logistic.gradient_float64, np.zeros(2), np.ones(2))
    assert logistic.hessian_bounds == pytest.approx((1.0, np.linalg.eigvalsh(curve)[-1]), rel=1e-6)
    robust = build("robust-regression", data=[[1.0, 0.0, 0.0]])
    at = {
        q: hessian(robust.gradient_float64, np.array([math.sqrt(q * 3 / 2), 0]), np.ones(2)) for q in (0, 3)
    }
    found = np.linalg.eigvalsh(at[3])[0], np.linalg.eigvalsh(at[0])[-1]
    assert robust.hessian_bounds == pytest.approx(found, rel=1e-6)
    assert build("poisson-regression", dim=2).hessian_bounds == (1.0, math.inf)


@pytest.mark.parametrize(
    ("name", "lipschitz", "dissipative"),
    [
        ("logistic-regression", "conforms", "conforms"),
        ("poisson-regression", "violates", "conforms"),
        ("robust-regression", "conforms", "not-applicable"),
    ],
)
def test_assumptions_are_decided_by_them(name: str, lipschitz: str, dissipative: str) -> None:
    configuration = load_configuration(target={"name": name, "dim": 2})
    found = verify("resgld", configuration, checks=["lipschitz-gradient", "dissipativity"])
    verdicts = {item.check: item.verdict for item in found}
    assert verdicts == {"lipschitz-gradient": lipschitz, "dissipativity": dissipative}


@pytest.mark.parametrize("name", REGRESSIONS)
def test_a_file_with_the_name_of_a_model_is_a_posterior(name: str, tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    rows = ["one,x,y", *(",".join(map(str, row)) for row in DATA[name])]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    configuration = load_configuration(target={"name": name, "file": str(file)})
    target = make_subject("sgld-euler", configuration).target
    theta = np.array([[0.3, -0.2]])
    assert target.energy_float64(theta) == build_target(
        SimpleNamespace(name=name, data=DATA[name])
    ).energy_float64(theta)
    assert self_check("gradient-mean", "sgld-euler", configuration).verdict == "conforms"


def test_what_is_no_count_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"target\.data\[1\] has the entry 1\.5; expected a count"):
        build("poisson-regression", data=[[1.0, 2.0], [1.0, 1.5]])


def test_drawn_counts_have_the_stated_law() -> None:
    """In one dimension with 4000 data: the mean of (y - l)/sqrt(l), whose standard error is 1/sqrt(N)."""
    target = build("poisson-regression", dim=1, size=4000)
    assert target.data is not None
    x, y = target.data[:, 0], target.data[:, 1]
    centre = np.random.default_rng(0).standard_normal(1)
    rates = np.exp(np.minimum(x * centre[0] / 2, 4.0))
    assert abs(np.mean((y - rates) / np.sqrt(rates))) < 5 / math.sqrt(4000)
    assert abs(np.mean((y - rates) ** 2 / rates) - 1) < 0.15
    short = build("poisson-regression", dim=1, size=10)
    assert np.array_equal(short.data, target.data[:10])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "width"), [("logistic-regression", 1), ("logistic-regression", 400), ("poisson-regression", 1)]
)
def test_sums_over_many_data_are_those_over_few_nodes_wherever_the_mass_is(name: str, width: int) -> None:
    data = np.array(build_target(SimpleNamespace(name=name, size=6000)).data)
    # Wide covariates make sharp bends, which take more panels.
    data[:, 0] *= width
    few = build_target(SimpleNamespace(name=name, data=data))
    whole = replace(few, condensable=False)
    assert len(few.weighted[0]) < 2000 + 4000 * (width > 1)
    theta = few.location_float64(1.0) + few.spread_float64(1.0) * np.linspace(-8, 8, 9)[:, None]
    for function in (
        lambda target: target.energy_float64(theta),
        lambda target: target.gradient_float64(theta),
    ):
        np.testing.assert_allclose(function(few), function(whole), rtol=1e-11, atol=1e-8)

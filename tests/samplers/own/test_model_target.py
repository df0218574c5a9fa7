"""Models of NumPyro and PyMC as targets: values and gradients by formulas, and a scheme judged on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sgverify
from sgverify.checks import verify
from sgverify.configuration import load_configuration
from sgverify.errors import DefinitionError
from sgverify.samplers.own.model_target import read_model
from tests.self_checks.registry import self_check

Y = np.array([1.0, 2.0, 0.5, -0.25])


@pytest.mark.parametrize("model", [3, "mu ~ N(0, 1)", None])
def test_what_is_no_model_is_refused(model: Any) -> None:
    with pytest.raises(
        DefinitionError, match="is no model; expected a PyMC model, or a function with NumPyro's"
    ):
        sgverify.model_target(model)


def scale_model(theta: np.ndarray) -> float:
    """log p(mu, log s, y) for mu ~ N(0, 1), s ~ |N(0, 1)|, y ~ N(mu, s^2), up to a constant; the Jacobian of log s is s."""
    mu, log_scale = theta
    s = np.exp(log_scale)
    return float(
        -(mu**2) / 2 - s**2 / 2 + log_scale - len(Y) * log_scale - ((Y - mu) ** 2).sum() / (2 * s**2)
    )


def of_numpyro() -> Any:
    numpyro = pytest.importorskip("numpyro")
    law = pytest.importorskip("numpyro.distributions")

    def model(y: Any) -> None:
        mu = numpyro.sample("mu", law.Normal(0, 1))
        numpyro.sample("y", law.Normal(mu, numpyro.sample("s", law.HalfNormal(1.0))), obs=y)

    return read_model(model, y=Y)


def of_pymc() -> Any:
    pymc = pytest.importorskip("pymc")
    with pymc.Model(name="scale") as model:
        mu, s = pymc.Normal("mu", 0, 1), pymc.HalfNormal("s", 1)
        pymc.Normal("y", mu, s, observed=Y)
    return read_model(model)


@pytest.mark.wild
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("read", [of_numpyro, of_pymc])
def test_value_and_gradient_are_those_of_the_model(read: Any) -> None:
    density = read()
    assert density.dim == 2 and list(density.sites.values()) == [1, 1]
    points = np.array([[0.3, -0.2], [1.0, 0.5], [-2.0, 0.1]])
    values, gradients = density.evaluate(points)
    known = np.array([scale_model(theta) for theta in points])
    assert np.allclose(values - values[0], known - known[0], rtol=0, atol=1e-12)
    h = 1e-5
    slopes = [
        [(scale_model(t + h * e) - scale_model(t - h * e)) / (2 * h) for e in np.eye(2)] for t in points
    ]
    # The error of a central difference: h^2/6 of the third derivatives, and the rounding of U divided by h.
    assert np.allclose(gradients, slopes, rtol=0, atol=1e-7)


NUMPYRO = """
import numpy as np, numpyro, numpyro.distributions as dist, sgverify

def mean(y):
    mu = numpyro.sample("mu", dist.Normal(0, 1))
    numpyro.sample("y", dist.Normal(mu, 1), obs=y)

posterior = sgverify.model_target(mean, y=np.array([1.0, 2.0, 0.5, -0.25]))
"""

PYMC = """
import numpy as np, pymc, sgverify

with pymc.Model() as model:
    mu = pymc.Normal("mu", 0, 1)
    pymc.Normal("y", mu, 1, observed=np.array([1.0, 2.0, 0.5, -0.25]))

posterior = sgverify.model_target(model)
"""


@pytest.mark.wild
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("library", "text"), [("numpyro", NUMPYRO), ("pymc", PYMC)])
def test_a_scheme_is_judged_on_a_model(
    library: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(text, encoding="utf-8")
    configuration = load_configuration(target={"name": "mine.py:posterior"})
    from sgverify.targets import build_target

    target = build_target(configuration.target)
    # The posterior of a mean: precision 1 + N, mean sum(y)/(1 + N).
    assert target.location_float64(1.0) == pytest.approx(Y.sum() / 5, abs=1e-6)
    assert target.spread_float64(1.0) == pytest.approx(5**-0.5, rel=1e-6)
    (found,) = verify("sgld-euler", configuration, checks=["own-gradient"])
    assert found.verdict == "conforms"
    for name in ("gradient-mean", "pure-runs", "moments"):
        assert self_check(name, "sgld-euler", configuration).verdict != "violates"


@pytest.mark.wild
@pytest.mark.filterwarnings("default")
def test_discrete_variables_are_refused() -> None:
    pymc = pytest.importorskip("pymc")
    with pymc.Model() as model:
        pymc.Poisson("k", 3)
    with pytest.raises(
        DefinitionError, match="k of the PyMC model is discrete; expected continuous variables"
    ):
        read_model(model)
    numpyro = pytest.importorskip("numpyro")
    law = pytest.importorskip("numpyro.distributions")

    def counts() -> None:
        numpyro.sample("k", law.Poisson(3.0))

    with pytest.raises(
        DefinitionError, match="expected a model whose free variables are continuous|no free variable"
    ):
        read_model(counts)

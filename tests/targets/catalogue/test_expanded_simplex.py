"""Counts in the expanded parametrisations of the simplex: U from gamma and multinomial laws, averages by integrals."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from scipy import integrate, special, stats

from reports.applications.lda.parametrisations import ExpandedMean, ExpandedNatural
from sgverify import verify
from sgverify.cli import main
from sgverify.configuration import load_configuration
from sgverify.errors import ConfigurationError
from sgverify.exact.posterior.conjugate import conjugate_law
from sgverify.exact.posterior.reference import reference_average
from sgverify.samplers import Settings, fixed
from sgverify.schemes import find_scheme
from sgverify.targets import Target, build_target, parse_observable
from tests.sampled_states import sample_states
from tests.tables import each_row

DATA, CONCENTRATION = [[3, 0, 1], [1, 2, 4]], [0.5, 2.0, 1.5]
COUNTS = np.sum(DATA, axis=0)
NAMES = ("expanded-natural", "expanded-mean")


def build(name: str, **keys: Any) -> Target:
    return build_target(SimpleNamespace(name=name, **{"data": DATA, "concentration": CONCENTRATION, **keys}))


def textbook(name: str, theta: np.ndarray) -> float:
    """-log of the gamma densities of the sizes, times the chances of the counts, times the Jacobian of theta."""
    natural = name == "expanded-natural"
    sizes = np.exp(theta) if natural else theta
    value = stats.gamma.logpdf(sizes, CONCENTRATION).sum() + (theta.sum() if natural else 0.0)
    chances = sizes / sizes.sum()
    return -float(value + sum(stats.multinomial.logpmf(row, sum(row), chances) for row in DATA))


def disagreement(target: Target, name: str) -> float:
    points = np.abs(np.random.default_rng(5).normal(size=(6, 3))) + 0.05
    found = target.energy_float64(points) - np.array([textbook(name, theta) for theta in points])
    return float(np.ptp(found))


@pytest.mark.parametrize("name", NAMES)
def test_the_potential_is_that_of_gamma_and_multinomial_laws(name: str) -> None:
    assert disagreement(build(name), name) < 1e-11
    for wrong in (build(name, concentration=[1.5, 2.0, 1.5]), build(name, data=DATA[:1])):
        assert disagreement(wrong, name) > 0.01
    other = next(one for one in NAMES if one != name)
    assert disagreement(build(other), name) > 0.01


def moment(powers: tuple[int, ...]) -> Fraction:
    """E prod theta_k^m_k of theta = S pi, S ~ Gamma(A, 1) and pi ~ Dirichlet(a + n): rising factorials, in whole numbers."""

    def rising(x: Fraction, n: int) -> Fraction:
        return prod((x + k for k in range(n)), start=Fraction(1))

    prior = [Fraction(str(a)) for a in CONCENTRATION]
    after = [a + int(n) for a, n in zip(prior, COUNTS, strict=True)]
    total = sum(powers)
    shares = prod((rising(a, m) for a, m in zip(after, powers, strict=True)), start=Fraction(1))
    return rising(sum(prior), total) * shares / rising(sum(after), total)


@pytest.mark.parametrize("powers", [(1, 0, 0), (0, 2, 0), (1, 0, 1), (1, 1, 2)])
def test_averages_of_the_expanded_mean_are_fractions(powers: tuple[int, ...]) -> None:
    text = "*".join(f"theta[{k}]**{m}" for k, m in enumerate(powers) if m)
    found = reference_average(build("expanded-mean"), parse_observable(text, 3, ("theta",)), 1)
    assert found.method == "exact" and found.error_bound < 1e-14
    assert float(found) == pytest.approx(float(moment(powers)), rel=1e-14)


def test_averages_of_the_expanded_natural_one_are_polygamma_functions() -> None:
    target = build("expanded-natural")
    a, after = sum(CONCENTRATION), np.array(CONCENTRATION) + COUNTS

    def average(text: str) -> float:
        return float(reference_average(target, parse_observable(text, 3, ("theta",)), 1))

    means = special.digamma(a) + special.digamma(after) - special.digamma(after.sum())
    shared = special.polygamma(1, a) - special.polygamma(1, after.sum())
    assert average("theta[1]") == pytest.approx(means[1], rel=1e-13)
    assert average("theta[0]*theta[2]") == pytest.approx(means[0] * means[2] + shared, rel=1e-13)
    own = shared + special.polygamma(1, after[1])
    assert average("theta[1]**2") == pytest.approx(means[1] ** 2 + own, rel=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_averages_at_another_temperature_by_an_integral_in_the_plane(name: str) -> None:
    """The counts of two categories; x = log of the sizes, whose law has tails that the trapezoidal rule sums to rounding."""
    target, T = build(name, data=[[3, 1]], concentration=[0.75, 2.0]), 0.5
    x = np.linspace(-40, 6, 600)
    grid = np.stack(np.meshgrid(x, x, indexing="ij"), -1)
    positive = name == "expanded-mean"
    theta = np.exp(grid) if positive else grid
    log_density = -target.energy_float64(theta) / T + (grid.sum(-1) if positive else 0.0)
    weight = np.exp(log_density - log_density.max())

    def integral(values: np.ndarray) -> float:
        return float(integrate.trapezoid(integrate.trapezoid(values, x), x))

    for text, values in (("theta[0]", theta[..., 0]), ("theta[0]*theta[1]", theta.prod(-1))):
        expected = integral(weight * values) / integral(weight)
        found = reference_average(target, parse_observable(text, 2, ("theta",)), T)
        assert float(found) == pytest.approx(expected, rel=1e-7)


def test_the_laws_are_named_and_unequal_rates_are_no_such_law() -> None:
    for name in NAMES:
        law = conjugate_law(build(name))
        assert law is not None
        assert law.laws == ("Dirichlet(9/2, 4, 13/2)", "their sum ~ Gamma(4, 1)")
    target = build("expanded-natural")
    tilted = Target(
        "tilted",
        3,
        lambda theta: (
            target.prior(theta) + build("gamma-poisson", data=[[1, 1, 1]], concentration=None).prior(theta)
        ),
        target.likelihood,
        target.data,
    )
    assert conjugate_law(tilted) is not None
    skew = build_target(
        SimpleNamespace(name="gamma-poisson", data=[[1, 1, 1]], shape=1.0, rate=[1.0, 2.0, 1.0])
    )
    assert (
        conjugate_law(
            Target(
                "skew",
                3,
                lambda theta: target.prior(theta) + skew.prior(theta),
                target.likelihood,
                target.data,
            )
        )
        is None
    )


@pytest.mark.parametrize(
    ("name", "topics"), [("expanded-natural", ExpandedNatural), ("expanded-mean", ExpandedMean)]
)
def test_the_topic_model_has_the_gradients_of_the_target(name: str, topics: Any) -> None:
    """One topic of three words; the topic model writes its gradients out, the target is differentiated."""
    target, made = build(name, concentration=0.3), topics(0.3)
    theta = np.abs(np.random.default_rng(2).normal(size=(4, 3))) + 0.1
    rows = torch.tensor(theta)[..., None]
    counts = torch.tensor(COUNTS, dtype=torch.float64)[:, None]
    found = made.prior(rows) - made.likelihood(rows, made.topics(rows), counts)
    np.testing.assert_allclose(found[..., 0].numpy(), target.gradient_float64(theta), rtol=1e-12, atol=1e-12)
    energies = made.prior_energy(rows).numpy()
    np.testing.assert_allclose(np.diff(energies), np.diff(target.prior(theta)), rtol=1e-12, atol=1e-12)


def test_outside_of_its_domain_the_density_is_zero_and_a_start_is_inside() -> None:
    target = build("expanded-mean", concentration=0.01, data=[[0, 0, 9]])
    assert np.isinf(target.energy_float64(np.array([[1.0, -1.0, 1.0], [1.0, 0.0, 1.0]]))).all()
    assert np.isnan(target.gradient_float64(np.array([[1.0, -1.0, 1.0]]))).all()
    for far in (-9.0, 0.0, 2.0):
        assert (target.at_deviations_float64(far, 1.0) > 0).all()


def test_a_scheme_that_leaves_the_domain_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigurationError, match="lives on theta > 0, and scheme='sgld-euler'"):
        verify("sgld-euler", target={"name": "expanded-mean"}, checks=["local-order"])
    assert main(["verify", "resgld", "--set", "target.name=expanded-mean"]) == 2
    assert main(["sample", "sghmc-aboba", "--set", "target.name=expanded-mean", "--out", "never.nc"]) == 2
    assert "expanded-natural" in capsys.readouterr().err
    # The other way round: draws on theta > 0 are not those of a law on all of R^d.
    asked = ["sample", "sgrld-expanded-mean", "--set", "target.name=gaussian-mean", "--out", "never.nc"]
    assert main(asked) == 2 and "never goes" in capsys.readouterr().err


@each_row(
    ("keys", "message"),
    [
        ({"data": [[1], [2]], "concentration": 1.0}, "1 coordinates; expected 2 to 1000"),
        ({"dim": 1}, "has dimension 2 to 1000"),
        ({"data": [[1.5, 2, 3]]}, "expected counts"),
        ({"concentration": [1, 2]}, "has length 2"),
        ({"concentration": [1, -2, 3]}, "above 0"),
    ],
)
def test_what_is_no_such_posterior_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build("expanded-mean", **keys)


def test_the_mirrored_chain_samples_the_shares_of_the_posterior() -> None:
    """E theta_0 by chains of a small step: the bias is O(h), here below the standard error of 1 % of the spread."""
    c = load_configuration(
        {"target": {"name": "expanded-mean", "data": DATA, "concentration": CONCENTRATION}, "chains": 200}
    )
    target = build_target(c.target)
    run = sample_states(
        find_scheme("sgrld-expanded-mean"),
        target,
        fixed([0.02], [1500]),
        at=range(300, 1501, 20),
        settings=Settings.of(c, compiled=False),
    )
    means = run.values["theta"][0].mean(0)
    error = means.std(0, ddof=1) / len(means) ** 0.5
    truth = [float(moment(tuple(int(k == j) for k in range(3)))) for j in range(3)]
    assert (np.abs(means.mean(0) - truth) < 4.5 * error + 0.02).all()
    assert (run.values["theta"] > 0).all()

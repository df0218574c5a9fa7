"""Bounded derivatives of the drift, and E phi(X_t) by the law of X_t against the generator's series."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sgverify.checks import verify
from sgverify.checks.assumptions.diffusion import judge_series
from sgverify.exact.stationarity.generator import law_terms
from tests.checks.assumptions.test_poisson_bound import BARE, PLANE, read


@pytest.mark.parametrize(
    ("name", "target", "verdict", "said"),
    [
        ("sgld-euler", "gaussian", "conforms", "is affine"),
        ("sghmc-aboba", "gaussian-mean", "conforms", "is affine"),
        (
            "sgnht-euler",
            "gaussian",
            "violates",
            "that of p in `thermostat` by p is -1 xi",
        ),
        ("sgld-euler", "quartic", "violates", "by theta is -3 theta**2"),
        ("sghmc-aboba", "double-well", "violates", "<= C (1 + |x|^3) holds"),
        ("sgld-euler", "logistic-regression", "not-applicable", "no polynomial"),
    ],
)
def test_a_polynomial_drift_has_bounded_derivatives_where_it_is_affine(
    name: str, target: str, verdict: str, said: str
) -> None:
    (found,) = verify(name, checks=["chen2015/assumption-3"], target={"name": target})
    assert found.verdict == verdict and said in found.reason


@pytest.mark.parametrize(
    ("name", "text", "settings"),
    [
        ("sgld-euler", "theta**4 - theta", BARE),
        ("sghmc-aboba", "theta[0]**2*p[1] + theta[1]*p[0]", PLANE),
        ("sghmc-euler", "theta**3*p", BARE),
    ],
)
def test_the_law_and_the_generator_agree(name: str, text: str, settings: dict) -> None:
    (found,) = verify(name, checks=["chen2015/definition-11"], test_function=text, **settings)
    assert found.verdict == "conforms" and "agree to t^4; E phi(X_t)" in found.reason


@pytest.mark.parametrize(("text", "first"), [("theta**2", 1), ("p**2", 1), ("theta*p", 2), ("theta", None)])
def test_a_generator_of_other_noise_is_refuted(text: str, first: int | None) -> None:
    """sigma sigma^T where half of it belongs: seen in second moments alone, by theta**2 of SGHMC through p at t^3."""
    settings = BARE if text != "theta**2" else {**BARE, "temperature": 2.0}
    name = "sgld-euler" if text == "theta**2" else "sghmc-aboba"
    _, generator, phi = read(name, text, settings)
    doubled = replace(generator, diffusion=tuple(2 * f for f in generator.diffusion))
    found = judge_series(doubled, law_terms(generator, phi, 4), phi)
    assert found.verdict == ("conforms" if first is None else "violates")
    assert first is None or found.reason.startswith(f"law and series differ at t^{first};")


@pytest.mark.parametrize("name", ["sgnht-euler", "sgrld-euler"])
def test_other_dynamics_are_not_decided(name: str) -> None:
    (found,) = verify(name, checks=["chen2015/definition-11"], **BARE)
    assert found.verdict == "not-applicable"

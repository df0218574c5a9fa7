"""Errata of awsgld: what falls, what stands, by independent computation, and what the rules that run have to do with it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sgverify.evidence import Erratum
from sgverify.exact.weights.piecewise import PlaneEnergies, one_jump
from sgverify.papers.awsgld.errata import laws, noise, rates
from sgverify.papers.awsgld.errata import weights as awsgld_weights
from sgverify.papers.chen2015.errata.generators import compare
from sgverify.papers.formula import UnconfirmedError, check_errata, check_formula, formulas
from sgverify.schemes import langevin
from sgverify.schemes.composites import composite as weighting

FAILING = {
    "equation-22", "equation-29", "equation-21", "equation-38", "lemma-3", "lemma-3-last-region", "lemma-6", "lemma-4",
    "lemma-4-cauchy-schwarz", "equation-19", "equation-dri1", "equation-40", "equation-42", "equation-41",
}  # fmt: skip
STANDING = {"equation-26", "equation-43", "equation-19-potential", "equation-31", "equation-39"}


@pytest.fixture(scope="module")
def found() -> dict[str, Erratum]:
    return {formula.id.partition("/")[2]: formula for formula in check_errata(["awsgld"])}


@pytest.mark.power  # 0.6 s
def test_what_theory_refutes_falls_and_the_rest_stands(found: dict[str, Erratum]) -> None:
    assert {id for id, formula in found.items() if formula.fails} == FAILING
    assert {id for id, formula in found.items() if not formula.fails} == STANDING
    assert len(found) == len(formulas("awsgld"))


def test_the_constant_of_proportionality_is_that_of_a_differential_equation(
    found: dict[str, Erratum],
) -> None:
    """dt = t^(1 - zeta) dP solves to t^zeta = zeta (P - p_1) + p_1; at P = 5/2 p_1 and zeta = 2 that is 8/5 of P."""
    rows = next(v for k, v in found["equation-22"].certificate.items() if k.startswith("p_1"))
    assert rows["m = 1001"]["theta*(m)^2 Z/1"] == pytest.approx(8 / 5, abs=1e-3)


def test_the_bias_at_an_edge_is_half_the_jump_of_the_field() -> None:
    low = weighting.random_field(Fraction(1, 2), 1, Fraction(1, 2))
    high = weighting.random_field(Fraction(1), 0, Fraction(1, 2))
    for spread in noise.SPREADS:
        assert noise.bias_at(noise.EDGE, spread) == (high - low) / 2


def test_the_averaged_bias_is_the_integral_of_the_pointwise_one() -> None:
    spread = Fraction(1, 4)
    n = 200_000
    energies = (np.arange(n) + 0.5) * 20 / n
    density = np.exp(-energies)
    density /= density.sum()
    near = np.abs(energies - 1) < 0.26
    pointwise = [float(noise.bias_at(Fraction(u), spread)) for u in energies[near][::20]]
    brute = float(np.dot(density[near][::20] * 20, pointwise))
    assert brute == pytest.approx(float(noise.averaged_bias(spread)), abs=2e-4)


def test_the_mean_absolute_error_is_that_of_all_paths() -> None:
    eps, steps = 0.25, 8
    total = 0.0
    for path in range(2**steps):
        signs = [1 if path >> j & 1 else -1 for j in range(steps)]
        chance = 0.5
        for a, b in itertools.pairwise(signs):
            chance *= eps if a != b else 1 - eps
        total += chance * abs(sum(signs)) / steps
    assert rates._mean_absolute(eps, steps) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("name", ["plain", "first", "beyond"])
def test_the_distance_of_the_laws_is_that_of_a_fine_grid(name: str) -> None:
    law = PlaneEnergies(
        6, first=Fraction(1, 2) if name == "first" else Fraction(2, 3), beyond=name == "beyond"
    )
    weights = [Fraction(1, 3), Fraction(1, 2), Fraction(2, 5), Fraction(3, 5), Fraction(3, 4), Fraction(1)]
    n, top = 400_000, 40.0 if law.beyond else 4.0
    u = (np.arange(n) + 0.5) * top / n
    region = np.minimum(1 + np.ceil((u - float(law.first)) / float(law.width)).astype(int).clip(0), 6)
    theta = np.array([float(w) for w in weights])
    below, here = theta[np.maximum(region - 2, 0)], theta[region - 1]
    psi = below * (here / below) ** ((u - float(law.first)) / float(law.width) - (region - 2))
    smooth, flat = np.exp(-u) * psi**-2.0, np.exp(-u) * here**-2.0
    brute = np.abs(smooth / smooth.sum() - flat / flat.sum()).sum()
    # A cell that an edge crosses is counted whole: half a cell of the mass jumps, at five edges.
    assert float(law.distance(weights, 2)) == pytest.approx(brute, abs=top / n)


PLANTED: dict[str, tuple[str, Callable[..., Any]]] = {
    "the indicator the other way round": ("reached", lambda i, region: 1 * (i <= region)),
    "a field that is not pulled": ("random_field", lambda pull, indicator, weight: indicator - weight),
    "a field with the wrong sign": (
        "random_field",
        lambda pull, indicator, weight: pull * (weight - indicator),
    ),
    "the weight with zeta + 1 for zeta": ("importance", lambda here, *, zeta: here ** (zeta + 1)),
}


@pytest.mark.parametrize("what", PLANTED)
def test_a_wrong_rule_is_seen_by_the_formula_of_the_mean_field(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert awsgld_weights.expectation().printed == ""
    monkeypatch.setattr(weighting, *PLANTED[what])
    assert awsgld_weights.expectation().printed


@pytest.mark.parametrize(
    "rule",
    [
        lambda here, below, *, zeta, tau, width: 1 - zeta * tau / width * (here.log() - below.log()),
        lambda here, below, *, zeta, tau, width: 1 + tau / width * (here.log() - below.log()),
        lambda here, below, *, zeta, tau, width: 1 + zeta / width * (here.log() - below.log()),
    ],
)
def test_a_wrong_multiplier_is_not_the_derivative_of_its_potential(
    rule: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weighting, "multiplier", rule)
    assert laws.potential().printed


def test_the_verdicts_are_computed() -> None:
    """The right generator in the place of the printed one stands; a correction that does not hold is a fault of ours."""
    assert compare(langevin, langevin, langevin).printed == ""
    generator = next(f for f in laws.FORMULAS if f.id.endswith("equation-38"))
    swapped = replace(generator, examine=lambda: compare(langevin, langevin, laws.langevin_uphill))
    with pytest.raises(UnconfirmedError, match="equation-38"):
        check_formula(swapped)


def test_the_bias_of_a_ratio_is_that_of_all_paths_and_within_its_bound() -> None:
    eps, steps = 0.25, 8
    first, second = rates.WEIGHTS
    total = 0.0
    for path in range(2**steps):
        states = [path >> j & 1 for j in range(steps)]
        chance = 0.5
        for a, b in itertools.pairwise(states):
            chance *= eps if a != b else 1 - eps
        weights = [first if state else second for state in states]
        signs = [1 if state else -1 for state in states]
        total += chance * sum(w * f for w, f in zip(weights, signs, strict=True)) / sum(weights)
    found = rates._ratio(eps, steps)
    truth = (first - second) / (first + second)
    assert found["bias of the ratio"] == pytest.approx(total - truth, rel=1e-10)
    assert abs(found["bias of the ratio"]) <= found["bound"]
    fine = rates._ratio(1 / 32, 4096)
    assert fine["second-order term"] == pytest.approx(fine["bias of the ratio"], rel=0.05)
    assert rates._identity() == ""


def test_a_rule_that_turns_a_monotone_theta_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laws, "REGIONS", (8, 12, 16))
    assert laws.approximation().holds == ""
    monkeypatch.setattr(weighting, "reached", lambda i, region: 1 * (i <= region))
    assert "omega = 1, J = 1, from straight" in laws.approximation().holds


def test_one_jump_is_as_far_apart_as_a_fine_grid_says() -> None:
    """m times the distance settles near 0.237 for a jump in the middle: of order 1/m although theta jumps."""
    for bins in (8, 32):
        found = float(PlaneEnergies(bins).distance(one_jump(bins, Fraction(1, 2)), 2))
        n = 400_000
        u = (np.arange(n) + 0.5) * 4 / n
        width = 3.5 / (bins - 1)
        region = np.minimum(1 + np.ceil((u - 0.5) / width).astype(int).clip(0), bins)
        theta = np.where(np.arange(1, bins + 1) <= bins / 2, 0.5, 1.0)
        below, here = theta[np.maximum(region - 2, 0)], theta[region - 1]
        psi = below * (here / below) ** ((u - 0.5) / width - (region - 2))
        smooth, flat = np.exp(-u) * psi**-2.0, np.exp(-u) * here**-2.0
        assert found == pytest.approx(np.abs(smooth / smooth.sum() - flat / flat.sum()).sum(), abs=1e-4)
        assert 0.2 < bins * found < 0.32

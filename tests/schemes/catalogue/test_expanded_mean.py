"""The expanded mean step of Patterson and Teh: its density, the moments of one step on a gamma law, and planted bugs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from scipy.special import roots_genlaguerre, roots_hermitenorm

from sgverify import log_density, rate, sample, scheme, verify
from sgverify.configuration import load_configuration
from sgverify.errors import ConfigurationError
from sgverify.exact.readings.formula import plant
from sgverify.samplers.reading.carrier import Chains
from sgverify.schemes import Scheme, dynamics, sqrt
from sgverify.schemes.catalogue.in_metric import sgrld_expanded_mean
from sgverify.schemes.definition.mathematics import magnitude
from sgverify.schemes.dynamics import expanded_mean
from sgverify.subject.binding import make_subject
from tests.self_checks.registry import self_check

SHAPE, H, T = 7, 2.0**-5, 0.75
"""alpha + n, the step size and a temperature at which a forgotten T is seen."""


def slope(theta: float) -> float:
    """grad U of U = theta - (SHAPE - 1) log theta."""
    return 1 - (SHAPE - 1) / theta


def stepped(found: Scheme, theta: float, z: float, grad: Callable[[float], float] = slope) -> float:
    return float(found.step((float(theta),), h=H, grad=grad, noise=lambda: float(z), T=T)[0])


def square_after_a_step(found: Scheme, grad: Callable[[float], float] = slope) -> tuple[float, float]:
    """E theta^2 and E theta'^2 for theta of density exp(-U/T), by Gauss rules that are exact for these polynomials.

    exp(-U/T) is the gamma law of shape (SHAPE - 1)/T + 1 and scale T; theta'^2 is a polynomial in theta and z for the
    step and its bugs alike, mirrored or not, of degree at most 4 in theta and 2 in z.
    """
    nodes, weights = roots_genlaguerre(6, (SHAPE - 1) / T)
    draws, chances = roots_hermitenorm(4)
    weights, chances = weights / weights.sum(), chances / chances.sum()
    before = sum(p * (T * x) ** 2 for x, p in zip(nodes, weights, strict=True))
    after = sum(
        p * q * stepped(found, T * x, z, grad) ** 2
        for x, p in zip(nodes, weights, strict=True)
        for z, q in zip(draws, chances, strict=True)
    )
    return before, after


def defect(found: Scheme, grad: Callable[[float], float] = slope) -> float:
    """E theta'^2 - E theta^2 - h^2 T m, m = T + SHAPE - 1: what is left beside the square of the mean drift.

    theta' - theta = h (m - theta) + noise of variance 2 T h theta, theta has mean m and variance T m, and
    2 E theta (m - theta) + 2 T m = 0: the terms in h cancel, and h^2 E (m - theta)^2 = h^2 T m stays.
    """
    before, after = square_after_a_step(found, grad)
    return after - before - H**2 * T * (T + SHAPE - 1)


def test_one_step_on_its_gamma_law_changes_the_second_moment_by_the_square_of_the_drift_alone() -> None:
    before, _ = square_after_a_step(sgrld_expanded_mean)
    m = T + SHAPE - 1
    assert before == pytest.approx(m**2 + T * m, rel=1e-12)
    assert abs(defect(sgrld_expanded_mean)) < 1e-11 * before


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("h*(T - ", "h*(0*T - "),
        ("h*(T - ", "h*(1 - "),
        ("(T - theta*grad(theta))", "(T - 1 - theta*grad(theta))"),
        ("sqrt(2*T*h*theta)", "(sqrt(2*T*h)*theta)"),
        ("sqrt(2*T*h*theta)", "sqrt(2*h*theta)"),
        ("sqrt(2*T*h*theta)", "sqrt(T*h*theta)"),
    ],
)
def test_a_planted_bug_changes_the_second_moment_at_order_h(was: str, now: str) -> None:
    """Each is off by 2 h times a number of order one, against rounding of 1e-11 for the step that is right."""
    assert abs(defect(plant(sgrld_expanded_mean, was, now))) > H / 10


def test_alpha_for_alpha_minus_one_is_another_law() -> None:
    """U of the shares' exponents, without the 1 of d theta: the drift is h too large, E theta'^2 by 2 h E theta."""
    off = defect(sgrld_expanded_mean, lambda theta: 1 - SHAPE / theta)
    assert off == pytest.approx(2 * H * (T + SHAPE - 1), rel=0.1)


def test_the_step_is_the_published_one_at_temperature_one() -> None:
    """theta' = |theta + (eps/2) (alpha + n - theta) + sqrt(theta) xi|, xi ~ N(0, eps), with eps = 2 h."""
    for theta, z in ((0.01, -3.0), (0.4, 1.7), (9.0, -0.2)):
        (found,) = sgrld_expanded_mean.step((theta,), h=H, grad=slope, noise=lambda z=z: z, T=1)
        eps = 2 * H
        published = abs(theta + eps / 2 * (SHAPE - theta) + math.sqrt(theta) * math.sqrt(eps) * z)
        assert float(found) == pytest.approx(published, rel=1e-13)


def test_a_step_over_zero_is_mirrored_and_without_the_mirror_leaves_theta_above_zero() -> None:
    @scheme(expanded_mean, order=1)
    def unmirrored(theta, *, h, grad, noise, T):
        return theta + h * (T - theta * grad(theta)) + sqrt(2 * T * h * theta) * noise()

    assert stepped(unmirrored, 0.25, -6.0) < 0 < stepped(sgrld_expanded_mean, 0.25, -6.0)
    assert stepped(unmirrored, 0.25, -6.0) == -stepped(sgrld_expanded_mean, 0.25, -6.0)
    assert stepped(unmirrored, 0.25, 1.0) == stepped(sgrld_expanded_mean, 0.25, 1.0)


def test_the_magnitude_is_that_of_floating_point_to_the_bit() -> None:
    values = np.random.default_rng(3).standard_normal(2000) * 10.0 ** np.arange(-100, 100).repeat(10)
    found = magnitude(Chains(torch.tensor(values))).tensor.numpy()
    assert (found == np.abs(values)).all()
    assert all(float(magnitude(float(x))) == abs(x) for x in (-0.75, 3.0, 0.0))


def test_tensors_take_the_step_that_floats_take() -> None:
    thetas, draws = [0.25, 0.4, 9.0], [-6.0, 1.7, -0.2]
    state = Chains(torch.tensor(thetas, dtype=torch.float64).reshape(3, 1, 1))
    noise = Chains(torch.tensor(draws, dtype=torch.float64).reshape(3, 1, 1))
    (found,) = sgrld_expanded_mean.step((state,), h=H, grad=slope, noise=lambda: noise, T=T)
    expected = [stepped(sgrld_expanded_mean, x, z) for x, z in zip(thetas, draws, strict=True)]
    assert found.tensor.flatten().tolist() == pytest.approx(expected, rel=1e-13)


def test_stationarity_is_proved_and_without_the_divergence_refuted() -> None:
    @dynamics(theta="vector")
    def without_divergence(theta, *, grad, T):
        return -theta * grad(theta), T * theta

    @dynamics(theta="vector")
    def noise_by_theta(theta, *, grad, T):
        return T - theta * grad(theta), T * theta * theta

    def verdicts(of):
        found = scheme(of, order=1)(sgrld_expanded_mean.function)
        return [e.verdict for e in verify(found, checks=["stationarity"])]

    assert [verdicts(of) for of in (expanded_mean, without_divergence, noise_by_theta)] == [
        ["conforms"],
        ["violates"],
        ["violates"],
    ]


BUGS = (
    ("sqrt(2*T*h*theta)", "sqrt(T*h*theta)"),
    ("sqrt(2*T*h*theta)", "(sqrt(2*T*h)*theta)"),
    ("h*(T - ", "h*(0*T - "),
    ("(T - theta*grad(theta))", "(T - grad(theta))"),
)


def test_the_order_is_proved_on_theta_above_zero_and_refuted_of_every_planted_bug() -> None:
    def verdict(of: Scheme) -> str:
        (found,) = verify(of, checks=["local-order"])
        assert found.method == "proof"
        return found.verdict

    assert verdict(sgrld_expanded_mean) == "conforms"
    assert [verdict(plant(sgrld_expanded_mean, *bug)) for bug in BUGS] == ["violates"] * len(BUGS)


def test_without_a_target_it_is_judged_on_one_that_lives_there() -> None:
    for name in ("one-step-law", "pure-runs", "gradient-mean"):
        assert self_check(name, sgrld_expanded_mean).verdict == "conforms"
    assert make_subject(sgrld_expanded_mean, load_configuration()).target.name == "expanded-mean"


@dynamics(theta="vector", positive=True)
def half_line(theta, *, grad, T):
    return -grad(theta), T


@scheme(half_line, order=1)
def reversed_below_0(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) * theta / sqrt(theta * theta) + sqrt(2 * T * h) * noise()


@pytest.mark.parametrize("found", [sgrld_expanded_mean, reversed_below_0])
@pytest.mark.parametrize("name", ["gaussian-mean", "gaussian", "double-well"])
def test_a_target_with_mass_below_0_is_refused_by_name(found: Scheme, name: str) -> None:
    """Every check would be silent on the half that the scheme is never judged on, where this one runs away."""
    for ask in (verify, sample, partial(rate, quantity="local-order")):
        with pytest.raises(ConfigurationError, match=f"{name}.*mass off theta > 0.*expanded-mean"):
            ask(found, target={"name": name})


def test_a_target_of_ones_own_is_asked_whether_it_lives_there() -> None:
    for log, below in ((lambda t: (2 * t.log() - t).sum(-1), False), (lambda t: -(t**2).sum(-1), True)):
        assert log_density(dim=2)(log).target().goes_below_0 is below


@pytest.mark.power  # 13 s of chains
def test_its_evidence_without_a_target_names_the_one_that_lives_there() -> None:
    found = verify(sgrld_expanded_mean, checks=["stationary-bias"])
    assert {e.configuration["target"]["name"] for e in found} == {"expanded-mean"}


def test_its_formula_reads_back_as_the_step() -> None:
    again = plant(sgrld_expanded_mean, "sqrt(x1*x1)", "sqrt(x1**2)")
    assert stepped(again, 0.25, -6.0) == pytest.approx(stepped(sgrld_expanded_mean, 0.25, -6.0), rel=1e-15)

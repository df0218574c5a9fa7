"""Rates in L of steps that are not affine, from the power of h that grids find in the stationary bias."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sgverify import scheme, sqrt, verify
from sgverify.checks.question import Question
from sgverify.checks.rates.transfer import rate_of_powers, transferred_rate
from sgverify.claims import find_claim
from sgverify.configuration import load_configuration
from sgverify.errors import Unreached
from sgverify.schemes import langevin
from sgverify.subject.binding import make_subject
from tests.tables import each_row

ASKED = ["bias", "mse", "consistency"]


def tamed(share):
    """Moves of at most 1, and `share` of the noise's variance; Brosse et al. 2019 have 1 + h |grad| below."""

    @scheme(langevin)
    def step(theta, *, h, grad, noise, T):
        g = grad(theta)
        return theta - h * g / sqrt(1 + h**2 * g * g) + sqrt(2 * share * T * h) * noise()

    return step


@pytest.mark.power
def test_a_tamed_step_has_its_rates() -> None:
    found = [e for e in verify(tamed(1), checks=ASKED) if not e.refuted]
    assert {(e.verdict, e.method) for e in found} == {("conforms", "exact")}
    assert all("Poisson" in e.reason for e in found)


@pytest.mark.power
def test_half_of_the_noise_has_none() -> None:
    found = verify(tamed(Fraction(1, 2)), checks=ASKED)
    assert {e.verdict for e in found if e.check != "stationary-bias"} == {"violates"}


@each_row(
    ("bias", "quantity", "schedule", "alpha", "exponent", "at_most"),
    [
        # h = C L^-alpha: the slower of h^q and 1/(L h), squared for the bias's part of the mean square error.
        ([0.0, 1.0], "bias", "horizon", Fraction(1, 3), Fraction(-1, 3), False),
        ([0.0, 1.0], "bias", "horizon", Fraction(1, 2), Fraction(-1, 2), True),
        ([0.0, 0.0, 1.0], "bias", "horizon", Fraction(1, 2), Fraction(-1, 2), True),
        ([], "bias", "horizon", Fraction(1, 2), Fraction(-1, 2), True),
        ([0.0, 1.0], "mse", "horizon", Fraction(1, 4), Fraction(-1, 2), False),
        ([1.0], "bias", "horizon", Fraction(1, 2), Fraction(0), False),
        ([1.0], "mse", "power", Fraction(1, 2), Fraction(0), False),
        ([1.0], "consistency", "power", Fraction(1, 2), Fraction(0), False),
        ([0.0, 1.0], "bias", "fixed", Fraction(0), Fraction(0), False),
    ],
)
def test_the_slower_term_is_the_rate(bias, quantity, schedule, alpha, exponent, at_most) -> None:
    found = rate_of_powers(bias, quantity, schedule, alpha, 0.5)
    assert (found.exponent, found.at_most) == (exponent, at_most)


def test_at_a_fixed_step_no_expansion_decides() -> None:
    with pytest.raises(Unreached):
        rate_of_powers([], "bias", "fixed", Fraction(0), 0.5)


def test_a_step_that_moves_by_the_square_of_h_gets_no_rate_from_its_stationary_law() -> None:
    @scheme(langevin)
    def slow(theta, *, h, grad, noise, T):
        return theta - h**2 * grad(theta) + sqrt(2 * T * h**2) * noise()

    # Its law is that of h^2, and it forgets its start in 1/h^2 steps: L^(-2/3) at h = C L^(-1/3) would be a false rate.
    subject = make_subject(slow, load_configuration(target={"name": "double-well"}))
    with pytest.raises(Unreached, match="no diffusion"):
        transferred_rate(Question(subject, find_claim("chen2015/theorem-3"), "mse"), "it")

"""The check of stationarity, and what becomes of the densities that chen2015 prints."""

from __future__ import annotations

import pytest

from sgverify import Alphabet, dynamics, exp, scheme, sqrt, verify
from sgverify.checks.order.stationarity import printed_density
from sgverify.errors import DefinitionError
from sgverify.schemes import dot, find_scheme, riemannian_langevin, thermostat


def judged(found, **settings):
    return {e.claim: e for e in verify(found, checks=["stationarity"], **settings)}


@pytest.mark.by_default("sgnht-aboba")
@pytest.mark.parametrize("name", ["sghmc-aboba", "sghmc-euler", "sghmc-baoab", "sgnht-euler", "sgnht-aboba"])
def test_the_printed_density_is_refuted_for_every_scheme_of_its_dynamics_and_the_corrected_one_holds(name):
    found = judged(name)
    assert set(found) == {"chen2015/stationarity", "corrected/stationarity"}
    printed, corrected = found.values()
    assert (printed.verdict, printed.refuted, printed.method) == ("violates", True, "proof")
    assert (corrected.verdict, corrected.refuted, corrected.method) == ("conforms", False, "proof")
    assert printed.certificate["is_a_density"] is False and corrected.certificate["is_a_density"] is True
    assert printed.certificate["witnesses"] and set(corrected.certificate["residuals"].values()) == {"0"}


def test_the_printed_density_of_langevin_dynamics_holds():
    (found,) = judged("sgld-euler").values()
    assert (found.claim, found.verdict) == ("chen2015/stationarity", "conforms")


@pytest.mark.power  # 1.4 s
def test_no_temperature_or_gradient_of_the_configuration_changes_the_answer():
    plain, warm = judged("sgnht-euler"), judged("sgnht-euler", temperature=2.0, gradient={"kind": "iid"})
    assert [e.certificate for e in plain.values()] == [e.certificate for e in warm.values()]


def test_a_dynamics_of_ones_own_is_held_to_the_density_that_it_states():
    def rho(theta, q, *, U, T):
        return -(U(theta) + 2 * dot(q, q)) / T

    def kicked(shift):
        @dynamics(theta="vector", q="vector", density=rho)
        def massive(theta, q, *, grad, D, T):
            return (4 * q, -grad(theta) - 4 * D * q), (0, (D + shift) * T)

        @scheme(massive)
        def step(theta, q, *, h, grad, noise, D, T):
            q = q - h * grad(theta) - 4 * h * D * q + sqrt(2 * D * T * h) * noise()
            return theta + 4 * h * q, q

        return judged(step)["sgverify/stationarity"]

    assert kicked(0).verdict == "conforms"
    wrong = kicked(1)
    assert (wrong.verdict, wrong.refuted) == ("violates", False)
    assert wrong.certificate["witnesses"]["dimension 1"]["residual"]


def test_a_riemannian_sampler_without_its_correction_is_refuted_whichever_dynamics_it_is_said_to_follow():
    """Against the right dynamics the step has local order 0; against its own, another density is invariant."""

    @dynamics(theta="vector")
    def forgotten(theta, *, grad, metric, T):
        return -metric.inverse(theta, grad(theta)), T * metric.diffusion(theta)

    def step(theta, *, h, grad, noise, metric, T):
        return theta - h * metric.inverse(theta, grad(theta)) + sqrt(2 * T * h) * metric.root(theta, noise())

    verdicts = {
        of.name: [
            e.verdict for e in verify(scheme(of, order=1)(step), checks=["local-order", "stationarity"])
        ]
        for of in (riemannian_langevin, forgotten)
    }
    assert verdicts == {
        "riemannian_langevin": ["violates", "conforms"],
        "forgotten": ["conforms", "violates"],
    }


@pytest.mark.parametrize("name", ["sgrld-euler", "sgrhmc-euler"])
def test_riemannian_dynamics_keep_their_density(name):
    (found,) = judged(name).values()
    assert (found.claim, found.verdict) == ("sgverify/stationarity", "conforms")


def test_a_dynamics_that_states_no_density_is_not_judged():
    @dynamics(theta="vector", q="vector")
    def unsaid(theta, q, *, grad, T):
        return (q, -grad(theta) - q), (0, T)

    @scheme(unsaid)
    def step(theta, q, *, h, grad, noise, T):
        return theta + h * q, q - h * grad(theta) - h * q + sqrt(2 * T * h) * noise()

    (found,) = judged(step).values()
    assert found.verdict == "not-applicable" and "states no density" in found.reason


def test_a_word_over_a_dynamics_of_the_users_is_judged_by_the_dynamics():
    @dynamics(theta="vector", p="vector")
    def mine(theta, p, *, grad, D, T):
        return (p, -grad(theta) - D * p), (0, D * T)

    def drift(theta, p, *, t):
        return theta + t * p, p

    def rest(theta, p, *, t, grad, noise, D, T):
        return theta, exp(-D * t) * (p - t * grad(theta)) + sqrt(2 * D * T * t) * noise()

    word = Alphabet("mine", mine, A=drift, B=rest).word("ABA")
    assert judged(word)["sgverify/stationarity"].verdict == "conforms"


def test_a_printed_density_is_text_over_the_state_and_its_ingredients():
    found = printed_density("-U(theta) - dim*(xi - D)**2/2", thermostat)
    assert found.declaration.ingredients == ("D", "U", "dim")
    with pytest.raises(DefinitionError):
        printed_density("-U(theta)*theta", thermostat)
    assert find_scheme("sgnht-euler").dynamics.density is not None


def test_a_number_that_is_dim_in_the_first_dimensions_is_found_out() -> None:
    """The thermostat of a user: n is dim in dimensions 1, 2 and 3."""

    def rho(theta, p, xi, *, U, dim, D, T):
        return -(U(theta) + dot(p, p) / 2 + dim / 2 * (xi - D) ** 2) / T

    @dynamics(theta="vector", p="vector", xi="scalar", density=rho)
    def fitted(theta, p, xi, *, grad, dim, D, T):
        n = dim + (dim - 1) * (dim - 2) * (dim - 3)
        return (p, -grad(theta) - xi * p, dot(p, p) / n - T), (0, D * T, 0)

    @scheme(fitted, order=1)
    def step(theta, p, xi, *, h, grad, noise, dim, D, T):
        p = p - h * xi * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
        n = dim + (dim - 1) * (dim - 2) * (dim - 3)
        return theta + h * p, p, xi + h * (dot(p, p) / n - T)

    (found,) = (e for e in verify(step, checks=["stationarity"]) if e.verdict != "not-applicable")
    assert found.verdict == "violates"
    assert "in dimension 4 (it does in dimension 1, 2, 3)" in found.reason

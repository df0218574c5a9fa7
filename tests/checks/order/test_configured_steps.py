"""What holds as h -> 0 alone is said so, and is not said of the configured steps."""

from __future__ import annotations

import pytest

from sgverify import exp, scheme, sqrt, verify
from sgverify.checks import rate
from sgverify.checks.order.configured_steps import departures, steps_of_runs
from sgverify.configuration import load_configuration
from sgverify.exact.readings.formula import plant
from sgverify.schemes import dot, find_scheme, kinetic, langevin
from sgverify.schemes.scheme import make_scheme
from sgverify.subject.binding import make_subject

FLAT = plant(find_scheme("sgld-euler"), "h*grad(theta)", "h*(1 + 20*exp(-1/h))*grad(theta)")
CLIPPED = plant(find_scheme("sgld-euler"), "h*grad(theta)", "(h + 0.2 - sqrt((h - 0.2)**2))/2*grad(theta)")
GAUSSIAN = {"name": "gaussian"}


@pytest.mark.parametrize("wrong", [FLAT, CLIPPED], ids=["flat", "clipped"])
def test_a_proof_as_h_goes_to_0_is_no_answer_for_every_h(wrong) -> None:
    found = rate(wrong, quantity="local-order")
    assert (found.verdict, found.method) == ("inconclusive", "proof")
    assert "local order 1" in found.reason and "as h -> 0 alone" in found.reason and "at h=1" in found.reason


def test_the_configured_steps_are_held_against_the_expansion() -> None:
    beyond = rate(CLIPPED, quantity="stationary-bias", target=GAUSSIAN, sweep={"steps": [0.4, 0.22, 0.1]})
    assert beyond.verdict == "inconclusive" and not beyond.sharp
    assert "at h=0.4 it is" in beyond.reason and "leading term is 0.2" in beyond.reason
    below = rate(CLIPPED, quantity="stationary-bias", target=GAUSSIAN, sweep={"steps": [0.19, 0.1, 0.05]})
    assert below.verdict == "conforms"
    rates = rate(FLAT, quantity="bias", target=GAUSSIAN, schedule={"kind": "horizon", "scale": 1.0})
    assert rates.verdict == "inconclusive" and "as h -> 0 alone" in rates.reason
    law = rate(FLAT, quantity="stationary-bias", target=GAUSSIAN, sweep={"steps": [0.3, 0.15, 0.07]})
    assert law.verdict == "inconclusive"


@pytest.mark.by_default("sgld-euler")
@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-baoab"])
def test_right_schemes_at_large_steps_are_no_alarm(name: str) -> None:
    settings = {"target": GAUSSIAN, "friction": 1.0}
    assert rate(find_scheme(name), quantity="stationary-bias", **settings).verdict == "conforms"
    assert rate(find_scheme(name), quantity="local-order").verdict == "conforms"


def test_what_is_not_affine_is_told_by_its_series() -> None:
    @scheme(kinetic, order=1)
    def nose(theta, p, *, h, grad, noise, D, T):
        p = p - h * grad(theta) - D * h * p + sqrt(2 * D * T * h) * noise()
        return theta + h * p * (1 + exp(-1 / h) * dot(p, p)), p

    assert rate(nose, quantity="local-order").verdict == "inconclusive"


def test_a_root_that_ends_is_no_switch() -> None:
    @scheme(langevin, order=1)
    def ending(theta, *, h, grad, noise, T):
        return theta - h * grad(theta) + sqrt(2 * T * h * (1 - h / 4)) * noise()

    found = rate(ending, quantity="local-order")
    assert found.verdict == "conforms" and "h below the first zero of 2 T h" in found.reason


# |w| by a root whose argument has more powers of h than a proof of order 1 keeps: right below 0.3 and beyond 0.45.
WINDOW = "(1 + sqrt((h - 0.3)**2*(0.45 - h)**2) + (h - 0.3)*(0.45 - h))"


@pytest.mark.parametrize("tamed", [False, True])
def test_a_switch_that_no_power_of_h_shows_is_named(tamed: bool) -> None:
    g = "grad(theta)/(1 + h*sqrt(dot(grad(theta), grad(theta))))" if tamed else "grad(theta)"
    wrong = plant(find_scheme("sgld-euler"), "h*grad(theta)", f"h*{WINDOW}*{g}")
    found = rate(wrong, quantity="local-order", target=GAUSSIAN)
    assert found.verdict == "inconclusive"
    assert "at h=0.3, 0.45 a root touches 0, and the step becomes another function of h" in found.reason


def test_where_nobody_runs_a_step_it_is_nobodys() -> None:
    # |1 - D h| is another function beyond D h = 1, where the friction of the step itself drives the momentum.
    subject = make_subject(
        find_scheme("sghmc-euler"), load_configuration({"friction": 3.0, "target": GAUSSIAN})
    )
    steps = steps_of_runs(subject)
    assert 1.0 not in steps and 0.5 in steps
    # Those that a run and a sweep have by default are among them.
    assert {subject.step, subject.step / 16} <= set(steps)


def test_a_proof_whose_expansion_speaks_of_no_step_that_is_run_is_no_green_line() -> None:
    def cut_off(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
        g = grad(theta)
        return theta - h * g * exp(-1000 * h * g * g) + sqrt(2 * T * h) * noise()

    (found,) = verify(make_scheme(cut_off, langevin, order=1), checks=["local-order"])
    assert (found.verdict, found.method) == ("inconclusive", "proof")
    assert "as h -> 0 alone" in found.reason and "the drift of theta is 100% off" in found.reason

    def saturated(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
        return theta - h / (1 + 1000 * h) * grad(theta) + sqrt(2 * T * h) * noise()

    flat = {"name": "gaussian", "precision": 1.0}
    asked = verify(
        make_scheme(saturated, langevin, order=1), target=flat, checks=["local-order", "stationary-bias"]
    )
    assert {evidence.verdict for evidence in asked} == {"inconclusive"}


def test_a_configured_step_that_is_beyond_the_leading_terms_is_named() -> None:
    def implicit(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
        return theta - h / (1 + h) * grad(theta) + sqrt(2 * T * h) * noise()

    flat = {"name": "gaussian", "precision": 1.0}
    for step, told in ((0.05, False), (1.0, True)):
        (found,) = verify(
            make_scheme(implicit, langevin, order=1),
            target=flat,
            schedule={"kind": "fixed", "step": step},
            checks=["local-order"],
        )
        assert found.verdict == "conforms"
        assert ("at h=1 (curvature 1" in str(found.scope.steps)) is told


def test_a_step_is_held_against_its_leading_terms_in_the_dimension_of_the_target() -> None:
    def cut_off(theta, *, h, grad, noise, dim, T):  # type: ignore[no-untyped-def]
        g = grad(theta)
        return theta - h * g * exp(-1000 * h * (dim - 1) * (dim - 2) * dot(g, g)) + sqrt(2 * T * h) * noise()

    step = make_scheme(cut_off, langevin, order=1)
    for dim, far in ((2, False), (4, True)):
        target = {**GAUSSIAN, "precision": 1.0, "dim": dim}
        assert bool(departures(make_subject(step, load_configuration(target=target)))) is far

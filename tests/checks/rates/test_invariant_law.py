"""The checks of covariance and Wasserstein-2: verdicts, and planted bugs that theta^2 does not see."""

from __future__ import annotations

import math

import pytest

from sgverify import scheme
from sgverify.checks import rate, verify
from sgverify.errors import InstabilityError
from sgverify.schemes import Scheme, find_scheme, kinetic
from tests.zoo.schemes import WEAK, forgot, frictionless, nose

SMALL = {"target": {"data": [0.1, 0.5, 1.0, 0.2]}}
CENTRED = {"target": {"name": "gaussian", "precision": 2.0}}
BOTH = ("covariance", "wasserstein-2")
BAOAB = find_scheme("sghmc-baoab")


def noisy(kind: str = "iid") -> dict:
    return {**SMALL, "gradient": {"kind": kind, "batch": 2}}


def seen_through(name: str, there, back) -> Scheme:
    """BAOAB in other variables: `there` is applied to its state after a step, `back`, the inverse, before it."""

    @scheme(kinetic, order=2)
    def step(theta, p, *, h, grad, noise, D, T):
        return there(*BAOAB.step(back(theta, p, h), h=h, grad=grad, noise=noise, D=D, T=T), h)

    return step.named(name)


SHEARED = seen_through("sheared momentum", lambda q, p, h: (q, p + q), lambda q, p, h: (q, p - q))
STAGGERED = seen_through(
    "position half a step ahead", lambda q, p, h: (q + h / 2 * p, p), lambda q, p, h: (q - h / 2 * p, p)
)
SHIFTED = seen_through("moved mean", lambda q, p, h: (q + h, p), lambda q, p, h: (q - h, p))


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("sgld-euler", 1),
        ("sghmc-euler", 1),
        ("sghmc-euler-explicit", 1),
        ("sghmc-aboba", 2),
        ("sghmc-baoab", 2),
    ],
)
@pytest.mark.parametrize("quantity", BOTH)
def test_the_whole_law_has_the_order_of_the_theorem(name: str, order: int, quantity: str) -> None:
    evidence = rate(name, quantity=quantity, **SMALL)
    assert (evidence.verdict, evidence.sharp, evidence.method) == ("conforms", True, "exact")
    assert evidence.found.exponent == evidence.predicted.exponent == order
    assert all(point.error_bound <= 1e-6 * point.value for point in evidence.points)
    parts = evidence.certificate["leading"]
    if name == "sghmc-euler":
        assert (parts["theta"]["order"], parts["p"]["order"], parts["joint"]["order"]) == (2, 1, 1)
    if name == "sghmc-baoab":
        assert parts["theta"]["order"] is None


def test_a_momentum_of_the_wrong_law_is_seen_where_the_position_is_right() -> None:
    by_check = {e.check: e for e in verify(SHEARED, checks=["chen2015/theorem-4"], **SMALL)}
    assert by_check["stationary-bias"].verdict == "conforms"
    assert {by_check[check].verdict for check in BOTH} == {"violates"}
    assert not any(by_check[check].refuted for check in BOTH)
    # p + theta, theta of mean 9/25 and variance 1/5: its variance is off by 1/5 of T, and it is that far from N(0, T).
    leading = [by_check[check].certificate["leading"]["p"]["coefficient"] for check in BOTH]
    assert leading == [pytest.approx(1 / 5), pytest.approx(math.hypot(9 / 25, math.sqrt(6 / 5) - 1))]


def test_a_correlation_of_first_order_is_seen_where_both_variances_are_of_second() -> None:
    for phi in ("theta**2", "p**2"):
        assert rate(STAGGERED, quantity="stationary-bias", test_function=phi, **CENTRED).found.exponent == 2
    for quantity in BOTH:
        evidence = rate(STAGGERED, quantity=quantity, **CENTRED)
        assert evidence.found.exponent == 1
        assert evidence.certificate["leading"]["theta"]["order"] == 2


def test_a_wrong_mean_is_seen_by_the_distance_alone() -> None:
    found = {
        quantity: rate(SHIFTED, quantity=quantity, **CENTRED).found.exponent
        for quantity in ("stationary-bias", *BOTH)
    }
    assert found == {"stationary-bias": 2, "covariance": 2, "wasserstein-2": 1}


@pytest.mark.parametrize("quantity", BOTH)
def test_bugs_in_the_noise_are_refuted(quantity: str) -> None:
    evidence = rate(WEAK, quantity=quantity, **SMALL)
    assert (evidence.verdict, evidence.found.exponent) == ("violates", 0)
    evidence = rate(forgot, quantity=quantity, target={"size": 100})
    assert (evidence.verdict, evidence.found.exponent) == ("violates", 0)
    assert "does not vanish with h" in evidence.reason


def test_gradient_noise_refutes_the_printed_theorem_for_the_whole_law() -> None:
    found = {(e.claim, e.check): e for e in verify("sghmc-aboba", checks=BOTH, **noisy())}
    for check in BOTH:
        assert found["chen2015/theorem-4", check].refuted
        corrected = found["corrected/theorem-4", check]
        assert (corrected.verdict, corrected.sharp, corrected.found.exponent) == ("conforms", True, 1)
        assert "Gelbrich" in corrected.certificate["law"]
    assert "Gelbrich" in found["chen2015/theorem-4", "wasserstein-2"].reason
    bias = verify(WEAK, checks=BOTH, **noisy())
    assert {e.verdict for e in bias} == {"violates"} and not any(e.refuted for e in bias)


@pytest.mark.parametrize("quantity", BOTH)
def test_reshuffled_minibatches_keep_the_second_order(quantity: str) -> None:
    assert rate("sghmc-aboba", quantity=quantity, **noisy("reshuffle")).found.exponent == 2
    assert rate("sgld-euler", quantity=quantity, **noisy("reshuffle")).found.exponent == 1


@pytest.mark.parametrize("quantity", BOTH)
def test_a_biased_gradient_is_judged_by_the_posterior(quantity: str) -> None:
    settings = {**SMALL, "gradient": {"kind": "full", "scale": 0.5}}
    evidence = rate("sghmc-aboba", quantity=quantity, **settings)
    # The theorem speaks of unbiased gradients only; the law is far from the posterior all the same.
    assert (evidence.found.exponent, evidence.verdict) == (0, "not-applicable")


def test_what_is_out_of_reach_is_said_by_name() -> None:
    for quantity in BOTH:
        evidence = rate(nose, quantity=quantity, **SMALL)
        assert evidence.verdict == "inconclusive" and "not affine" in evidence.reason
        found = verify(nose, checks=[quantity], **SMALL)
        assert {e.verdict for e in found} == {"not-applicable"}


@pytest.mark.parametrize("quantity", BOTH)
def test_unstable_steps_are_refused(quantity: str) -> None:
    with pytest.raises(InstabilityError):
        rate("sgld-euler", quantity=quantity, schedule={"step": 10.0}, **SMALL)
    with pytest.raises(InstabilityError):
        rate(frictionless, quantity=quantity, schedule={"step": 0.1}, **SMALL)

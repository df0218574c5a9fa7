"""What a scheme says of its invariant law is judged apart from what it says of finite times."""

from __future__ import annotations

import pytest
import torch

from sgverify import scheme, sqrt, torch_step, verify
from sgverify.errors import InstabilityError
from sgverify.schemes import constants, find_scheme, kinetic, langevin
from tests.zoo.schemes import leimkuhler_matthews as unclaimed

ASKED = ["sgverify/stated-order", "sgverify/stated-invariant-order"]
leimkuhler_matthews = unclaimed.named("leimkuhler_matthews", order=1, invariant_order=2)


def verdicts(item, **settings):
    return {e.check: e.verdict for e in verify(item, checks=ASKED, **settings)}


def test_each_kind_has_its_verdict() -> None:
    assert verdicts(leimkuhler_matthews) == {"local-order": "conforms", "invariant-order": "conforms"}
    claims_more = leimkuhler_matthews.named("more", order=2, invariant_order=3)
    assert verdicts(claims_more) == {"local-order": "violates", "invariant-order": "violates"}


@pytest.mark.parametrize("name", ["sghmc-gla3", "sghmc-gla4"])
def test_averages_have_the_rates_of_the_order_of_the_law(name: str) -> None:
    """One step has order 1: theorems 2 and 3 with that order would be met by schemes of a lower order of the law."""
    asked = {"checks": ["sgverify/stated-invariant-rates"], "target": {"name": "gaussian"}}
    item = find_scheme(name)
    r = item.invariant_order
    assert r is not None
    found = {e.check: e.found.exponent for e in verify(item, **asked)}
    assert found == {"bias": pytest.approx(-r / (r + 1)), "mse": pytest.approx(-2 * r / (2 * r + 1))}
    more = verify(item.named("more", order=1, invariant_order=r + 1), **asked)
    assert {e.verdict for e in more} == {"violates"}
    assert [e.verdict for e in verify("sghmc-baoab", **asked)] == ["not-applicable"] * 2


def test_nothing_is_asked_of_a_law_that_nobody_spoke_of() -> None:
    assert verdicts(find_scheme("sgld-euler"))["invariant-order"] == "not-applicable"


def test_who_claims_the_law_alone_is_not_held_to_the_path() -> None:
    @scheme(langevin, order={"invariant": 1})
    def one_twice_as_fast(theta, *, h, grad, noise, T):
        pace = constants((1, 2), theta)
        return theta - h * pace * grad(theta) + sqrt(2 * T * h) * sqrt(pace) * noise()

    assert verdicts(one_twice_as_fast) == {"local-order": "not-applicable", "invariant-order": "conforms"}
    assert verdicts(one_twice_as_fast.named("path", order=1))["local-order"] == "violates"


def test_what_hardly_moves_is_no_sampler() -> None:
    @scheme(langevin, order={"invariant": 1})
    def frozen(theta, *, h, grad, noise, T):
        return theta + h**3 * noise() * sqrt(T)

    with pytest.raises(InstabilityError, match="never contracts"):
        verdicts(frozen)


def coloured(share):
    """Noise with a memory whose rate, 1/(1 + D), is a number only where D is; over many steps it sums to `share` of white."""

    @scheme(kinetic, order={"invariant": 1}, memory={"z": lambda theta, p: 0 * p})
    def step(theta, p, z, *, h, grad, noise, D, T):
        keep = 1 / (1 + D)
        z = keep * z + share * (1 - keep) * noise()
        p = p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * z
        return theta + h * p, p, z

    return step


def test_without_a_series_the_gaussian_target_decides() -> None:
    (found,) = verify(coloured(1), checks=["invariant-order"])
    assert (found.verdict, found.method) == ("conforms", "exact")
    assert verdicts(coloured(2))["invariant-order"] == "violates"


def test_an_order_that_is_seen_on_gaussian_targets_is_not_told_of_others() -> None:
    @torch_step(langevin, order={"invariant": 2}, memory=["before"])
    def wrong_where_gradients_bend(theta, before, *, h, grad, T):
        now = torch.randn_like(theta)
        bend = grad(theta + 1) + grad(theta - 1) - 2 * grad(theta)
        return theta - h * (grad(theta) + bend) + (2 * T * h) ** 0.5 * (before + now) / 2, now

    found = verify(wrong_where_gradients_bend, checks=["invariant-order"])
    assert found.outcome == "pass" and "law holds, on Gaussian targets" in " ".join(str(found).split())

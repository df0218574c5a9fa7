"""The swaps of replica code in torch: right rules balance, inverted and lopsided ones are refuted."""

from __future__ import annotations

import math

import pytest
import torch

from sgverify import torch_step, verify
from sgverify.errors import DefinitionError
from sgverify.schemes import langevin


def judged(swap):
    @torch_step(langevin, order=1, swap=swap)
    def sgld(theta, *, h, grad, T):
        return theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)

    (found,) = verify(sgld, checks=["swap-balance"])
    return found


def deciding(accepts):
    def swap(theta, other, *, U, U_other, T, T_other):
        return (other, theta) if accepts((1 / T - 1 / T_other) * (U - U_other)) else (theta, other)

    return swap


RIGHT = {
    "Metropolis": lambda u: torch.rand(()) < torch.exp(u),
    "Metropolis by logarithms": lambda u: torch.log(torch.rand((), dtype=torch.float64)) < u,
    "Barker": lambda u: torch.bernoulli(torch.sigmoid(u)) > 0,
    "exponential draw": lambda u: torch.empty((), dtype=torch.float64).exponential_() > -u,
}

WRONG = {
    "sign": (lambda u: torch.rand(()) < torch.exp(-u), "inverted"),
    "decision": (lambda u: torch.rand(()) > torch.exp(u), "inverted"),
    "half as strong": (lambda u: torch.rand(()) < torch.exp(u / 2), "flow and reverse flow"),
    "always": (lambda u: True, "flow and reverse flow"),
    "two thresholds": (lambda u: (torch.rand(()) - 0.5).abs() < torch.exp(u) / 4, "flow and reverse flow"),
}


@pytest.mark.by_default("Metropolis")
@pytest.mark.parametrize("rule", RIGHT)
def test_rules_in_detailed_balance_pass(rule):
    found = judged(deciding(RIGHT[rule]))
    assert (found.outcome, found.method) == ("pass", "quadrature"), found.reason


@pytest.mark.by_default("always")
@pytest.mark.parametrize("rule", WRONG)
def test_other_rules_are_refuted(rule):
    accepts, named = WRONG[rule]
    found = judged(deciding(accepts))
    assert found.outcome == "fail" and named in found.reason


def weighing(weight):
    def swap(theta, other, *, U, U_other, T, T_other):
        return (
            (other, theta)
            if torch.rand(()) < torch.exp(weight(T, T_other) * (U - U_other))
            else (theta, other)
        )

    return swap


BEYOND = {
    "the first temperature is 1": weighing(lambda T, other: 1 - 1 / other),
    "the first is the colder": weighing(lambda T, other: abs(1 / T - 1 / other)),
    "large exponents are cut": deciding(lambda u: torch.rand(()) < torch.exp(u.clamp(-4, 4))),
    "negative energies": lambda theta, other, *, U, U_other, T, T_other: deciding(
        lambda u: torch.rand(()) < torch.exp((1 / T - 1 / T_other) * (U.abs() - U_other.abs()))
    )(theta, other, U=U, U_other=U_other, T=T, T_other=T_other),
}


@pytest.mark.by_default("large exponents are cut")
@pytest.mark.parametrize("rule", BEYOND)
def test_a_rule_that_is_right_at_some_temperatures_and_energies_alone_is_refuted(rule):
    assert judged(BEYOND[rule]).outcome == "fail"


def first_coordinate(theta, other, *, U, U_other, T, T_other):
    if torch.rand(()) < torch.exp((1 / T - 1 / T_other) * (U - U_other)):
        return torch.cat([other[:1], theta[1:]]), torch.cat([theta[:1], other[1:]])
    return theta, other


def copies_one(theta, other, *, U, U_other, T, T_other):
    return (other, other) if torch.rand(()) < 0.5 else (theta, other)


def by_state(theta, other, *, U, U_other, T, T_other):
    own = (1 / T - 1 / T_other) * (U - U_other)
    return (
        (other, theta)
        if torch.rand(()) < torch.exp(-own.abs()) * (theta.sum() > other.sum())
        else (theta, other)
    )


def by_two(theta, other, *, U, U_other, T, T_other):
    own = (1 / T - 1 / T_other) * (U - U_other)
    return (other, theta) if torch.rand(()) * torch.rand(()) < torch.exp(own) / 4 else (theta, other)


@pytest.mark.by_default("by_state")
@pytest.mark.parametrize("swap", [copies_one, first_coordinate, by_state, by_two, deciding(lambda u: False)])
def test_what_is_no_rule_of_energies_is_never_passed(swap):
    assert judged(swap).outcome in ("fail", "undecided")


def test_a_step_without_swaps_has_no_balance_and_another_signature_is_refused():
    plain = judged(None)
    assert plain.outcome == "not-applicable" and "swap=" in plain.reason
    with pytest.raises(DefinitionError, match="swap\\(theta, other"):
        torch_step(langevin, swap=lambda theta: theta)

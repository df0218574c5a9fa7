"""A step at a given h against its power series at h = 0: what no coefficient knows of, and what only looks like it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sgverify import exp, scheme, sqrt
from sgverify.exact.affine.expanded_step import ExpandedStep
from sgverify.schemes import Scheme, find_scheme, kinetic, langevin

PARAMETERS = {"T": Fraction(1), "D": Fraction(2)}
STEPS = (2.0, 1.0, 0.5, 0.25, 0.0625, 0.001)


def langevin_with(drift, width) -> Scheme:
    @scheme(langevin, order=1)
    def step(theta, *, h, grad, noise, T):
        return theta - drift(h, T) * grad(theta) + sqrt(2 * T * width(h, T)) * noise()

    return step


def least(a, b):
    return (a + b - sqrt((a - b) ** 2)) / 2


def seen(item: Scheme) -> list[float]:
    expanded = ExpandedStep(item, PARAMETERS)
    return [step for step in STEPS if expanded.difference(step) is not None]


WRONG = {
    "a flat term": (
        langevin_with(lambda h, T: h * (1 + 20 * exp(-1 / h)), lambda h, T: h),
        [2, 1, 0.5, 0.25, 0.0625],
    ),
    "a flat term in the noise": (
        langevin_with(lambda h, T: h, lambda h, T: h + exp(-T / h**2)),
        [2, 1, 0.5, 0.25],
    ),
    "a switch": (langevin_with(lambda h, T: least(h, 0.2), lambda h, T: h), [2, 1, 0.5, 0.25]),
    "a switch at T/50": (
        langevin_with(lambda h, T: h, lambda h, T: least(h, T / 50)),
        [2, 1, 0.5, 0.25, 0.0625],
    ),
    "a switch of a series that is cut": (
        langevin_with(
            lambda h, T: h + sqrt((exp(-h) - exp(-1 / 4)) ** 2) - exp(-h) + exp(-1 / 4), lambda h, T: h
        ),
        [1, 0.5],
    ),
}


@pytest.mark.by_default("a flat term in the noise", "a flat term", "a switch at T/50", "a switch")
@pytest.mark.parametrize("name", WRONG)
def test_another_function_of_h_is_seen_where_it_is_one(name: str) -> None:
    wrong, where = WRONG[name]
    assert set(where) <= set(seen(wrong)) and 0.001 not in seen(wrong)


def momentum(theta, p, *, h, grad, noise, D, T):
    kept = 1 - h * D
    p = kept * p - h * grad(theta) + sqrt(T * (1 - kept * kept)) * noise()
    return theta + h * p, p


RIGHT = {
    "a huge constant": langevin_with(lambda h, T: h * (1 + 10**6 * h**10), lambda h, T: h),
    "a pole at h = -1": langevin_with(lambda h, T: h / (1 + h), lambda h, T: h),
    "a root that ends at h = 1": scheme(kinetic, order=1)(momentum),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_step_that_is_its_series_is_no_alarm(name: str) -> None:
    assert seen(RIGHT[name]) == []


@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-baoab", "sghmc-obabo", "sghmc-momentum-0.001"])
def test_the_catalogue_is_its_series(name: str) -> None:
    assert seen(find_scheme(name)) == []

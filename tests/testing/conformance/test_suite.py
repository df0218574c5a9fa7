"""The readings against one another, by the suite that ships; and carriers that are wrong on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.schemes import Scheme, constants, exp, linear, scheme, sqrt
from sgverify.schemes.dynamics import kinetic
from sgverify.strategies import schemes, words
from sgverify.strategies.splittings import splitting, splitting_names
from sgverify.testing import CarrierConformance, Case
from sgverify.testing import examples as at_least
from tests.testing.conformance.exact_readings import affine_step, formula_step
from tests.testing.conformance.sampled_step import torch_step


def thermostats() -> SearchStrategy[Scheme]:
    return (
        st.sampled_from(splitting_names("thermostat"))
        .map(splitting)
        .flatmap(lambda one: words(alphabet=one, most=9))
    )


@scheme(kinetic)
def two_minibatches(theta, p, *, h, grad, noise, D, T):
    other = grad.fresh()
    middle = theta + h / 3 * p
    p = (
        exp(-D * h / 2) * p
        - h / 2 * (grad(middle) + other(theta))
        + sqrt(2 * D * T * h) * (noise() - noise() / 3)
    )
    return middle + h / 3 * p + h**2 * grad(theta), p


@scheme(kinetic)
def three_laws(theta, p, *, h, grad, noise, D, T):
    p = exp(-D * h) * p - h * grad(theta) + sqrt(D * T * h) * (noise.three_point() - noise() / 2)
    return theta + h * p + h**2 * noise.two_point(), p


@scheme(kinetic)
def telling_apart(theta, p, *, h, grad, noise, D, T):
    p = exp(-D * constants((1, 2), p) * h) * p - h * grad(theta) + sqrt(D * T * h) * noise.uniform()
    return theta + h * linear(((1, Fraction(1, 3)), (Fraction(-1, 3), 1)), p), p * (1 + h * noise.scalar())


def any_scheme() -> SearchStrategy[Scheme]:
    return st.one_of(schemes(), st.sampled_from([two_minibatches, three_laws]))


class TestTorch(CarrierConformance):
    examples = at_least(8)

    def schemes(self) -> SearchStrategy[Scheme]:
        return st.one_of(any_scheme(), thermostats(), st.just(telling_apart))

    def step(self, case: Case) -> dict[str, Sequence[Any]]:
        return torch_step(case)


class TestTorchOverTheData(TestTorch):
    def step(self, case: Case) -> dict[str, Sequence[Any]]:
        return torch_step(case, hoist=False)


class TestTorchFloat32(TestTorch):
    unit = 2.0**-24

    def step(self, case: Case) -> dict[str, Sequence[Any]]:
        return torch_step(case, dtype=torch.float32)


class TestAffine(CarrierConformance):
    examples = at_least(8)

    def schemes(self) -> SearchStrategy[Scheme]:
        return any_scheme()

    def step(self, case: Case) -> dict[str, Sequence[Any]]:
        return affine_step(case)


class TestFormula(CarrierConformance):
    examples = at_least(8)

    def schemes(self) -> SearchStrategy[Scheme]:
        return st.one_of(any_scheme(), thermostats(), st.just(telling_apart))

    def step(self, case: Case) -> dict[str, Sequence[Any]]:
        return formula_step(case)


class Nudged(TestTorch):
    """Off by the smallest relative amount that double precision cannot explain here."""

    def step(self, case: Case) -> dict[str, Sequence[Any]]:
        values = dict(torch_step(case))
        values["theta"] = [x * (1 + 1e-11) + 1e-11 for x in values["theta"]]
        return values


class HalfTheNoise(TestAffine):
    def step(self, case: Case) -> dict[str, Sequence[Any]]:
        return affine_step(replace(case, draws=[[x / 2 for x in draw] for draw in case.draws]))


class OneMinibatch(TestAffine):
    """`grad.fresh()` forgotten: every minibatch is the first one."""

    kinds = ("iid",)

    def schemes(self) -> SearchStrategy[Scheme]:
        return st.just(two_minibatches)

    def step(self, case: Case) -> dict[str, Sequence[Any]]:
        return affine_step(replace(case, minibatches=case.minibatches[:1] * len(case.minibatches)))


class Float32Constants(TestTorch):
    def step(self, case: Case) -> dict[str, Sequence[Any]]:
        return torch_step(replace(case, friction=float(torch.tensor(case.friction, dtype=torch.float32))))


class WrongNames(TestAffine):
    def step(self, case: Case) -> dict[str, Sequence[Any]]:
        return {"x": affine_step(case)["theta"]}


class NotANumber(TestTorch):
    def step(self, case: Case) -> dict[str, Sequence[Any]]:
        return {name: [float("nan")] * len(values) for name, values in torch_step(case).items()}


@pytest.mark.usefixtures("no_shrinking")
@pytest.mark.parametrize(
    "wrong", [Nudged, HalfTheNoise, OneMinibatch, Float32Constants, WrongNames, NotANumber]
)
def test_a_wrong_carrier_fails(wrong: type[CarrierConformance]) -> None:
    with pytest.raises(AssertionError):
        wrong().test_one_step()


@pytest.mark.usefixtures("no_shrinking")
def test_the_suite_asks_for_a_step() -> None:
    with pytest.raises(NotImplementedError, match="override `step`"):
        CarrierConformance().test_one_step()

"""One draw for all coordinates, and uniform draws: their moments, what is refused, and errors in them that are seen."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import torch

from sgverify.checks import verify
from sgverify.errors import DefinitionError
from sgverify.exact.readings.formula import formula, plant
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.randomness.variates import Variates
from sgverify.schemes import dot, dynamics, langevin, scheme, sqrt
from sgverify.schemes.definition.mathematics import NORMAL, UNIFORM, NoiseLaw
from sgverify.schemes.dynamics import kinetic
from tests.tables import each_row


def _hoover(theta, p, xi, *, U, dim, T):
    return -(U(theta) + dot(p, p) / 2 + dim / 2 * xi**2) / T


@dynamics(theta="vector", p="vector", xi="scalar", density=_hoover)
def nose_hoover_langevin(theta, p, xi, *, grad, dim, D, T):
    return (p, -grad(theta) - xi * p, dot(p, p) / dim - T - D * xi), (0, 0, D * T / dim)


@scheme(nose_hoover_langevin, order=1)
def hoover_euler(theta, p, xi, *, h, grad, noise, dim, D, T):
    p = p - h * grad(theta) - h * xi * p
    heat = dot(p, p) / dim - T
    return theta + h * p, p, (1 - h * D) * xi + h * heat + sqrt(2 * D * T * h / dim) * noise.scalar()


@scheme(kinetic, order=1)
def stratified(theta, p, *, h, grad, noise, D, T):
    time = (1 + noise.scalar.uniform() / sqrt(3)) / 2 * h
    g = grad(theta + time * p)
    return theta + h * p - h**2 / 2 * g, (1 - h * D) * p - h * g + sqrt(2 * D * T * h) * noise()


def verdict(step: Any) -> str:
    (found,) = verify(step, checks=["local-order"])
    return str(found.verdict)


@pytest.mark.parametrize("step", [hoover_euler, stratified])
def test_right_ones_are_proved(step: Any) -> None:
    assert verdict(step) == "conforms"


def test_errors_in_them_are_seen() -> None:
    assert verdict(plant(hoover_euler, "sqrt(2*D*T*h/dim)", "sqrt(D*T*h/dim)")) == "violates"
    assert verdict(plant(hoover_euler, "sqrt(2*D*T*h/dim)", "sqrt(2*D*T*h)")) == "violates"

    @scheme(langevin, order=1)
    def unscaled(theta, *, h, grad, noise, T):
        # A uniform number of variance 1/12, as torch.rand() - 1/2 would be.
        return theta - h * grad(theta) + sqrt(2 * T * h) * noise.uniform() / sqrt(12)

    assert verdict(unscaled) == "violates"


def test_one_draw_for_all_coordinates_is_not_one_for_each() -> None:
    @scheme(langevin, order=1)
    def common(theta, *, h, grad, noise, T):
        return theta - h * grad(theta) + sqrt(2 * T * h) * noise.scalar() * (1 + 0 * theta)

    assert verdict(common) == "violates"


def test_a_scalar_draw_is_printed_and_read_back() -> None:
    assert "first_entry(z1)" in formula(hoover_euler)


def test_a_coordinate_of_anything_but_a_draw_is_refused() -> None:
    from sgverify.schemes.definition.mathematics import first_entry

    with pytest.raises(DefinitionError, match="only a draw has one"):

        @scheme(langevin)
        def wrong(theta, *, h, grad, noise, T):
            return theta - h * first_entry(theta) * grad(theta) + sqrt(2 * T * h) * noise()


@each_row("power", range(8))
def test_moments_are_those_of_the_uniform_law(power: int) -> None:
    # The integral of z^k over (-sqrt(3), sqrt(3)) by its length.
    expected = Fraction(0) if power % 2 else Fraction(3) ** (power // 2) / (power + 1)
    assert UNIFORM.moment(power) == expected
    assert (UNIFORM.symmetric, UNIFORM.normal, NORMAL.normal) == (True, False, True)


def test_a_law_of_another_variance_is_none() -> None:
    with pytest.raises(DefinitionError, match="variance 1"):
        NoiseLaw("narrow", edge=1)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_sampled_ones_have_the_law(dtype: torch.dtype) -> None:
    stream = Stream.of("noise", seed=3, runs=[b"a"], chains=range(64))
    draws = Variates(stream, dtype, UNIFORM).take(0, 2048)
    assert draws.dtype == dtype
    assert float(draws.abs().max()) <= float(torch.tensor(UNIFORM.largest, dtype=dtype))
    # 131,072 draws: the k-th moment of |z| within 6 standard errors, sqrt(m_2k/n).
    for power in (1, 2, 4):
        error = 6 * float(UNIFORM.moment(2 * power) / draws.numel()) ** 0.5
        assert abs(float((draws.double() ** power).mean()) - float(UNIFORM.moment(power))) < error

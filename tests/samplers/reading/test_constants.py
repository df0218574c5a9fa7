"""Constants of the sampled reading: float64, computed once, rounded where they meet the state."""

from __future__ import annotations

import gc
import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from sgverify.errors import DefinitionError
from sgverify.samplers.reading.carrier import Chains
from sgverify.samplers.reading.constants import Clock, Constant
from sgverify.schemes import exp, expm1, sqrt


def constant(*values: float, clock: Clock | None = None, passing: bool = False) -> Constant:
    return Constant(np.array([values]), clock or Clock(), passing=passing)


def test_arithmetic_is_that_of_float64() -> None:
    h, T = constant(0.1, 0.3), constant(0.7)
    third = Fraction(1, 3)
    for found, expected in [
        (2 * T * h, [(2 * 0.7) * 0.1, (2 * 0.7) * 0.3]),
        (third * h, [1 / 3 * 0.1, 1 / 3 * 0.3]),
        (h / 2 - 1, [0.1 / 2 - 1, 0.3 / 2 - 1]),
        (1 - h, [1 - 0.1, 1 - 0.3]),
        (1 / h, [1 / 0.1, 1 / 0.3]),
        (h - T, [0.1 - 0.7, 0.3 - 0.7]),
        (T - h, [0.7 - 0.1, 0.7 - 0.3]),
        (T / h, [0.7 / 0.1, 0.7 / 0.3]),
        (h / T, [0.1 / 0.7, 0.3 / 0.7]),
        (h**3, [0.1**3, 0.3**3]),
        (-h + T, [-0.1 + 0.7, -0.3 + 0.7]),
        (sqrt(2) * h, [math.sqrt(2) * 0.1, math.sqrt(2) * 0.3]),
        (exp(-h), [math.exp(-0.1), math.exp(-0.3)]),
        (sqrt(-expm1(-2 * h)), [math.sqrt(-math.expm1(-2 * x)) for x in (0.1, 0.3)]),
    ]:
        assert found.value.dtype == np.float64
        assert found.value.tolist() == [expected]


@pytest.mark.parametrize("passing", [True, False])
def test_what_was_made_is_remembered(passing: bool) -> None:
    h, T = constant(0.1, 0.3, passing=passing), constant(0.7)
    assert sqrt(2 * T * h) is sqrt(2 * T * h)
    assert h - T is not T - h
    assert (h - T).value.tolist() == [[0.1 - 0.7, 0.3 - 0.7]]
    assert (T - h).value.tolist() == [[0.7 - 0.1, 0.7 - 0.3]]


def test_float32_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"dtype=float32.*expected float64"):
        Constant(np.array([[0.1]], dtype=np.float32), Clock())


def test_meets_a_float32_state_rounded_once_and_a_float64_state_unrounded() -> None:
    h = constant(0.1, 0.3)
    for dtype in (torch.float32, torch.float64):
        state = Chains(torch.ones((2, 4, 3), dtype=dtype))
        met = (exp(-3 * h) * state).tensor
        assert met.dtype == dtype
        assert torch.equal(met[:, 0, 0], torch.tensor([math.exp(-3 * 0.1), math.exp(-3 * 0.3)], dtype=dtype))


def test_the_clock_picks_the_step() -> None:
    clock = Clock()
    h = Constant(np.array([[0.1, 0.2], [0.3, 0.4]]), clock, passing=True)
    doubled = 2 * h
    state = torch.ones((2, 1, 1), dtype=torch.float64)
    assert doubled.meet(state).flatten().tolist() == [0.2, 0.4]
    clock.now = 1
    assert doubled.meet(state).flatten().tolist() == [0.6, 0.8]


@pytest.mark.by_default("1")
@pytest.mark.parametrize("count", [1, 3])
def test_a_block_of_steps_leaves_nothing_behind(count: int) -> None:
    clock = Clock()
    D = constant(2.0, clock=clock)

    def blocks(number: int) -> int:
        for _ in range(number):
            h = Constant(np.full((count, 2), 0.1), clock, passing=True)
            exp(-D * h) + (D - h) / (h + D)
        gc.collect()
        return sum(type(item) is Constant for item in gc.get_objects()) + len(D._made) + len((-D)._made)

    before = blocks(2)
    assert blocks(40) == before


def test_outside_its_domain_a_constant_is_nan() -> None:
    assert math.isnan(sqrt(constant(-1.0)).value[0, 0])

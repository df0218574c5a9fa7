"""Square roots of states: as IEEE 754 rounds them, recorded, differentiated, and the same in any batch."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from sgverify.samplers import GradientChoice, Settings, fixed
from sgverify.samplers.fused.compiler import compiler
from sgverify.samplers.reading.arithmetic import root
from sgverify.samplers.reading.carrier import Chains
from sgverify.samplers.reading.constants import Clock
from sgverify.samplers.reading.tape import record
from sgverify.schemes import langevin, scheme, sqrt
from sgverify.targets import Target
from tests.sampled_states import sample_states

DTYPES = [torch.float32, torch.float64]
NO_COMPILER = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")


@scheme(langevin, memory={"v": lambda theta, *, h: 0 * theta + h})
def preconditioned(theta, v, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    """The square roots of a running mean of squared gradients divide the step, as in RMSprop."""
    g = grad(theta)
    v = v * 99 / 100 + g * g / 100
    scale = Fraction(1, 3) / (1 + sqrt(v))
    return theta - h * scale * g + sqrt(2 * T * h) * sqrt(scale) * noise(), v


@pytest.mark.parametrize("dtype", DTYPES)
def test_roots_are_those_of_ieee_754(dtype: torch.dtype) -> None:
    # Torch's own, where MKL is behind it, is off by a unit in the last place for some of so many.
    numbers = torch.linspace(0.01, 9.0, 4096, dtype=dtype)
    exact = torch.tensor([math.sqrt(x) for x in numbers.tolist()], dtype=torch.float64).to(dtype)
    assert torch.equal(root(numbers), exact)
    assert torch.equal(sqrt(Chains(numbers)).tensor, exact)
    assert root(numbers, out=numbers) is numbers
    assert torch.equal(numbers, exact)


def test_a_root_of_less_than_0_is_no_number_and_no_warning() -> None:
    assert torch.isnan(root(torch.tensor([-1.0]))).all()


def test_a_root_is_differentiated_where_that_is_asked_for() -> None:
    x = torch.tensor([4.0, 9.0], requires_grad=True)
    (slope,) = torch.autograd.grad(root(x).sum(), x)
    assert slope.tolist() == pytest.approx([1 / 4, 1 / 6])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tape_plays_the_same_root(dtype: torch.dtype) -> None:
    x = torch.linspace(0.01, 9.0, 4096, dtype=dtype)[None, :, None]
    tape, (found,) = record(lambda: (root(x) * 2,), (x,), (), Clock())
    assert [line.function.__name__ for line in tape.lines] == ["root", "mul"]
    assert torch.equal(tape.play((x,), (), ())[0], found)
    into = torch.empty_like(x)
    tape.play_into((x,), (), (), (into,))
    assert torch.equal(into, found)


@pytest.mark.parametrize(
    ("dtype", "compiled"),
    [("float32", False), ("float64", False), pytest.param("float32", "kernel", marks=NO_COMPILER)],
)
def test_a_chain_of_a_preconditioned_step_has_the_same_bits_in_any_batch(
    posterior: Target, dtype: str, compiled: Any
) -> None:
    # Sizes at which vector routines take other ways: one, the rest of a vector, and many.
    how: dict[str, Any] = {"gradient": GradientChoice("iid", batch=2), "dtype": dtype, "compiled": compiled}
    rows = fixed([0.01, 0.02], [12])

    def states(chains: int, first: int, plain: bool = False) -> np.ndarray:
        given = {**how, "compiled": False} if plain else how
        settings = Settings(chains=chains, first_chain=first, **given)
        found = sample_states(preconditioned, posterior, rows, at=[12], settings=settings)
        return np.asarray(found.values["theta"])

    whole = states(1500, 0, plain=True)
    batches = ((70, 61),) if compiled else ((1, 0), (1, 700), (3, 1203), (70, 61))
    for chains, first in batches:
        assert np.array_equal(states(chains, first), whole[..., first : first + chains, :])

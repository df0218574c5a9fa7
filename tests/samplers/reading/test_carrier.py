"""State variables of all chains: arithmetic with exact numbers, in the state's dtype, chain by chain."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch

from sgverify.samplers.reading.carrier import Chains, product
from sgverify.schemes import dot, exp, expm1, sqrt
from sgverify.targets import Matrix, Vector, constant, linear

X = torch.tensor([[[0.5, 2.0, 3.0]], [[1.5, 0.25, 7.0]]], dtype=torch.float64)
Y = torch.tensor([[[1.5, -2.0, 0.1]], [[0.3, 4.0, -1.0]]], dtype=torch.float64)


def test_operations_are_those_of_tensors() -> None:
    x, y = Chains(X), Chains(Y)
    third, root = Fraction(1, 3), sqrt(2)
    for found, expected in [
        (x + y, X + Y), (x - y, X - Y), (x * y, X * Y), (x / y, X / Y), (-x, -X), (+x, X),
        (x + 1, X + 1), (1 - x, 1 - X), (third * x, X * (1 / 3)), (x / third, X / (1 / 3)), (1 / x, 1 / X),
        (root * x, X * math.sqrt(2)), (x**2, X * X), (x**3, X * X * X), (x**0, torch.ones_like(X)),
        (x**-1, 1 / X), (x**5, (X * X) * (X * X) * X),
    ]:  # fmt: skip
        assert torch.equal(found.tensor, expected)
    # torch's own differ by a unit in the last place from place to place of a tensor, on some processors.
    for found, expected in [(exp(x), X.exp()), (expm1(x), X.expm1()), (sqrt(x), X.sqrt())]:
        assert torch.allclose(found.tensor, expected, rtol=2.0**-51, atol=0)


def test_dot_keeps_the_axis_that_a_vector_broadcasts_over() -> None:
    scalar = dot(Chains(X), Chains(Y))
    assert scalar.tensor.shape == (2, 1, 1)
    assert torch.allclose(scalar.tensor[..., 0], (X * Y).sum(-1), rtol=1e-15)
    assert (scalar * Chains(X)).tensor.shape == X.shape


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_exact_numbers_take_the_dtype_of_the_state(dtype: torch.dtype) -> None:
    x = Chains(X.to(dtype))
    value = sqrt(2) * x / 3 + Fraction(1, 7) * (x - 0.1)
    assert value.tensor.dtype == dtype


def test_linear_and_constants_of_a_potential() -> None:
    matrix = Matrix([[1, 2, 0], [0, Fraction(1, 3), 5], [7, 0, 1]])
    found = linear(matrix, Chains(X))
    expected = torch.einsum("ij,...j->...i", torch.tensor(matrix.float64()), X)
    assert torch.allclose(found.tensor, expected, rtol=1e-15)
    assert constant(Chains(X.float()), Vector([1, Fraction(1, 3), 2])).tensor.dtype == torch.float32


def test_products_of_a_chain_do_not_depend_on_the_batch() -> None:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn((7, 33, 5), generator=generator, dtype=torch.float64)
    matrix = torch.randn((5, 5), generator=generator, dtype=torch.float64)
    whole, inner = product(rows, matrix), dot(Chains(rows), Chains(rows)).tensor
    for s in range(7):
        assert torch.equal(product(rows[s : s + 1, 3:4], matrix), whole[s : s + 1, 3:4])
        part = Chains(rows[s : s + 1, 3:4])
        assert torch.equal(dot(part, part).tensor, inner[s : s + 1, 3:4])


def test_what_is_no_function_of_the_state_is_refused() -> None:
    for other in (torch.ones(3), "1", None, 1j):
        with pytest.raises(TypeError):
            Chains(X) * other
    with pytest.raises(TypeError):
        Chains(X) ** "1"

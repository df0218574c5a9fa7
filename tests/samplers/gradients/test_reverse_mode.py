"""Gradients by the reverse mode equal autograd's, for every potential of the catalogue."""

from __future__ import annotations

import pytest
import torch

from sgverify.configuration import load_configuration
from sgverify.errors import DefinitionError
from sgverify.samplers.gradients.derivatives import (
    gradient_by_autograd,
    gradient_by_tracking,
    is_trackable,
    of_pair,
)
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.reading.carrier import Chains
from sgverify.schemes.definition.abstract_value import SCALAR, VECTOR
from sgverify.schemes.definition.mathematics import cos, dot, exp, expm1, log, sin, softplus, sqrt
from sgverify.schemes.definition.reverse_mode import Tracked, gradient_of
from sgverify.targets import TARGETS, build_target
from sgverify.targets.potential import Matrix, Vector, coordinate, linear
from tests.tables import each_row


def _target(name: str, dim: int) -> object:
    return build_target(load_configuration(None, target={"name": name, "dim": dim}).target)


CASES = [(name, dim) for name, kind in TARGETS.items() for dim in (kind.dims or (1, 2, 4))[:3]]


@pytest.mark.parametrize(("name", "dim"), CASES)
def test_every_potential_has_the_gradient_of_autograd(name: str, dim: int) -> None:
    target = _target(name, dim)
    potential = Potential(target, dtype=torch.float64, device="cpu", hoist=False)
    generator = torch.Generator().manual_seed(1)
    theta = torch.randn((2, 3, dim), dtype=torch.float64, generator=generator)
    theta = theta.abs() if target.positive else theta
    assert potential.tracked_prior
    # Two orders of the same operations: a few units in the last place of the largest entry.
    close = {"rtol": 1e-13, "atol": 1e-13}
    torch.testing.assert_close(potential.prior(theta), gradient_by_autograd(target.prior, theta), **close)
    if target.data is not None:
        assert potential.tracked_likelihood
        rows = torch.tensor(target.data[:5], dtype=torch.float64)[:, None, None]
        expected = gradient_by_autograd(of_pair(target, rows), theta.expand(len(rows), *theta.shape))
        torch.testing.assert_close(potential.likelihoods(theta, rows), expected, **close)


@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_every_function_of_the_interface_is_differentiated(shift: float) -> None:
    matrix = Matrix([[1, 2, 0], [0, 1, 3], [1, 0, 1]])

    def potential(theta: object) -> object:
        first, last = coordinate(theta, 0), coordinate(theta, 2)
        bent = (
            exp(-first)
            + expm1(last)
            + log(1 + dot(theta, theta))
            + softplus(first * last)
            - sin(last) * cos(first)
        )
        turned = dot(linear(matrix, theta), theta) + dot(theta * first, theta - last * theta)
        return (
            bent / (2 + last * last)
            + sqrt(1 + turned * turned)
            + 3 / (2 + first**4)
            - last ** (-2)
            + theta_sum(theta)
        )

    def theta_sum(theta: object) -> object:
        return 0.5 * coordinate(theta, 1) ** 3 - (1 - coordinate(theta, 1)) ** 2

    generator = torch.Generator().manual_seed(2)
    theta = torch.rand((2, 3, 3), dtype=torch.float64, generator=generator) + 0.4 + shift
    torch.testing.assert_close(
        gradient_by_tracking(potential, theta), gradient_by_autograd(potential, theta), rtol=1e-13, atol=1e-13
    )


def test_torch_code_of_a_user_is_left_to_autograd() -> None:
    def own(theta: object) -> object:
        return theta.tensor.sum(-1)  # type: ignore[attr-defined]

    assert not is_trackable(own, 2)


SPREAD = {
    "a scalar and a vector of data": lambda theta, x: dot(dot(theta, theta) - x, x),
    "a vector of data and a scalar": lambda theta, x: dot(x - dot(theta, theta), x),
    "a coordinate and a vector of data": lambda theta, x: dot(coordinate(theta, 0) + x, x),
    "a scalar over a vector of data": lambda theta, x: dot(dot(theta, theta) / (1 + x), x),
    "dot of a scalar and a vector": lambda theta, x: dot(coordinate(theta, 0), x),
    "dot of two tracked kinds": lambda theta, x: dot(dot(theta, x), theta),
    "theta and wider data": lambda theta, x: dot(theta - x, theta - x),
    "a function of theta and wider data": lambda theta, x: dot(exp(-theta) * x, x),
    "a matrix before wider data": lambda theta, x: (
        dot(linear(_eye(theta), theta) - x, x) + dot(linear(_eye(theta), sin(theta)) * x, x)
    ),
    "a coordinate of a sum with wider data": lambda theta, x: dot(theta - x, x) * coordinate(theta, 0),
}


def _eye(theta: object) -> Matrix:
    return _EYES[_width(theta) - 1]


_EYES = [Matrix([[int(i == j) for j in range(size)] for i in range(size)]) for size in (1, 2, 3)]


def _width(value: object) -> int:
    tensor = value.value.tensor if isinstance(value, Tracked) else value.tensor  # type: ignore[attr-defined]
    return int(tensor.shape[-1])


@each_row("dim", [1, 3])
@each_row("name", SPREAD)
def test_a_number_that_is_spread_over_a_vector_has_the_right_gradient_or_none(name: str, dim: int) -> None:
    potential = SPREAD[name]
    generator = torch.Generator().manual_seed(3)
    theta, x = (torch.rand((4, width), dtype=torch.float64, generator=generator) for width in (dim, 3))
    if not is_trackable(potential, dim, 3):
        # Autograd's task, then.
        return
    expected = gradient_by_autograd(lambda at: potential(at, Chains(x)), theta)
    torch.testing.assert_close(gradient_by_tracking(potential, theta, x), expected)


def test_a_vector_is_no_potential() -> None:
    value = Tracked(Vector([1, 2]), VECTOR)
    with pytest.raises(DefinitionError, match="the gradient of a vector"):
        gradient_of(value * 2, [value])
    assert gradient_of(Tracked(3, SCALAR), [value]) == [0]

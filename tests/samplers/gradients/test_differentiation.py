"""Gradients by autograd, against exact arithmetic; the affine reading, against autograd."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from sgverify.samplers.gradients import differentiation
from sgverify.samplers.gradients.differentiation import Potential, read_affine
from sgverify.samplers.reading.carrier import Chains
from sgverify.schemes import dot, exp
from sgverify.targets import Target

NAMES = ["line", "space", "posterior", "wide_posterior"]


@pytest.fixture(params=NAMES)
def any_target(request: pytest.FixtureRequest) -> Target:
    return request.getfixturevalue(request.param)


def rounding(target: Target, theta: torch.Tensor) -> float:
    """A bound on the rounding of either way: (terms + 10) units of the largest sum of absolute values.

    A gradient sums N + 1 parts of d products each; 10 covers the few operations that make a part.
    """
    size = target.size or 0
    data = 0.0 if target.data is None else float(np.abs(target.data).max())
    largest = float(theta.abs().max()) + data + float(np.abs(target.mean_float64()).max()) + 1
    magnitude = float(np.abs(target.precision_float64()).sum()) * largest * (size + 1)
    return (size + target.dim + 10) * np.finfo(float).eps * magnitude


def points(target: Target) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return 4 * torch.randn((2, 5, target.dim), generator=generator, dtype=torch.float64)


def test_autograd_agrees_with_exact_arithmetic(any_target: Target) -> None:
    theta = points(any_target)
    found = Potential(any_target, dtype=torch.float64, device="cpu", hoist=False).full(theta)
    for s in range(2):
        for c in range(5):
            exact = any_target.gradient([Fraction(float(x)) for x in theta[s, c]])
            error = np.abs(found[s, c].numpy() - np.array([float(x) for x in exact])).max()
            assert error < rounding(any_target, theta)


def test_the_affine_reading_agrees_with_autograd(any_target: Target) -> None:
    theta = points(any_target)
    plain = Potential(any_target, dtype=torch.float64, device="cpu", hoist=False)
    clever = Potential(any_target, dtype=torch.float64, device="cpu")
    assert plain.affine is None
    assert clever.affine is not None
    assert float((plain.full(theta) - clever.full(theta)).abs().max()) < rounding(any_target, theta)


def test_the_hessian_and_the_data_are_those_of_exact_arithmetic(any_target: Target) -> None:
    affine = read_affine(any_target)
    assert affine is not None
    matrix = affine.transposed if affine.transposed.ndim == 2 else torch.diag(affine.transposed)
    assert np.allclose(matrix.T.numpy(), any_target.precision_float64(), rtol=1e-14, atol=0)
    if any_target.data is None:
        assert affine.deviations is None
    else:
        bound = rounding(any_target, torch.zeros(1)) * len(any_target.data)
        assert (
            np.abs(affine.deviations.numpy() - np.array(any_target.data_gradients(), dtype=float)).max()
            < bound
        )


def test_the_form_of_the_hessian(line: Target, space: Target) -> None:
    for target, rank in [(line, 1), (space, 2)]:
        affine = read_affine(target)
        assert affine is not None
        assert affine.transposed.ndim == rank


class Bare(SimpleNamespace):
    """A stand-in for a target, known by identity as targets are."""

    __hash__ = object.__hash__


def bare(prior: Any, likelihood: Any = None, data: Any = None) -> Any:
    # `quadratic` even where it is not: autograd has to find that out by itself.
    return Bare(
        dim=2,
        prior=prior,
        likelihood=likelihood,
        data=data,
        mean_float64=lambda: np.zeros(2),
        quadratic=True,
        weighted=(data, None),
    )


def zero(theta: Any) -> Any:
    return 0 * dot(theta, theta)


DATA = np.array([[1.0, 2.0], [3.0, -1.0]])


@pytest.mark.parametrize(
    "target",
    [
        bare(lambda theta: dot(theta, theta) ** 2),
        bare(lambda theta: exp(dot(theta, theta) / 1000)),
        bare(lambda theta: dot(theta, theta) / 2 + Fraction(1, 10**9) * dot(theta, theta) ** 2),
        bare(zero, lambda theta, x: exp(dot(theta, x)), DATA),
    ],
)
def test_a_gradient_that_is_not_affine_is_not_taken_for_one(target: Any) -> None:
    assert read_affine(target) is None
    theta = torch.randn((1, 3, 2), generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    point = theta.clone().requires_grad_()
    value = target.prior(Chains(point)).tensor.sum()
    if target.data is not None:
        value = value + sum(
            target.likelihood(Chains(point), Chains(torch.tensor(x))).tensor.sum() for x in DATA
        )
    value.backward()
    potential = Potential(target, dtype=torch.float64, device="cpu")
    assert torch.allclose(potential.full(theta), point.grad, rtol=1e-13, atol=0)


def test_data_of_different_curvature_share_no_deviation() -> None:
    """Linear regression: the Hessian of a datum is x x^T, so the full gradient is affine, each minibatch in its way."""
    target = bare(zero, lambda theta, x: (dot(theta, x) - 1) ** 2 / 2, DATA)
    affine = read_affine(target)
    assert affine is not None
    assert affine.deviations is None
    assert torch.equal(affine.transposed.T, torch.tensor(DATA.T @ DATA))


def test_visiting_the_data_in_pieces_changes_no_bit(
    wide_posterior: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    theta = points(wide_posterior)
    potential = Potential(wide_posterior, dtype=torch.float64, device="cpu", hoist=False)
    whole = potential.full(theta)
    monkeypatch.setattr(differentiation, "_PIECE", 5 * theta.numel())
    assert torch.equal(potential.full(theta), whole)
    assert torch.equal(potential.full(theta[1:, 2:4]), whole[1:, 2:4])


def test_float32_stays_float32(wide_posterior: Target) -> None:
    theta = points(wide_posterior).float()
    for hoist in (True, False):
        potential = Potential(wide_posterior, dtype=torch.float32, device="cpu", hoist=hoist)
        assert potential.full(theta).dtype == torch.float32

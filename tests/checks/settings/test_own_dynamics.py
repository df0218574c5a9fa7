"""Torch code of another dynamics than the declared one: right where its law is, and named."""

from __future__ import annotations

import pytest
import torch

from sgverify import verify
from sgverify.law.own_dynamics import find_own_dynamics
from sgverify.schemes import kinetic, langevin
from sgverify.schemes.torch_step import torch_step


def skew(size, part):
    """Euler with the drift -(I + J) grad U, J_ij = part for i < j and -size * part for i > j."""

    @torch_step(langevin, order=1, chains=True)
    def step(theta, *, h, grad, T):
        n = theta.shape[-1]
        above = part * torch.triu(torch.ones(n, n, dtype=theta.dtype), 1)
        g = grad(theta)
        return theta - h * (g + g @ (above - size * above.T).T) + (2 * T * h) ** 0.5 * torch.randn_like(theta)

    return step


def friction(first, later, *, noise=1.0, order=1):
    """Euler, friction `first` D in the first coordinate and `later` D in the others."""

    @torch_step(kinetic, order=order, chains=True)
    def step(theta, p, *, h, grad, D, T):
        f = torch.full_like(p, later * D)
        f[..., 0] = first * D
        kick = (2 * noise * f * T * h) ** 0.5 * torch.randn_like(p)
        p = p - h * grad(theta) - h * f * p + kick
        return theta + h * p, p

    return step


def preconditioned(drift, noise):
    @torch_step(langevin, order=1, chains=True)
    def step(theta, *, h, grad, T):
        n = theta.shape[-1]
        matrix = torch.eye(n, dtype=theta.dtype) + 0.5
        root = torch.linalg.cholesky(noise * matrix)
        kick = (2 * T * h) ** 0.5 * torch.randn_like(theta) @ root.T
        return theta - h * drift * grad(theta) @ matrix + kick

    return step


@pytest.mark.by_default("right3")
@pytest.mark.parametrize(
    "right", [skew(1, 1.0), friction(1, 2), preconditioned(1, 1), preconditioned(0.5, 0.5)]
)
def test_another_dynamics_with_the_same_law(right) -> None:
    found = find_own_dynamics(right, 2)
    assert found is not None
    assert (found.order.order, found.order.at_least) == (1, False)
    assert "and not" in found.text


@pytest.mark.by_default("wrong0", "wrong4")
@pytest.mark.parametrize(
    "wrong",
    [
        # J is not skew; noise or drift alone is preconditioned; twice the friction, and the noise of once.
        skew(0, 1.0),
        preconditioned(1, 0.5),
        preconditioned(0.5, 1),
        friction(2, 2, noise=0.5),
        # Neither friction nor noise in some coordinates leaves the density invariant, and samples nothing.
        friction(0, 0),
        friction(1, 0),
    ],
)
def test_what_has_another_law_or_forgets_nothing(wrong) -> None:
    assert find_own_dynamics(wrong, 2) is None


@pytest.mark.power  # 1.3 s
def test_the_order_is_the_one_against_its_own_dynamics() -> None:
    (first,) = verify(friction(1, 2), checks=["local-order"])
    assert first.verdict == "conforms"
    assert "p2" in first.reason and "-2.5 p2 and not" in first.reason
    (second,) = verify(friction(1, 2, order=2), checks=["sgverify/stated-order"])
    assert second.verdict == "violates"


def test_a_drift_that_is_no_constant_matrix_stays_a_violation() -> None:
    @torch_step(langevin, order=1, chains=True)
    def clipped(theta, *, h, grad, T):
        return theta - h * grad(theta).clamp(-0.1, 0.1) + (2 * T * h) ** 0.5 * torch.randn_like(theta)

    assert find_own_dynamics(clipped, 2) is None

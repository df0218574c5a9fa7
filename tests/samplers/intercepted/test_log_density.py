"""The log density that torch code may ask for: its values, its gradient, and samplers that use them."""

from __future__ import annotations

import math

import pytest
import torch

from sgverify import torch_step, verify
from sgverify.errors import Unreached
from sgverify.samplers.intercepted.log_density import LogDensityOf, along_line
from sgverify.schemes import langevin

GAUSSIAN = {"target": {"name": "gaussian", "precision": 1.5}}


def acceptance(theta, y, grad, h, T):
    def rate(x, y):
        return -((y - x + h * grad(x)) ** 2).sum(-1) / (4 * h * T)

    return rate(y, theta) - rate(theta, y)


def mala(of_temperature):
    """The Metropolis-adjusted Langevin algorithm (Roberts and Tweedie 1996), its energies divided by `of_temperature(T)`."""

    @torch_step(langevin, chains=True)
    def step(theta, *, h, grad, log_density, T):
        y = theta - h * grad(theta) + math.sqrt(2 * h * T) * torch.randn_like(theta)
        rise = (log_density(y) - log_density(theta)) / of_temperature(T)
        chance = rise + acceptance(theta, y, grad, h, T)
        accepted = torch.rand(len(theta), dtype=theta.dtype).log() < chance
        return torch.where(accepted[:, None], y, theta)

    return step


def test_values_and_derivatives_are_those_of_the_potential() -> None:
    def gradient(x):
        return x**3 + torch.sinh(x) + x.roll(1, -1)

    def potential(x):
        return (x**4 / 4 + torch.cosh(x)).sum(-1) + x[..., 0] * x[..., 1]

    density = LogDensityOf(gradient, "here", positive=False)
    theta = torch.tensor([[0.3, -1.7], [2.5, 4.0]], dtype=torch.float64, requires_grad=True)
    value = density(theta)
    expected = potential(torch.zeros(2, dtype=torch.float64)) - potential(theta)
    assert torch.allclose(value, expected, rtol=1e-12)
    (slope,) = torch.autograd.grad(value.sum(), theta, create_graph=True)
    assert torch.equal(slope, -gradient(theta))
    with pytest.raises(RuntimeError, match="once_differentiable|does not require grad"):
        torch.autograd.grad(slope.sum(), theta)


def test_from_one_where_theta_is_positive() -> None:
    theta = torch.tensor([2.0, 0.5], dtype=torch.float64)
    assert torch.allclose(along_line(lambda x: 1 / x, theta, positive=True), theta.log().sum(), atol=1e-11)


def test_gradients_of_no_function_are_refused() -> None:
    noise = torch.Generator().manual_seed(0)

    def noisy(x):
        return x + torch.randn(x.shape, generator=noise, dtype=x.dtype)

    with pytest.raises(Unreached, match="do not integrate to one number"):
        along_line(noisy, torch.ones(2, dtype=torch.float64), positive=False)


def test_code_that_differentiates_a_log_density_is_judged() -> None:
    @torch_step(langevin, order=1)
    def step(theta, *, h, log_density, T):
        theta = theta.detach().requires_grad_()
        (slope,) = torch.autograd.grad(log_density(theta).sum(), theta)
        return theta.detach() + h * slope + math.sqrt(2 * h * T) * torch.randn_like(theta)

    assert verify(step, GAUSSIAN, proof_dim=1, checks=["local-order"]).outcome == "pass"


@pytest.mark.power
@pytest.mark.parametrize(("of_temperature", "outcome"), [(float, "pass"), (lambda T: 1.0, "fail")])
def test_a_metropolis_step_is_judged_by_the_law_that_it_keeps(of_temperature, outcome) -> None:
    (found,) = verify(mala(of_temperature), GAUSSIAN, temperature=0.5, checks=["stationary-bias"])
    assert found.outcome == outcome, found.reason

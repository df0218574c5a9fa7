"""Numbers that are rounded on their way."""

import math

import torch

from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.torch_step import torch_step


@torch_step(langevin, order=1)
def scale_in_float16(theta, *, h, grad, T):
    """The scale of the noise in float16."""
    scale = torch.tensor(math.sqrt(2 * T * h), dtype=torch.float16).to(theta.dtype)
    return theta - h * grad(theta) + scale * torch.randn_like(theta)


@torch_step(langevin, order=1)
def scale_in_bfloat16(theta, *, h, grad, T):
    """The scale of the noise in bfloat16."""
    scale = torch.tensor(math.sqrt(2 * T * h), dtype=torch.bfloat16).to(theta.dtype)
    return theta - h * grad(theta) + scale * torch.randn_like(theta)


@torch_step(langevin, order=1)
def step_in_float16(theta, *, h, grad, T):
    """h times the gradient in float16, where small steps vanish."""
    drift = (torch.tensor(h, dtype=torch.float16) * grad(theta).to(torch.float16)).to(theta.dtype)
    return theta - drift + math.sqrt(2 * T * h) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def state_in_float16(theta, *, h, grad, T):
    """The state goes through float16."""
    new = theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)
    return new.to(torch.float16).to(theta.dtype)


@torch_step(langevin, order=1)
def state_in_float32(theta, *, h, grad, T):
    """The state goes through float32 in a float64 run."""
    new = theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)
    return new.to(torch.float32).to(theta.dtype)


@torch_step(langevin, order=1)
def state_of_three_digits(theta, *, h, grad, T):
    """The state is rounded to three digits behind the point, as it is logged."""
    new = theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)
    return (new * 1000).round() / 1000


@torch_step(langevin, order=1)
def gradient_in_eight_bits(theta, *, h, grad, T):
    """The gradient is quantised to 1/16."""
    g = (grad(theta) * 16).round() / 16
    return theta - h * g + math.sqrt(2 * T * h) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def gradient_in_float32(theta, *, h, grad, T):
    """The gradient goes through float32 in a float64 run."""
    g = grad(theta.float()).to(theta.dtype)
    return theta - h * g + math.sqrt(2 * T * h) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def result_in_float32(theta, *, h, grad, T):
    """What it returns is float32."""
    return (theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)).float()


@torch_step(kinetic, order=1)
def momenta_in_bfloat16(theta, p, *, h, grad, D, T):
    """Momenta are kept in bfloat16."""
    p = p - h * (grad(theta) + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    p = p.to(torch.bfloat16).to(theta.dtype)
    return theta + h * p, p


@torch_step(kinetic, order=2)
def decay_in_float32(theta, p, *, h, grad, D, T):
    """BAOAB whose exp(-D h) is a float32."""
    c = torch.exp(torch.tensor(-D * h))
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = c * p + torch.sqrt(T * (1 - c * c)).to(p.dtype) * torch.randn_like(p)
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


@torch_step(kinetic, order=2)
def one_less_the_decay(theta, p, *, h, grad, D, T):
    """BAOAB whose decay is rounded to four digits before 1 - c^2 is taken."""
    c = math.exp(-D * h)
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = c * p + math.sqrt(T * (1 - round(c, 4) ** 2)) * torch.randn_like(p)
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)

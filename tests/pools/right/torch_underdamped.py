"""Steps of the kinetic equation and of a thermostat in torch, as libraries and users write them."""

import math

import torch

from sgverify.schemes.dynamics import kinetic, thermostat
from sgverify.schemes.torch_step import torch_step


@torch_step(kinetic, order=1)
def code_sghmc(theta, p, *, h, grad, D, T):
    """SGHMC as optimizers have it, the buffer h p decayed by 1 - h D; Chen, Fox and Guestrin 2014, equation (15)."""
    buffer = (1 - h * D) * (h * p) - h**2 * grad(theta) + math.sqrt(2 * D * T * h**3) * torch.randn_like(p)
    return theta + buffer, buffer / h


@torch_step(kinetic, order=2)
def code_baoab(theta, p, *, h, grad, D, T):
    """BAOAB; Leimkuhler and Matthews 2013."""
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    c = math.exp(-D * h)
    p = c * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


@torch_step(kinetic, order=2, chains=True)
def code_obabo_of_chains(theta, p, *, h, grad, D, T):
    """OBABO of all chains at once; Bussi and Parrinello 2007."""
    c = math.exp(-D * h / 2)
    s = math.sqrt(-T * math.expm1(-D * h))
    p = c * p + s * torch.randn_like(p) - h / 2 * grad(theta)
    theta = theta + h * p
    return theta, c * (p - h / 2 * grad(theta)) + s * torch.randn_like(p)


@torch_step(kinetic, order=2)
def code_gjf(theta, p, *, h, grad, D, T):
    """The GJF thermostat; Gronbech-Jensen and Farago 2013."""
    b = 1 / (1 + D * h / 2)
    a = b * (1 - D * h / 2)
    draw, g = math.sqrt(2 * D * T * h) * torch.randn_like(p), grad(theta)
    theta = theta + b * h * p - b * h**2 / 2 * g + b * h / 2 * draw
    return theta, a * p - h / 2 * (a * g + grad(theta)) + b * draw


@torch_step(kinetic, order=2)
def code_bbk(theta, p, *, h, grad, D, T):
    """BBK, a draw for each half; Bruenger, Brooks and Karplus 1984."""
    s = math.sqrt(D * T * h)
    p = (1 - D * h / 2) * p - h / 2 * grad(theta) + s * torch.randn_like(p)
    theta = theta + h * p
    return theta, (p - h / 2 * grad(theta) + s * torch.randn_like(p)) / (1 + D * h / 2)


def _free(theta, p, t, D, T):
    """The exact flow of all but the force: both of its noises from one factorised covariance."""
    a = -math.expm1(-D * t)
    both = T * a * a / D
    position = T * (2 * D * t - 2 * a - a * a) / D**2
    covariance = torch.tensor([[T * a * (2 - a), both], [both, position]], dtype=p.dtype)
    factor = torch.linalg.cholesky(covariance)
    x, y = torch.randn_like(p), torch.randn_like(p)
    moved = theta + a / D * p + factor[1, 0] * x + factor[1, 1] * y
    return moved, (1 - a) * p + factor[0, 0] * x


@torch_step(kinetic, order=2)
def code_ubu(theta, p, *, h, grad, D, T):
    """UBU, its correlated noise by Cholesky; Sanz-Serna and Zygalakis 2021."""
    theta, p = _free(theta, p, h / 2, D, T)
    return _free(theta, p - h * grad(theta), h / 2, D, T)


@torch_step(kinetic, order=2)
def code_bub(theta, p, *, h, grad, D, T):
    """Kick, free flow, kick, the correlated noise by Cholesky; Skeel and Izaguirre 2002."""
    theta, p = _free(theta, p - h / 2 * grad(theta), h, D, T)
    return theta, p - h / 2 * grad(theta)


@torch_step(kinetic, order=1)
def code_exponential(theta, p, *, h, grad, D, T):
    """All but the gradient exactly, that frozen at the start; Cheng, Chatterji, Bartlett and Jordan 2018."""
    a = -math.expm1(-D * h)
    g = grad(theta)
    theta, p = _free(theta, p, h, D, T)
    return theta - (h - a / D) / D * g, p - a / D * g


@torch_step(kinetic, order=1)
def code_partial_refresh(theta, p, *, h, grad, D, T):
    """A leapfrog step after a refresh of the momentum in part; Horowitz 1991 without its test."""
    c = math.exp(-D * h)
    p = c * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)
    p = p - h / 2 * grad(theta)
    theta = theta + h * p
    return theta, p - h / 2 * grad(theta)


@torch_step(kinetic, order=1)
def code_stratified_time(theta, p, *, h, grad, D, T):
    """The force at a uniform time of a straight move, then friction and noise; Bou-Rabee and Marsden 2022."""
    force = -grad(theta + torch.rand((), dtype=theta.dtype) * h * p)
    theta, p = theta + h * p + h**2 / 2 * force, p + h * force
    c = math.exp(-D * h)
    return theta, c * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)


@torch_step(kinetic, order=1)
def code_friction_drawn_first(theta, p, *, h, grad, D, T):
    """Momentum form of deep learning, the noise drawn before the gradient is taken; Saatci and Wilson 2017."""
    draw = torch.normal(torch.zeros_like(p), torch.full_like(p, math.sqrt(2 * D * T * h)))
    p = p - h * grad(theta) - h * D * p + draw
    return theta + h * p, p


@torch_step(thermostat, order=1)
def code_sgnht(theta, p, xi, *, h, grad, D, T):
    """SGNHT, Euler, the mean square of the momentum by torch.mean; Ding et al. 2014, Algorithm 2."""
    p = p - h * xi * p - h * grad(theta) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * p, p, xi + h * ((p * p).mean() - T)

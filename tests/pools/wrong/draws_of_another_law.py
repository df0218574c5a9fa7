"""Draws that are not of the law that the noise needs."""

import math

import torch

from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.torch_step import torch_step


def _euler(theta, h, slope, T, noise):
    return theta - h * slope + math.sqrt(2 * T * h) * noise


def _heun(theta, h, grad, T, noise):
    kick, g = math.sqrt(2 * T * h) * noise, grad(theta)
    return theta - h / 2 * (g + grad(theta - h * g + kick)) + kick


@torch_step(langevin, order=1)
def rand_for_randn(theta, *, h, grad, T):
    """rand for randn."""
    return _euler(theta, h, grad(theta), T, torch.rand_like(theta))


@torch_step(langevin, order=1)
def uniform_of_variance_a_third(theta, *, h, grad, T):
    """Uniform on [-1, 1]."""
    return _euler(theta, h, grad(theta), T, 2 * torch.rand_like(theta) - 1)


@torch_step(langevin, order=1)
def uniform_a_little_narrow(theta, *, h, grad, T):
    """Uniform on [-1.7, 1.7], which is not the root of 3."""
    return _euler(theta, h, grad(theta), T, 1.7 * (2 * torch.rand_like(theta) - 1))


@torch_step(langevin, order=1)
def laplace_of_scale_one(theta, *, h, grad, T):
    """Laplace draws of scale 1, whose variance is 2."""
    u = torch.rand_like(theta) - 0.5
    return _euler(theta, h, grad(theta), T, -u.sign() * torch.log1p(-2 * u.abs()))


@torch_step(langevin, order=1)
def logistic_draws(theta, *, h, grad, T):
    """Logistic draws, whose variance is pi^2/3."""
    u = torch.rand_like(theta)
    return _euler(theta, h, grad(theta), T, torch.log(u / (1 - u)))


@torch_step(langevin, order=1)
def normal_draws_within_two(theta, *, h, grad, T):
    """Normal draws clipped at 2."""
    return _euler(theta, h, grad(theta), T, torch.randn_like(theta).clamp(-2, 2))


@torch_step(langevin, order=1)
def normal_draws_within_four(theta, *, h, grad, T):
    """Normal draws clipped at 4."""
    return _euler(theta, h, grad(theta), T, torch.randn_like(theta).clamp(-4, 4))


@torch_step(langevin, order=1)
def rare_draws_dropped(theta, *, h, grad, T):
    """Draws beyond 3.5 count as nothing."""
    z = torch.randn_like(theta)
    return _euler(theta, h, grad(theta), T, z * (z.abs() < 3.5))


@torch_step(langevin, order=1)
def truncated_normal(theta, *, h, grad, T):
    """torch.nn.init.trunc_normal_, which cuts at 2 and does not scale up."""
    return _euler(theta, h, grad(theta), T, torch.nn.init.trunc_normal_(torch.empty_like(theta)))


@torch_step(langevin, order=1)
def exponential_less_one(theta, *, h, grad, T):
    """Exponential draws less 1: mean 0, variance 1, and a third moment, which makes the order 1/2."""
    return _euler(theta, h, grad(theta), T, torch.empty_like(theta).exponential_() - 1)


@torch_step(langevin, order=1)
def two_points_askew(theta, *, h, grad, T):
    """Two points of mean 0 and variance 1 with chances 1/5 and 4/5, and a third moment."""
    rare = torch.rand_like(theta) < 0.2
    return _euler(theta, h, grad(theta), T, torch.where(rare, 2.0, -0.5).to(theta.dtype))


@torch_step(langevin, order=1)
def half_normal(theta, *, h, grad, T):
    """|z| less its mean, not scaled."""
    return _euler(theta, h, grad(theta), T, torch.randn_like(theta).abs() - math.sqrt(2 / math.pi))


@torch_step(langevin, order=1)
def signs_not_even(theta, *, h, grad, T):
    """Signs of which 52 in 100 are positive."""
    sign = 2 * torch.bernoulli(torch.full_like(theta, 0.52)) - 1
    return _euler(theta, h, grad(theta), T, sign)


@torch_step(langevin, order=1)
def three_whole_numbers(theta, *, h, grad, T):
    """-1, 0 and 1 with the same chance: the variance is 2/3."""
    return _euler(theta, h, grad(theta), T, torch.randint(-1, 2, theta.shape).to(theta.dtype))


@torch_step(langevin, order=1)
def end_of_a_range_left_out(theta, *, h, grad, T):
    """Whole numbers from -2 to 2 by randint(-2, 2), whose end is left out, over the root of 2."""
    return _euler(theta, h, grad(theta), T, torch.randint(-2, 2, theta.shape).to(theta.dtype) / math.sqrt(2))


@torch_step(langevin, order=1)
def box_muller_without_two(theta, *, h, grad, T):
    """Box and Muller's radius sqrt(-log u) for sqrt(-2 log u)."""
    radius = (-torch.log1p(-torch.rand_like(theta))).sqrt()
    return _euler(theta, h, grad(theta), T, radius * torch.cos(2 * math.pi * torch.rand_like(theta)))


@torch_step(langevin, order=1)
def box_muller_of_half_a_turn(theta, *, h, grad, T):
    """Box and Muller's angle on a third of a turn more than the half."""
    radius = (-2 * torch.log1p(-torch.rand_like(theta))).sqrt()
    return _euler(theta, h, grad(theta), T, radius * torch.cos(1.6 * math.pi * torch.rand_like(theta)))


@torch_step(langevin, order=1)
def inverse_error_function(theta, *, h, grad, T):
    """erfinv(2 u - 1) without the root of 2."""
    u = 0.001 + 0.998 * torch.rand_like(theta)
    return _euler(theta, h, grad(theta), T, torch.erfinv(2 * u - 1))


@torch_step(langevin, order=1)
def eleven_uniforms(theta, *, h, grad, T):
    """The sum of eleven uniform draws less 5.5, for twelve less 6."""
    noise = sum(torch.rand_like(theta) for _ in range(11)) - 5.5
    return _euler(theta, h, grad(theta), T, noise)


@torch_step(langevin, order=1)
def draws_to_one_digit(theta, *, h, grad, T):
    """Normal draws rounded up to a tenth."""
    return _euler(theta, h, grad(theta), T, torch.ceil(10 * torch.randn_like(theta)) / 10)


@torch_step(langevin, order=1)
def cauchy_draws(theta, *, h, grad, T):
    """Cauchy draws, of no variance."""
    return _euler(theta, h, grad(theta), T, torch.empty_like(theta).cauchy_() / 10)


@torch_step(langevin, order=2)
def two_points_at_order_two(theta, *, h, grad, T):
    """Heun's scheme with signs: their fourth moment is 1 and not 3."""
    return _heun(theta, h, grad, T, torch.randn_like(theta).sign())


@torch_step(langevin, order=2)
def uniform_at_order_two(theta, *, h, grad, T):
    """Heun's scheme with uniform draws: their fourth moment is 1.8 and not 3."""
    return _heun(theta, h, grad, T, math.sqrt(12) * (torch.rand_like(theta) - 0.5))


@torch_step(langevin, order=2)
def three_points_of_wrong_weights(theta, *, h, grad, T):
    """Heun's scheme with 0 and +-sqrt(2): the variance is 1, the fourth moment 2."""
    u = torch.rand_like(theta)
    noise = math.sqrt(2) * ((u < 0.25).to(theta.dtype) - (u > 0.75).to(theta.dtype))
    return _heun(theta, h, grad, T, noise)


@torch_step(kinetic, order=1)
def uniform_momentum_noise(theta, p, *, h, grad, D, T):
    """Uniform draws on [-1/2, 1/2] for the momenta."""
    p = p - h * (grad(theta) + D * p) + math.sqrt(2 * D * T * h) * (torch.rand_like(p) - 0.5)
    return theta + h * p, p


@torch_step(kinetic, order=1)
def dropout_noise(theta, p, *, h, grad, D, T):
    """Draws that a dropout of 0.1 goes over, without the scale that would make up for it."""
    kept = (torch.rand_like(p) > 0.1).to(p.dtype)
    p = p - h * (grad(theta) + D * p) + math.sqrt(2 * D * T * h) * kept * torch.randn_like(p)
    return theta + h * p, p

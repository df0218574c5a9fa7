"""Noise whose size is not that of the equation, by a factor or by a little."""

import math

import torch

from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.torch_step import torch_step


@torch_step(langevin, order=1)
def noise_without_two(theta, *, h, grad, T):
    """sqrt(T h) for sqrt(2 T h), as in SGLD with the drift h/2 left at h."""
    return theta - h * grad(theta) + math.sqrt(T * h) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def variance_for_deviation(theta, *, h, grad, T):
    """torch.normal is given 2 T h, the variance, where it takes the deviation."""
    return torch.normal(theta - h * grad(theta), 2 * T * h)


@torch_step(langevin, order=1)
def warmth_outside_of_the_root(theta, *, h, grad, T):
    """T sqrt(2 h): right at T = 1 alone."""
    return theta - h * grad(theta) + T * math.sqrt(2 * h) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def inverse_warmth(theta, *, h, grad, T):
    """sqrt(2 h / T), beta taken for T."""
    return theta - h * grad(theta) + math.sqrt(2 * h / T) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def one_percent_more(theta, *, h, grad, T):
    """A factor of 1.01 that somebody tuned."""
    return theta - h * grad(theta) + 1.01 * math.sqrt(2 * T * h) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def root_of_two_by_hand(theta, *, h, grad, T):
    """1.41 for the root of 2."""
    return theta - h * grad(theta) + 1.41 * math.sqrt(T * h) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def scale_to_two_digits(theta, *, h, grad, T):
    """The scale goes through a log file that keeps two digits."""
    return theta - h * grad(theta) + float(f"{math.sqrt(2 * T * h):.1e}") * torch.randn_like(theta)


@torch_step(langevin, order=1)
def floor_under_the_scale(theta, *, h, grad, T):
    """A floor of 1e-3 added to the scale, against a division by nothing elsewhere."""
    return theta - h * grad(theta) + (math.sqrt(2 * T * h) + 1e-3) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def floor_under_the_variance(theta, *, h, grad, T):
    """A floor of 1e-4 added to the variance."""
    return theta - h * grad(theta) + math.sqrt(2 * T * h + 1e-4) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def power_of_the_step(theta, *, h, grad, T):
    """h^0.55, the exponent of a schedule, for h^0.5."""
    return theta - h * grad(theta) + math.sqrt(2 * T) * h**0.55 * torch.randn_like(theta)


@torch_step(langevin, order=1)
def noise_by_size_of_theta(theta, *, h, grad, T):
    """Noise that grows a little with theta, and nothing in the drift for it."""
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * (1 + 0.01 * theta**2) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def noise_by_sign_of_theta(theta, *, h, grad, T):
    """Noise a tenth larger for negative theta."""
    size = torch.where(theta < 0, 1.1, 1.0)
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * size * torch.randn_like(theta)


@torch_step(langevin, order=1)
def noise_by_size_of_slope(theta, *, h, grad, T):
    """Noise scaled by 1/(1 + |g|/1000), a guard against large gradients."""
    g = grad(theta)
    return theta - h * g + math.sqrt(2 * T * h) / (1 + g.abs() / 1000) * torch.randn_like(theta)


@torch_step(kinetic, order=1)
def kinetic_without_two(theta, p, *, h, grad, D, T):
    """sqrt(D T h) for sqrt(2 D T h)."""
    p = p - h * (grad(theta) + D * p) + math.sqrt(D * T * h) * torch.randn_like(p)
    return theta + h * p, p


@torch_step(kinetic, order=1)
def kinetic_without_friction_in_noise(theta, p, *, h, grad, D, T):
    """sqrt(2 T h): right at D = 1 alone."""
    p = p - h * (grad(theta) + D * p) + math.sqrt(2 * T * h) * torch.randn_like(p)
    return theta + h * p, p


@torch_step(kinetic, order=1)
def kinetic_noise_on_theta(theta, p, *, h, grad, D, T):
    """The noise is added to theta, as in SGLD."""
    p = p - h * (grad(theta) + D * p)
    return theta + h * p + math.sqrt(2 * D * T * h) * torch.randn_like(p), p


@torch_step(kinetic, order=1)
def gradient_noise_subtracted(theta, p, *, h, grad, D, T):
    """SGHMC's 2 (D - B) T h with an estimate B = 0.05 of a gradient noise that is not there; Chen, Fox and Guestrin 2014."""
    p = p - h * (grad(theta) + D * p) + math.sqrt(2 * (D - 0.05) * T * h) * torch.randn_like(p)
    return theta + h * p, p


@torch_step(kinetic, order=1)
def variance_of_the_learning_rate(theta, p, *, h, grad, D, T):
    """2 D h^2 - h^4, the variance for momenta in units of the learning rate, for momenta that are not."""
    p = p - h * (grad(theta) + D * p) + math.sqrt(T * (2 * D * h**2 - h**4)) * torch.randn_like(p)
    return theta + h * p, p


@torch_step(kinetic, order=1)
def half_of_the_variance_forgotten(theta, p, *, h, grad, D, T):
    """Exact friction exp(-D h) with T (1 - c) for T (1 - c^2)."""
    c = math.exp(-D * h)
    p = c * (p - h * grad(theta)) + math.sqrt(T * (1 - c)) * torch.randn_like(p)
    return theta + h * p, p


@torch_step(kinetic, order=1)
def noise_in_theta_as_well(theta, p, *, h, grad, D, T):
    """A little noise on theta beside that of p, to keep it moving."""
    p = p - h * (grad(theta) + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * p + 0.05 * math.sqrt(h) * torch.randn_like(theta), p

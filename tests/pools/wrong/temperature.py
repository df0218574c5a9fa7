"""Temperatures that are clipped, rounded, converted or forgotten."""

import math

import torch

from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.torch_step import torch_step


def _euler(theta, h, slope, temperature):
    return theta - h * slope + math.sqrt(2 * temperature * h) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def warmth_of_one(theta, *, h, grad, T):
    """T is accepted and not used."""
    return _euler(theta, h, grad(theta), 1.0)


@torch_step(langevin, order=1)
def warmth_at_most_one(theta, *, h, grad, T):
    """min(T, 1): a tempering parameter that is meant to cool alone."""
    return _euler(theta, h, grad(theta), min(T, 1.0))


@torch_step(langevin, order=1)
def warmth_at_least_half(theta, *, h, grad, T):
    """max(T, 0.5), a floor that keeps the chain moving."""
    return _euler(theta, h, grad(theta), max(T, 0.5))


@torch_step(langevin, order=1)
def warmth_at_least_a_hundredth(theta, *, h, grad, T):
    """max(T, 0.01): cold posteriors are not cold."""
    return _euler(theta, h, grad(theta), max(T, 0.01))


@torch_step(langevin, order=1)
def warmth_at_most_ten(theta, *, h, grad, T):
    """min(T, 10), the largest temperature of a ladder."""
    return _euler(theta, h, grad(theta), min(T, 10.0))


@torch_step(langevin, order=1)
def whole_warmth(theta, *, h, grad, T):
    """T in whole numbers, and at least 1: an argument that was parsed as int."""
    return _euler(theta, h, grad(theta), max(1, int(T)))


@torch_step(langevin, order=1)
def rounded_warmth(theta, *, h, grad, T):
    """T rounded to one digit behind the point."""
    return _euler(theta, h, grad(theta), round(T, 1))


@torch_step(langevin, order=1)
def root_of_warmth(theta, *, h, grad, T):
    """The root of T taken twice."""
    return _euler(theta, h, grad(theta), math.sqrt(T))


@torch_step(langevin, order=1)
def square_of_warmth(theta, *, h, grad, T):
    """T^2 for T, a deviation taken for a variance."""
    return _euler(theta, h, grad(theta), T * T)


@torch_step(langevin, order=1)
def root_of_warmth_above_one(theta, *, h, grad, T):
    """Above T = 1 a softened temperature, its root."""
    return _euler(theta, h, grad(theta), T if T <= 1 else math.sqrt(T))


@torch_step(langevin, order=1)
def warmth_of_the_gradient_too(theta, *, h, grad, T):
    """T times the gradient, and T in the noise: the law is that of T = 1."""
    return _euler(theta, h, T * grad(theta), T)


@torch_step(langevin, order=1)
def warmth_falls_with_distance(theta, *, h, grad, T):
    """T/(1 + 0.001 |theta|^2): a local annealing."""
    temperature = T / (1 + 0.001 * (theta**2).sum(-1, keepdim=True))
    return theta - h * grad(theta) + (2 * temperature * h).sqrt() * torch.randn_like(theta)


@torch_step(langevin, order=2)
def warmth_with_the_step(theta, *, h, grad, T):
    """Heun's scheme with T (1 + h/100), a correction that belongs to another scheme."""
    kick = math.sqrt(2 * T * (1 + h / 100) * h) * torch.randn_like(theta)
    g = grad(theta)
    return theta - h / 2 * (g + grad(theta - h * g + kick)) + kick


@torch_step(kinetic, order=1)
def momenta_of_warmth_one(theta, p, *, h, grad, D, T):
    """T is forgotten in the friction's noise."""
    p = p - h * (grad(theta) + D * p) + math.sqrt(2 * D * h) * torch.randn_like(p)
    return theta + h * p, p


@torch_step(kinetic, order=1)
def momenta_at_most_of_warmth_two(theta, p, *, h, grad, D, T):
    """min(T, 2) in the noise."""
    p = p - h * (grad(theta) + D * p) + math.sqrt(2 * D * min(T, 2.0) * h) * torch.randn_like(p)
    return theta + h * p, p


@torch_step(kinetic, order=2)
def second_half_of_warmth_one(theta, p, *, h, grad, D, T):
    """OBABO whose last half of friction forgets T."""
    c = math.exp(-D * h / 2)
    p = c * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)
    p = p - h / 2 * grad(theta)
    theta = theta + h * p
    p = p - h / 2 * grad(theta)
    return theta, c * p + math.sqrt(1 - c * c) * torch.randn_like(p)


@torch_step(kinetic, order=2)
def warmth_less_centre_of_mass(theta, p, *, h, grad, dim, D, T):
    """BAOAB at T (d - 1)/d for d > 1, as if the centre of mass were held fixed."""
    temperature = T * (dim - 1) / dim if dim > 1 else T
    c = math.exp(-D * h)
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = c * p + math.sqrt(temperature * (1 - c * c)) * torch.randn_like(p)
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


@torch_step(kinetic, order=2)
def kelvin_to_three_digits(theta, p, *, h, grad, D, T):
    """BAOAB with k T of 0.00831 for 0.0083145 and its inverse: kelvins there and back."""
    temperature = T / 0.0083145 * 0.00831
    c = math.exp(-D * h)
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = c * p + math.sqrt(temperature * (1 - c * c)) * torch.randn_like(p)
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


@torch_step(langevin, order=1)
def warmth_at_least_a_thousandth(theta, *, h, grad, T):
    """max(T, 1/1,000) for T."""
    return _euler(theta, h, grad(theta), max(T, 1e-3))


@torch_step(langevin, order=1)
def warmth_at_most_five_hundred(theta, *, h, grad, T):
    """min(T, 500) for T."""
    return _euler(theta, h, grad(theta), min(T, 500.0))

"""One coordinate, or one variable, is treated otherwise than the others."""

import math

import torch

from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.torch_step import torch_step


def _euler(theta, h, slope, T, noise):
    return theta - h * slope + math.sqrt(2 * T * h) * noise


@torch_step(langevin, order=1)
def first_coordinate_without_noise(theta, *, h, grad, T):
    """The first coordinate, an intercept, gets no noise."""
    noise = torch.randn_like(theta)
    noise[..., 0] = 0
    return _euler(theta, h, grad(theta), T, noise)


@torch_step(langevin, order=1)
def last_coordinate_twice(theta, *, h, grad, T):
    """The last gradient counts twice."""
    g = grad(theta)
    g[..., -1] *= 2
    return _euler(theta, h, g, T, torch.randn_like(theta))


@torch_step(langevin, order=1)
def second_coordinate_twice(theta, *, h, grad, T):
    """The second gradient counts twice."""
    g = grad(theta)
    g[..., 1:2] *= 2
    return _euler(theta, h, g, T, torch.randn_like(theta))


@torch_step(langevin, order=1)
def slope_of_the_mean(theta, *, h, grad, T):
    """The gradient at the mean of the coordinates."""
    g = grad(theta.mean(-1, keepdim=True).expand_as(theta).clone())
    return _euler(theta, h, g, T, torch.randn_like(theta))


@torch_step(langevin, order=1)
def gradient_reversed(theta, *, h, grad, T):
    """The gradient of the last coordinate moves the first."""
    return _euler(theta, h, grad(theta).flip(-1), T, torch.randn_like(theta))


@torch_step(langevin, order=1)
def first_coordinate_positive(theta, *, h, grad, T):
    """|theta| in the first coordinate, which is no scale."""
    new = _euler(theta, h, grad(theta), T, torch.randn_like(theta))
    return torch.cat([new[..., :1].abs(), new[..., 1:]], -1)


@torch_step(langevin, order=1)
def coordinates_one_after_the_other(theta, *, h, grad, T):
    """Only the first coordinate moves with its noise before the second one's gradient is taken, and again after it."""
    noise = math.sqrt(2 * T * h) * torch.randn_like(theta)
    new = theta.clone()
    new[..., :1] += noise[..., :1]
    return new - h * grad(new) + noise


@torch_step(langevin, order=1)
def noise_rotated_and_stretched(theta, *, h, grad, T):
    """A shear of the noise: its covariance is L L^T and not 1."""
    noise = torch.randn_like(theta)
    if theta.shape[-1] > 1:
        noise = noise + 0.02 * noise.roll(1, -1)
    return _euler(theta, h, grad(theta), T, noise)


@torch_step(kinetic, order=1)
def second_momentum_colder(theta, p, *, h, grad, D, T):
    """The second momentum gets 0.95 of its noise."""
    noise = torch.randn_like(p)
    noise[..., 1:2] *= 0.95
    p = p - h * (grad(theta) + D * p) + math.sqrt(2 * D * T * h) * noise
    return theta + h * p, p


@torch_step(kinetic, order=1)
def mass_of_the_first_coordinate(theta, p, *, h, grad, D, T):
    """The first coordinate has a mass of 2 in its velocity, and its momentum is rescaled at every step."""
    p = p - h * (grad(theta) + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    mass = torch.ones_like(p)
    mass[..., 0] = 2
    return theta + h * p / mass, p * mass**0.25


@torch_step(kinetic, order=1)
def momenta_exchanged(theta, p, *, h, grad, D, T):
    """Two momenta change places at each step, beyond one dimension."""
    p = p - h * (grad(theta) + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * p, p.roll(1, -1)

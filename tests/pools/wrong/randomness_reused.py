"""One draw in two places where there should be two."""

import math

import torch

from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.torch_step import torch_step


def _friction(p, D, T, t, noise):
    c = math.exp(-D * t)
    return c * p + math.sqrt(T * (1 - c * c)) * noise


@torch_step(kinetic, order=2)
def both_halves_of_friction(theta, p, *, h, grad, D, T):
    """OBABO with one draw for both halves of its friction."""
    noise = torch.randn_like(p)
    p = _friction(p, D, T, h / 2, noise) - h / 2 * grad(theta)
    theta = theta + h * p
    return theta, _friction(p - h / 2 * grad(theta), D, T, h / 2, noise)


@torch_step(kinetic, order=2)
def second_half_mirrored(theta, p, *, h, grad, D, T):
    """OBABO whose second half takes the negative of the first draw."""
    noise = torch.randn_like(p)
    p = _friction(p, D, T, h / 2, noise) - h / 2 * grad(theta)
    theta = theta + h * p
    return theta, _friction(p - h / 2 * grad(theta), D, T, h / 2, -noise)


@torch_step(kinetic, order=1)
def same_noise_for_both_variables(theta, p, *, h, grad, D, T):
    """The draw of p moves theta by h more of it."""
    noise = math.sqrt(2 * D * T * h) * torch.randn_like(p)
    p = p - h * (grad(theta) + D * p) + noise
    return theta + h * p + 0.1 * noise, p


@torch_step(langevin, order=1)
def two_halves_of_one_noise(theta, *, h, grad, T):
    """Two Euler steps of h/2 with one draw for both."""
    noise = math.sqrt(T * h) * torch.randn_like(theta)
    theta = theta - h / 2 * grad(theta) + noise
    return theta - h / 2 * grad(theta) + noise


@torch_step(langevin, order=1)
def four_quarters_of_two_noises(theta, *, h, grad, T):
    """Four Euler steps of h/4 in which every draw serves twice, once with the other sign."""
    for _ in range(2):
        noise = math.sqrt(T * h / 2) * torch.randn_like(theta)
        theta = theta - h / 4 * grad(theta) + noise
        theta = theta - h / 4 * grad(theta) - noise
    return theta


@torch_step(langevin, order=2)
def independent_draws_of_one_path(theta, *, h, grad, T):
    """Heun's scheme whose two stages have draws of their own: of order 1."""
    first, second = (math.sqrt(2 * T * h) * torch.randn_like(theta) for _ in range(2))
    g = grad(theta)
    return theta - h / 2 * (g + grad(theta - h * g + first)) + second


@torch_step(langevin, order=1)
def noise_of_the_state(theta, *, h, grad, T):
    """The generator is seeded with the state."""
    source = torch.Generator().manual_seed(int(1e6 * abs(float(theta.reshape(-1)[0]))))
    noise = torch.randn(theta.shape, generator=source, dtype=theta.dtype)
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * noise


@torch_step(langevin, order=1)
def seeded_anew(theta, *, h, grad, T):
    """torch.manual_seed at every step, for reproducible runs."""
    torch.manual_seed(1)
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def second_coordinate_of_the_first(theta, *, h, grad, T):
    """Every second coordinate has the draw of the one before."""
    noise = torch.randn_like(theta)
    paired = noise.clone()
    paired[..., 1::2] = noise[..., : theta.shape[-1] // 2 * 2 : 2]
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * paired


@torch_step(langevin, order=1)
def draw_and_its_square(theta, *, h, grad, T):
    """A skew draw z + (z^2 - 1)/20, scaled to the variance 1."""
    z = torch.randn_like(theta)
    noise = (z + (z * z - 1) / 20) / math.sqrt(1 + 2 / 400)
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * noise


@torch_step(kinetic, order=2)
def noise_of_the_first_kick(theta, p, *, h, grad, D, T):
    """BAOAB of two half frictions, both with one draw: noise that adds up and is scaled for draws that are two."""
    noise = torch.randn_like(p)
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = _friction(_friction(p, D, T, h / 2, noise), D, T, h / 2, noise)
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)

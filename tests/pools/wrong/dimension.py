"""Right in one dimension or two, wrong in more.

One coordinate, or one variable, is treated otherwise than the others.
"""

import math

import torch

from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.torch_step import torch_step


def _euler(theta, h, slope, T, noise):
    return theta - h * slope + math.sqrt(2 * T * h) * noise


def _leap(theta, p, h, slope, D, T, noise):
    p = p - h * (slope + D * p) + math.sqrt(2 * D * T * h) * noise
    return theta + h * p, p


@torch_step(langevin, order=1)
def one_number_for_all_coordinates(theta, *, h, grad, T):
    """One draw for all coordinates."""
    return _euler(theta, h, grad(theta), T, torch.randn((), dtype=theta.dtype))


@torch_step(langevin, order=1)
def noise_by_root_of_dimension(theta, *, h, grad, T):
    """Noise divided by the root of the dimension, of unit length on average."""
    return _euler(theta, h, grad(theta), T, torch.randn_like(theta) / math.sqrt(theta.shape[-1]))


@torch_step(langevin, order=1)
def third_coordinate_colder(theta, *, h, grad, T):
    """The third coordinate gets nine tenths of its noise."""
    noise = torch.randn_like(theta)
    noise[..., 2:3] *= 0.9
    return _euler(theta, h, grad(theta), T, noise)


@torch_step(langevin, order=1)
def fourth_coordinate_still(theta, *, h, grad, T):
    """The fourth coordinate does not move."""
    mask = torch.ones_like(theta)
    mask[..., 3:4] = 0
    return theta + mask * (_euler(theta, h, grad(theta), T, torch.randn_like(theta)) - theta)


@torch_step(langevin, order=1)
def fifth_coordinate_hotter(theta, *, h, grad, T):
    """From the fifth coordinate on the noise is a fifth larger."""
    noise = torch.randn_like(theta)
    noise[..., 4:] *= 1.2
    return _euler(theta, h, grad(theta), T, noise)


@torch_step(langevin, order=1)
def last_of_odd_coordinates(theta, *, h, grad, T):
    """Noise made in pairs: the last of an odd number, beyond one, gets that of the first."""
    noise = torch.randn_like(theta)
    if theta.shape[-1] % 2 and theta.shape[-1] > 1:
        noise = torch.cat([noise[..., :-1], noise[..., :1]], -1)
    return _euler(theta, h, grad(theta), T, noise)


@torch_step(langevin, order=1)
def neighbours_correlated(theta, *, h, grad, T):
    """A tenth of each coordinate's noise is its neighbour's."""
    noise = torch.randn_like(theta)
    if theta.shape[-1] > 1:
        noise = math.sqrt(0.99) * noise + 0.1 * noise.roll(1, -1)
    return _euler(theta, h, grad(theta), T, noise)


@torch_step(langevin, order=1)
def coordinates_against_each_other(theta, *, h, grad, T):
    """Antithetic coordinates: the second half is minus the first."""
    noise = torch.randn_like(theta)
    half = theta.shape[-1] // 2
    if half:
        noise = torch.cat([noise[..., :half], -noise[..., :half], noise[..., 2 * half :]], -1)
    return _euler(theta, h, grad(theta), T, noise)


@torch_step(langevin, order=1)
def noise_without_its_mean(theta, *, h, grad, T):
    """The mean over coordinates is taken out, where there is more than one."""
    noise = torch.randn_like(theta)
    if theta.shape[-1] > 1:
        noise = noise - noise.mean(-1, keepdim=True)
    return _euler(theta, h, grad(theta), T, noise)


@torch_step(langevin, order=1)
def gradient_without_its_mean(theta, *, h, grad, T):
    """Gradient centralization beyond two coordinates; Yong, Huang, Hua and Zhang 2020."""
    g = grad(theta)
    if theta.shape[-1] > 2:
        g = g - g.mean(-1, keepdim=True)
    return _euler(theta, h, g, T, torch.randn_like(theta))


@torch_step(langevin, order=1)
def clipped_by_dimension(theta, *, h, grad, T):
    """Noise cut to the length 2 sqrt(d)."""
    noise = torch.randn_like(theta)
    longest = 2 * math.sqrt(theta.shape[-1])
    noise = noise * (longest / noise.norm(dim=-1, keepdim=True).clamp(min=longest))
    return _euler(theta, h, grad(theta), T, noise)


@torch_step(kinetic, order=1)
def third_momentum_dragged(theta, p, *, h, grad, D, T):
    """From the third coordinate on the friction is half as large."""
    drag = torch.ones_like(p)
    drag[..., 2:] = 0.5
    p = p - h * (grad(theta) + drag * D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * p, p


@torch_step(kinetic, order=1)
def third_momentum_without_kick(theta, p, *, h, grad, D, T):
    """The gradient of the third coordinate is lost."""
    g = grad(theta)
    g[..., 2:3] = 0
    return _leap(theta, p, h, g, D, T, torch.randn_like(p))


@torch_step(kinetic, order=1)
def momenta_of_one_noise(theta, p, *, h, grad, D, T):
    """One draw for all momenta."""
    return _leap(theta, p, h, grad(theta), D, T, torch.randn(1, dtype=p.dtype))


@torch_step(kinetic, order=1)
def fourth_and_later_exchanged(theta, p, *, h, grad, D, T):
    """Beyond three coordinates theta moves with the momenta in reverse."""
    p = p - h * (grad(theta) + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * (p if p.shape[-1] <= 3 else p.flip(-1)), p


@torch_step(langevin, order=1)
def only_eight_coordinates(theta, *, h, grad, T):
    """A buffer for eight coordinates: later ones get no noise."""
    noise = torch.zeros_like(theta)
    noise[..., :8] = torch.randn_like(noise[..., :8])
    return _euler(theta, h, grad(theta), T, noise)


@torch_step(langevin, order=1)
def hot_in_four_dimensions(theta, *, h, grad, dim, T):
    """A tenth more noise in dimension 4 alone."""
    return _euler(theta, h, grad(theta), T, (1.1 if dim == 4 else 1) * torch.randn_like(theta))


@torch_step(langevin, order=1)
def hot_from_fifty_dimensions(theta, *, h, grad, dim, T):
    """A tenth more noise from dimension 50 on."""
    return _euler(theta, h, grad(theta), T, (1.1 if dim >= 50 else 1) * torch.randn_like(theta))


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

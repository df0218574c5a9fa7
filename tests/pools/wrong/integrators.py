"""Splittings and stages with a slip, stated to be of the order of what they were meant to be."""

import math

import torch

from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.torch_step import torch_step


def _friction(p, D, T, t):
    c = math.exp(-D * t)
    return c * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)


@torch_step(kinetic, order=2)
def euler_and_exact_friction(theta, p, *, h, grad, D, T):
    """B A O, one after the other: of order 1."""
    p = p - h * grad(theta)
    theta = theta + h * p
    return theta, _friction(p, D, T, h)


@torch_step(kinetic, order=2)
def half_of_a_palindrome(theta, p, *, h, grad, D, T):
    """B A O A without its last B, and a whole first B: of order 1."""
    p = p - h * grad(theta)
    theta = theta + h / 2 * p
    p = _friction(p, D, T, h)
    return theta + h / 2 * p, p


@torch_step(kinetic, order=2)
def last_half_kick_lost(theta, p, *, h, grad, D, T):
    """BAOAB without its last half kick."""
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = _friction(p, D, T, h)
    return theta + h / 2 * p, p


@torch_step(kinetic, order=2)
def whole_first_kick(theta, p, *, h, grad, D, T):
    """BAOAB with a whole first kick and a half last one."""
    p = p - h * grad(theta)
    theta = theta + h / 2 * p
    p = _friction(p, D, T, h)
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


@torch_step(kinetic, order=2)
def half_of_the_friction_and_colder(theta, p, *, h, grad, D, T):
    """BAOAB with half of the friction, at 0.95 T."""
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = _friction(p, D / 2, 0.95 * T, h)
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


@torch_step(kinetic, order=2)
def drifts_of_unequal_shares(theta, p, *, h, grad, D, T):
    """BAOAB with drifts of 0.49 h and 0.51 h: of order 1."""
    p = p - h / 2 * grad(theta)
    theta = theta + 0.49 * h * p
    p = _friction(p, D, T, h)
    theta = theta + 0.51 * h * p
    return theta, p - h / 2 * grad(theta)


@torch_step(kinetic, order=2)
def drifts_that_do_not_sum(theta, p, *, h, grad, D, T):
    """ABOBA with drifts of h/2 and 0.49 h."""
    theta = theta + h / 2 * p
    p = p - h / 2 * grad(theta)
    p = _friction(p, D, T, h)
    p = p - h / 2 * grad(theta)
    return theta + 0.49 * h * p, p


@torch_step(kinetic, order=2)
def kicks_of_shares_one_third(theta, p, *, h, grad, D, T):
    """OBABO with kicks of h/3 and 2h/3: of order 1."""
    p = _friction(p, D, T, h / 2)
    p = p - h / 3 * grad(theta)
    theta = theta + h * p
    p = p - 2 * h / 3 * grad(theta)
    return theta, _friction(p, D, T, h / 2)


@torch_step(kinetic, order=2)
def friction_at_the_end(theta, p, *, h, grad, D, T):
    """Leapfrog and then friction, stated to be symmetric: of order 1."""
    p = p - h / 2 * grad(theta)
    theta = theta + h * p
    p = p - h / 2 * grad(theta)
    return theta, _friction(p, D, T, h)


@torch_step(kinetic, order=2)
def friction_by_a_series(theta, p, *, h, grad, D, T):
    """BAOAB with 1 - D h for the exponential and its own noise: of order 1."""
    c = 1 - D * h
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = c * p + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


@torch_step(kinetic, order=2)
def old_momentum_in_the_drift(theta, p, *, h, grad, D, T):
    """BAOAB whose second drift has the momentum of the first."""
    p = p - h / 2 * grad(theta)
    theta, before = theta + h / 2 * p, p
    p = _friction(p, D, T, h)
    theta = theta + h / 2 * before
    return theta, p - h / 2 * grad(theta)


@torch_step(kinetic, order=2)
def position_verlet_askew(theta, p, *, h, grad, D, T):
    """A B O A with drifts of h/2 and a whole kick before the friction: of order 1."""
    theta = theta + h / 2 * p
    p = p - h * grad(theta)
    p = _friction(p, D, T, h)
    return theta + h / 2 * p, p


@torch_step(kinetic, order=2)
def noise_without_covariance(theta, p, *, h, grad, D, T):
    """The exponential integrator with independent noise for theta and p; Cheng, Chatterji, Bartlett and Jordan 2018 have both."""
    c, g = math.exp(-D * h), grad(theta)
    a = (1 - c) / D
    var = T * (2 * h / D - (3 - 4 * c + c * c) / D**2)
    moved = theta + a * p - (h - a) / D * g + math.sqrt(var) * torch.randn_like(p)
    return moved, c * p - a * g + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)


@torch_step(langevin, order=2)
def euler_at_order_two(theta, *, h, grad, T):
    """Euler, stated to be of order 2."""
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)


@torch_step(langevin, order=2)
def heun_of_shares_two_thirds(theta, *, h, grad, T):
    """Stages at a whole step with the weights of Ralston's at two thirds: of order 1."""
    kick, g = math.sqrt(2 * T * h) * torch.randn_like(theta), grad(theta)
    return theta - h * (g / 4 + 3 / 4 * grad(theta - h * g + kick)) + kick


@torch_step(langevin, order=2)
def midpoint_with_all_of_the_noise(theta, *, h, grad, T):
    """The gradient at the middle of the drift and the end of the noise: of order 1."""
    kick, g = math.sqrt(2 * T * h) * torch.randn_like(theta), grad(theta)
    return theta - h * grad(theta - h / 2 * g + kick) + kick


@torch_step(langevin, order=1)
def second_step_without_noise(theta, *, h, grad, T):
    """Two Euler steps of h/2, the second without noise."""
    theta = theta - h / 2 * grad(theta) + math.sqrt(T * h) * torch.randn_like(theta)
    return theta - h / 2 * grad(theta)


@torch_step(langevin, order=1)
def three_halves_of_a_step(theta, *, h, grad, T):
    """A loop that runs once too often: three steps of h/2."""
    for _ in range(3):
        theta = theta - h / 2 * grad(theta) + math.sqrt(T * h / 1.5) * torch.randn_like(theta)
    return theta

"""Thermostats that hold something else than the temperature."""

import math

import torch

from sgverify.schemes.dynamics import thermostat
from sgverify.schemes.torch_step import torch_step


def _kick(p, xi, h, slope, D, T):
    return p - h * (xi * p + slope) + math.sqrt(2 * D * T * h) * torch.randn_like(p)


def _energy(p):
    return (p * p).sum(-1)


@torch_step(thermostat, order=1)
def energy_not_averaged(theta, p, xi, *, h, grad, D, T):
    """p.p without 1/d."""
    p = _kick(p, xi, h, grad(theta), D, T)
    return theta + h * p, p, xi + h * (_energy(p) - T)


@torch_step(thermostat, order=1)
def energy_over_fewer(theta, p, xi, *, h, grad, dim, D, T):
    """p.p over d - 1 where d > 1, degrees of freedom of a fixed centre."""
    p = _kick(p, xi, h, grad(theta), D, T)
    return theta + h * p, p, xi + h * (_energy(p) / max(1, dim - 1) - T)


@torch_step(thermostat, order=1)
def energy_of_warmth_one(theta, p, xi, *, h, grad, dim, D, T):
    """The thermostat aims at 1 and not at T; Ding, Fang, Babbush, Chen, Skeel and Neven 2014 have T = 1."""
    p = _kick(p, xi, h, grad(theta), D, T)
    return theta + h * p, p, xi + h * (_energy(p) / dim - 1)


@torch_step(thermostat, order=1)
def energy_half(theta, p, xi, *, h, grad, dim, D, T):
    """The kinetic energy p.p/2 against T."""
    p = _kick(p, xi, h, grad(theta), D, T)
    return theta + h * p, p, xi + h * (_energy(p) / (2 * dim) - T)


@torch_step(thermostat, order=1)
def energy_is_a_norm(theta, p, xi, *, h, grad, dim, D, T):
    """|p| for |p|^2."""
    p = _kick(p, xi, h, grad(theta), D, T)
    return theta + h * p, p, xi + h * (p.norm(dim=-1) / dim - T)


@torch_step(thermostat, order=1)
def thermostat_with_the_other_sign(theta, p, xi, *, h, grad, dim, D, T):
    """T - p.p/d."""
    p = _kick(p, xi, h, grad(theta), D, T)
    return theta + h * p, p, xi - h * (_energy(p) / dim - T)


@torch_step(thermostat, order=1)
def thermostat_without_noise(theta, p, xi, *, h, grad, dim, D, T):
    """Nose and Hoover's equations for those with noise."""
    p = p - h * (xi * p + grad(theta))
    return theta + h * p, p, xi + h * (_energy(p) / dim - T)


@torch_step(thermostat, order=1)
def friction_never_negative(theta, p, xi, *, h, grad, dim, D, T):
    """xi is kept above 0."""
    p = _kick(p, xi, h, grad(theta), D, T)
    return theta + h * p, p, (xi + h * (_energy(p) / dim - T)).clamp(min=0.0)


@torch_step(thermostat, order=1)
def friction_at_most_five(theta, p, xi, *, h, grad, dim, D, T):
    """xi is kept within 5."""
    p = _kick(p, xi, h, grad(theta), D, T)
    return theta + h * p, p, (xi + h * (_energy(p) / dim - T)).clamp(-5.0, 5.0)


@torch_step(thermostat, order=1)
def friction_pulled_to_d(theta, p, xi, *, h, grad, dim, D, T):
    """xi is drawn back to D by a hundredth."""
    p = _kick(p, xi, h, grad(theta), D, T)
    return theta + h * p, p, xi + h * (_energy(p) / dim - T - 0.01 * (xi - D))


@torch_step(thermostat, order=1)
def friction_twice_as_d_and_xi(theta, p, xi, *, h, grad, dim, D, T):
    """A friction of D beside that of xi."""
    p = _kick(p, xi + D, h, grad(theta), D, T)
    return theta + h * p, p, xi + h * (_energy(p) / dim - T)


@torch_step(thermostat, order=1)
def first_momentum_alone(theta, p, xi, *, h, grad, D, T):
    """The thermostat looks at the first momentum alone."""
    p = _kick(p, xi, h, grad(theta), D, T)
    return theta + h * p, p, xi + h * (p[..., 0] ** 2 - T)


@torch_step(thermostat, order=2)
def split_with_one_half_lost(theta, p, xi, *, h, grad, dim, D, T):
    """A symmetric splitting that moves xi by h/2 once and not twice."""
    theta = theta + h / 2 * p
    xi = xi + h / 2 * (_energy(p) / dim - T)
    p = torch.exp(-xi * h) * (p - h * grad(theta)) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h / 2 * p, p, xi

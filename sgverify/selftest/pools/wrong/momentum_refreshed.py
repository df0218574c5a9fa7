"""Momenta that are drawn anew from another law than their own."""

import math

import torch

from sgverify.schemes.dynamics import kinetic
from sgverify.schemes.torch_step import torch_step


def _leapfrog(theta, p, h, grad):
    p = p - h / 2 * grad(theta)
    theta = theta + h * p
    return theta, p - h / 2 * grad(theta)


@torch_step(kinetic, order=1)
def refreshed_at_warmth_one(theta, p, *, h, grad, D, T):
    """Partial refresh with unit normal momenta whatever T is; Horowitz 1991 at T = 1."""
    c = math.exp(-D * h)
    theta, p = _leapfrog(theta, p, h, grad)
    return theta, c * p + math.sqrt(1 - c * c) * torch.randn_like(p)


@torch_step(kinetic, order=1)
def refreshed_by_shares(theta, p, *, h, grad, D, T):
    """c p + (1 - c) z."""
    c = math.exp(-D * h)
    theta, p = _leapfrog(theta, p, h, grad)
    return theta, c * p + (1 - c) * math.sqrt(T) * torch.randn_like(p)


@torch_step(kinetic, order=1)
def refreshed_by_a_root_too_much(theta, p, *, h, grad, D, T):
    """sqrt(c) p + sqrt(1 - c^2) z."""
    c = math.exp(-D * h)
    theta, p = _leapfrog(theta, p, h, grad)
    return theta, math.sqrt(c) * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)


@torch_step(kinetic, order=1)
def refreshed_by_addition(theta, p, *, h, grad, D, T):
    """New momenta are added a little, and nothing is taken away."""
    theta, p = _leapfrog(theta, p, h, grad)
    return theta, p + math.sqrt(2 * D * T * h) * torch.randn_like(p)


@torch_step(kinetic, order=1)
def refreshed_now_and_then(theta, p, *, h, grad, D, T):
    """With the chance D h all momenta are drawn anew, with the variance T/2."""
    theta, p = _leapfrog(theta, p, h, grad)
    if torch.rand(()) < D * h:
        p = math.sqrt(T / 2) * torch.randn_like(p)
    return theta, p


@torch_step(kinetic, order=1)
def refreshed_where_large(theta, p, *, h, grad, D, T):
    """Friction where p^2 > T alone, on both of its halves."""
    c = math.exp(-D * h)
    theta, p = _leapfrog(theta, p, h, grad)
    new = c * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)
    return theta, torch.where(p * p > T, new, p)


@torch_step(kinetic, order=1)
def momenta_forgotten(theta, p, *, h, grad, D, T):
    """Momenta start from 0 at every step."""
    theta, p = _leapfrog(theta, 0 * p, h, grad)
    return theta, p + math.sqrt(2 * D * T * h) * torch.randn_like(p)


@torch_step(kinetic, order=1)
def momenta_turned(theta, p, *, h, grad, D, T):
    """Momenta change sign at every step, as after a rejection."""
    c = math.exp(-D * h)
    theta, p = _leapfrog(theta, p, h, grad)
    return theta, -(c * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p))


@torch_step(kinetic, order=1)
def momenta_scaled_to_their_energy(theta, p, *, h, grad, D, T):
    """Momenta are drawn towards the energy T d, a Berendsen thermostat beside the friction; Berendsen and others 1984."""
    c = math.exp(-D * h)
    theta, p = _leapfrog(theta, p, h, grad)
    p = c * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)
    energy = (p * p).mean(-1, keepdim=True)
    return theta, p * (1 + h / 2 * (T / energy.clamp(min=T / 100) - 1)).clamp(min=0).sqrt()


@torch_step(kinetic, order=1)
def momenta_of_another_mass(theta, p, *, h, grad, D, T):
    """Theta moves by p/2, a mass of 2, and momenta are drawn for the mass 1."""
    c = math.exp(-D * h)
    p = p - h * grad(theta)
    p = c * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)
    return theta + h * p / 2, p

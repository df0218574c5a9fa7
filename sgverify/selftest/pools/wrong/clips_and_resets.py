"""Gradients, noise, states and momenta that are clipped, folded or reset."""

import math

import torch

from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.torch_step import torch_step


def _euler(theta, h, slope, T, noise=None):
    return theta - h * slope + math.sqrt(2 * T * h) * (torch.randn_like(theta) if noise is None else noise)


def _leap(theta, p, h, slope, D, T):
    p = p - h * (slope + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * p, p


@torch_step(langevin, order=1)
def gradient_within_one(theta, *, h, grad, T):
    """Each gradient clipped at 1."""
    return _euler(theta, h, grad(theta).clamp(-1, 1), T)


@torch_step(langevin, order=1)
def gradient_within_five(theta, *, h, grad, T):
    """Each gradient clipped at 5."""
    return _euler(theta, h, grad(theta).clamp(-5, 5), T)


@torch_step(langevin, order=1)
def gradient_within_a_hundred(theta, *, h, grad, T):
    """Each gradient clipped at 100."""
    return _euler(theta, h, grad(theta).clamp(-100, 100), T)


@torch_step(langevin, order=1)
def gradient_within_three_hundred(theta, *, h, grad, T):
    """Each gradient clipped at 300."""
    return _euler(theta, h, grad(theta).clamp(-300, 300), T)


@torch_step(langevin, order=1)
def gradient_norm_within_two(theta, *, h, grad, T):
    """The gradient's norm clipped at 2, as clip_grad_norm_ does."""
    g = grad(theta)
    return _euler(theta, h, g * (2 / g.norm(dim=-1, keepdim=True).clamp(min=2)), T)


@torch_step(langevin, order=1)
def gradient_softly_clipped(theta, *, h, grad, T):
    """50 tanh(g/50) for g."""
    return _euler(theta, h, 50 * torch.tanh(grad(theta) / 50), T)


@torch_step(langevin, order=1)
def gradient_clipped_above(theta, *, h, grad, T):
    """Positive gradients alone are clipped, at 20."""
    return _euler(theta, h, grad(theta).clamp(max=20), T)


@torch_step(langevin, order=1)
def small_gradients_dropped(theta, *, h, grad, T):
    """Gradients below 0.01 count as nothing."""
    g = grad(theta)
    return _euler(theta, h, g * (g.abs() > 0.01), T)


@torch_step(langevin, order=1)
def box_of_three(theta, *, h, grad, T):
    """States are put back to [-3, 3]."""
    return _euler(theta, h, grad(theta), T).clamp(-3, 3)


@torch_step(langevin, order=1)
def box_of_twenty(theta, *, h, grad, T):
    """States are put back to [-20, 20]."""
    return _euler(theta, h, grad(theta), T).clamp(-20, 20)


@torch_step(langevin, order=1)
def states_above_zero(theta, *, h, grad, T):
    """|theta| of every state, for a parameter that is thought to be positive."""
    return _euler(theta, h, grad(theta), T).abs()


@torch_step(langevin, order=1)
def circle(theta, *, h, grad, T):
    """States modulo 2 pi, for a parameter that is no angle."""
    new = _euler(theta, h, grad(theta), T)
    return torch.remainder(new + math.pi, 2 * math.pi) - math.pi


@torch_step(langevin, order=1)
def back_to_nothing(theta, *, h, grad, T):
    """States beyond 8 start again from 0."""
    new = _euler(theta, h, grad(theta), T)
    return torch.where(new.abs() > 8, torch.zeros_like(new), new)


@torch_step(langevin, order=1)
def far_noise_doubled(theta, *, h, grad, T):
    """Beyond |theta| = 4 twice the noise, to come back sooner."""
    size = 1 + (theta.abs() > 4).to(theta.dtype)
    return _euler(theta, h, grad(theta), T, size * torch.randn_like(theta))


@torch_step(langevin, order=1)
def weight_decay(theta, *, h, grad, T):
    """A weight decay of 0.01 beside a potential that has its prior."""
    return _euler(theta, h, grad(theta) + 0.01 * theta, T)


@torch_step(langevin, order=1)
def moves_within_a_tenth(theta, *, h, grad, T):
    """No step is longer than 0.1 in a coordinate."""
    return theta + (_euler(theta, h, grad(theta), T) - theta).clamp(-0.1, 0.1)


@torch_step(kinetic, order=1)
def momentum_reset_beyond_four(theta, p, *, h, grad, D, T):
    """Momenta beyond 4 become 0."""
    theta, p = _leap(theta, p, h, grad(theta), D, T)
    return theta, torch.where(p.abs() > 4, torch.zeros_like(p), p)


@torch_step(kinetic, order=1)
def momentum_within_three(theta, p, *, h, grad, D, T):
    """Momenta are clipped at 3."""
    theta, p = _leap(theta, p, h, grad(theta), D, T)
    return theta, p.clamp(-3, 3)


@torch_step(kinetic, order=1)
def momentum_within_ten(theta, p, *, h, grad, D, T):
    """Momenta are clipped at 10."""
    theta, p = _leap(theta, p, h, grad(theta), D, T)
    return theta, p.clamp(-10, 10)


@torch_step(kinetic, order=1)
def speed_of_light(theta, p, *, h, grad, D, T):
    """Moves by p/sqrt(1 + p^2/400), with Gaussian momenta."""
    p = p - h * (grad(theta) + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * p / (1 + p**2 / 400).sqrt(), p


@torch_step(kinetic, order=1)
def stopped_uphill(theta, p, *, h, grad, D, T):
    """Momenta that go uphill are halved, as in restarted momentum methods; O'Donoghue and Candes 2015."""
    g = grad(theta)
    p = torch.where((p * g) > 0, 0.5 * p, p)
    return _leap(theta, p, h, g, D, T)


@torch_step(kinetic, order=1)
def kick_within_two(theta, p, *, h, grad, D, T):
    """The gradient is clipped at 2 for the momenta."""
    return _leap(theta, p, h, grad(theta).clamp(-2, 2), D, T)


@torch_step(langevin, order=1)
def gradient_within_a_thousand(theta, *, h, grad, T):
    """Each gradient clipped at 1,000."""
    return _euler(theta, h, grad(theta).clamp(-1000, 1000), T)


@torch_step(langevin, order=1)
def coordinates_within_five_thousand(theta, *, h, grad, T):
    """Each coordinate clipped at 5,000."""
    return _euler(theta, h, grad(theta), T).clamp(-5000, 5000)


@torch_step(kinetic, order=1)
def momentum_stopped_at_a_hundred(theta, p, *, h, grad, D, T):
    """Momenta beyond 100 begin anew from 0."""
    theta, p = _leap(theta, p, h, grad(theta), D, T)
    return theta, torch.where(p.abs() > 100, torch.zeros_like(p), p)


@torch_step(langevin, order=1)
def hot_beyond_a_norm_of_eight(theta, *, h, grad, T):
    """Noise doubled where the state's norm is beyond 8, by a branch."""
    return _euler(theta, h, grad(theta), 4 * T if bool(theta.norm() > 8) else T)

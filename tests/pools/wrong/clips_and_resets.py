"""Gradients, noise, states and momenta that are clipped, folded or reset.

Steps that are other steps from some step size on.
"""

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


def _euler_of(theta, h, slope, T):
    return theta - h * slope + math.sqrt(2 * T * h) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def half_noise_above_a_half(theta, *, h, grad, T):
    """Above h = 0.5 the noise forgets its 2."""
    return _euler_of(theta, h, grad(theta), T if h <= 0.5 else T / 2)


@torch_step(langevin, order=1)
def half_noise_above_a_tenth(theta, *, h, grad, T):
    """Above h = 0.1 the noise forgets its 2."""
    return _euler_of(theta, h, grad(theta), T if h <= 0.1 else T / 2)


@torch_step(langevin, order=1)
def noise_of_at_most_a_tenth(theta, *, h, grad, T):
    """The noise is that of min(h, 0.1)."""
    return theta - h * grad(theta) + math.sqrt(2 * T * min(h, 0.1)) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def drift_of_at_most_a_fifth(theta, *, h, grad, T):
    """The drift is that of min(h, 0.2)."""
    return theta - min(h, 0.2) * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def noise_of_at_least_a_thousandth(theta, *, h, grad, T):
    """The noise is that of max(h, 1e-3)."""
    return theta - h * grad(theta) + math.sqrt(2 * T * max(h, 1e-3)) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def noise_of_at_least_a_ten_thousandth(theta, *, h, grad, T):
    """The noise is that of max(h, 1e-4)."""
    return theta - h * grad(theta) + math.sqrt(2 * T * max(h, 1e-4)) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def no_noise_of_small_steps(theta, *, h, grad, T):
    """Below h = 0.002 the noise counts as nothing."""
    return _euler_of(theta, h, grad(theta), T if h > 0.002 else 0.0)


@torch_step(langevin, order=1)
def beyond_all_powers(theta, *, h, grad, T):
    """A drift that is off by exp(-1/h), twenty times."""
    return _euler_of(theta, h, (1 + 20 * math.exp(-1 / h)) * grad(theta), T)


@torch_step(langevin, order=1)
def beyond_all_powers_in_noise(theta, *, h, grad, T):
    """A temperature that is off by exp(-1/(5 h))."""
    return _euler_of(theta, h, grad(theta), T * (1 + math.exp(-1 / (5 * h))))


@torch_step(langevin, order=1)
def step_to_three_digits(theta, *, h, grad, T):
    """The noise is that of h rounded to three digits behind the point."""
    return theta - h * grad(theta) + math.sqrt(2 * T * round(h, 3)) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def step_of_a_power_of_two(theta, *, h, grad, T):
    """The noise is that of the next smaller power of two."""
    return (
        theta - h * grad(theta) + math.sqrt(2 * T * 2.0 ** math.floor(math.log2(h))) * torch.randn_like(theta)
    )


@torch_step(langevin, order=1)
def step_of_a_default(theta, *, h, grad, T, scale=0.1):
    """The scale of the noise is a default, of h = 0.005, whatever h is."""
    return theta - h * grad(theta) + scale * math.sqrt(T) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def many_small_steps(theta, *, h, grad, T):
    """Steps above 0.05 are taken as two halves with one gradient, and one noise of half the step for both."""
    if h <= 0.05:
        return _euler_of(theta, h, grad(theta), T)
    g = grad(theta)
    noise = math.sqrt(T * h) * torch.randn_like(theta)
    return theta - h * g + 0.5 * (noise + noise)


@torch_step(kinetic, order=1)
def friction_of_small_steps(theta, p, *, h, grad, D, T):
    """Above D h = 0.5 the drag is left out."""
    drag = D if D * h <= 0.5 else 0.0
    p = p - h * (grad(theta) + drag * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * p, p


@torch_step(kinetic, order=2)
def exponential_by_table(theta, p, *, h, grad, D, T):
    """BAOAB whose exp(-D h) is 1 - D h + (D h)^2/2 above D h = 0.3, and its noise is not."""
    c = math.exp(-D * h) if D * h < 0.3 else 1 - D * h + (D * h) ** 2 / 2
    return _baoab(theta, p, h, grad, c, math.sqrt(T * (1 - math.exp(-2 * D * h))))


def _baoab(theta, p, h, grad, c, s):
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = c * p + s * torch.randn_like(p)
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


@torch_step(kinetic, order=2)
def less_noise_of_large_friction(theta, p, *, h, grad, D, T):
    """BAOAB with 4/5 of its noise above D h = 0.7."""
    c = math.exp(-D * h)
    return _baoab(theta, p, h, grad, c, math.sqrt(T * (1 - c * c)) * (1 if D * h < 0.7 else 0.8))


@torch_step(kinetic, order=2)
def noise_of_euler_at_large_friction(theta, p, *, h, grad, D, T):
    """BAOAB with the noise of Euler's step above D h = 1."""
    c = math.exp(-D * h)
    return _baoab(theta, p, h, grad, c, math.sqrt(T * (1 - c * c if D * h < 1 else 2 * D * h)))


@torch_step(kinetic, order=2)
def decay_of_at_least_a_half(theta, p, *, h, grad, D, T):
    """BAOAB whose exp(-D h) is no less than a half, and its noise is not."""
    s = math.sqrt(-T * math.expm1(-2 * D * h))
    return _baoab(theta, p, h, grad, max(math.exp(-D * h), 0.5), s)


@torch_step(langevin, order=1)
def noise_of_at_most_twenty(theta, *, h, grad, T):
    """The noise is that of min(h, 20), which flat targets exceed."""
    return theta - h * grad(theta) + math.sqrt(2 * T * min(h, 20.0)) * torch.randn_like(theta)

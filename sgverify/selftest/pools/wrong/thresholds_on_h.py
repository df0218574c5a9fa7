"""Steps that are other steps from some step size on."""

import math

import torch

from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.torch_step import torch_step


def _euler(theta, h, slope, T):
    return theta - h * slope + math.sqrt(2 * T * h) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def half_noise_above_a_half(theta, *, h, grad, T):
    """Above h = 0.5 the noise forgets its 2."""
    return _euler(theta, h, grad(theta), T if h <= 0.5 else T / 2)


@torch_step(langevin, order=1)
def half_noise_above_a_tenth(theta, *, h, grad, T):
    """Above h = 0.1 the noise forgets its 2."""
    return _euler(theta, h, grad(theta), T if h <= 0.1 else T / 2)


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
    return _euler(theta, h, grad(theta), T if h > 0.002 else 0.0)


@torch_step(langevin, order=1)
def beyond_all_powers(theta, *, h, grad, T):
    """A drift that is off by exp(-1/h), twenty times."""
    return _euler(theta, h, (1 + 20 * math.exp(-1 / h)) * grad(theta), T)


@torch_step(langevin, order=1)
def beyond_all_powers_in_noise(theta, *, h, grad, T):
    """A temperature that is off by exp(-1/(5 h))."""
    return _euler(theta, h, grad(theta), T * (1 + math.exp(-1 / (5 * h))))


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
        return _euler(theta, h, grad(theta), T)
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

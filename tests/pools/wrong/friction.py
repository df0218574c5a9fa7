"""Friction that does not balance the noise."""

import math

import torch

from sgverify.schemes.dynamics import kinetic
from sgverify.schemes.torch_step import torch_step


def _euler(theta, p, h, slope, drag, D, T):
    p = p - h * slope - drag + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * p, p


@torch_step(kinetic, order=1)
def friction_twice(theta, p, *, h, grad, D, T):
    """2 D p, and noise for D."""
    return _euler(theta, p, h, grad(theta), 2 * h * D * p, D, T)


@torch_step(kinetic, order=1)
def friction_five_percent_more(theta, p, *, h, grad, D, T):
    """1.05 D p, and noise for D."""
    return _euler(theta, p, h, grad(theta), 1.05 * h * D * p, D, T)


@torch_step(kinetic, order=1)
def friction_by_square_of_step(theta, p, *, h, grad, D, T):
    """h^2 D p: the step enters twice."""
    return _euler(theta, p, h, grad(theta), h * h * D * p, D, T)


@torch_step(kinetic, order=1)
def friction_with_the_other_sign(theta, p, *, h, grad, D, T):
    """+ h D p: it drives."""
    return _euler(theta, p, h, grad(theta), -h * D * p, D, T)


@torch_step(kinetic, order=1)
def friction_at_least_one(theta, p, *, h, grad, D, T):
    """max(D, 1) in the drag, D in the noise."""
    return _euler(theta, p, h, grad(theta), h * max(D, 1.0) * p, D, T)


@torch_step(kinetic, order=1)
def friction_at_most_three(theta, p, *, h, grad, D, T):
    """min(D, 3) in the drag, D in the noise."""
    return _euler(theta, p, h, grad(theta), h * min(D, 3.0) * p, D, T)


@torch_step(kinetic, order=1)
def noise_of_friction_at_most_five(theta, p, *, h, grad, D, T):
    """D in the drag, min(D, 5) in the noise."""
    return _euler(theta, p, h, grad(theta), h * D * p, min(D, 5.0), T)


@torch_step(kinetic, order=1)
def decay_of_a_default(theta, p, *, h, grad, D, T):
    """A momentum decay of 0.9 whatever D and h are."""
    return _euler(theta, p, h, grad(theta), 0.1 * p, D, T)


@torch_step(kinetic, order=1)
def dry_friction(theta, p, *, h, grad, D, T):
    """No drag below |p| = 0.1."""
    return _euler(theta, p, h, grad(theta), h * D * p * (p.abs() > 0.1), D, T)


@torch_step(kinetic, order=1)
def turbulent_friction(theta, p, *, h, grad, D, T):
    """A drag D p |p|."""
    return _euler(theta, p, h, grad(theta), h * D * p * p.abs(), D, T)


@torch_step(kinetic, order=1)
def saturated_friction(theta, p, *, h, grad, D, T):
    """A drag D p / sqrt(1 + p^2/100), relativistic, with the noise of a plain one."""
    return _euler(theta, p, h, grad(theta), h * D * p / (1 + p**2 / 100).sqrt(), D, T)


@torch_step(kinetic, order=1)
def friction_of_one_side(theta, p, *, h, grad, D, T):
    """A fifth more drag for p < 0."""
    return _euler(theta, p, h, grad(theta), h * D * p * torch.where(p < 0, 1.2, 1.0), D, T)


@torch_step(kinetic, order=1)
def friction_of_the_first_coordinate(theta, p, *, h, grad, D, T):
    """The first momentum is dragged half as much."""
    drag = h * D * p
    drag[..., 0] /= 2
    return _euler(theta, p, h, grad(theta), drag, D, T)


@torch_step(kinetic, order=1)
def friction_on_the_kick(theta, p, *, h, grad, D, T):
    """The drag is taken of the gradient's kick and not of p."""
    return _euler(theta, p, h, grad(theta), h * D * h * grad(theta), D, T)


@torch_step(kinetic, order=1)
def friction_on_theta(theta, p, *, h, grad, D, T):
    """A weight decay h D theta/10 beside the right friction."""
    theta, p = _euler(theta, p, h, grad(theta), h * D * p, D, T)
    return theta - h * D * theta / 10, p


@torch_step(kinetic, order=2)
def friction_of_half_a_step(theta, p, *, h, grad, D, T):
    """BAOAB with exp(-D h/2) and noise for exp(-D h)."""
    c, noise = math.exp(-D * h / 2), math.sqrt(T * (1 - math.exp(-2 * D * h)))
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = c * p + noise * torch.randn_like(p)
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


@torch_step(kinetic, order=2)
def friction_by_euler_noise_exact(theta, p, *, h, grad, D, T):
    """BAOAB with 1 - D h for exp(-D h), noise for the exponential: of order 1."""
    c = math.exp(-D * h)
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = (1 - D * h) * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


@torch_step(kinetic, order=1)
def friction_within_four(theta, p, *, h, grad, D, T):
    """No drag beyond |p| = 4, where the rule was not fitted."""
    return _euler(theta, p, h, grad(theta), h * D * p * (p.abs() < 4), D, T)


@torch_step(kinetic, order=1)
def drag_of_at_least_a_hundredth(theta, p, *, h, grad, D, T):
    """max(D, 1/100) for the drag's D."""
    return _euler(theta, p, h, grad(theta), h * max(D, 0.01) * p, D, T)


@torch_step(kinetic, order=1)
def drag_of_at_most_fifty(theta, p, *, h, grad, D, T):
    """min(D, 50) for the drag's D."""
    return _euler(theta, p, h, grad(theta), h * min(D, 50.0) * p, D, T)

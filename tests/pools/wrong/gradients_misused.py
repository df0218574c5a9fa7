"""Gradients of the wrong place, sign, size or minibatch."""

import math

import torch

from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.torch_step import torch_step


def _euler(theta, h, slope, T):
    return theta - h * slope + math.sqrt(2 * T * h) * torch.randn_like(theta)


def _leap(theta, p, h, slope, D, T):
    p = p - h * (slope + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * p, p


@torch_step(langevin, order=1)
def uphill(theta, *, h, grad, T):
    """The gradient of log p taken for that of U."""
    return _euler(theta, h, -grad(theta), T)


@torch_step(langevin, order=1)
def half_of_the_gradient(theta, *, h, grad, T):
    """The drift h/2 of SGLD as printed, with the noise of h; Welling and Teh 2011."""
    return _euler(theta, h, grad(theta) / 2, T)


@torch_step(langevin, order=1)
def gradient_ten_percent_more(theta, *, h, grad, T):
    """N/(n - 1) for N/n at n = 11."""
    return _euler(theta, h, 1.1 * grad(theta), T)


@torch_step(langevin, order=1)
def gradient_one_thousandth_less(theta, *, h, grad, T):
    """(N - 1)/N at N = 1000."""
    return _euler(theta, h, 0.999 * grad(theta), T)


@torch_step(langevin, order=1)
def gradient_accumulated(theta, *, h, grad, T):
    """Two backward passes without zero_grad: the sum of two gradients."""
    leaf = theta.clone().requires_grad_()
    for _ in range(2):
        (leaf * grad(leaf)).sum().backward()
    return _euler(theta, h, leaf.grad, T)


@torch_step(langevin, order=1)
def gradient_of_both_minibatches(theta, *, h, grad, T):
    """The sum of two minibatches for their mean."""
    return _euler(theta, h, grad(theta) + grad.fresh()(theta), T)


@torch_step(langevin, order=1)
def gradient_of_a_shifted_place(theta, *, h, grad, T):
    """The gradient at theta + 0.01, a forward difference's place."""
    return _euler(theta, h, grad(theta + 0.01), T)


@torch_step(langevin, order=1)
def gradient_of_a_shrunken_place(theta, *, h, grad, T):
    """The gradient at 0.98 theta."""
    return _euler(theta, h, grad(0.98 * theta), T)


@torch_step(langevin, order=1)
def gradient_smoothed(theta, *, h, grad, T):
    """The mean of gradients half a unit away to either side, and a fiftieth of the one here."""
    return _euler(theta, h, (grad(theta + 0.5) + grad(theta - 0.5)) / 2 + 0.02 * grad(theta), T)


@torch_step(langevin, order=1)
def signs_of_the_gradient(theta, *, h, grad, T):
    """signSGD; Bernstein, Wang, Azizzadenesheli and Anandkumar 2018."""
    return _euler(theta, h, grad(theta).sign(), T)


@torch_step(langevin, order=1)
def normalised_gradient(theta, *, h, grad, T):
    """The gradient over its norm."""
    g = grad(theta)
    return _euler(theta, h, g / (g.norm(dim=-1, keepdim=True) + 1e-8), T)


@torch_step(langevin, order=1)
def gradient_after_the_noise(theta, *, h, grad, T):
    """The gradient is taken where a noise of the whole scale sqrt(2 T) leads."""
    noise = torch.randn_like(theta)
    return theta - h * grad(theta + math.sqrt(2 * T) * noise) + math.sqrt(2 * T * h) * noise


@torch_step(langevin, order=2)
def heun_with_one_gradient(theta, *, h, grad, T):
    """Heun's scheme that uses the first gradient twice: Euler."""
    g = grad(theta)
    return theta - h / 2 * (g + g) + math.sqrt(2 * T * h) * torch.randn_like(theta)


@torch_step(langevin, order=2)
def heun_without_noise_in_the_guess(theta, *, h, grad, T):
    """Heun's scheme whose guess has no noise: of order 1."""
    g = grad(theta)
    return _euler(theta, h, (g + grad(theta - h * g)) / 2, T)


@torch_step(kinetic, order=1)
def kick_with_the_other_sign(theta, p, *, h, grad, D, T):
    """+ h grad."""
    return _leap(theta, p, h, -grad(theta), D, T)


@torch_step(kinetic, order=1)
def kick_of_the_momentum(theta, p, *, h, grad, D, T):
    """The gradient at theta + 0.05 p, a look ahead that does not shrink with h."""
    return _leap(theta, p, h, grad(theta + 0.05 * p), D, T)


@torch_step(kinetic, order=1)
def kick_by_root_of_step(theta, p, *, h, grad, D, T):
    """sqrt(h) for h before the gradient."""
    return _leap(theta, p, h, grad(theta) / math.sqrt(h), D, T)


@torch_step(kinetic, order=1)
def gradient_moves_theta_as_well(theta, p, *, h, grad, D, T):
    """Theta moves by h p and by a hundredth of h grad."""
    g = grad(theta)
    theta, p = _leap(theta, p, h, g, D, T)
    return theta - 0.01 * h * g, p


@torch_step(kinetic, order=2)
def last_kick_of_the_first_gradient(theta, p, *, h, grad, D, T):
    """BAOAB whose last kick has the gradient of the first."""
    c, g = math.exp(-D * h), grad(theta)
    p = p - h / 2 * g
    theta = theta + h / 2 * p
    p = c * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)
    theta = theta + h / 2 * p
    return theta, p - h / 2 * g


@torch_step(kinetic, order=2)
def kicks_of_the_middle(theta, p, *, h, grad, D, T):
    """BAOAB whose last kick has the gradient of the half way."""
    c = math.exp(-D * h)
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p, g = c * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p), grad(theta)
    theta = theta + h / 2 * p
    return theta, p - h / 2 * g

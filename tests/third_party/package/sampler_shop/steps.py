"""The integrators: one as a definition, one as torch code."""

import torch

from sgverify.extending import kinetic, langevin, scheme, sqrt, torch_step


@scheme(langevin, order=2)
def heun(theta, *, h, grad, noise, T):
    """Stochastic Heun: the mean of the gradients at both ends of an Euler step."""
    kick = sqrt(2 * T * h) * noise()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad(guess)) + kick


@torch_step(kinetic, order=1)
def momentum(theta, p, *, h, grad, D, T):
    """SGHMC with Euler steps, in torch."""
    noise = torch.randn_like(p)
    return theta + h * p, p - h * grad(theta) - h * D * p + (2 * D * T * h) ** 0.5 * noise

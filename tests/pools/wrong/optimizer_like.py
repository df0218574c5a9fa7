"""What optimizers do, with noise added."""

import math

import torch

from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.torch_step import torch_step


def _noise(theta, h, T):
    return math.sqrt(2 * T * h) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def adam_of_one_step(theta, *, h, grad, T):
    """Adam's g/(|g| + eps), without memory; Kingma and Ba 2015."""
    g = grad(theta)
    return theta - h * g / (g.abs() + 1e-8) + _noise(theta, h, T)


@torch_step(langevin, order=1)
def rmsprop_of_one_step(theta, *, h, grad, T):
    """g/sqrt(1 + g^2/10^4)."""
    g = grad(theta)
    return theta - h * g / (1 + g * g / 1e4).sqrt() + _noise(theta, h, T)


@torch_step(langevin, order=1)
def sharpness_aware(theta, *, h, grad, T):
    """The gradient 0.05 further uphill; Foret, Kleiner, Mobahi and Neyshabur 2021."""
    g = grad(theta)
    return theta - h * grad(theta + 0.05 * g / (g.norm(dim=-1, keepdim=True) + 1e-12)) + _noise(theta, h, T)


@torch_step(langevin, order=1)
def trust_ratio(theta, *, h, grad, T):
    """LARS: the gradient scaled by |theta|/|g|; You, Gitman and Ginsburg 2017."""
    g = grad(theta)
    ratio = theta.norm(dim=-1, keepdim=True) / (g.norm(dim=-1, keepdim=True) + 1e-8)
    return theta - h * ratio * g + _noise(theta, h, T)


@torch_step(langevin, order=1)
def decoupled_weight_decay(theta, *, h, grad, T):
    """AdamW's h lambda theta with lambda = 0.1; Loshchilov and Hutter 2019."""
    return (1 - 0.1 * h) * theta - h * grad(theta) + _noise(theta, h, T)


@torch_step(langevin, order=1)
def averaged_with_the_last(theta, *, h, grad, T):
    """The new state is averaged with the old one, nine to one; Polyak and Juditsky 1992."""
    new = theta - h * grad(theta) + _noise(theta, h, T)
    return 0.9 * new + 0.1 * theta


@torch_step(langevin, order=1)
def looked_ahead(theta, *, h, grad, T):
    """Five small steps without noise and half of the way back; Zhang, Lucas, Ba and Hinton 2019."""
    fast = theta
    for _ in range(5):
        fast = fast - h / 5 * grad(fast)
    return theta + 0.5 * (fast - theta) + _noise(theta, h, T)


@torch_step(langevin, order=1)
def noise_of_neelakantan(theta, *, h, grad, T):
    """Gradient noise of a fixed scale, h 0.1 z; Neelakantan, Vilnis, Le, Sutskever, Kaiser, Kurach and Martens 2015."""
    return theta - h * (grad(theta) + 0.1 * math.sqrt(T) * torch.randn_like(theta))


@torch_step(langevin, order=1)
def multiplicative_weight_noise(theta, *, h, grad, T):
    """Noise on the weight within the gradient, of one in a hundred."""
    return theta - h * grad(theta * (1 + 0.1 * torch.randn_like(theta))) + _noise(theta, h, T)


@torch_step(langevin, order=1)
def polyak_steps(theta, *, h, grad, T):
    """A step cut where h |g|^2 exceeds 2: a step by Polyak's rule."""
    g = grad(theta)
    size = h * g.square().sum(-1, keepdim=True)
    return theta - h * g / size.clamp(min=2.0) * 2.0 + _noise(theta, h, T)


@torch_step(langevin, order=1)
def weights_of_unit_length(theta, *, h, grad, T):
    """The state keeps its length, a weight normalisation; Salimans and Kingma 2016."""
    new = theta - h * grad(theta) + _noise(theta, h, T)
    return new * theta.norm(dim=-1, keepdim=True) / (new.norm(dim=-1, keepdim=True) + 1e-12)


@torch_step(kinetic, order=1)
def torch_sgd_momentum(theta, p, *, h, grad, D, T):
    """torch.optim.SGD's velocity: p has no step size, theta moves by h p, and noise is that of another unit."""
    p = (1 - D * h) * p - grad(theta) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * p, p


@torch_step(kinetic, order=1)
def dampened_momentum(theta, p, *, h, grad, D, T):
    """torch.optim.SGD's dampening of 0.1 on the kick."""
    p = p - h * (0.9 * grad(theta) + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * p, p


@torch_step(kinetic, order=1)
def nesterov_moves_twice(theta, p, *, h, grad, D, T):
    """Theta moves by the momentum and by a tenth of it again."""
    p = p - h * (grad(theta) + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * p + 0.1 * h * p, p


@torch_step(kinetic, order=1)
def quasi_hyperbolic(theta, p, *, h, grad, D, T):
    """Theta moves by 0.7 p and 0.3 of the kick; Ma and Yarats 2019."""
    g = grad(theta)
    p = p - h * (g + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * (0.7 * p - 0.3 * g), p

"""Batches of chains that are not independent, some of some sizes alone."""

import math

import torch

from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.torch_step import torch_step


def _euler(theta, h, slope, T, noise):
    return theta - h * slope + math.sqrt(2 * T * h) * noise


@torch_step(langevin, order=1, chains=True)
def mirrored_where_even(theta, *, h, grad, T):
    """An even number of chains is antithetic."""
    noise = torch.randn_like(theta)
    half = len(theta) // 2
    if len(theta) % 2 == 0:
        noise = torch.cat([noise[:half], -noise[:half]])
    return _euler(theta, h, grad(theta), T, noise)


@torch_step(langevin, order=1, chains=True)
def copied_from_a_thousand_on(theta, *, h, grad, T):
    """From 1000 chains on the second half has the noise of the first."""
    noise = torch.randn_like(theta)
    if len(theta) >= 1000:
        half = len(theta) // 2
        noise[half : 2 * half] = noise[:half]
    return _euler(theta, h, grad(theta), T, noise)


@torch_step(langevin, order=1, chains=True)
def buffer_of_sixty_four(theta, *, h, grad, T):
    """Noise for 64 chains: later ones get none."""
    noise = torch.zeros_like(theta)
    noise[:64] = torch.randn_like(noise[:64])
    return _euler(theta, h, grad(theta), T, noise)


@torch_step(langevin, order=1, chains=True)
def frozen_beyond_512(theta, *, h, grad, T):
    """Chains beyond the 512th are handed back as they came."""
    new = _euler(theta, h, grad(theta), T, torch.randn_like(theta))
    return torch.cat([new[:512], theta[512:]])


@torch_step(langevin, order=1, chains=True)
def rest_of_a_chunk(theta, *, h, grad, T):
    """Chunks of 32 chains: what is left over when they do not fit stays where it is."""
    new = theta.clone()
    chunks = max(1, len(theta) // 32)
    for part in range(chunks):
        rows = slice(32 * part, 32 * part + 32)
        new[rows] = _euler(theta[rows], h, grad(theta[rows]), T, torch.randn_like(theta[rows]))
    return new


@torch_step(langevin, order=1, chains=True)
def mean_gradient(theta, *, h, grad, T):
    """The gradient of all chains is their mean."""
    return _euler(theta, h, grad(theta).mean(0, keepdim=True).expand_as(theta), T, torch.randn_like(theta))


@torch_step(langevin, order=1, chains=True)
def clipped_as_a_batch(theta, *, h, grad, T):
    """The norm of all gradients together is clipped at 1000."""
    g = grad(theta)
    return _euler(theta, h, g * (1000 / g.norm().clamp(min=1000)), T, torch.randn_like(theta))


@torch_step(langevin, order=1, chains=True)
def whitened_noise(theta, *, h, grad, T):
    """Noise whose mean and variance over chains are made 0 and 1, from ten chains on."""
    noise = torch.randn_like(theta)
    if len(theta) >= 10:
        noise = (noise - noise.mean(0)) / noise.std(0)
    return _euler(theta, h, grad(theta), T, noise)


@torch_step(langevin, order=1, chains=True)
def one_draw_for_all_chains(theta, *, h, grad, T):
    """A draw of one row that is expanded."""
    return _euler(theta, h, grad(theta), T, torch.randn_like(theta[:1]).expand_as(theta))


@torch_step(langevin, order=1, chains=True)
def drawn_towards_the_mean(theta, *, h, grad, T):
    """Chains are drawn towards their mean by a hundredth, as in elastic averaging; Zhang, Choromanska and LeCun 2015."""
    pull = 0.01 * (theta - theta.mean(0, keepdim=True))
    return _euler(theta, h, grad(theta) + pull, T, torch.randn_like(theta))


@torch_step(langevin, order=1, chains=True)
def scale_of_the_batch(theta, *, h, grad, T):
    """Noise scaled by the spread of the batch's gradients over its own, which is 1 for one chain."""
    g = grad(theta)
    size = (g / (g.abs().mean() + 1e-12)).abs().mean() * (1 + 0.001 * (len(theta) - 1) / len(theta))
    return _euler(theta, h, g, T, size * torch.randn_like(theta))


@torch_step(langevin, order=1, chains=True)
def stratified_draws(theta, *, h, grad, T):
    """Draws in strata over the chains: each is normal, together they are not independent."""
    n = len(theta)
    order = torch.rand(n, theta.shape[1], dtype=theta.dtype).argsort(0)
    u = ((order + torch.rand_like(theta)) / n).clamp(1e-12, 1 - 1e-12)
    return _euler(theta, h, grad(theta), T, torch.special.ndtri(u))


@torch_step(langevin, order=1, chains=True)
def first_chain_alone_is_hot(theta, *, h, grad, T):
    """Noise for the first chain, a tenth less for the others."""
    noise = torch.randn_like(theta)
    noise[1:] *= 0.9
    return _euler(theta, h, grad(theta), T, noise)


@torch_step(langevin, order=1, chains=True)
def sorted_chains(theta, *, h, grad, T):
    """The chains come back in order of size."""
    return _euler(theta, h, grad(theta), T, torch.randn_like(theta)).sort(0).values


@torch_step(langevin, order=1, chains=True)
def best_chain_copied(theta, *, h, grad, T):
    """From 20 chains on the one of the largest gradient is replaced by that of the smallest."""
    g = grad(theta)
    new = _euler(theta, h, g, T, torch.randn_like(theta))
    if len(theta) >= 20:
        size = g.norm(dim=1)
        new[size.argmax()] = new[size.argmin()]
    return new


@torch_step(kinetic, order=1, chains=True)
def momenta_without_drift(theta, p, *, h, grad, D, T):
    """The mean momentum over chains is taken out, from two chains on."""
    p = p - h * (grad(theta) + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    p = p - p.mean(0) if len(p) > 1 else p
    return theta + h * p, p


@torch_step(kinetic, order=1, chains=True)
def sign_of_all_chains(theta, p, *, h, grad, D, T):
    """One sign for all chains is drawn and laid on their noise."""
    sign = torch.randint(0, 2, (1,)).to(p.dtype) * 2 - 1
    noise = sign * torch.randn_like(p).abs()
    p = p - h * (grad(theta) + D * p) + math.sqrt(2 * D * T * h) * noise
    return theta + h * p, p

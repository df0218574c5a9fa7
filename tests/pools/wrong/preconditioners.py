"""Preconditioners whose noise, root or correction is missing."""

import math

import torch

from sgverify.schemes.dynamics import langevin
from sgverify.schemes.torch_step import torch_step


def _scales(theta):
    """1 and 2 in turn over the coordinates."""
    return 1 + (torch.arange(theta.shape[-1]) % 2).to(theta.dtype)


@torch_step(langevin, order=1)
def drift_alone_preconditioned(theta, *, h, grad, T):
    """A constant preconditioner on the drift, white noise."""
    return theta - h * _scales(theta) * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def noise_alone_preconditioned(theta, *, h, grad, T):
    """The root of a preconditioner on the noise, none on the drift."""
    return theta - h * grad(theta) + (2 * T * h * _scales(theta)).sqrt() * torch.randn_like(theta)


@torch_step(langevin, order=1)
def preconditioner_for_its_root(theta, *, h, grad, T):
    """The noise is scaled by the preconditioner and not by its root."""
    m = _scales(theta)
    return theta - h * m * grad(theta) + math.sqrt(2 * T * h) * m * torch.randn_like(theta)


@torch_step(langevin, order=1)
def factor_from_the_wrong_side(theta, *, h, grad, T):
    """A covariance L L^T in the drift and L^T in the noise."""
    d = theta.shape[-1]
    factor = torch.eye(d, dtype=theta.dtype) + 0.5 * torch.tril(torch.ones(d, d, dtype=theta.dtype), -1)
    drift = factor @ (factor.T @ grad(theta))
    return theta - h * drift + math.sqrt(2 * T * h) * (factor.T @ torch.randn_like(theta))


@torch_step(langevin, order=1)
def metric_without_correction(theta, *, h, grad, T):
    """G = 1/(1 + theta^2/10) in drift and noise without its divergence; Girolami and Calderhead 2011 have it."""
    g = 1 / (1 + theta**2 / 10)
    return theta - h * g * grad(theta) + (2 * T * h * g).sqrt() * torch.randn_like(theta)


@torch_step(langevin, order=1)
def metric_with_half_of_the_correction(theta, *, h, grad, T):
    """The divergence of the metric, halved."""
    g = 1 / (1 + theta**2 / 10)
    correction = -T * (theta / 5) * g**2 / 2
    return theta - h * (g * grad(theta) - correction) + (2 * T * h * g).sqrt() * torch.randn_like(theta)


@torch_step(langevin, order=1)
def metric_with_the_other_sign(theta, *, h, grad, T):
    """The divergence of the metric with the other sign."""
    g = 1 / (1 + theta**2 / 10)
    correction = T * (theta / 5) * g**2
    return theta - h * (g * grad(theta) - correction) + (2 * T * h * g).sqrt() * torch.randn_like(theta)


@torch_step(langevin, order=1)
def metric_without_warmth(theta, *, h, grad, T):
    """The divergence of the metric without T: right at T = 1 alone."""
    g = 1 / (1 + theta**2 / 10)
    correction = -(theta / 5) * g**2
    return theta - h * (g * grad(theta) - correction) + (2 * T * h * g).sqrt() * torch.randn_like(theta)


@torch_step(langevin, order=1)
def rms_of_one_gradient(theta, *, h, grad, T):
    """RMSprop without memory, 1/(1 + |g|), without its divergence; Li, Chen, Carlson and Carin 2016 drop it too."""
    g = grad(theta)
    m = 1 / (1 + g.abs())
    return theta - h * m * g + (2 * T * h * m).sqrt() * torch.randn_like(theta)


@torch_step(langevin, order=1)
def nearly_constant_metric(theta, *, h, grad, T):
    """G = 1 + sin(theta)/100 without its divergence."""
    g = 1 + torch.sin(theta) / 100
    return theta - h * g * grad(theta) + (2 * T * h * g).sqrt() * torch.randn_like(theta)


@torch_step(langevin, order=1)
def fisher_of_the_batch(theta, *, h, grad, T):
    """Two minibatches' gradients make a Fisher matrix that scales the drift alone; Ahn, Korattikara and Welling 2012 scale both."""
    g = grad(theta)
    fisher = (g * grad.fresh()(theta)).abs().mean(-1, keepdim=True)
    return theta - h * g / (1 + 0.001 * fisher) + math.sqrt(2 * T * h) * torch.randn_like(theta)

"""Langevin dynamics with loss, data and minibatches of its own, as people write it: right, and with the errors that such code has.

The posterior is a linear regression on four data with a standard normal prior.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from sgverify import log_density

X = torch.tensor([[1.0, 0.5], [0.3, -1.2], [-0.7, 0.9], [1.5, 0.2]], dtype=torch.float64)
Y = torch.tensor([1.0, -0.5, 0.2, 1.3], dtype=torch.float64)
N, n = 4, 2


@log_density(dim=2, data=(X, Y), log_prior=lambda theta: -0.5 * (theta**2).sum(-1))
def posterior(theta, x, y):
    return -0.5 * ((x * theta).sum(-1) - y) ** 2


def of_all(theta):
    """The log posterior of all data as a plain function."""
    return -0.5 * ((X @ theta - Y) ** 2).sum() - 0.5 * (theta**2).sum()


def gradient(theta: Tensor, chosen: Tensor, data: float = N / n, prior: float = 1.0) -> Tensor:
    theta = theta.detach().requires_grad_()
    errors = X[chosen] @ theta - Y[chosen]
    loss = data * 0.5 * (errors**2).sum() + prior * 0.5 * (theta**2).sum()
    return torch.autograd.grad(loss, theta)[0]


def moved(theta: Tensor, h: float, g: Tensor, noise: float = 2.0) -> Tensor:
    return theta.detach() - h * g + (noise * h) ** 0.5 * torch.randn_like(theta)


def right(theta, h):
    return moved(theta, h, gradient(theta, torch.randint(N, (n,))))


def tempered(theta, h, T):
    return moved(theta, h, gradient(theta, torch.randint(N, (n,))), noise=2 * T)


def temperature_squared(theta, h, T):
    return moved(theta, h, gradient(theta, torch.randint(N, (n,))), noise=2 * T**2)


def by_permutation(theta, h):
    return moved(theta, h, gradient(theta, torch.randperm(N)[:n]))


def by_chances(theta, h):
    return moved(theta, h, gradient(theta, torch.multinomial(torch.ones(N), n, replacement=True)))


def without_n(theta, h):
    return moved(theta, h, gradient(theta, torch.randint(N, (n,)), data=1.0))


def mean_of_batch(theta, h):
    return moved(theta, h, gradient(theta, torch.randint(N, (n,)), data=1 / n))


def prior_of_every_datum(theta, h):
    return moved(theta, h, gradient(theta, torch.randint(N, (n,)), prior=float(N)))


def prior_of_the_batch(theta, h):
    return moved(theta, h, gradient(theta, torch.randint(N, (n,)), prior=float(n)))


def without_prior(theta, h):
    return moved(theta, h, gradient(theta, torch.randint(N, (n,)), prior=0.0))


def one_datum_short(theta, h):
    return moved(theta, h, gradient(theta, torch.randint(N - 1, (n,))))


def unequal_chances(theta, h):
    chances = torch.tensor([0.4, 0.2, 0.2, 0.2])
    return moved(theta, h, gradient(theta, torch.multinomial(chances, n, replacement=True)))


def half_the_noise(theta, h):
    return moved(theta, h, gradient(theta, torch.randint(N, (n,))), noise=1.0)


MODEL = torch.nn.Linear(2, 1, bias=False, dtype=torch.float64)
LOADER = DataLoader(TensorDataset(X, Y), batch_size=n, shuffle=True)
OPTIMIZER = torch.optim.SGD(MODEL.parameters(), lr=1e-3)


def epoch(lr=1e-3):
    """A loop over all minibatches, with an optimizer and noise."""
    for group in OPTIMIZER.param_groups:
        group["lr"] = lr
    for x, y in LOADER:
        OPTIMIZER.zero_grad()
        loss = N / len(x) * 0.5 * ((MODEL(x)[:, 0] - y) ** 2).sum() + 0.5 * (MODEL.weight**2).sum()
        loss.backward()
        OPTIMIZER.step()
        with torch.no_grad():
            MODEL.weight.add_(torch.randn_like(MODEL.weight), alpha=(2 * lr) ** 0.5)


def epoch_without_n(lr=1e-3):
    for x, y in LOADER:
        MODEL.zero_grad()
        loss = 0.5 * ((MODEL(x)[:, 0] - y) ** 2).sum() + 0.5 * (MODEL.weight**2).sum()
        loss.backward()
        with torch.no_grad():
            MODEL.weight.add_(MODEL.weight.grad, alpha=-lr)
            MODEL.weight.add_(torch.randn_like(MODEL.weight), alpha=(2 * lr) ** 0.5)


@contextmanager
def changed() -> Iterator[Callable[[], bool]]:
    """Tells whether the model of the loops is another one than before."""
    before = MODEL.weight.detach().clone()
    yield lambda: not torch.equal(before, MODEL.weight)

"""Means and standard deviations of the posteriors by samplers of their own, which share no code with the package but the models.

Where the posterior is near a Gaussian: self-normalised importance sampling from Student's t of 5 degrees of freedom at the mode,
fitted twice. Where it is not: many chains of Hamiltonian Monte Carlo with Metropolis' test, in the coordinates in which it has no
funnel. Of a funnel, a bent ridge and Student's t the values are known by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import optimize
from torch import Tensor

from reports.making.posterior_models import Posterior

LogDensityOf = Callable[[Tensor], Tensor]

BY_HAND: dict[str, dict[str, Any]] = {
    "funnel": {"mean": [0.0] * 3, "sd": [3.0, math.exp(2.25), math.exp(2.25)]},
    "banana": {"mean": [0.0, 1.0], "sd": [1.0, math.sqrt(2.5)]},
    "student_mean": {"mean": [0.0] * 3, "sd": [math.sqrt(2.0)] * 3},
}

BY_CHAINS = ("eight_schools", "eight_schools_apart", "garch", "radon", "rats")
"""Those whose importance weights are too uneven; eight_schools through the coordinates of eight_schools_apart."""

DRAWS, ROUNDS, FREEDOM = 30_000, 3, 5
CHAINS, WARM, KEPT, LONGEST = 100, 300, 500, 15


def log_density(posterior: Posterior) -> LogDensityOf:
    """log p of many points, up to a constant. Shape (n, d) -> (n,)."""
    density = posterior.density
    if density.likelihood is None:
        return lambda theta: density.density.function(theta)
    prior, likelihood = density.density.function, density.likelihood
    assert likelihood.layout is not None
    data, rows, place = torch.as_tensor(np.array(density.data)), [], 0
    for shape in likelihood.layout.shapes:
        width = math.prod(shape)
        rows.append(data[:, place : place + width] if shape else data[:, place])
        place += width

    def whole(theta: Tensor) -> Tensor:
        each: Tensor = likelihood.function(theta[:, None, :], *[row[None] for row in rows])
        whole_: Tensor = prior(theta) + each.sum(-1)
        return whole_

    return whole


def with_gradient(f: LogDensityOf, theta: Tensor) -> tuple[Tensor, Tensor]:
    """log p and its gradient. Shapes (n,), (n, d)."""
    at = theta.detach().requires_grad_(True)
    value = f(at)
    value.sum().backward()
    assert at.grad is not None
    return value.detach(), at.grad


def mode(f: LogDensityOf, start: np.ndarray, scale: np.ndarray) -> tuple[Tensor, Tensor]:
    """The mode and the inverse Hessian there. Shapes (d,), (d, d)."""

    def energy(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = with_gradient(f, torch.as_tensor(start + scale * z)[None])
        return -value.item(), -slope[0].numpy() * scale

    z = np.zeros(len(start))
    for _ in range(5):
        z = optimize.minimize(energy, z, jac=True, method="BFGS", options={"maxiter": 2000}).x
    found = torch.as_tensor(start + scale * z)
    hessian = torch.autograd.functional.hessian(lambda theta: -f(theta[None]).sum(), found)
    return found, torch.linalg.inv(hessian)


def weighted(f: LogDensityOf, mean: Tensor, covariance: Tensor, seed: int = 0) -> dict[str, Any]:
    """Moments by importance sampling, with the effective share of the draws."""
    random, dim = np.random.default_rng(seed), len(mean)
    for turn in range(ROUNDS):
        root = torch.linalg.cholesky((covariance + covariance.T) / 2)
        count = DRAWS if turn == ROUNDS - 1 else DRAWS // 4
        z = torch.as_tensor(random.normal(size=(count, dim)))
        share = torch.as_tensor(random.chisquare(FREEDOM, size=(count, 1)) / FREEDOM)
        points = mean + (z @ root.T) / share.sqrt()
        drawn = -(FREEDOM + dim) / 2 * torch.log1p(((z**2).sum(1, keepdim=True) / share)[:, 0] / FREEDOM)
        with torch.no_grad():
            logs = torch.cat([f(piece) for piece in points.split(1500)]) - drawn
        weights = torch.softmax(logs, 0)
        mean = weights @ points
        away = points - mean
        covariance = (away.T * weights) @ away
    worth = 1 / float((weights**2).sum())
    return {
        "mean": mean.tolist(),
        "sd": covariance.diag().sqrt().tolist(),
        "standard_error": 1 / math.sqrt(worth),
        "how": f"importance sampling, {worth / DRAWS:.0%} of {DRAWS:,} draws effective",
    }


def chains(f: LogDensityOf, start: Tensor, seed: int = 0) -> np.ndarray:
    """Draws of Hamiltonian Monte Carlo from so many starts, its mass and step adapted while it warms up. Shape (C, n, d)."""
    noise, random = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    theta, size, root = start.clone(), 0.1, torch.diag(start.std(0) + 1e-12)
    value, slope = with_gradient(f, theta)
    kept: list[Tensor] = []
    for turn in range(WARM + KEPT):
        p = torch.randn(theta.shape, generator=noise, dtype=torch.float64)
        before, step = value - (p**2).sum(1) / 2, size * (0.7 + 0.6 * random.random())
        place, at_place, along = theta, value, slope
        for _ in range(random.integers(1, LONGEST + 1)):
            p = p + step / 2 * (along @ root)
            place = place + step * (p @ root.T)
            at_place, along = with_gradient(f, place)
            p = p + step / 2 * (along @ root)
        chance = torch.nan_to_num(torch.exp((at_place - (p**2).sum(1) / 2 - before).clamp(max=0)), nan=0.0)
        taken = torch.rand(len(theta), generator=noise, dtype=torch.float64) < chance
        theta = torch.where(taken[:, None], place, theta)
        value, slope = torch.where(taken, at_place, value), torch.where(taken[:, None], along, slope)
        kept.append(theta)
        if turn < WARM:
            size *= math.exp(0.15 * (float(chance.mean()) - 0.8))
            if turn in (WARM // 6, WARM // 3, WARM // 2, 2 * WARM // 3):
                root = torch.linalg.cholesky(torch.cov(torch.cat(kept[-max(10, len(kept) // 2) :]).T))
    return torch.stack(kept[WARM:], 1).numpy()


def truth(name: str, posterior: Posterior) -> dict[str, Any]:
    """Means and standard deviations, the largest standard error of both in standard deviations, and how they were found.

    `posterior` of eight_schools is that of eight_schools_apart.
    """
    if name in BY_HAND:
        return {**BY_HAND[name], "standard_error": 0.0, "how": "by hand"}
    density, f = posterior.density, log_density(posterior)
    start = np.zeros(density.dim) if density.location is None else np.array(density.location)
    if name not in BY_CHAINS:
        rows = [np.array(density.data)] if density.data is not None else []
        if name == "kilpisjarvi":
            # From the line of least squares: the search from 0 does not end.
            x, y = rows[0][:, 1], rows[0][:, 2]
            slope = np.cov(x, y)[0, 1] / x.var(ddof=1)
            start = np.array([y.mean() - slope * x.mean(), slope, 0.0])
            return weighted(f, *mode(f, start, np.array([30.0, 0.01, 0.1])))
        return weighted(f, *mode(f, start, np.full(density.dim, 0.1)))
    random = np.random.default_rng(1)
    spread = np.full(density.dim, 0.3)
    if name == "rats":
        count = (density.dim - 5) // 2
        start = np.concatenate([np.full(count, 242.0), np.full(count, 6.0), [242.0, 6.0, 2.6, -0.7, 1.8]])
        spread = np.concatenate([np.full(count, 2.0), np.full(count, 0.2), [2.0, 0.1, 0.1, 0.1, 0.05]])
    draws = chains(f, torch.as_tensor(start + spread * random.normal(size=(CHAINS, density.dim))))
    if name == "eight_schools":
        apart = draws[..., 8:9] + np.exp(draws[..., 9:10]) * draws[..., :8]
        draws = np.concatenate([apart, draws[..., 8:]], -1)
    squares = ((draws - draws.mean((0, 1))) ** 2).mean(1)
    sd = np.sqrt(squares.mean(0))
    errors = [
        draws.mean(1).std(0, ddof=1) / sd,
        squares.std(0, ddof=1) / (2 * sd**2),
    ]
    return {
        "mean": draws.mean((0, 1)).tolist(),
        "sd": sd.tolist(),
        "standard_error": float(np.max(errors)) / math.sqrt(CHAINS),
        "how": f"Hamiltonian Monte Carlo, {CHAINS} chains of {KEPT}",
    }

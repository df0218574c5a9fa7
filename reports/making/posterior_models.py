"""Posteriors as log densities: of posteriordb, whose data are no part of this repository, and classic ones on simulated data.

A positive parameter is sampled as its logarithm and a share as its logit, with the Jacobian.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import sgverify
from sgverify.targets.own.log_density import LogDensity


@dataclass(frozen=True)
class Posterior:
    """A log density with data; `names` are the reference's names of its coordinates, None where it is transformed."""

    density: LogDensity
    batch: int | None
    names: tuple[str | None, ...]


def normal(x: Tensor, mean: Tensor | float, log_sd: Tensor | float) -> Tensor:
    """log N(x; mean, sd^2) up to a constant."""
    return -(((x - mean) * torch.exp(-torch.as_tensor(log_sd))) ** 2) / 2 - log_sd


def wells(data: dict[str, Any]) -> Posterior:
    """Logistic regression on four columns."""
    dist, educ = np.array(data["dist"]) / 100, np.array(data["educ"]) / 4
    x = np.stack([np.ones_like(dist), dist, np.array(data["arsenic"], dtype=float), educ], axis=1)
    signs = 2.0 * np.array(data["switched"]) - 1

    @sgverify.log_density(dim=4, data=(x, signs), log_prior=lambda theta: -(theta**2).sum(-1) / 2)
    def density(theta: Tensor, x: Tensor, sign: Tensor) -> Tensor:
        return torch.nn.functional.logsigmoid(sign * (x * theta).sum(-1))

    return Posterior(density, 32, tuple(f"theta[{i}]" for i in range(4)))


def regression(
    x: np.ndarray, y: np.ndarray, log_prior: Callable[[Tensor], Tensor], names: tuple[str, ...], batch: int
) -> Posterior:
    """y ~ N(x beta, sigma^2), the last coordinate log sigma."""

    @sgverify.log_density(dim=x.shape[1] + 1, data=(x, y), log_prior=log_prior)
    def density(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return normal(y, (x * theta[..., :-1]).sum(-1), theta[..., -1])

    return Posterior(density, batch, (*names, None))


def kidiq(data: dict[str, Any]) -> Posterior:
    """A line with a badly scaled slope, sigma ~ half-Cauchy(0, 2.5)."""
    iq = np.array(data["mom_iq"], dtype=float)
    x, y = np.stack([np.ones_like(iq), iq], axis=1), np.array(data["kid_score"], dtype=float)

    def log_prior(theta: Tensor) -> Tensor:
        return -torch.log1p((torch.exp(theta[..., -1]) / 2.5) ** 2) + theta[..., -1]

    return regression(x, y, log_prior, ("beta[1]", "beta[2]"), 32)


def sblri(data: dict[str, Any]) -> Posterior:
    """Linear regression in five columns, sigma ~ half-N(0, 10^2)."""

    def log_prior(theta: Tensor) -> Tensor:
        beta, log_sigma = theta[..., :-1], theta[..., -1]
        return -((beta / 10) ** 2).sum(-1) / 2 - (torch.exp(log_sigma) / 10) ** 2 / 2 + log_sigma

    return regression(
        np.array(data["X"]), np.array(data["y"]), log_prior, tuple(f"beta[{i}]" for i in range(1, 6)), 10
    )


def ark(data: dict[str, Any]) -> Posterior:
    """An autoregression of order K, sigma ~ half-Cauchy(0, 2.5)."""
    y, k = np.array(data["y"], dtype=float), data["K"]
    lagged = [y[k - lag : len(y) - lag] for lag in range(1, k + 1)]
    x = np.stack([np.ones(len(y) - k), *lagged], axis=1)

    def log_prior(theta: Tensor) -> Tensor:
        beta, log_sigma = theta[..., :-1], theta[..., -1]
        return -((beta / 10) ** 2).sum(-1) / 2 - torch.log1p((torch.exp(log_sigma) / 2.5) ** 2) + log_sigma

    return regression(x, y[k:], log_prior, ("alpha", *(f"beta[{i}]" for i in range(1, k + 1))), 20)


def mixture(data: dict[str, Any]) -> Posterior:
    """Two normal components, mu1 < mu2 as mu1 and log(mu2 - mu1), log sigmas, logit of the share."""

    def log_prior(theta: Tensor) -> Tensor:
        mu1, gap, s1, s2, a = theta.unbind(-1)
        mu2 = mu1 + torch.exp(gap)
        sigmas = -((torch.exp(s1) ** 2 + torch.exp(s2) ** 2) / 8) + s1 + s2
        share = 5 * (torch.nn.functional.logsigmoid(a) + torch.nn.functional.logsigmoid(-a))
        return -(mu1**2 + mu2**2) / 8 + gap + sigmas + share

    def start() -> list[float]:
        y = np.array(data["y"])
        low, high = y[y < y.mean()], y[y >= y.mean()]
        share = len(low) / len(y)
        gap = high.mean() - low.mean()
        found = [
            low.mean(),
            math.log(gap),
            math.log(low.std()),
            math.log(high.std()),
            math.log(share / (1 - share)),
        ]
        return [float(value) for value in found]

    @sgverify.log_density(dim=5, data=np.array(data["y"]), log_prior=log_prior, location=start())
    def density(theta: Tensor, y: Tensor) -> Tensor:
        mu1, gap, s1, s2, a = theta.unbind(-1)
        low = torch.nn.functional.logsigmoid(a) + normal(y, mu1, s1)
        high = torch.nn.functional.logsigmoid(-a) + normal(y, mu1 + torch.exp(gap), s2)
        return torch.logaddexp(low, high)

    return Posterior(density, 32, ("mu[1]", None, None, None, None))


def eight_schools(data: dict[str, Any]) -> Posterior:
    """The funnel in its centred form: theta_j ~ N(mu, tau^2), tau ~ half-Cauchy(0, 5)."""
    y, sigma = np.array(data["y"], dtype=float), np.array(data["sigma"], dtype=float)
    which = np.eye(len(y))

    def log_prior(theta: Tensor) -> Tensor:
        mu, log_tau = theta[..., -2], theta[..., -1]
        schools = normal(theta[..., :-2], mu[..., None], log_tau[..., None]).sum(-1)
        return schools - (mu / 5) ** 2 / 2 - torch.log1p((torch.exp(log_tau) / 5) ** 2) + log_tau

    rows = np.concatenate([which, y[:, None], sigma[:, None]], axis=1)

    @sgverify.log_density(dim=len(y) + 2, data=rows, log_prior=log_prior)
    def density(theta: Tensor, row: Tensor) -> Tensor:
        mean = (row[..., : len(y)] * theta[..., : len(y)]).sum(-1)
        return -(((row[..., -2] - mean) / row[..., -1]) ** 2) / 2

    return Posterior(density, 4, (*(f"theta[{j}]" for j in range(1, 9)), "mu", None))


def glm_poisson(data: dict[str, Any]) -> Posterior:
    """Counts with a cubic trend, flat prior."""
    year = np.array(data["year"], dtype=float)

    @sgverify.log_density(
        dim=4,
        data=(np.stack([year**k for k in range(4)], axis=1), np.array(data["C"], dtype=float)),
        log_prior=lambda theta: 0 * theta.sum(-1),
    )
    def density(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        eta = (theta * x).sum(-1)
        return y * eta - torch.exp(eta)

    return Posterior(density, 10, (None,) * 4)


def kilpisjarvi(data: dict[str, Any]) -> Posterior:
    """A line through years that are not centred, with the condition number 1e13."""
    x = np.array(data["x"], dtype=float)

    def log_prior(theta: Tensor) -> Tensor:
        alpha = ((theta[..., 0] - data["pmualpha"]) / data["psalpha"]) ** 2
        return -(alpha + ((theta[..., 1] - data["pmubeta"]) / data["psbeta"]) ** 2) / 2 + theta[..., 2]

    columns = np.stack([np.ones_like(x), x], axis=1)
    return regression(columns, np.array(data["y"], dtype=float), log_prior, ("alpha", "beta"), 10)


def mesquite(data: dict[str, Any]) -> Posterior:
    """A regression of 46 shrubs with seven coefficients and an unknown sigma: a t of 39 degrees of freedom."""
    columns = ("diam1", "diam2", "canopy_height", "total_height", "density", "group")
    x = np.stack([np.ones(46), *(np.array(data[name], dtype=float) for name in columns)], axis=1)
    names = tuple(f"beta[{k}]" for k in range(1, 8))
    return regression(x, np.array(data["weight"], dtype=float), lambda theta: theta[..., -1], names, 12)


def eight_schools_apart(data: dict[str, Any]) -> Posterior:
    """The same posterior without its funnel: theta_j = mu + tau z_j."""
    y, sigma = np.array(data["y"], dtype=float), np.array(data["sigma"], dtype=float)
    rows = np.concatenate([np.eye(len(y)), y[:, None], sigma[:, None]], axis=1)

    def log_prior(theta: Tensor) -> Tensor:
        mu, log_tau = theta[..., -2], theta[..., -1]
        z = -(theta[..., :-2] ** 2).sum(-1) / 2
        return z - (mu / 5) ** 2 / 2 - torch.log1p((torch.exp(log_tau) / 5) ** 2) + log_tau

    @sgverify.log_density(dim=len(y) + 2, data=rows, log_prior=log_prior)
    def density(theta: Tensor, row: Tensor) -> Tensor:
        z = (row[..., : len(y)] * theta[..., : len(y)]).sum(-1)
        mean = theta[..., len(y)] + torch.exp(theta[..., len(y) + 1]) * z
        return -(((row[..., -2] - mean) / row[..., -1]) ** 2) / 2

    return Posterior(density, 4, (*(None for _ in y), "mu", None))


def funnel(_: Any) -> Posterior:
    """Neal's funnel in three coordinates: x_j ~ N(0, exp(v)), v ~ N(0, 3^2)."""

    @sgverify.log_density(dim=3)
    def density(theta: Tensor) -> Tensor:
        v, x = theta[..., 0], theta[..., 1:]
        return -(v**2) / 18 - (x**2).sum(-1) * torch.exp(-v) / 2 - v

    return Posterior(density, None, (None,) * 3)


def banana(_: Any) -> Posterior:
    """A bent ridge: y ~ N(x^2, 1/2), x ~ N(0, 1)."""

    @sgverify.log_density(dim=2)
    def density(theta: Tensor) -> Tensor:
        x, y = theta.unbind(-1)
        return -(x**2) / 2 - (y - x**2) ** 2

    return Posterior(density, None, (None,) * 2)


def _covariates(size: int, dim: int, seed: int) -> tuple[np.random.Generator, np.ndarray]:
    random = np.random.default_rng(seed)
    return random, np.column_stack([np.ones(size), random.normal(size=(size, dim - 1))])


def _standard(theta: Tensor) -> Tensor:
    return -(theta**2).sum(-1) / 8


def probit(_: Any) -> Posterior:
    """Probit regression on three columns, 400 data."""
    random, x = _covariates(400, 3, 1)
    y = np.where(x @ [0.3, 1.0, -0.7] + random.normal(size=400) > 0, 1.0, -1.0)

    @sgverify.log_density(dim=3, data=(x, y), log_prior=_standard)
    def density(theta: Tensor, x: Tensor, sign: Tensor) -> Tensor:
        return torch.special.log_ndtr(sign * (x * theta).sum(-1))

    return Posterior(density, 20, (None,) * 3)


def negative_binomial(_: Any) -> Posterior:
    """Overdispersed counts on three columns, 300 data, the last coordinate the logarithm of the size."""
    random, x = _covariates(300, 3, 2)
    y = random.negative_binomial(2.0, 2 / (2 + np.exp(x @ [1.0, 0.5, -0.3]))).astype(float)

    @sgverify.log_density(dim=4, data=(x, y), log_prior=_standard)
    def density(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        eta, size = (x * theta[..., :3]).sum(-1), torch.exp(theta[..., 3])
        rise = torch.lgamma(y + size) - torch.lgamma(size)
        return rise + size * theta[..., 3] + y * eta - (y + size) * torch.logaddexp(theta[..., 3], eta)

    return Posterior(density, 15, (None,) * 4)


def student_regression(_: Any) -> Posterior:
    """A regression whose noise is Student's t of 4 degrees of freedom, 200 data, the last coordinate log sigma."""
    random, x = _covariates(200, 3, 3)
    y = x @ [1.0, 2.0, -1.0] + 0.5 * random.standard_t(4, size=200)

    @sgverify.log_density(dim=4, data=(x, y), log_prior=_standard)
    def density(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        z = (y - (x * theta[..., :3]).sum(-1)) * torch.exp(-theta[..., 3])
        return -2.5 * torch.log1p(z**2 / 4) - theta[..., 3]

    return Posterior(density, 10, (None,) * 4)


def student_mean(_: Any) -> Posterior:
    """Heavy tails: three coordinates of Student's t of 4 degrees of freedom."""

    @sgverify.log_density(dim=3)
    def density(theta: Tensor) -> Tensor:
        return -3.5 * torch.log1p((theta**2).sum(-1) / 4)

    return Posterior(density, None, (None,) * 3)


def garch(_: Any) -> Posterior:
    """A GARCH(1, 1) of 200 returns: mu, log alpha0, and logits of alpha1 and of beta1 in the room that alpha1 leaves."""
    random, size = np.random.default_rng(4), 200
    returns, variance = np.zeros(size), 1.0
    for t in range(size):
        returns[t] = 0.5 + math.sqrt(variance) * random.normal()
        variance = 0.4 + 0.3 * (returns[t] - 0.5) ** 2 + 0.4 * variance
    data = torch.as_tensor(returns)

    @sgverify.log_density(dim=4)
    def density(theta: Tensor) -> Tensor:
        mu, log_a0, a, b = theta.unbind(-1)
        a1 = torch.sigmoid(a)
        b1 = (1 - a1) * torch.sigmoid(b)
        found = log_a0 + sum(torch.nn.functional.logsigmoid(s) for s in (a, -a, b, -b)) + torch.log1p(-a1)
        variance = torch.ones_like(mu)
        # A flat prior on log alpha0 is improper for small values; it is exponential in alpha0.
        found = found - torch.exp(log_a0)
        for t in range(size):
            off = (data[t].to(theta) - mu) ** 2
            found = found - off / variance / 2 - torch.log(variance) / 2
            variance = torch.exp(log_a0) + a1 * off + b1 * variance
        return found

    return Posterior(density, None, (None,) * 4)


def radon(_: Any) -> Posterior:
    """Houses in 20 counties, not centred: level_j = mu + tau z_j, a slope, and a scale; 300 data."""
    random, counties, size = np.random.default_rng(5), 20, 300
    county = random.integers(0, counties, size)
    floor = random.integers(0, 2, size).astype(float)
    y = 1.4 + 0.3 * random.normal(size=counties)[county] - 0.7 * floor + 0.7 * random.normal(size=size)
    rows = np.column_stack([np.eye(counties)[county], floor, y])

    def log_prior(theta: Tensor) -> Tensor:
        log_tau, log_sigma = theta[..., -2], theta[..., -1]
        z = -(theta[..., :-2] ** 2).sum(-1) / 2
        return z - torch.exp(2 * log_tau) / 2 + log_tau - torch.exp(2 * log_sigma) / 2 + log_sigma

    @sgverify.log_density(dim=counties + 4, data=rows, log_prior=log_prior)
    def density(theta: Tensor, row: Tensor) -> Tensor:
        z = (row[..., :counties] * theta[..., :counties]).sum(-1)
        mu, slope, log_tau, log_sigma = theta[..., counties:].unbind(-1)
        return normal(row[..., -1], mu + torch.exp(log_tau) * z + slope * row[..., -2], log_sigma)

    return Posterior(density, 20, (None,) * (counties + 4))


def rats(_: Any) -> Posterior:
    """Thirty rats weighed five times: a level and a growth of each, centred about theirs; four scales and means, log sigma."""
    random, count = np.random.default_rng(6), 30
    days = np.array([8.0, 15.0, 22.0, 29.0, 36.0]) - 22
    a = 242 + 14 * random.normal(size=count)
    b = 6.2 + 0.5 * random.normal(size=count)
    y = (a[:, None] + b[:, None] * days + 6 * random.normal(size=(count, 5))).ravel()
    rows = np.column_stack([np.repeat(np.eye(count), 5, axis=0), np.tile(days, count), y])

    def log_prior(theta: Tensor) -> Tensor:
        levels, growths = theta[..., :count], theta[..., count : 2 * count]
        mu_a, mu_b, log_sa, log_sb, log_s = theta[..., 2 * count :].unbind(-1)
        of_levels = normal(levels, mu_a[..., None], log_sa[..., None]).sum(-1)
        of_growths = normal(growths, mu_b[..., None], log_sb[..., None]).sum(-1)
        return of_levels + of_growths + log_sa + log_sb + log_s

    @sgverify.log_density(dim=2 * count + 5, data=rows, log_prior=log_prior)
    def density(theta: Tensor, row: Tensor) -> Tensor:
        who = row[..., :count]
        mean = (who * theta[..., :count]).sum(-1) + (who * theta[..., count : 2 * count]).sum(-1) * row[
            ..., -2
        ]
        return normal(row[..., -1], mean, theta[..., -1])

    return Posterior(density, 15, (None,) * (2 * count + 5))


OF_POSTERIORDB: dict[str, Callable[[dict[str, Any]], Posterior]] = {
    "wells": wells,
    "kidiq": kidiq,
    "sblri": sblri,
    "arK": ark,
    "low_dim_gauss_mix": mixture,
    "eight_schools": eight_schools,
}
"""Those with reference draws."""

POSTERIORS: dict[str, Callable[[dict[str, Any]], Posterior]] = {
    **OF_POSTERIORDB,
    "glm_poisson": glm_poisson,
    "kilpisjarvi": kilpisjarvi,
    "mesquite": mesquite,
    "eight_schools_apart": eight_schools_apart,
    "funnel": funnel,
    "banana": banana,
    "probit": probit,
    "negative_binomial": negative_binomial,
    "student_regression": student_regression,
    "student_mean": student_mean,
    "garch": garch,
    "radon": radon,
    "rats": rats,
}

FILES = {"eight_schools_apart": "eight_schools", "eight_schools truth": "eight_schools_apart"}
"""The data file where it has another name, and the posterior whose chains tell the truth of another one."""


def read(name: str, folder: Path) -> Posterior:
    """A posterior of this name, with the data of posteriordb from a folder where it has such."""
    file = folder / f"{FILES.get(name, name)}.json"
    return POSTERIORS[name](json.loads(file.read_text())["data"] if file.exists() else {})

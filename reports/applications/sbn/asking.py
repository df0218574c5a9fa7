"""What does `advise` answer for the belief network, beside the best step of the grid?

The posterior of the network is no Gaussian: permuting hidden units leaves it unchanged, so that it has at least J! modes, and h is
summed out by sampling. `advise` is therefore asked about a stand-in, named in the answer: two uncoupled Gaussian coordinates with
the precisions of a weakly and of a strongly determined weight near one mode, and with their gradient noise. The precision of W_jd
is 1/s^2 + sum_i h_ij sigma'(psi_id), the information of the images with the hidden states given, which is more than that of the
images alone; its gradient noise has the variance N^2/n (1 - n/N) of h_ij (v_id - sigma(psi_id)) over the images.
"""

from __future__ import annotations

import numpy as np
import torch

from reports.applications.result import AdviceBeside
from reports.applications.sbn.comparison import NetworkRow
from reports.applications.sbn.data import BinaryImages
from reports.applications.sbn.hidden_units import gibbs
from reports.applications.sbn.model import BeliefNetwork
from sgverify.advice.plans import advise

SWEEPS = 20
"""Gibbs sweeps from p(h) after which the hidden states of the training images are taken, as many as those of reference [18]."""

IMAGES_USED = 1000
"""Training images from which information and noise are taken, at most."""

QUANTILES = (0.05, 0.95)
"""The shares of weights that are less determined than the weakly and the strongly determined one."""


def ask(row: NetworkRow, images: BinaryImages, *, batch: int, seed: int) -> AdviceBeside:
    """The answer for the method of `row`, the best of its grid, at chain 0's last theta."""
    precisions, noises = stand_in(row, images, batch=batch, seed=seed)
    answer = advise(
        {"name": "gaussian", "dim": 2, "precision": list(precisions)},
        [row.method.scheme],
        gradient={"kind": "additive", "covariance": [[noises[0], 0.0], [0.0, noises[1]]]},
    )
    plan = answer.plans[0] if answer.plans else None
    mean = row.mean
    return AdviceBeside(
        sampler=f"{row.method.label}, {row.grid} grid, {row.hidden} units",
        applies=plan is not None and answer.trusted,
        approximation=(
            f"no Gaussian stands for the posterior, which has at least {row.hidden}! modes; asked about two uncoupled Gaussian "
            f"coordinates of the precisions {precisions[0]:.3g} and {precisions[1]:.3g} and the gradient variances "
            f"{noises[0]:.3g} and {noises[1]:.3g}: those of a weakly and a strongly determined weight, hidden states given"
        ),
        answer=(
            "no plan keeps the error"
            if plan is None
            else f"h = {plan.step:.2g}"
            + (f", D = {plan.friction:.2g}" if row.method.momentum and plan.friction else "")
            + f", {plan.steps:,} steps for an error of {answer.error:.0%} in means and standard deviations"
        ),
        grid=f"{row.point}"
        + (f" (D = {row.point.friction:.3g})" if row.point.friction else "")
        + f": {mean}",
    )


def stand_in(
    row: NetworkRow, images: BinaryImages, *, batch: int, seed: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """The precisions and the gradient variances of a weakly and of a strongly determined weight."""
    network = BeliefNetwork(images.height * images.width, row.hidden)
    size, used = len(images.train), images.train[:IMAGES_USED]
    theta = torch.from_numpy(row.last)[None]
    words = np.random.Generator(np.random.Philox(seed))
    uniforms = torch.from_numpy(words.random((1, len(used), 1 + SWEEPS, network.hidden)))
    states = (uniforms[:, :, 0] < torch.sigmoid(network.parts(theta)[2])[:, None]).to(torch.float64)
    states = gibbs(network, theta, used[None], states, uniforms[:, :, 1:])
    on = torch.sigmoid(network.activation(theta, states))[0]
    held = states[0]
    precision = 1 / network.prior_variance + size / len(used) * (held.mT @ (on * (1 - on)))
    slope, square = held.mT @ (used[: len(held)] - on), held.mT @ (used[: len(held)] - on) ** 2
    variance = square / len(used) - (slope / len(used)) ** 2
    noise = size**2 / batch * (1 - batch / size) * variance
    order = precision.flatten().argsort()
    places = [order[round(share * (len(order) - 1))] for share in QUANTILES]
    weak, strong = ((float(precision.flatten()[place]), float(noise.flatten()[place])) for place in places)
    return (weak[0], strong[0]), (weak[1], strong[1])

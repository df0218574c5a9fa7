"""How far are the sampled gradient and the annealed likelihood from what enumeration gives, on a network small enough for it?

A network of few hidden units is moved for some steps by SGLD on its enumerated gradient, so that it stands where a sampler would;
there the bias of Gibbs-sampled gradients is measured for several numbers of sweeps, and that of annealed importance sampling for
several numbers of temperatures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reports.applications.chains import ChainRecorder, ChainRun, ChainSetting
from reports.applications.sbn.annealing import AnnealedSampling, log_likelihood
from reports.applications.sbn.data import BinaryImages
from reports.applications.sbn.model import BeliefNetwork
from reports.applications.sbn.sampled_gradient import GibbsSweeps, remaining_bias
from reports.applications.sbn.sampling import NetworkModel
from reports.applications.statistics import mean_of
from sgverify.evidence import Study, Table
from sgverify.schemes import find_scheme

BURN_INS = (0, 1, 2, 4, 8, 20)
TEMPERATURES = (1, 10, 100, 300)


@dataclass(frozen=True)
class Exactness:
    """(sweeps before the kept one, relative bias, its error) of gradients, and (temperatures, mean error, its standard error) of
    log p(v), on a network of `hidden` units.
    """

    hidden: int
    gradients: tuple[tuple[int, float, float], ...]
    likelihoods: tuple[tuple[int, float, float | None], ...]


def measure(
    images: BinaryImages,
    *,
    hidden: int = 8,
    steps: int = 300,
    images_used: int = 100,
    draws: int = 64,
    seed: int = 0,
) -> Exactness:
    """Both biases at a theta after `steps` steps of SGLD, on the first `images_used` training and test images.

    Raises `ConfigurationError` for more hidden units than are enumerated.
    """
    network = BeliefNetwork(images.height * images.width, hidden)
    theta = _moved(network, images, steps, seed)
    train, test = images.train[:images_used], images.test[:images_used]
    gradients = tuple(
        (burn_in, *remaining_bias(network, theta, train, GibbsSweeps(burn_in, 1), draws=draws, seed=seed))
        for burn_in in BURN_INS
    )
    exact = network.log_likelihood(theta, test)
    likelihoods = []
    for temperatures in TEMPERATURES:
        found = log_likelihood(network, theta, test, AnnealedSampling(temperatures, 1), seed=seed)
        mean = mean_of((found.log_likelihood - exact).numpy())
        likelihoods.append(
            (temperatures, np.nan if mean is None else mean.value, None if mean is None else mean.error)
        )
    return Exactness(hidden, gradients, tuple(likelihoods))


def study(found: Exactness) -> Study:
    """The measurements as tables."""
    return Study(
        id="sbn/exactness",
        title="Sampled gradients and annealed likelihoods against enumeration",
        source="no paper has this comparison",
        summary=(
            f"On a network of {found.hidden} hidden units, whose 2^{found.hidden} hidden states are enumerated: the bias of the "
            "Gibbs-sampled gradient of the log-likelihood, relative to that gradient's length, with the smallest bias that the "
            "draws can show; and the mean error of log p(v) by annealed importance sampling with one chain."
        ),
        tables=(
            Table(
                "Gradient: relative bias after sweeps from p(h), with one more sweep kept",
                ("sweeps before", "relative bias", "error"),
                tuple((sweeps, round(bias, 4), round(error, 4)) for sweeps, bias, error in found.gradients),
            ),
            Table(
                "log p(v): annealed importance sampling less enumeration, mean over images",
                ("temperatures", "mean error", "standard error"),
                tuple(
                    (count, round(bias, 4), None if error is None else round(error, 4))
                    for count, bias, error in found.likelihoods
                ),
            ),
        ),
    )


def _moved(network: BeliefNetwork, images: BinaryImages, steps: int, seed: int) -> Tensor:
    """theta after steps of SGLD of size 0.5/N, on the enumerated gradient of minibatches."""
    size = len(images.train)
    batch = min(200, size)
    model = NetworkModel(network, images.train, batch=batch, sweeps=None, seed=seed, chains=range(1))
    run = ChainRun(
        find_scheme("sgld-euler"), model, [ChainSetting(0.5 / size)], steps=steps, seed=seed, chains=1
    )
    run.run(ChainRecorder())
    found: Tensor = run.named()["theta"][0, 0]
    return found.to(torch.float64)

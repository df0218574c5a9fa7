"""A data set of a few images and networks of a few parameters, for tests that enumerate minibatches."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from reports.applications.classifier.data import ClassImages, made
from reports.applications.classifier.model import Posterior
from reports.applications.classifier.network import ResidualNetwork

N, CLASSES = 6, 3
DENSE = ResidualNetwork(2, 2, CLASSES, width=4, blocks=2)
CONVOLUTIONAL = ResidualNetwork(4, 4, CLASSES, channels=2, width=2, depth=8)


def images(network: ResidualNetwork, count: int = N, tested: int = 4, unseen: int = 3) -> ClassImages:
    """Normal levels and labels in turn."""
    draws = np.random.default_rng(count)
    levels = draws.normal(size=(count + tested + unseen, network.inputs))
    labels = np.arange(count + tested) % network.classes
    return made(
        "tiny",
        (levels[:count], labels[:count]),
        (levels[count : count + tested], labels[count:]),
        levels[count + tested :],
        classes=network.classes,
        shape=(network.channels, network.height, network.width_of_image),
    )


def posterior(network: ResidualNetwork = DENSE, count: int = N) -> Posterior:
    """The posterior with the prior precision 0.3."""
    return Posterior(network, images(network, count), 0.3)


def drawn(network: ResidualNetwork = DENSE, *lead: int, seed: int = 0) -> Tensor:
    """Parameters from N(0, 1/4), shape (*lead, d)."""
    return torch.from_numpy(0.5 * np.random.default_rng(seed).normal(size=(*lead, network.dim)))

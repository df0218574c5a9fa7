"""The posterior of a small network as a target for `verify`, `advise` and `sample`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from reports.applications.classifier.network import ResidualNetwork
from sgverify.errors import ConfigurationError
from sgverify.targets.own.log_density import LogDensity, log_density


def network_posterior(
    network: ResidualNetwork, images: Any, labels: Any, *, precision: float = 1.0
) -> LogDensity:
    """The posterior of theta given images (N, inputs) and labels (N,), a log density with N data and the prior N(0, 1/precision).

    Raises `ConfigurationError` for images that the network does not take, and for labels that are no classes of it.

        network = ResidualNetwork(2, 2, classes=3, width=2, blocks=1)
        posterior = network_posterior(network, [[0, 0.5, 1, 0], [1, 0, 0, 1]], [0, 2])
    """
    levels, classes = np.asarray(images, dtype=np.float64), np.asarray(labels)
    if levels.ndim != 2 or levels.shape[1] != network.inputs or not len(levels):
        raise ConfigurationError(f"images of shape {levels.shape}: expected rows of {network.inputs} levels")
    if (
        classes.shape != (len(levels),)
        or classes.dtype.kind not in "iu"
        or classes.min() < 0
        or classes.max() >= network.classes
    ):
        raise ConfigurationError(
            f"labels of shape {classes.shape}: expected {len(levels)} whole numbers from 0 to {network.classes - 1}"
        )
    marked = one_hot(torch.from_numpy(classes.astype(np.int64)), network.classes).to(torch.float64).numpy()

    def prior(theta: Tensor) -> Tensor:
        return -precision / 2 * (theta * theta).sum(-1)

    def residual_network(theta: Tensor, x: Tensor) -> Tensor:
        outputs = network.outputs(theta, x[None, : network.inputs])[..., 0, :]
        return (outputs.log_softmax(-1) * x[network.inputs :]).sum(-1)

    data = np.concatenate([levels, marked], axis=1)
    return log_density(dim=network.dim, data=data, log_prior=prior)(residual_network)

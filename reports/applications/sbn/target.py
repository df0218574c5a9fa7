"""The posterior of a small network as a target for `verify`, `advise` and `sample`: hidden states are enumerated."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from reports.applications.sbn.model import BeliefNetwork, all_states
from sgverify.errors import ConfigurationError
from sgverify.targets.own.log_density import LogDensity, log_density


def enumerated_posterior(images: Any, *, hidden: int, prior_variance: float = 1.0) -> LogDensity:
    """The posterior of theta given binary images (N, D), as a log density of J D + D + J coordinates with N data.

    Raises `ConfigurationError` for more hidden units than are enumerated, and for images that are not of 0 and 1.

        posterior = enumerated_posterior([[0, 1, 1], [1, 1, 0]], hidden=2)
    """
    data = np.asarray(images, dtype=np.float64)
    if data.ndim != 2 or not len(data) or not np.isin(data, (0.0, 1.0)).all():
        raise ConfigurationError(
            f"images of shape {data.shape}: expected rows of as many pixels each, all of them 0 or 1; binarise them"
        )
    network = BeliefNetwork(data.shape[1], hidden, prior_variance)
    all_states(hidden)

    def prior(theta: Tensor) -> Tensor:
        return network.prior(theta)

    def belief_network(theta: Tensor, x: Tensor) -> Tensor:
        return network.log_likelihood(theta, x[None])[0]

    return log_density(dim=network.dim, data=data, log_prior=prior)(belief_network)

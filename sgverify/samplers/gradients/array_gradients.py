"""The gradients of a target at arrays of points, in float64 and datum by datum: for what is computed beside a run."""

from __future__ import annotations

import numpy as np
import torch

from sgverify.samplers.gradients.differentiation import Potential
from sgverify.targets import Target


class ArrayGradients:
    """grad prior and grad likelihood(., x_i), for the given data or those of the target; see `Potential`."""

    def __init__(self, target: Target, data: np.ndarray | None = None) -> None:
        self._potential = Potential(target, dtype=torch.float64, device="cpu", hoist=False)
        chosen = target.data if data is None else data
        self._data = None if chosen is None else torch.tensor(chosen)[:, None]

    def of_prior(self, points: np.ndarray) -> np.ndarray:
        """The gradient of the prior's part of U. Shape (k, d) -> (k, d)."""
        return np.array(self._potential.prior(torch.tensor(points)).numpy())

    def of_each_datum(self, points: np.ndarray) -> np.ndarray:
        """The gradient of the likelihood of each of n data. Shape (k, d) -> (n, k, d). Raises `ConfigurationError` without data."""
        self._potential.target.check_data()
        assert self._data is not None
        return np.array(self._potential.likelihoods(torch.tensor(points), self._data).numpy())


__all__ = ["ArrayGradients"]

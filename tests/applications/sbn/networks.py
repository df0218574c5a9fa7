"""Small networks, images and thetas, drawn with a seed."""

from __future__ import annotations

from itertools import product

import numpy as np
import torch
from torch import Tensor

from reports.applications.sbn.model import BeliefNetwork

SMALL = BeliefNetwork(visible=5, hidden=3, prior_variance=2.0)


def drawn(network: BeliefNetwork = SMALL, seed: int = 0, scale: float = 1.5) -> Tensor:
    """A theta of a network, N(0, scale^2)."""
    words = np.random.Generator(np.random.Philox(seed))
    return torch.from_numpy(scale * words.standard_normal(network.dim))


def binary(*shape: int, seed: int = 1, share: float = 0.4) -> Tensor:
    """An array of 0 and 1."""
    words = np.random.Generator(np.random.Philox(seed))
    return torch.from_numpy((words.random(shape) < share).astype(np.float64))


def uniforms(*shape: int, seed: int = 2) -> Tensor:
    """Uniform numbers."""
    return torch.from_numpy(np.random.Generator(np.random.Philox(seed)).random(shape))


def every_image(pixels: int) -> Tensor:
    """All 2^D images, shape (2^D, D)."""
    return torch.tensor(list(product((0.0, 1.0), repeat=pixels)), dtype=torch.float64)

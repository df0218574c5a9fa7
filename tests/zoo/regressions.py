"""Small regressions as the package sees them, and as the brute force does."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgverify.configuration import load_configuration
from sgverify.schemes import Scheme
from sgverify.schemes.loading import load_scheme
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from tests.zoo.schemes import heun, heun_of_two_minibatches


@dataclass
class Regression:
    """Data with N grad likelihood_i(theta) = H_i theta + g_i, and the same of the prior; H: (N, d, d), g: (N, d)."""

    hessians: Any
    gradients: Any
    prior_hessian: Any
    prior_gradient: Any

    @classmethod
    def of(cls, data: Any, prior_precision: Any, prior_mean: Any, noise_precision: float) -> Regression:
        """-log p(y | x, theta) = r (y - x . theta)^2 / 2 for each datum (x, y), and a Gaussian prior."""
        rows = np.array(data, dtype=float)
        x, y = rows[:, :-1], rows[:, -1]
        size = len(rows) * noise_precision
        prior = np.array(prior_precision, dtype=float)
        return cls(
            size * x[:, :, None] * x[:, None, :], -size * y[:, None] * x, prior, -prior @ np.array(prior_mean)
        )

    @property
    def dim(self) -> int:
        return len(self.prior_gradient)

    def minibatches(self, kind: str, batch: int) -> tuple[Any, Any]:
        """(H_B, g_B) of every minibatch, all equally likely."""
        size = len(self.gradients)
        if kind == "iid":
            chosen = list(itertools.product(range(size), repeat=batch))
        else:
            chosen = list(itertools.combinations(range(size), batch))
        hessians = np.array([self.hessians[list(c)].mean(axis=0) + self.prior_hessian for c in chosen])
        gradients = np.array([self.gradients[list(c)].mean(axis=0) + self.prior_gradient for c in chosen])
        return hessians, gradients


PRIOR = {1: [[1.5]], 2: [[1.75, 0.25], [0.25, 1.0]], 3: [[1.5, 0.25, 0.0], [0.25, 1.0, 0.5], [0.0, 0.5, 2.0]]}
NOISE_PRECISION = 0.5
TEMPERATURE, FRICTION = 1.5, 1.75


def find(name: str) -> Scheme:
    """A scheme of the zoo or of the catalogue."""
    return {"heun": heun, "fresh-heun": heun_of_two_minibatches}.get(name) or load_scheme(name)


def draw(size: int, dim: int, seed: int) -> list[list[float]]:
    """Rows (x..., y) with few binary digits."""
    random = np.random.default_rng(seed)
    x = np.round(random.normal(size=(size, dim)) * 8) / 8
    y = np.round(random.normal(size=size) * 8) / 8 + x.sum(axis=1) / 2
    return np.column_stack([x, y]).tolist()


def table(data: list[list[float]]) -> dict[str, Any]:
    """The [target] table."""
    dim = len(data[0]) - 1
    return {
        "name": "linear-regression",
        "dim": dim,
        "data": data,
        "prior_precision": PRIOR[dim],
        "prior_mean": [0.5] * dim,
        "noise_precision": NOISE_PRECISION,
    }


def subject(name: str, data: list[list[float]], kind: str, batch: int, phi: str, **more: Any) -> Subject:
    """The subject of a scheme on this regression."""
    settings = {
        "target": table(data),
        "gradient": {"kind": kind, "batch": batch},
        "temperature": TEMPERATURE,
        "friction": FRICTION,
        "test_function": phi,
        **more,
    }
    return make_subject(find(name), load_configuration(settings))


def regression(data: list[list[float]]) -> Regression:
    """The same for the brute force."""
    dim = len(data[0]) - 1
    return Regression.of(data, PRIOR[dim], [0.5] * dim, NOISE_PRECISION)

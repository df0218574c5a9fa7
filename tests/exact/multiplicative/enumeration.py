"""Ergodic averages by brute force: the definition itself, on every sequence of minibatches and of noise nodes.

Nothing here shares a formula with the package. The normal noise is replaced by a discrete law with the same
moments to order 4 (sqrt(3) with 1/6 on either side) or 2 (+-1): a polynomial of that degree in it cannot tell.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgverify.schemes import Scheme

NODES = {2: ([-1.0, 1.0], [0.5, 0.5]), 4: ([-math.sqrt(3), 0.0, math.sqrt(3)], [1 / 6, 2 / 3, 1 / 6])}


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


def averages(
    scheme: Scheme,
    data: Regression,
    kind: str,
    batch: int,
    start: tuple[Any, ...],
    phi: Callable[..., Any],
    length: int,
    *,
    degree: int,
    **parameters: float,
) -> tuple[float, float]:
    """E S/L and E (S/L)^2 for S = sum_{l=1..L} phi(X_l) from a point; the noise exact to order `degree`."""
    hessians, gradients = data.minibatches(kind, batch)
    nodes, masses = NODES[degree]
    vectors = np.array(list(itertools.product(nodes, repeat=data.dim)))
    weights = np.array([math.prod(w) for w in itertools.product(masses, repeat=data.dim)])
    choices = [range(len(hessians))] * scheme.minibatches + [range(len(vectors))] * scheme.draws
    joint = np.array(list(itertools.product(*choices))).reshape(-1, len(choices))
    batches, draws = joint[:, : scheme.minibatches], joint[:, scheme.minibatches :]
    mass = weights[draws].prod(axis=1) / len(hessians) ** scheme.minibatches
    state = tuple(np.array(value, dtype=float)[None, :] for value in start)
    total, probability = np.zeros(1), np.ones(1)
    for _ in range(length):
        paths = len(probability)
        state = tuple(np.repeat(value, len(joint), axis=0) for value in state)
        total, probability = np.repeat(total, len(joint)), np.repeat(probability, len(joint))
        probability = probability * np.tile(mass, paths)
        seen = iter(range(scheme.draws))

        def noise(paths: int = paths, seen: Any = seen) -> Any:
            return _Drawn(np.tile(vectors[draws[:, next(seen)]], (paths, 1)))

        grad = _Gradient(hessians, gradients, np.tile(batches, (paths, 1)))
        state = scheme.step(state, grad=grad, noise=noise, **parameters)
        total = total + phi(*state)
    return float(probability @ total) / length, float(probability @ total**2) / length**2


class _Drawn:
    """A draw, which meets the exact number before it as the float64 that it is."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def __mul__(self, factor: Any) -> Any:
        return float(factor) * self._values

    __rmul__ = __mul__


class _Gradient:
    """H_B theta + g_B, with the step's first minibatch; `fresh()` takes the next one."""

    def __init__(self, hessians: Any, gradients: Any, batches: Any, used: list[int] | None = None) -> None:
        self._hessians, self._gradients, self._batches = hessians, gradients, batches
        self._used = [] if used is None else used
        self._number: int | None = None

    def __call__(self, theta: Any) -> Any:
        chosen = self._chosen()
        return np.einsum("pij,pj->pi", self._hessians[chosen], theta) + self._gradients[chosen]

    def hessian(self, theta: Any, vector: Any) -> Any:
        return np.einsum("pij,pj->pi", self._hessians[self._chosen()], vector)

    def _chosen(self) -> Any:
        if self._number is None:
            self._number = len(self._used)
            self._used.append(self._number)
        return self._batches[:, self._number]

    def fresh(self) -> _Gradient:
        return _Gradient(self._hessians, self._gradients, self._batches, self._used)

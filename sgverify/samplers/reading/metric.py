"""How does a sampled run apply a metric G = (B B^T)^-1, with B diagonal or a full matrix of polynomials?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from sgverify.samplers.reading.carrier import Chains
from sgverify.targets.metric import CoordinateMetric, MatrixMetric, MetricText, parse_metric
from sgverify.targets.observable import Terms


class FullMetric:
    """The metric ingredient of a definition for a matrix B of polynomials; vectors have shape (S, C, d)."""

    diffusion = CoordinateMetric.diffusion

    def __init__(self, metric: MatrixMetric) -> None:
        self._metric = metric
        self._divergence, self._root_divergence = metric.divergence(), metric.root_divergence()

    def root(self, theta: Chains, vector: Chains) -> Chains:
        """B v."""
        return self._applied(self._metric.entries, theta, vector)

    def transposed(self, theta: Chains, vector: Chains) -> Chains:
        """B^T v."""
        return self._applied(tuple(zip(*self._metric.entries, strict=True)), theta, vector)

    def inverse(self, theta: Chains, vector: Chains) -> Chains:
        """G^-1 v."""
        return self.root(theta, self.transposed(theta, vector))

    def divergence(self, theta: Chains) -> Chains:
        """sum_j d_j (B B^T)_ij."""
        return _joined([_value(terms, theta) for terms in self._divergence])

    def root_divergence(self, theta: Chains) -> Chains:
        """sum_j d_j B_ji."""
        return _joined([_value(terms, theta) for terms in self._root_divergence])

    def _applied(self, rows: Sequence[Sequence[Terms]], theta: Chains, vector: Chains) -> Chains:
        values = []
        for row in rows:
            total: Any = theta[..., :1] * 0
            for j, terms in enumerate(row):
                if terms:
                    total = total + _value(terms, theta) * vector[..., j : j + 1]
            values.append(total)
        return _joined(values)


def make_metric(given: MetricText | None, dim: int) -> CoordinateMetric | FullMetric:
    """The metric ingredient of the configured B. Raises `ConfigurationError` unless B is a `dim` x `dim` matrix."""
    metric = parse_metric(given, dim)
    return metric if isinstance(metric, CoordinateMetric) else FullMetric(metric)


def _value(terms: Terms, theta: Chains) -> Chains:
    """The values of a polynomial at theta, shape (S, C, 1), summed term by term."""
    total: Any = theta[..., :1] * 0
    for exponents, coefficient in terms.items():
        term: Any = total * 0 + float(coefficient)
        for i, power in enumerate(exponents):
            if power:
                term = term * theta[..., i : i + 1] ** power
        total = total + term
    value: Chains = total
    return value


def _joined(entries: Sequence[Chains]) -> Chains:
    return Chains(torch.cat([entry.tensor for entry in entries], dim=-1))

"""How much more slowly than a Gaussian of the same covariance does exp(-U/T) relax? A lower bound by trial functions."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from sgverify.samplers.importance.averages import WeightedDraws

_DEGREE = 3
"""The highest power of a coordinate among the trial functions: from the third on, one of them is flat within two wells."""


def slowness(draws: WeightedDraws) -> float:
    """A lower bound of the relaxation time of dX = -grad U dt + sqrt(2 T) dW over that with the Gaussian of the same covariance.

    The time is the maximum of Var f / E |grad f|^2 over all f, up to a factor that both laws share; that of a Gaussian is the
    largest eigenvalue of the covariance, by f linear. Here f are combinations of the powers up to `_DEGREE` of the principal
    coordinates and of their products in pairs. So the bound is 1 for a Gaussian, and larger where wells or long tails slow the
    chain down. Source: Bakry, Gentil and Ledoux 2014, chapter 4.
    """
    weights = draws.weights / draws.weights.sum()
    away = draws.points - weights @ draws.points
    sizes, axes = np.linalg.eigh((away.T * weights) @ away)
    widths = np.sqrt(sizes)
    z = away @ axes / widths
    dim = len(sizes)
    values, slopes = [], []
    for i in range(dim):
        for power in range(1, _DEGREE + 1):
            values.append(z[:, i] ** power)
            slopes.append({i: power * z[:, i] ** (power - 1) / widths[i]})
        for j in range(i):
            values.append(z[:, i] * z[:, j])
            slopes.append({i: z[:, j] / widths[i], j: z[:, i] / widths[j]})
    functions = np.array(values)
    functions -= (functions @ weights)[:, None]
    variances = (functions * weights) @ functions.T
    energies = np.zeros_like(variances)
    for i in range(dim):
        along = np.array([slope.get(i, np.zeros(len(weights))) for slope in slopes])
        energies += (along * weights) @ along.T
    times = linalg.eigh(variances, energies, eigvals_only=True)
    return float(times[-1] / sizes[-1])


__all__ = ["slowness"]

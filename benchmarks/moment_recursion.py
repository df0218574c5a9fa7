"""The peer of the exact engines: the moments of a Gaussian chain and of its running sum, step by step in float64."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from sgverify.exact.affine.model import Model, fixed_step
from sgverify.schemes.definition.mathematics import exp, expm1, sqrt

BITS = 128

# A fraction of a definition turns an array into one of objects; here it is turned back.
exp.register(np.ndarray, lambda value: np.exp(value.astype(float)))
expm1.register(np.ndarray, lambda value: np.expm1(value.astype(float)))
sqrt.register(np.ndarray, lambda value: np.sqrt(value.astype(float)))


@dataclass(frozen=True)
class Step:
    """X' = map X + shift + N(0, covariance), and the weight of the new state in the average."""

    map: np.ndarray
    shift: np.ndarray
    covariance: np.ndarray
    weight: float = 1.0


@dataclass(frozen=True)
class TestFunction:
    """phi(x) = constant + linear . x + x^T quadratic x, and the average that it should have."""

    constant: float
    linear: np.ndarray
    quadratic: np.ndarray
    truth: float


def step_of(model: Model, step: float) -> Step:
    """The chain that the exact engines work on, rounded to float64."""
    with flint.ctx.workprec(BITS):
        chain = model.chain(fixed_step(step)())
        assert chain.third is None and chain.start_covariance is None, (
            "the recursion holds for Gaussian chains"
        )
        return Step(_array(chain.map), _array(chain.shift)[:, 0], _array(chain.covariance))


def start_of(model: Model) -> np.ndarray:
    """X_0, a point."""
    with flint.ctx.workprec(BITS):
        return _array(model.start_law()[0])[:, 0]


def test_function_of(model: Model) -> TestFunction:
    """The test function over the chain's coordinates."""
    constant, linear, quadratic = model.observable.quadratic_form()
    pad = model.size - len(linear)
    return TestFunction(
        float(constant),
        np.pad(np.array(linear, dtype=float), (0, pad)),
        np.pad(np.array(quadratic, dtype=float), (0, pad)),
        float(model.truth),
    )


def mean_square_error(steps: Iterable[Step], start: np.ndarray, phi: TestFunction) -> float:
    """E (phi_hat - phi_bar)^2 of the weighted average along `steps`.

    With y = x - E x, P = E y y^T and S the centred sum of weight * phi, the recursion carries E x, P, E S y,
    E S (y y^T - P) and E S^2; third moments of y vanish, fourth ones are Isserlis'.
    """
    mean, n = start, len(start)
    spread, first, second = np.zeros((n, n)), np.zeros(n), np.zeros((n, n))
    bias = variance = weights = 0.0
    a = phi.quadratic
    for step in steps:
        m, w = step.map, step.weight
        mean = m @ mean + step.shift
        spread = m @ spread @ m.T + step.covariance
        slope = phi.linear + 2 * (a @ mean)
        moved, crossed = m @ first, m @ second @ m.T
        along, around = spread @ slope, spread @ a @ spread
        bias += w * (phi.constant + (phi.linear + a @ mean) @ mean + np.sum(a * spread) - phi.truth)
        variance += 2 * w * (slope @ moved + np.sum(a * crossed)) + w * w * (
            slope @ along + 2 * np.sum(a * around)
        )
        first, second = moved + w * along, crossed + 2 * w * around
        weights += w
    return (bias / weights) ** 2 + variance / weights**2


def _array(matrix: Any) -> np.ndarray:
    return np.array([[float(entry.mid()) for entry in row] for row in matrix.tolist()])

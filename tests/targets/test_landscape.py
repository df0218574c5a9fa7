"""Gradients without torch against differences of U, and location, spread and curvature in many dimensions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sgverify.targets import TARGETS, Target, build_target
from sgverify.targets import landscape as module

CASES = [(name, dim) for name, kind in TARGETS.shipped.items() for dim in (kind.dims or (1, 2, 4))[:3]]


@pytest.mark.parametrize(("name", "dim"), CASES)
def test_a_gradient_is_that_of_the_energy(name: str, dim: int) -> None:
    target = build_target(SimpleNamespace(name=name, dim=dim))
    theta = np.random.default_rng(0).normal(size=(5, dim))
    theta = np.abs(theta) + 0.1 if target.positive else theta
    h = 1e-5
    slopes = [
        (target.energy_float64(theta + h * e) - target.energy_float64(theta - h * e)) / (2 * h)
        for e in np.eye(dim)
    ]
    # The error of a central difference: h^2/6 of the third derivatives, and the rounding of U divided by h.
    scale = 1 + np.abs(slopes).max() + np.abs(target.energy_float64(theta)).max()
    assert np.abs(target.gradient_float64(theta) - np.transpose(slopes)).max() < 1e-8 * scale


def regression(dim: int, size: int = 20) -> Target:
    return build_target(SimpleNamespace(name="logistic-regression", dim=dim, size=size))


def curved(target: Target, theta: np.ndarray) -> Any:
    """The Hessian of logistic regression under a standard normal prior, from its formula."""
    assert target.data is not None
    x = target.data[:, :-1]
    p = 1 / (1 + np.exp(-x @ theta))
    return np.eye(target.dim) + (x.T * (p * (1 - p))) @ x


def test_a_hessian_is_that_of_its_formula() -> None:
    target = regression(6)
    at = np.linspace(-1, 1, 6)
    found = module.hessian(target.gradient_float64, at, np.full(6, 0.5))
    assert np.allclose(found, curved(target, at), rtol=0, atol=1e-6)


def test_a_hundred_dimensions_have_the_mode_and_its_gaussian() -> None:
    target = regression(100)
    mode, spread = target.location_float64(1.0), target.spread_float64(1.0)
    assert np.abs(target.gradient_float64(mode[None])).max() < 1e-3
    curve = curved(target, mode)
    assert np.allclose(spread, np.sqrt(np.diag(np.linalg.inv(curve))), rtol=1e-4)
    assert target.curvature_float64(1.0) >= 0.99 * np.linalg.eigvalsh(curve)[-1]


def test_the_largest_eigenvalue_is_the_same_with_whole_hessians(monkeypatch: pytest.MonkeyPatch) -> None:
    by_lanczos = regression(40).curvature_float64(1.0)
    monkeypatch.setattr(module, "_WHOLE", 40)
    assert regression(40).curvature_float64(1.0) == pytest.approx(by_lanczos, rel=1e-3)


def test_an_axis_that_the_mode_does_not_show_is_found() -> None:
    """On independent coordinates every Hessian is diagonal, and the steepest one is at no mode."""

    def gradient(theta: np.ndarray) -> np.ndarray:
        # U = sum_k theta_k^2/2, and 50 theta_7^4/12 beside.
        result = theta.copy()
        result[:, 7] += 50 * theta[:, 7] ** 3 / 3
        return result

    points = np.zeros((2, 40))
    points[1, 7] = 1.0
    found = module._largest_by_lanczos(gradient, points, np.ones(40))
    assert found == pytest.approx([1.0, 51.0], rel=1e-6)


def test_points_beyond_the_support_say_nothing() -> None:
    def gradient(theta: np.ndarray) -> np.ndarray:
        return np.where(theta[:, :1] > 3, np.nan, theta)

    points = [np.zeros(40), np.full(40, 4.0)]
    assert module._largest(gradient, points, np.ones(40)) == pytest.approx(1.0)

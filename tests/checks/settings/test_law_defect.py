"""What one step changes of the law that it should leave invariant, against an integral over a fine grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from sgverify import torch_step
from sgverify.law import law_defect as module
from sgverify.law.gaussian_setting import GaussianSetting
from sgverify.law.law_defect import law_defect
from sgverify.law.step_rows import StepRows
from sgverify.schemes import langevin

H, FLOOR = 0.02, 1e-3
SETTING = GaussianSetting(langevin, {"T": 1.0}, np.eye(1), np.zeros(1))


@torch_step(langevin)
def divided_by_its_gradient(theta: Any, *, h: float, grad: Any, T: float) -> Any:
    """Langevin's step times 1/(FLOOR + |grad U|), without the derivative of that factor: its law is another one for every h."""
    g = grad(theta)
    G = 1 / (FLOOR + g.abs())
    return theta - h * G * g + (2 * T * h * G) ** 0.5 * torch.randn_like(theta)


def on_a_grid(h: float) -> dict[str, float]:
    """E f(X_1) - E f(X_0): given X_0 = x, X_1 is normal, so that the average of a cosine is known and x is left to integrate."""
    x = np.linspace(-9, 9, 1_800_001)
    weight = np.exp(-(x**2) / 2) / np.exp(-(x**2) / 2).sum()
    G = 1 / (FLOOR + np.abs(x))
    mean, variance = x - h * G * x, 2 * h * G
    cosine = {
        w: float(weight @ (np.cos(w * mean) * np.exp(-(w**2) * variance / 2) - np.cos(w * x))) for w in (1, 2)
    }
    return {
        "theta^2": float(weight @ (mean**2 + variance - x**2)),
        "cos(1 theta)": cosine[1],
        "cos(2 theta)": cosine[2],
        "(cos(2 theta) - 4 cos(theta))/6": (cosine[2] - 4 * cosine[1]) / 6,
    }


def found(h: float) -> dict[str, tuple[float, float]]:
    values, bounds, names = law_defect(StepRows(divided_by_its_gradient, SETTING, h), h)
    return {name: (value, bound) for name, value, bound in zip(names, values, bounds, strict=True)}


def test_a_step_that_bends_at_the_mean_is_integrated_within_its_bounds_and_seen_to_be_wrong() -> None:
    seen = found(H)
    for name, due in on_a_grid(H).items():
        value, bound = seen[name]
        assert abs(value - due) <= bound, name
    for name in list(on_a_grid(H))[1:]:
        value, bound = seen[name]
        assert abs(value) > bound, name


def test_the_regression_halves_the_bounds_of_moments_that_bend_at_the_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    best = found(H)
    monkeypatch.setattr(module, "BETTER", 0.0)
    usual = found(H)
    assert all(usual[name][1] > 2 * best[name][1] for name in ("theta^2", "cos(1 theta)"))

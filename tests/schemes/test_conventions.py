"""Convention maps, proved by running both: the source's own update, and the scheme that its numbers are mapped to."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from sgverify.schemes import find_scheme
from sgverify.schemes.conventions import CONVENTIONS

DRAWS, T = (0.3, -1.2, 0.7, 2.1), 0.7
NUMBERS: dict[str, float] = {"eps": 0.01, "lr": 0.04, "alpha": 0.3, "sigma": 1.7}


def slope(x: float) -> float:
    return 2 * x + math.sin(x)


def awsgld(x: float, gamma: float, z: float, eps: float, alpha: float) -> tuple[float, float]:
    x = x + gamma
    return x, (1 - alpha) * gamma - eps * slope(x) + math.sqrt(2 * eps * alpha * T) * z


def posteriors_sgld(x: float, m: float, z: float, lr: float) -> tuple[float, float]:
    return x - lr * slope(x) + math.sqrt(2 * lr * T) * z, m


def posteriors_sghmc(
    x: float, m: float, z: float, lr: float, alpha: float, sigma: float
) -> tuple[float, float]:
    pushed = m - lr * slope(x) - lr * alpha / sigma**2 * m + math.sqrt(2 * lr * alpha * T) * z
    return x + lr / sigma**2 * m, pushed


SOURCES: dict[str, Callable[..., tuple[float, float]]] = {
    "awsgld-46": awsgld,
    "posteriors-sgld": posteriors_sgld,
    "posteriors-sghmc": posteriors_sghmc,
}


def furthest(name: str, spoilt: str = "") -> float:
    """The largest difference of the two paths, one of the mapped numbers off by a tenth where `spoilt` names it."""
    convention = CONVENTIONS[name]
    numbers = {key: NUMBERS[key] for key in convention.numbers}
    mapped: dict[str, Any] = convention.read(numbers)
    if spoilt:
        mapped[spoilt] = mapped[spoilt] * 1.1
    scheme = find_scheme(convention.scheme)
    x, m = 0.7, -0.4
    state: tuple[Any, ...] = (x, convention.momentum(numbers, m))[: len(scheme.state)]
    off = 0.0
    for z in DRAWS:
        x, m = SOURCES[name](x, m, z, **numbers)
        state = scheme.step(state, grad=slope, noise=lambda z=z: z, T=T, **mapped)
        expected = (x, convention.momentum(numbers, m))[: len(state)]
        off = max(off, *(abs(float(a) - float(b)) for a, b in zip(state, expected, strict=True)))
    return off


@pytest.mark.parametrize("name", CONVENTIONS)
def test_both_definitions_take_the_same_path(name: str) -> None:
    assert furthest(name) < 1e-12


@pytest.mark.parametrize(
    ("name", "spoilt"), [(name, n) for name, c in CONVENTIONS.items() for n in c.read(NUMBERS)]
)
def test_a_wrong_map_is_seen(name: str, spoilt: str) -> None:
    assert furthest(name, spoilt) > 1e-3

"""Preconditioned SGLD as Li et al. print it, and the bugs that one step by hand tells from it."""

from __future__ import annotations

import math

import pytest

from sgverify.errors import DefinitionError
from sgverify.exact.readings.formula import plant
from sgverify.schemes import Scheme, find_scheme
from tests.tables import each_row

DRAWS = (0.3, -1.2, 0.7, 2.1)
H, T = 0.01, 0.5


def slope(x: float) -> float:
    return 2 * x + math.sin(x)


def printed(decay: float, floor: float) -> list[float]:
    """Algorithm 1 without Gamma: V <- decay V + (1 - decay) g^2, G = 1/(floor + sqrt(V)), theta += N(-h G g, 2 T h G)."""
    theta, V, path = 0.7, 0.0, []
    for z in DRAWS:
        g = slope(theta)
        V = decay * V + (1 - decay) * g**2
        G = 1 / (floor + V**0.5)
        theta = theta - H * G * g + math.sqrt(2 * T * H * G) * z
        path.append(theta)
    return path


def path(scheme: Scheme) -> list[float]:
    values = scheme.start_memory((0.7,))
    found = []
    for z in DRAWS:
        values = scheme.step(values, h=H, grad=slope, noise=lambda z=z: z, T=T)
        found.append(float(values[0]))
    return found


@pytest.mark.parametrize(
    ("name", "decay", "floor"),
    [("psgld", 0.99, 1e-5), ("psgld-0.999-0.1", 0.999, 0.1), ("psgld-1/2-3", 0.5, 3)],
)
def test_it_is_the_printed_update(name: str, decay: float, floor: float) -> None:
    assert path(find_scheme(name)) == pytest.approx(printed(decay, floor), rel=1e-11)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("sqrt(2*T*h*x1)*z1", "sqrt(2*T*h)*x1*z1"),
        ("sqrt(2*T*h*x1)*z1", "sqrt(2*T*h)*z1"),
        ("sqrt(V1))", "sqrt(V))"),
        ("sqrt(V1)", "V1"),
        ("1/(", "1/(0*"),
    ],
)
def test_a_planted_bug_is_another_path(was: str, now: str) -> None:
    found = find_scheme("psgld-0.999-0.1")
    assert path(plant(found, was, now)) != pytest.approx(printed(0.999, 0.1), rel=1e-3)


def test_a_memory_that_never_moves_leaves_euler_at_the_step_over_the_floor() -> None:
    frozen, euler, theta = path(find_scheme("psgld-1-2")), [], 0.7
    for z in DRAWS:
        (theta,) = find_scheme("sgld-euler").step((theta,), h=H / 2, grad=slope, noise=lambda z=z: z, T=T)
        euler.append(float(theta))
    assert frozen == pytest.approx(euler, rel=1e-13)


@each_row("text", ["", "0.9", "much-0.1", "1.5-0.1", "0.9-0", "1/0-1"])
def test_numbers_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(DefinitionError, match=r"psgld-0\.999-0\.1"):
        find_scheme(f"psgld-{text}")

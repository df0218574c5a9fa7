"""Step sizes at which a definition turns into another function of h are found, and smooth roots are none."""

from __future__ import annotations

import pytest

from sgverify.exact.readings.step_switches import switches
from sgverify.schemes import dot, exp, expm1, find_scheme, kinetic, langevin, scheme, sqrt

AT = {"T": 1.5, "D": 2.0}


def turns(scheme_: object, dim: int = 2) -> list[float]:
    names = scheme_.parameters  # type: ignore[attr-defined]
    return switches(scheme_, {name: AT[name] for name in names}, dim)  # type: ignore[arg-type]


@scheme(langevin)
def smallest(theta, *, h, grad, noise, T):
    """min(h^2, 0.04) in the noise of a tamed step, and |T h - 3/4|."""
    g = grad(theta)
    m = (h * h + 0.04 - sqrt((h * h - 0.04) ** 2)) / 2
    g = g / (1 + h * sqrt(dot(g, g)) + sqrt((T * h - 0.75) ** 2))
    return theta - h * g + sqrt(2 * T * sqrt(m)) * noise()


@scheme(kinetic)
def smooth(theta, p, *, h, grad, noise, D, T):
    """Roots that come near 0, end, or are 0 at h = 0 alone."""
    near = sqrt((h - 0.3) ** 2 + 1e-6) + sqrt(1 - h / 2) + sqrt(h * h * h) + sqrt(theta * theta)
    p = exp(-D * h) * p - h * near * grad(theta) + sqrt(-T * expm1(-2 * D * h)) * noise()
    return theta + h * p, p


def test_switches_are_found_whatever_stands_beside_them() -> None:
    assert turns(smallest) == pytest.approx([0.2, 0.5], rel=1e-9)


@pytest.mark.parametrize("name", ["sghmc-baoab", "sgnht-euler", "sgrld-euler"])
def test_schemes_of_the_catalogue_have_none(name: str) -> None:
    assert turns(find_scheme(name)) == []


@pytest.mark.by_default("UBU-0.25", "UUBUU-0.25")
@pytest.mark.parametrize(("word", "friction"), [("UBU", 0.25), ("UUBUU", 0.25), ("UUUBUUU", 2.0)])
def test_variances_that_are_differences_of_large_numbers_have_none(word: str, friction: float) -> None:
    """The variance of an exact free flow is O(h^3), and float64 leaves nothing of it at small h."""
    for temperature in (0.5, 1.0):
        assert switches(find_scheme(f"sghmc-ubu-{word}"), {"T": temperature, "D": friction}, 1) == []


def test_roots_that_only_come_near_have_none() -> None:
    assert turns(smooth) == []

"""Equation (46) of awsgld's appendix, as printed, against the scheme; and what it is equal to."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from sgverify.schemes import find_scheme

DRAWS = (0.3, -1.2, 0.7, 2.1, -0.4)
D, T, H = 2.0, 1.0, 0.1


def slope(x: float) -> float:
    return 2 * x + math.sin(x)


def path(name: str, theta: float, p: float) -> Iterator[tuple[float, float]]:
    scheme = find_scheme(name)
    for z in DRAWS:
        theta, p = scheme.step((theta, p), h=H, grad=slope, noise=lambda z=z: z, D=D, T=T)
        yield float(theta), float(p)


@pytest.mark.parametrize(("name", "estimate"), [("sghmc-momentum", 0.0), ("sghmc-momentum-0.001", 0.001)])
def test_it_is_the_printed_update_under_the_convention_map(name: str, estimate: float) -> None:
    eps, alpha = H**2, H * D
    beta = eps * estimate / 2
    x, gamma = 0.7, H * -0.4
    for z, (theta, p) in zip(DRAWS, path(name, 0.7, -0.4), strict=True):
        x = x + gamma
        gamma = (1 - alpha) * gamma - eps * slope(x) + math.sqrt(2 * eps * (alpha - beta)) * z
        assert (theta, p) == pytest.approx((x, gamma / H), rel=1e-12)


def test_it_is_algorithm_2_begun_at_its_other_half() -> None:
    theta, p = 0.7, -0.4
    shifted = list(path("sghmc-euler", theta + H * p, p))
    own = list(path("sghmc-momentum", theta, p))
    assert [p for _, p in own] == pytest.approx([p for _, p in shifted], rel=1e-12)
    assert [theta for theta, _ in own[1:]] == pytest.approx([theta for theta, _ in shifted[:-1]], rel=1e-12)


def test_a_word_of_letters_that_sum_to_one_resolves_by_name() -> None:
    for name in ("sghmc-chen-boaob", "sghmc-md-babo", "sgnht-chen-oabao"):
        assert find_scheme(name).word is not None

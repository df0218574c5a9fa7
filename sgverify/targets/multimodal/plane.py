"""Multimodal functions of two coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sgverify.schemes.mathematics import cos, exp, sqrt
from sgverify.targets.multimodal.any_dimension import JAMIL, SOFT
from sgverify.targets.multimodal.function import Function

_WAVES = range(1, 6)


def himmelblau(x: Sequence[Any]) -> Any:
    """(x^2 + y - 11)^2 + (x + y^2 - 7)^2."""
    a, b = x
    first, second = a * a + b - 11, a + b * b - 7
    return first * first + second * second


def six_hump_camel(x: Sequence[Any]) -> Any:
    """(4 - 2.1 x^2 + x^4/3) x^2 + x y + (4 y^2 - 4) y^2."""
    a, b = x
    p, q = a * a, b * b
    return (4 - 21 * p / 10 + p * p / 3) * p + a * b + (4 * q - 4) * q


def goldstein_price(x: Sequence[Any]) -> Any:
    """(1 + (x + y + 1)^2 (19 - 14x + 3x^2 - 14y + 6xy + 3y^2)) (30 + (2x - 3y)^2 (18 - 32x + 12x^2 + 48y - 36xy + 27y^2))."""
    a, b = x
    s, t = a + b + 1, 2 * a - 3 * b
    first = 1 + s * s * (19 - 14 * a + 3 * (a * a) - 14 * b + 6 * (a * b) + 3 * (b * b))
    second = 30 + t * t * (18 - 32 * a + 12 * (a * a) + 48 * b - 36 * (a * b) + 27 * (b * b))
    return first * second


def branin(x: Sequence[Any]) -> Any:
    """(y - 5.1 x^2/(4 pi^2) + 5 x/pi - 6)^2 + 10 (1 - 1/(8 pi)) cos(x) + 10."""
    a, b = x
    bend = b - (5.1 / (4 * math.pi**2)) * (a * a) + (5 / math.pi) * a - 6
    return bend * bend + (10 * (1 - 1 / (8 * math.pi))) * cos(a) + 10


def easom(x: Sequence[Any]) -> Any:
    """-cos(x) cos(y) exp(-(x - pi)^2 - (y - pi)^2): a needle on a plain."""
    a, b = x
    return -(cos(a) * cos(b) * exp(-((a - math.pi) * (a - math.pi) + (b - math.pi) * (b - math.pi))))


def drop_wave(x: Sequence[Any]) -> Any:
    """-(1 + cos(12 r))/(r^2/2 + 2), r = sqrt(x^2 + y^2 + 1e-20)."""
    a, b = x
    square = a * a + b * b
    return -((1 + cos(12 * sqrt(square + SOFT))) / (square / 2 + 2))


def shubert(x: Sequence[Any]) -> Any:
    """prod over both coordinates of sum_(i=1..5) i cos((i + 1) x + i)."""
    a, b = (sum((i * cos((i + 1) * place + i) for i in _WAVES), start=0 * place) for place in x)
    return a * b


def _near_shubert(dim: int) -> list[list[float]]:
    """The product of one coordinate's least and the other's greatest value, on a fine grid of the box."""
    grid = np.linspace(-10, 10, 200_001)
    wave = sum((i * np.cos((i + 1) * grid + i) for i in _WAVES), start=0 * grid)
    inner = np.flatnonzero((wave[1:-1] < wave[:-2]) & (wave[1:-1] <= wave[2:])) + 1
    outer = np.flatnonzero((wave[1:-1] > wave[:-2]) & (wave[1:-1] >= wave[2:])) + 1
    # Periodic extrema have one height; grid points miss it by less than a spacing's square.
    lows = grid[inner[wave[inner] < wave.min() + 1e-3]]
    highs = grid[outer[wave[outer] > wave.max() - 1e-3]]
    pairs = [[float(a), float(b)] for a in lows for b in highs]
    return pairs + [[b, a] for a, b in pairs]


PLANE = (
    Function(
        "himmelblau",
        "U = (x^2 + y - 11)^2 + (x + y^2 - 7)^2: four equal modes",
        himmelblau,
        lambda dim: [(-5, 5)] * 2,
        lambda dim: [[3, 2], [-2.8, 3.1], [-3.8, -3.3], [3.6, -1.8]],
        "Himmelblau 1972",
        dims=(2,),
    ),
    Function(
        "six-hump-camel",
        "U = (4 - 2.1 x^2 + x^4/3) x^2 + x y + (4 y^2 - 4) y^2: six modes, two of them lowest",
        six_hump_camel,
        lambda dim: [(-3, 3), (-2, 2)],
        lambda dim: [[0.1, -0.7], [-0.1, 0.7]],
        f"Dixon and Szego 1978; {JAMIL}",
        dims=(2,),
    ),
    Function(
        "goldstein-price",
        "U = the product of two polynomials of degree four: four modes of very different depth",
        goldstein_price,
        lambda dim: [(-2, 2)] * 2,
        lambda dim: [[0, -1]],
        "Goldstein and Price 1971",
        dims=(2,),
    ),
    Function(
        "branin",
        "U = (y - 5.1 x^2/(4 pi^2) + 5 x/pi - 6)^2 + 10 (1 - 1/(8 pi)) cos(x) + 10, and a wall: three equal modes",
        branin,
        lambda dim: [(-5, 10), (0, 15)],
        lambda dim: [[-3.1, 12.3], [3.1, 2.3], [9.4, 2.5]],
        f"Branin 1972; {JAMIL}",
        dims=(2,),
        bounded=True,
    ),
    Function(
        "easom",
        "U = -cos(x) cos(y) exp(-(x - pi)^2 - (y - pi)^2), and a wall: a needle on a plain",
        easom,
        lambda dim: [(-100, 100)] * 2,
        lambda dim: [[3.1, 3.1]],
        f"Easom 1990; {JAMIL}",
        dims=(2,),
        bounded=True,
    ),
    Function(
        "drop-wave",
        "U = -(1 + cos(12 |x|))/(|x|^2/2 + 2), and a wall: rings",
        drop_wave,
        lambda dim: [(-5.12, 5.12)] * 2,
        lambda dim: [[0, 0]],
        JAMIL,
        dims=(2,),
        bounded=True,
    ),
    Function(
        "shubert",
        "U = prod over x, y of sum_(i=1..5) i cos((i + 1) x + i), and a wall: 18 equal modes in the box",
        shubert,
        lambda dim: [(-10, 10)] * 2,
        _near_shubert,
        f"Shubert 1972; {JAMIL}",
        dims=(2,),
        bounded=True,
    ),
)

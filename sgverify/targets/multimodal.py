"""The standard multimodal functions as targets exp(-U/T), with their search boxes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from sgverify.schemes.definition.mathematics import cos, exp, sin, softplus, sqrt
from sgverify.targets.kind import POSITIVE, TargetKind
from sgverify.targets.potential import Potential, Vector, coordinate, number

# A test function of optimisation: its formula and its search box.


WIDTHS = 40
"""The width of a box in widths of its wall; the wall stands `BEYOND` widths outside of the box."""
BEYOND = 4


@dataclass(frozen=True)
class Function:
    """f(x_1, ..., x_d) and its search box.

    `formula` takes the coordinates, on any carrier; `boxes(d)` is (low, high) of each. `dims`: its dimensions, the first the
    default; empty for all.
    U is f where exp(-f/T) is a law on all of R^d. Where f is `bounded` along some direction it is not, and

        U = f + confinement sum_i (softplus((x_i - high_i)/w_i - 4)^2 + softplus((low_i - x_i)/w_i - 4)^2),

    w_i = (high_i - low_i)/40. The added wall is at most 3e-4 inside of the box, and a parabola from a tenth of its width beyond.
    """

    name: str
    summary: str
    formula: Callable[[Sequence[Any]], Any] = field(repr=False)
    boxes: Callable[[int], list[tuple[float, float]]] = field(repr=False)
    source: str
    dims: tuple[int, ...] = ()
    bounded: bool = False

    def value(self, x: np.ndarray) -> np.ndarray:
        """f, without a wall. Shape (*batch, d) -> (*batch), float64."""
        return np.asarray(self.formula([x[..., k] for k in range(x.shape[-1])]), dtype=np.float64)

    def box(self, dim: int) -> np.ndarray:
        """The search domain. Shape (d, 2)."""
        return np.array(self.boxes(dim), dtype=np.float64)

    def kind(self) -> TargetKind:
        """The target exp(-U/T)."""
        return TargetKind(
            name=self.name,
            summary=self.summary,
            source=self.source,
            constants={"confinement": (POSITIVE, 1)} if self.bounded else {},
            potential=self._confined if self.bounded else self._plain,
            dims=self.dims,
            sized=True,
            rugged=True,
        )

    def _plain(self, *, dim: int) -> tuple[Potential, None]:
        return lambda theta: self.formula([coordinate(theta, k) for k in range(dim)]), None

    def _confined(self, *, confinement: Vector, dim: int) -> tuple[Potential, None]:
        boxes = self.boxes(dim)

        def prior(theta: Any) -> Any:
            x = [coordinate(theta, k) for k in range(dim)]
            walls = 0
            for place, (low, high) in zip(x, boxes, strict=True):
                walls = walls + _wall(place, low, high)
            return self.formula(x) + number(theta, confinement) * walls

        return prior, None


def _wall(x: Any, low: float, high: float) -> Any:
    width = (high - low) / WIDTHS
    above, below = softplus((x - high) / width - BEYOND), softplus((low - x) / width - BEYOND)
    return above * above + below * below


# The multimodal functions by name: functions of any number of coordinates, and functions of two coordinates.


SOFT = 1e-20
"""The number added below a square root: |x| has no derivative at 0; sqrt(x^2 + 1e-20) has one and is within 1e-10 of |x|."""
_STEEP = 10


def griewank(x: Sequence[Any]) -> Any:
    """1 + sum_i x_i^2/4000 - prod_i cos(x_i/sqrt(i))."""
    squares, product = 0, 1
    for i, place in enumerate(x, start=1):
        squares = squares + place * place / 4000
        product = product * cos(place / math.sqrt(i))
    return 1 + squares - product


def rastrigin(x: Sequence[Any]) -> Any:
    """sum_i (x_i^2 + 10 (1 - cos(2 pi x_i)))."""
    return _summed(x, lambda place: place * place + 10 * (1 - cos(2 * math.pi * place)))


def ackley(x: Sequence[Any]) -> Any:
    """20 (1 - exp(-sqrt(mean x_i^2 + 1e-20)/5)) + e - exp(mean cos(2 pi x_i)); 4e-10 instead of 0 at the minimum."""
    d = len(x)
    distance = sqrt(_summed(x, lambda place: place * place) / d + SOFT)
    waves = _summed(x, lambda place: cos(2 * math.pi * place)) / d
    return 20 * (1 - exp(-distance / 5)) + (math.e - exp(waves))


def levy(x: Sequence[Any]) -> Any:
    """sin^2(pi w_1) + sum_(i<d) (w_i - 1)^2 (1 + 10 sin^2(pi w_i + 1)) + (w_d - 1)^2 (1 + sin^2(2 pi w_d)), w = 1 + (x - 1)/4."""
    w = [1 + (place - 1) / 4 for place in x]
    first, last = sin(math.pi * w[0]), sin(2 * math.pi * w[-1])
    total = first * first + (w[-1] - 1) * (w[-1] - 1) * (1 + last * last)
    for place in w[:-1]:
        wave = sin(math.pi * place + 1)
        total = total + (place - 1) * (place - 1) * (1 + 10 * wave * wave)
    return total


def rosenbrock(x: Sequence[Any]) -> Any:
    """sum_(i<d) (100 (x_(i+1) - x_i^2)^2 + (1 - x_i)^2): one curved valley."""
    total = 0
    for place, following in pairwise(x):
        bend = following - place * place
        total = total + 100 * (bend * bend) + (1 - place) * (1 - place)
    return total


def styblinski_tang(x: Sequence[Any]) -> Any:
    """sum_i (x_i^4 - 16 x_i^2 + 5 x_i)/2."""
    return _summed(x, lambda place: (place**4 - 16 * (place * place) + 5 * place) / 2)


def michalewicz(x: Sequence[Any]) -> Any:
    """-sum_i sin(x_i) sin(i x_i^2/pi)^20."""
    total = 0
    for i, place in enumerate(x, start=1):
        total = total - sin(place) * sin(i * (place * place) / math.pi) ** (2 * _STEEP)
    return total


def _summed(x: Sequence[Any], function: Callable[[Any], Any]) -> Any:
    total = 0
    for place in x:
        total = total + function(place)
    return total


def _box(low: float, high: float) -> Callable[[int], list[tuple[float, float]]]:
    return lambda dim: [(low, high)] * dim


JAMIL = "Jamil and Yang 2013, Int. J. Math. Model. Numer. Optim. 4 (2)"

ANY_DIMENSION = (
    Function(
        "griewank",
        "U = 1 + sum_i x_i^2/4000 - prod_i cos(x_i/sqrt(i)): many shallow modes on a wide bowl",
        griewank,
        _box(-600, 600),
        "Griewank 1981, J. Optim. Theory Appl. 34",
    ),
    Function(
        "rastrigin",
        "U = sum_i (x_i^2 + 10 (1 - cos(2 pi x_i))): a mode at every integer point",
        rastrigin,
        _box(-5.12, 5.12),
        f"Rastrigin 1974; {JAMIL}",
    ),
    Function(
        "ackley",
        "U = 20 (1 - exp(-|x|/(5 sqrt(d)))) + e - exp(mean cos(2 pi x_i)), and a wall: a narrow funnel on a plain",
        ackley,
        _box(-32.768, 32.768),
        f"Ackley 1987; {JAMIL}",
        bounded=True,
    ),
    Function(
        "levy",
        "U = Levy's function: a bowl of waves, its minimum at (1, ..., 1)",
        levy,
        _box(-10, 10),
        f"Levy and Montalvo 1985; {JAMIL}",
    ),
    Function(
        "rosenbrock",
        "U = sum_i (100 (x_(i+1) - x_i^2)^2 + (1 - x_i)^2): one long curved valley; dim from 2 on",
        rosenbrock,
        _box(-5, 10),
        "Rosenbrock 1960, Comput. J. 3",
        dims=tuple(range(2, 1001)),
    ),
    Function(
        "styblinski-tang",
        "U = sum_i (x_i^4 - 16 x_i^2 + 5 x_i)/2: 2^d modes",
        styblinski_tang,
        _box(-5, 5),
        f"Styblinski and Tang 1990; {JAMIL}",
    ),
    Function(
        "michalewicz",
        "U = -sum_i sin(x_i) sin(i x_i^2/pi)^20, and a wall: steep valleys",
        michalewicz,
        _box(0, math.pi),
        f"Michalewicz 1992; {JAMIL}",
        bounded=True,
    ),
)


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


PLANE = (
    Function(
        "himmelblau",
        "U = (x^2 + y - 11)^2 + (x + y^2 - 7)^2: four equal modes",
        himmelblau,
        lambda dim: [(-5, 5)] * 2,
        "Himmelblau 1972",
        dims=(2,),
    ),
    Function(
        "six-hump-camel",
        "U = (4 - 2.1 x^2 + x^4/3) x^2 + x y + (4 y^2 - 4) y^2: six modes, two of them lowest",
        six_hump_camel,
        lambda dim: [(-3, 3), (-2, 2)],
        f"Dixon and Szego 1978; {JAMIL}",
        dims=(2,),
    ),
    Function(
        "goldstein-price",
        "U = the product of two polynomials of degree four: four modes of very different depth",
        goldstein_price,
        lambda dim: [(-2, 2)] * 2,
        "Goldstein and Price 1971",
        dims=(2,),
    ),
    Function(
        "branin",
        "U = (y - 5.1 x^2/(4 pi^2) + 5 x/pi - 6)^2 + 10 (1 - 1/(8 pi)) cos(x) + 10, and a wall: three equal modes",
        branin,
        lambda dim: [(-5, 10), (0, 15)],
        f"Branin 1972; {JAMIL}",
        dims=(2,),
        bounded=True,
    ),
    Function(
        "easom",
        "U = -cos(x) cos(y) exp(-(x - pi)^2 - (y - pi)^2), and a wall: a needle on a plain",
        easom,
        lambda dim: [(-100, 100)] * 2,
        f"Easom 1990; {JAMIL}",
        dims=(2,),
        bounded=True,
    ),
    Function(
        "drop-wave",
        "U = -(1 + cos(12 |x|))/(|x|^2/2 + 2), and a wall: rings",
        drop_wave,
        lambda dim: [(-5.12, 5.12)] * 2,
        JAMIL,
        dims=(2,),
        bounded=True,
    ),
    Function(
        "shubert",
        "U = prod over x, y of sum_(i=1..5) i cos((i + 1) x + i), and a wall: 18 equal modes in the box",
        shubert,
        lambda dim: [(-10, 10)] * 2,
        f"Shubert 1972; {JAMIL}",
        dims=(2,),
        bounded=True,
    ),
)


FUNCTIONS: Mapping[str, Function] = {function.name: function for function in (*ANY_DIMENSION, *PLANE)}

"""Periodic grids of the plane that hold exp(-(U + p.p/2)/T), and how they are refined and enlarged.

The interpreter of steps on a grid of the plane: the image of every point under each part of a step, affine in the noise.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.fft import next_fast_len

from sgverify.errors import Unreached
from sgverify.exact.numbers.jets import derivatives_of
from sgverify.schemes import NoiseLaw, Scheme, dot
from sgverify.schemes.definition.binding import (
    Arithmetic,
    Carrier,
    Draw,
    FullGradientIngredient,
    bind,
    parameters_of,
)
from sgverify.schemes.definition.mathematics import NORMAL, first_entry, power, register
from sgverify.schemes.numbers.constants import constants_like, linear_image
from sgverify.targets import Target
from sgverify.targets.potential import ARRAYS

_DEPTH = 36.0
"""A grid extends to where the density is e^-36 = 2e-16 of its largest value."""
_WINDOW, _LOOKS = 40.0, 1 << 14
"""The interval where U/T < 36 is sought within 40 standard deviations of the mean."""
_SHARE = 1e-14
"""Fourier coefficients of the density below this share of the first are left to refinement."""
_SPARE = 1.25
"""The factor by which a grid has more points than the density needs, because a step makes finer structure."""
_SAMPLES = 1 << 10


@dataclass(frozen=True)
class Axis:
    """n points a, a + spacing, ... of one period."""

    start: float
    spacing: float
    count: int

    @property
    def length(self) -> float:
        """The period."""
        return self.spacing * self.count

    @cached_property
    def nodes(self) -> np.ndarray:
        """The points. Shape (n,)."""
        return self.start + self.spacing * np.arange(self.count)

    @cached_property
    def frequencies(self) -> np.ndarray:
        """2 pi k / length for k = 0 .. n/2. Shape (n/2 + 1,)."""
        return 2 * np.pi / self.length * np.arange(self.count // 2 + 1)

    def refined(self, factor: float) -> Axis:
        """The same period with more points."""
        count = _fast(self.count * factor)
        return Axis(self.start, self.length / count, count)

    def enlarged(self, factor: float) -> Axis:
        """The same spacing over a longer period about the same centre."""
        count = _fast(self.count * factor)
        return Axis(self.start - self.spacing * ((count - self.count) // 2), self.spacing, count)


@dataclass(frozen=True)
class PlaneGrid:
    """A grid of (theta, p), both periodic; arrays over it have the shape (theta, p)."""

    theta: Axis
    p: Axis

    @property
    def size(self) -> int:
        """The number of points."""
        return self.theta.count * self.p.count

    @cached_property
    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """(theta, p) at every point. Shapes (n_theta, n_p)."""
        theta, p = np.meshgrid(self.theta.nodes, self.p.nodes, indexing="ij")
        return theta, p

    def refined(self, factor: float, which: tuple[bool, bool] = (True, True)) -> PlaneGrid:
        """More points along both axes, or along those of (theta, p) that are wanted."""
        return PlaneGrid(
            self.theta.refined(factor) if which[0] else self.theta,
            self.p.refined(factor) if which[1] else self.p,
        )

    def enlarged(self, factor: float) -> PlaneGrid:
        """Longer periods along both axes."""
        return PlaneGrid(self.theta.enlarged(factor), self.p.enlarged(factor))

    def law(self, target: Target, temperature: float) -> np.ndarray:
        """exp(-(U + p.p/2)/T) at the points, summing to 1."""
        energy = target.energy_float64(self.theta.nodes[:, None]) / temperature
        of_theta = np.exp(energy.min() - energy)
        of_p = np.exp(-(self.p.nodes**2) / (2 * temperature))
        return np.outer(of_theta / of_theta.sum(), of_p / of_p.sum())

    def carry(self, masses: np.ndarray, other: PlaneGrid) -> np.ndarray:
        """Masses on this grid as masses on `other`, which `refined` or `enlarged` has made of this grid."""
        for place, (old, new) in enumerate(((self.theta, other.theta), (self.p, other.p))):
            if old.count == new.count:
                continue
            if old.spacing == new.spacing:
                before = round((old.start - new.start) / old.spacing)
                padding = [(0, 0), (0, 0)]
                padding[place] = (before, new.count - old.count - before)
                masses = np.pad(masses, padding)
            else:
                masses = np.fft.irfft(np.fft.rfft(masses, axis=place), new.count, axis=place)
        return masses


def support(target: Target, temperature: float, depth: float) -> tuple[float, float]:
    """The ends of {theta: U/T - min U/T < depth}."""
    centre = float(target.location_float64(temperature)[0])
    width = _WINDOW * float(target.spread_float64(temperature)[0])
    theta = np.linspace(centre - width, centre + width, _LOOKS + 1)
    with np.errstate(over="ignore"):
        energy = target.energy_float64(theta[:, None]) / temperature
    inside = theta[energy - energy.min() < depth]
    return float(inside[0]), float(inside[-1])


def spectral_count(target: Target, temperature: float, ends: tuple[float, float]) -> int:
    """How many points between the ends resolve exp(-U/T) to rounding, with some to spare."""
    nodes = ends[0] + (ends[1] - ends[0]) / _SAMPLES * np.arange(_SAMPLES)
    energy = target.energy_float64(nodes[:, None]) / temperature
    spectrum = np.abs(np.fft.rfft(np.exp(energy.min() - energy)))
    highest = int(np.flatnonzero(spectrum > _SHARE * spectrum[0])[-1]) + 2
    return _fast(_SPARE * 2 * highest)


def plane_grid(target: Target, temperature: float) -> PlaneGrid:
    """A grid on which exp(-(U + p.p/2)/T) and its Fourier coefficients both fall to rounding.

    In theta by its computed spectrum; in p, where it is Gaussian, both ends are at sqrt(2 * 36) standard deviations.
    """
    left, right = support(target, temperature, _DEPTH)
    count = spectral_count(target, temperature, (left, right))
    reach = np.sqrt(2 * _DEPTH)
    half = float(reach * np.sqrt(temperature))
    count_p = _fast(_SPARE * 2 * reach**2 / np.pi)
    return PlaneGrid(Axis(left, (right - left) / count, count), Axis(-half, 2 * half / count_p, count_p))


def _fast(wanted: float) -> int:
    """An even number of points, at least as many as wanted, whose Fourier transform is fast."""
    return 2 * int(next_fast_len(int(np.ceil(wanted / 2)), real=True))


@dataclass(frozen=True)
class Images:
    """X_1 = mean + sum_k draws[k] z_k from points (theta, p), z_k independent standard normal numbers.

    Each array has the shape of the points; `draws[k]` is the pair of coefficients of z_k in theta and in p.
    """

    theta: np.ndarray
    p: np.ndarray
    draws: tuple[tuple[np.ndarray, np.ndarray], ...]

    def variance(self, first: int, second: int) -> np.ndarray:
        """The covariance of coordinates `first` and `second`, 0 for theta and 1 for p."""
        zero = np.zeros_like(self.theta)
        return np.asarray(sum((draw[first] * draw[second] for draw in self.draws), zero))


Move = Callable[[np.ndarray, np.ndarray], Images]
"""A part of a step, by its definition: from points (theta, p), any shape, to their images."""


@dataclass(frozen=True)
class PlaneInterpreter:
    """A scheme of state (theta, p), one coordinate each, on one target.

    Gradients are full, or `noise` is the variance of the normal number that is added to each, fresh at every evaluation. Raises
    `Unreached` for other schemes and targets.
    """

    scheme: Scheme
    target: Target
    temperature: float
    friction: float
    noise: float = 0.0

    def __post_init__(self) -> None:
        if self.scheme.state != ("theta", "p"):
            raise Unreached(
                f"the state is ({', '.join(self.scheme.state)}), and the grid of the plane holds (theta, p)"
            )
        if self.scheme.dynamics.riemannian:
            raise Unreached(f"`{self.scheme.name}` asks for a metric, which the grid does not supply")
        if self.target.dim != 1:
            raise Unreached(
                f"the target has dim={self.target.dim}, and the grid of the plane holds one dimension"
            )

    def moves(self, step: float | np.ndarray) -> list[Move]:
        """The letters of a word in the order in which they act; the whole step where there is no word.

        An array of step sizes has to broadcast with the points that are moved.
        """
        size = Noisy(np.asarray(step, dtype=np.float64)[()])
        if self.scheme.word is None:
            return [self._move(self.scheme.step, h=size)]
        flows = self.scheme.word.flows(size)
        return [self._move(letter.flow, t=time) for letter, time in flows]

    def _move(self, function: Callable[..., tuple[Any, ...]], **time: Any) -> Move:
        bound = bind(self.scheme, ON_PLANE, parameters_of(self), dim=1)
        target = self.target
        draws = [_draws()]

        def gradient(theta: Noisy) -> Noisy:
            found = _derivative(target, theta, 1)
            return found + draws[0](NORMAL) * float(np.sqrt(self.noise)) if self.noise else found

        grad = FullGradientIngredient(
            gradient,
            prior=lambda theta: _derivative(replace(target, likelihood=None, data=None), theta, 1),
            hessian=lambda theta, vector: _derivative(target, theta, 2) * vector,
        )

        def move(theta: np.ndarray, p: np.ndarray) -> Images:
            draws[0] = _draws()
            with np.errstate(over="ignore", invalid="ignore"):
                values = bound.run(function, (theta, p), grad=grad, draw=draws[0], **time)
            shape = np.broadcast_shapes(theta.shape, p.shape)
            names = sorted({name for value in values for name in value.draws})
            first, second = (np.broadcast_to(value.mean, shape) for value in values)
            pairs = [[np.broadcast_to(v.draws.get(k, 0.0), shape) for v in values] for k in names]
            return Images(first, second, tuple((a, b) for a, b in pairs))

        return move


@dataclass(frozen=True, eq=False)
class Noisy(Arithmetic):
    """The values of the interpreter: mean + sum_k draws[k] z_k. Products of two draws raise `Unreached`."""

    mean: np.ndarray | np.float64
    draws: Mapping[int, Any] = field(default_factory=dict)

    __array_ufunc__ = None

    def __neg__(self) -> Noisy:
        return -1 * self

    def __pow__(self, exponent: Any) -> Noisy:
        if not isinstance(exponent, int):
            return power(self, exponent)
        value = Noisy(np.float64(1.0))
        for _ in range(abs(exponent)):
            value = value * self
        return value if exponent >= 0 else 1 / value

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        right = _lift(other)
        return operation(_Operand(self), _Operand(right))


class _Operand:
    """An operand of `Noisy` operations, as Python's operators require."""

    def __init__(self, value: Noisy) -> None:
        self.mean, self.draws = value.mean, value.draws

    def __add__(self, other: _Operand) -> Noisy:
        return self._linear(other, operator.add)

    def __sub__(self, other: _Operand) -> Noisy:
        return self._linear(other, operator.sub)

    def __mul__(self, other: _Operand) -> Noisy:
        if self.draws and other.draws:
            raise Unreached(
                "the step multiplies noise with noise, so its law given the state is not Gaussian"
            )
        noisy, plain = (self, other) if self.draws else (other, self)
        return Noisy(self.mean * other.mean, {k: v * plain.mean for k, v in noisy.draws.items()})

    def __truediv__(self, other: _Operand) -> Noisy:
        if other.draws:
            raise Unreached("the step divides by noise, so its law given the state is not Gaussian")
        return Noisy(self.mean / other.mean, {k: v / other.mean for k, v in self.draws.items()})

    def _linear(self, other: _Operand, operation: Callable[[Any, Any], Any]) -> Noisy:
        names = {*self.draws, *other.draws}
        draws = {k: operation(self.draws.get(k, 0.0), other.draws.get(k, 0.0)) for k in names}
        return Noisy(operation(self.mean, other.mean), draws)


def _draws() -> Draw:
    """A new z at every call."""
    count = itertools.count()

    def draw(law: NoiseLaw) -> Noisy:
        if not law.normal:
            raise Unreached(f"the step draws {law} noise, and the grid of the plane takes normal noise alone")
        return Noisy(np.float64(0.0), {next(count): np.float64(1.0)})

    return draw


def _derivative(target: Target, position: Noisy, order: int) -> Noisy:
    """U^(order) at points that carry no noise."""
    if position.draws:
        raise Unreached(
            "the step evaluates the gradient at a point that carries noise of the same step; only words, letter by letter, "
            "are read so far"
        )
    mean = np.asarray(position.mean)
    # Points of a grid repeat each theta once for every p.
    unique, places = np.unique(mean, return_inverse=True)
    found = derivatives_of(target, unique, order)[order]
    return Noisy(found[places].reshape(mean.shape))


def _lift(value: Any) -> Noisy:
    return value if isinstance(value, Noisy) else Noisy(np.float64(float(value)))


ON_PLANE = Carrier(lambda value: value if isinstance(value, Noisy) else Noisy(value), _lift, _lift)
"""The carrier of the interpreter: points of any shape, and values that are affine in the draws."""


def _evaluated(function: Any, value: Noisy) -> Noisy:
    if value.draws:
        raise Unreached("the step takes a function of noise, so its law given the state is not Gaussian")
    return Noisy(ARRAYS[function](value.mean))


register(Noisy, _evaluated)


@dot.register
def _(left: Noisy, right: Any) -> Any:
    return left * right


@constants_like.register
def _(like: Noisy, numbers: tuple[Any, ...]) -> Noisy:
    return _lift(numbers[0])


@linear_image.register
def _(vector: Noisy, rows: tuple[Any, ...]) -> Noisy:
    return vector * _lift(rows[0][0])


@first_entry.register
def _(draw: Noisy) -> Noisy:
    return draw

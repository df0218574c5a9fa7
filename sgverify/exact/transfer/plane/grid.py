"""Periodic grids of the plane that hold exp(-(U + p.p/2)/T), and how they are refined and enlarged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.fft import next_fast_len

from sgverify.targets import Target

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

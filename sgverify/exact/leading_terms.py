"""How far a step is from the leading terms of its own expansion, at step sizes and states that somebody may run it at.

An expansion at h = 0 says nothing of how small h is to be: h g exp(-1000 h g^2) is h g to leading order, and 0 at every step size
that is ever used. So a definition is run in floats: its motion without draws over h, and what draws add over sqrt(h), at h and as
h -> 0, on a Gaussian of a given curvature, at states and draws of up to three spreads. Of a method the two differ by a few
times h in units of the fastest rate of target and friction; where h is a hundredth of that time, by a few per cent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from sgverify.errors import NotAffineError, NotExpandableError
from sgverify.exact.affine.field import FLOATS, Scalar
from sgverify.exact.entrywise import Vector
from sgverify.schemes import Scheme
from sgverify.schemes.noise import Noise, NoiseLaw

SIZES = (-3.0, -1.0, -0.25, 0.25, 1.0, 3.0)
"""States and draws, in spreads."""

TINY = 1e-8
"""Of h: the leading terms are read off there, to 1e-6 of them in floats, and to 1e-8 times a constant in h."""

SLIGHT = 1e-3
"""A coordinate whose leading term is smaller, beside the largest, is held against the largest."""

SMALL = 0.01
"""Of the fastest time: a step that is small for the target."""

FAR = 0.25
"""A share of the leading term that is no small correction at SMALL: a constant of FAR/SMALL = 25, where those of published schemes
are 12 at most (Nose-Hoover thermostats at three spreads, tamed steps at a gradient of three)."""

NEAR = 0.1
"""The leading terms speak of a step that is nearer to them."""

HALVINGS = 60


@dataclass(frozen=True)
class Setting:
    """A Gaussian target of this curvature in every coordinate, at a temperature and a friction."""

    curvature: float
    temperature: float
    friction: float

    @property
    def small(self) -> float:
        """A step size at which every method is near the leading terms of its expansion."""
        return SMALL / self.rate

    @property
    def rate(self) -> float:
        """The fastest of its rates, and of one that is 1: definitions bring scales of their own, and wide targets excuse none."""
        return max(self.curvature, self.friction, 1.0)


@dataclass(frozen=True)
class Departure:
    """At `step` the `part` of the motion of `variable` is off by `share` of its leading term; below `speaks` it is near it."""

    step: float
    part: str
    variable: str
    share: float
    setting: Setting
    speaks: float

    def __str__(self) -> str:
        s = self.setting
        below = (
            f"it is within {NEAR:.0%} of it below h={self.speaks:.2g}"
            if self.speaks
            else "at no smaller h it is near it"
        )
        return (
            f"at h={self.step:.3g}, where the curvature is {s.curvature:.4g}, T={s.temperature:g} and friction {s.friction:g}, the "
            f"{self.part} of {self.variable} is off by {self.share:.0%} of the leading term of its expansion, and {below}"
        )


def departure(scheme: Scheme, setting: Setting, step: float, dim: int = 2) -> Departure | None:
    """The largest departure at `step`; None where the definition is not run in floats (a metric, or what is no number)."""
    if scheme.dynamics.riemannian or scheme.dynamics.positive:
        return None
    try:
        found = max(_departures(scheme, setting, step, dim), key=lambda item: item[0], default=None)
        if found is None:
            return None
        share, part, variable = found
        return Departure(step, part, variable, share, setting, _speaks(scheme, setting, step, dim))
    except (ArithmeticError, ValueError, NotAffineError, NotExpandableError):
        return None


def _speaks(scheme: Scheme, setting: Setting, step: float, dim: int) -> float:
    for _ in range(HALVINGS):
        if max((share for share, _, _ in _departures(scheme, setting, step, dim)), default=0.0) <= NEAR:
            return step
        step /= 2
    return 0.0


def _departures(scheme: Scheme, setting: Setting, step: float, dim: int) -> Iterator[tuple[float, str, str]]:
    """(share, part, variable) of each variable's drift and noise."""
    run = _Run(scheme, setting, dim)
    still, first = run.moved(step, 0.0), run.moved(step * TINY, 0.0)
    yield from _apart(scheme, "drift", [(still / step, first / (step * TINY))])
    pairs = []
    for size in SIZES:
        for sign in (1.0, -1.0):
            here = run.moved(step, size, sign) - still
            there = run.moved(step * TINY, size, sign) - first
            pairs.append((here / step**0.5, there / (step * TINY) ** 0.5))
    yield from _apart(scheme, "noise", pairs)


def _apart(
    scheme: Scheme, part: str, pairs: list[tuple[np.ndarray, np.ndarray]]
) -> Iterator[tuple[float, str, str]]:
    here, leading = (np.concatenate(parts, axis=1) for parts in zip(*pairs, strict=True))
    known = np.isfinite(leading) & np.isfinite(here)
    sizes = np.where(known, np.abs(leading), 0.0).max(axis=1)
    if not sizes.max() > 0:
        return
    for name, a, b, size in zip(scheme.dynamics.state, here, leading, sizes, strict=True):
        scale = size if size > SLIGHT * sizes.max() else sizes.max()
        both = np.isfinite(b) & np.isfinite(a)
        if both.any():
            yield float(np.abs(a - b)[both].max() / scale), part, name


class _Run:
    """Runs of a definition at a grid of states, in natural units: spreads of theta and p, and 1 for a thermostat."""

    def __init__(self, scheme: Scheme, setting: Setting, dim: int) -> None:
        self._scheme = scheme
        self._setting = setting
        self._dim = dim
        spread = (setting.temperature / setting.curvature) ** 0.5
        self._units = [
            {"theta": spread, "p": setting.temperature**0.5}.get(name, 1.0) for name in scheme.dynamics.state
        ]
        middles = [
            setting.friction if shape == "scalar" else 0.0 for shape in scheme.dynamics.shapes.values()
        ]
        grid = np.array(list(product(SIZES, repeat=len(self._units)))).T
        self._state = [
            self._value(middle + unit * x, shape)
            for middle, unit, x, shape in zip(
                middles, self._units, grid, scheme.dynamics.shapes.values(), strict=True
            )
        ]

    def _value(self, x: np.ndarray, shape: str) -> Any:
        if shape == "scalar":
            return Scalar(FLOATS, x)
        return Vector([Scalar(FLOATS, x / (1 + i)) for i in range(self._dim)])

    def moved(self, step: float, size: float, sign: float = 1.0) -> np.ndarray:
        """(X_1 - X_0) of the first coordinates, in units: draws are `size`, every other one with `sign`. Shape (state, grid)."""
        drawn = 0

        def draw(law: NoiseLaw) -> Vector:
            nonlocal drawn
            value = float(np.clip(size, -law.largest, law.largest)) * sign**drawn
            drawn += 1
            return Vector([Scalar(FLOATS, np.float64(value)) for _ in range(self._dim)])

        s = self._setting
        known = {"T": s.temperature, "D": s.friction}
        given: dict[str, Any] = {
            "h": Scalar(FLOATS, np.float64(step)),
            "grad": _Slope(s.curvature),
            "noise": Noise(draw),
            "dim": self._dim,
            **{name: Scalar(FLOATS, np.float64(known[name])) for name in self._scheme.parameters},
        }
        with np.errstate(all="ignore"):
            start = self._scheme.start_memory(tuple(self._state), **given)
            after = self._scheme.step(start, **given)
        rows = [
            (_first(b) - _first(a)) / unit
            for a, b, unit in zip(self._state, after, self._units, strict=False)
        ]
        count = _first(self._state[0]).shape
        return np.array([np.broadcast_to(row, count) for row in rows])


class _Slope:
    """The gradient of curvature |theta|^2 / 2, half of which is the prior's."""

    def __init__(self, curvature: float) -> None:
        self._curvature = curvature

    def __call__(self, theta: Vector) -> Any:
        return theta * self._curvature

    def prior(self, theta: Vector) -> Any:
        return theta * (self._curvature / 2)

    likelihood = prior

    def hessian(self, theta: Vector, vector: Any) -> Any:
        return vector * self._curvature + theta * 0

    def fresh(self) -> _Slope:
        return self


def _first(value: Any) -> np.ndarray:
    entry = value.entries[0] if isinstance(value, Vector) else value
    return np.asarray(entry.value if isinstance(entry, Scalar) else float(entry), dtype=float)

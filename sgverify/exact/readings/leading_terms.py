"""The distance of a step from the leading terms of its own expansion, at step sizes and states in practical use.

An expansion at h = 0 does not tell how small h has to be: h g exp(-1000 h g^2) is h g to leading order, and 0 at every step size
in use. So a definition is run in floats on a Gaussian of given curvature, at states and draws of up to three spreads: its
motion without draws over h, and the contribution of draws over sqrt(h), are compared at h and as h -> 0. For a published method
the two differ by a few times h in units of the fastest rate of target and friction, that is by a few per cent at h = 1/100.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import isfinite, lcm
from typing import Any

import numpy as np
from flint import arb, ctx

from sgverify.errors import NotExpandableError, Unreached
from sgverify.exact.affine.field import Scalar
from sgverify.exact.numbers.ball import BALLS, FLOATS, ScalarKind
from sgverify.exact.numbers.entrywise import EntrywiseVector
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import Carrier, FullGradientIngredient, bind, parameters_of
from sgverify.schemes.definition.mathematics import NoiseLaw
from sgverify.schemes.numbers.constants import met

ONE = (1.0,)
SIZES = (-3.0, -1.0, -0.25, 0.25, 1.0, 3.0)
"""The sizes of states and draws, in spreads."""

TINY = (1e-8, 9e-9, 8e-9, 7e-9)
"""The share of h at which leading terms are computed, to a relative 1e-6 in floats and to 1e-8 times a constant in h.

The first of them at which they are numbers: a difference under a root may round to one below 0.
"""

TINIEST = 2.0**-400
"""The share of h for the computation in balls of `BITS` bits, at one state: it shows a constant of up to 1e20 beside h."""

BITS = 2000

WIDE = 1e-3
"""The largest relative radius of a ball that counts as a leading term."""

SLIGHT = 1e-3
"""A coordinate whose leading term is below this share of the largest one is compared with the largest one."""

SMALL = 0.01
"""A step size that is small for the target, as a share of its fastest time scale."""

FAR = 0.25
"""A share of the leading term that is no small correction at SMALL: a constant of FAR/SMALL = 25, where those of published schemes
are 12 at most (Nose-Hoover thermostats at three spreads, tamed steps at a gradient of three)."""

NEAR = 0.1
"""A step whose departure is below this share is described by its leading terms."""

MOST_COORDINATES = 30
"""The most coordinates of a run."""

HALVINGS = 60


@dataclass(frozen=True)
class LinearSetting:
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
        """The fastest of its rates, at least 1: definitions may contain scales of their own, whatever the width of the target."""
        return max(self.curvature, self.friction, 1.0)


@dataclass(frozen=True)
class Departure:
    """At `step` the `part` of the motion of `variable` differs by `share` from its leading term; below `speaks` it is near it."""

    step: float
    part: str
    variable: str
    share: float
    setting: LinearSetting
    speaks: float

    def __str__(self) -> str:
        s = self.setting
        below = (
            f"within {NEAR:.0%} of it below h={self.speaks:.2g}" if self.speaks else "near it at no smaller h"
        )
        off = (
            f"{self.share:.0%} off the leading term of its expansion, and {below}"
            if isfinite(self.share)
            else "not finite in floats"
        )
        return (
            f"at h={self.step:.3g} (curvature {s.curvature:.4g}, T={s.temperature:g}, friction {s.friction:g}) the {self.part} of "
            f"{self.variable} is {off}"
        )


def departure(scheme: Scheme, setting: LinearSetting, step: float, dim: int = 2) -> Departure | None:
    """The largest departure at `step`; None where the definition cannot be run in floats (a metric, or a result that is NaN).

    In dimension `dim`, or over one period of the constants that distinguish coordinates, up to `MOST_COORDINATES`.
    """
    if scheme.dynamics.riemannian or scheme.dynamics.positive:
        return None
    try:
        with met() as constants:
            _Run(scheme, setting, dim, FLOATS).moved(step, 0.0)
        dim = max(dim, min(lcm(*map(len, constants)), MOST_COORDINATES))
        found = max(_departures(scheme, setting, step, dim), key=lambda item: item[0], default=None)
        if found is None:
            return None
        share, part, variable = found
        speaks = step if share <= NEAR else _speaks(scheme, setting, step / 2, dim)
        return Departure(step, part, variable, share, setting, speaks)
    except (ArithmeticError, ValueError, Unreached, NotExpandableError):
        return None


def _speaks(scheme: Scheme, setting: LinearSetting, step: float, dim: int) -> float:
    for _ in range(HALVINGS):
        if max((share for share, _, _ in _departures(scheme, setting, step, dim)), default=0.0) <= NEAR:
            return step
        step /= 2
    return 0.0


def _departures(
    scheme: Scheme, setting: LinearSetting, step: float, dim: int
) -> Iterator[tuple[float, str, str]]:
    """(share, part, variable) of each variable's drift and noise."""
    run = _Run(scheme, setting, dim, FLOATS)
    at_h = list(_rates(run, step, SIZES))
    for share in TINY:
        leading = list(_rates(run, step * share, SIZES))
        if all(np.isfinite(there).any(axis=1).all() for _, there in leading):
            break
    found = [item for pair in _paired(at_h, leading) for item in _apart(scheme, *pair)]
    if step == setting.small and any(not share <= FAR for share, _, _ in found):
        # Digits may cancel, at a step that nobody has asked for.
        in_balls = (_rates_in_balls(scheme, setting, dim, h) for h in (step, TINIEST))
        found = [item for pair in _paired(*in_balls) for item in _apart(scheme, *pair)]
    yield from found
    with ctx.workprec(BITS):
        run = _Run(scheme, setting, dim, BALLS)
        for part, here, there in _paired(_rates(run, step, ONE), _rates(run, TINIEST, ONE)):
            yield from _apart(scheme, part, here, there, alone=True)


def _rates(run: _Run, step: float, sizes: Sequence[float]) -> Iterator[tuple[str, np.ndarray]]:
    """The motion without draws over h, and the contribution of draws over sqrt(h); shapes (state, grid)."""
    still = run.moved(step, 0.0)
    yield "drift", still.reshape(len(still), -1) / step
    with np.errstate(invalid="ignore"):
        noise = run.moved_by(step, [(size, sign) for size in sizes for sign in (1.0, -1.0)]) - still
    yield "noise", noise.reshape(len(noise), -1) / step**0.5


def _rates_in_balls(
    scheme: Scheme, setting: LinearSetting, dim: int, step: float
) -> Iterator[tuple[str, np.ndarray]]:
    with ctx.workprec(BITS):
        every = [
            dict(_rates(_Run(scheme, setting, dim, BALLS, point), step, SIZES))
            for point in product(SIZES, repeat=len(scheme.dynamics.state))
        ]
    for part in every[0]:
        yield part, np.concatenate([rates[part] for rates in every], axis=1)


def _paired(
    at_h: Iterable[tuple[str, np.ndarray]], leading: Iterable[tuple[str, np.ndarray]]
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    for (part, here), (_, there) in zip(at_h, leading, strict=True):
        yield part, here, there


def _apart(
    scheme: Scheme, part: str, here: np.ndarray, leading: np.ndarray, *, alone: bool = False
) -> Iterator[tuple[float, str, str]]:
    """The relative differences of values and leading terms; `alone`: at one state, where a leading term may be 0 by chance."""
    known = np.isfinite(leading) & np.isfinite(here)
    sizes = np.where(known, np.abs(leading), 0.0).max(axis=1)
    for name, a, b, size, both in zip(scheme.dynamics.state, here, leading, sizes, known, strict=True):
        # An overflow is no number of the expansion; what is not finite at any step size is not the step's doing.
        if not alone and ((np.isfinite(b) & ~np.isfinite(a)).any() or not both.any()):
            yield float("inf"), part, name
        elif sizes.max() > 0 and both.any():
            scale = size if size > SLIGHT * sizes.max() and not alone else sizes.max()
            yield float(np.abs(a - b)[both].max() / scale), part, name


class _Run:
    """Runs of a definition at a grid of states, in natural units: spreads of theta and p, and 1 for a thermostat.

    In balls at one of them, that of the sizes ONE and smaller ones.
    """

    def __init__(
        self,
        scheme: Scheme,
        setting: LinearSetting,
        dim: int,
        field: ScalarKind,
        at: Sequence[float] | None = None,
    ) -> None:
        self._scheme = scheme
        self._field = field
        self._setting = setting
        self._dim = dim
        spread = (setting.temperature / setting.curvature) ** 0.5
        self._units = [
            {"theta": spread, "p": setting.temperature**0.5}.get(name, 1.0) for name in scheme.dynamics.state
        ]
        middles = [
            setting.friction if shape == "scalar" else 0.0 for shape in scheme.dynamics.shapes.values()
        ]
        count = len(self._units)
        whole = (
            list(product(SIZES, repeat=count))
            if field is FLOATS
            else [at or [1 / (1 + i) for i in range(count)]]
        )
        grid = np.array(whole).T
        self._state = [
            self._value(middle + unit * x, shape)
            for middle, unit, x, shape in zip(
                middles, self._units, grid, scheme.dynamics.shapes.values(), strict=True
            )
        ]

    def _value(self, x: np.ndarray, shape: str) -> Any:
        if shape == "scalar":
            return self._scalar(x)
        return EntrywiseVector([self._scalar(x / (1 + i)) for i in range(self._dim)])

    def _scalar(self, x: Any) -> Scalar:
        return Scalar(self._field, x if self._field is FLOATS else arb(float(np.ravel(x)[0])))

    def moved_by(self, step: float, draws: Sequence[tuple[float, float]]) -> np.ndarray:
        """X_1 - X_0 for each (size, sign) of draws, together where numbers are floats. Shape (state, dim, draws, grid)."""
        if self._field is FLOATS:
            sizes, signs = np.array(draws).T[..., None]
            return self.moved(step, sizes, signs)
        return np.concatenate([self.moved(step, *each) for each in draws], axis=2)

    def moved(self, step: float, size: Any, sign: Any = 1.0) -> np.ndarray:
        """X_1 - X_0 in units: draws are `size`, every other one with `sign`. Shape (state, dim, sizes, grid)."""
        drawn = 0

        def draw(law: NoiseLaw) -> EntrywiseVector:
            nonlocal drawn
            value = np.clip(size, -law.largest, law.largest) * sign**drawn
            drawn += 1
            return EntrywiseVector([self._scalar(np.float64(value)) for _ in range(self._dim)])

        s = self._setting
        carrier = Carrier(number=lambda value: self._scalar(np.float64(value)))
        bound = bind(self._scheme, carrier, parameters_of(s), dim=self._dim)
        half = s.curvature / 2
        # Half of curvature |theta|^2/2 is the prior's; in balls a difference of the two would be wider than the half itself.
        gradient = FullGradientIngredient(
            lambda theta: theta * s.curvature,
            prior=lambda theta: theta * half,
            likelihood=lambda theta: theta * half,
            hessian=lambda theta, vector: vector * s.curvature + theta * 0,
        )
        with np.errstate(all="ignore"):
            start = bound.start(self._state, h=step, grad=gradient, draw=draw)
            after = bound.step(start, h=step, grad=gradient, draw=draw)
            rows = [
                [_number(y - x) / unit for x, y in zip(_entries(a), _entries(b), strict=True)]
                for a, b, unit in zip(self._state, after, self._units, strict=False)
            ]
        # A number beside vectors is repeated for each of their coordinates.
        shape = np.size(size), len(SIZES) ** len(self._units) if self._field is FLOATS else 1
        return np.array([[np.broadcast_to(x, shape) for x in row * (self._dim // len(row))] for row in rows])


def _entries(value: Any) -> list[Any]:
    entries = value.entries if isinstance(value, EntrywiseVector) else [value]
    return [entry.value if isinstance(entry, Scalar) else float(entry) for entry in entries]


def _number(value: Any) -> np.ndarray:
    """A value as a float; NaN for a ball that the intervals of a definition's floats have made too wide."""
    if not isinstance(value, arb):
        return np.asarray(value, dtype=float)
    known = value.rad() <= abs(value.mid()) * WIDE or value.rad() <= TINIEST**2
    return np.array([float(value.mid()) if known else np.nan])

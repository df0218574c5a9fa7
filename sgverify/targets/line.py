"""Averages over the line under exp(-E): the trapezoid rule in t, x = centre + scale sinh(t), refined until it settles.

The rule converges geometrically for analytic integrands that vanish at both ends: halving the spacing squares the
error (Trefethen and Weideman 2014, theorem 5.1). The substitution turns algebraic tails into exponential ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError

Energy = Callable[[np.ndarray], np.ndarray]
"""U/T at points of the line; shape (n,) -> (n,); infinity where the density is 0."""

_REACH = 14.0
"""The first look goes out to sinh(14) = 6e5 scales, on both sides."""
_LOOKS = 160
_FURTHEST = 28
"""The furthest end in t, 7e11 scales from the centre."""
_FINEST = 1 << 17
_LEFT_OUT = 1e-6
_NEGLIGIBLE = 1e-18
_TOLERANCE = 1e-13
_ENOUGH = 24.0
"""Points within a few units of E above its minimum that make the scale of a grid right."""


@dataclass(frozen=True)
class Frame:
    """Where the mass of exp(-E) is: a centre, a scale, and the least E that was met."""

    centre: float
    scale: float
    lowest: float


@dataclass(frozen=True)
class LineAverages:
    """Averages of some functions, with bounds of their errors, and the nodes and weights that gave them.

    log_mass: log int exp(-E), and the relative error of the mass itself.
    """

    values: np.ndarray
    error_bounds: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray
    log_mass: float
    mass_error: float


def find_frame(energy: Energy, centre: float = 0.0, scale: float = 1.0) -> Frame:
    """The frame of exp(-E), looked for from (centre, scale) by grids that follow the least E they meet.

    Raises `ConfigurationError` where E is NaN, or nowhere finite, or has no mass that can be found.
    """
    for look in range(_LOOKS):
        # More points where looks go to and fro between a peak and the whole: peaks that are far apart and narrow.
        t = np.linspace(-_REACH, _REACH, 4000 * 2 ** (look // 20) + 1)
        x, jacobian = centre + scale * np.sinh(t), scale * np.cosh(t)
        values = _evaluated(energy, x)
        lowest = float(values.min())
        if not np.isfinite(lowest):
            raise ConfigurationError(
                f"the density is 0 at every one of {len(x)} points around {centre:.6g}; expected mass that can be found; "
                "state its location and spread"
            )
        weights = np.exp(lowest - values) * jacobian
        best = float(x[np.argmin(values)])
        share = weights / weights.sum()
        if 1 / (share**2).sum() < _ENOUGH:
            # Fewer points than a peak needs: look closer, around it.
            centre, scale = best, scale / 8 if abs(best - centre) < scale else abs(best - centre) / 8
            continue
        mean = float(share @ x)
        spread = float(np.sqrt(share @ (x - mean) ** 2))
        if spread == 0.0 or share[0] + share[-1] > 1e-6:
            break
        if abs(mean - centre) <= 0.5 * scale and 0.5 <= spread / scale <= 2:
            return Frame(mean, spread, lowest)
        centre, scale = mean, spread
    raise ConfigurationError(
        f"the mass of the density was not found around {centre:.6g}; expected a density that can be normalised, and has a "
        "variance; state its location and spread"
    )


def average_on_line(
    energy: Energy, functions: Callable[[np.ndarray], np.ndarray], frame: Frame
) -> LineAverages:
    """The averages of `functions` under exp(-E) on the line. Shape (n,) -> (k, n), for k averages.

    error_bounds: the larger of the last two changes under refinement (which bounds the error of an integrand that is
    merely continuous too, for there the changes at least halve), plus what the ends left out, plus rounding: of the
    sum, and of E, which is taken to be right to a few units in the last place. Raises `ConfigurationError` where
    refinement does not settle.
    """

    def integrate(spacing: float, half: int) -> tuple[np.ndarray, ...]:
        t = np.arange(-half, half + 1) * spacing
        x = frame.centre + frame.scale * np.sinh(t)
        values = _evaluated(energy, x)
        weights = np.exp(frame.lowest - values) * np.cosh(t)
        with np.errstate(over="ignore", invalid="ignore"):
            terms = np.where(weights > 0, np.vstack([np.ones_like(x), functions(x)]) * weights, 0.0)
        return terms, x, weights, values

    spacing = 0.5
    reach, ends = _reach(integrate)
    previous: list[np.ndarray] = []
    mass = 0.0
    while True:
        terms, x, weights, values = integrate(spacing, round(reach / spacing))
        height = float(np.abs(values[weights > 0]) @ weights[weights > 0] / weights.sum())
        sums, sizes = terms.sum(1), np.abs(terms).sum(1)
        current = sums[1:] / sums[0]
        changes = [np.abs(current - value) for value in previous[-2:]]
        scale = sizes[1:] / sums[0]
        rounding = np.finfo(np.float64).eps * (4 * np.sqrt(len(x)) + 8 * height) * (scale + np.abs(current))
        previous.append(current)
        before, mass = mass, float(sums[0]) * spacing * frame.scale
        if len(changes) == 2:
            converged = np.maximum(*changes) <= np.maximum(_TOLERANCE * scale, 2 * rounding)
            last = len(x) > _FINEST
            if converged.all() or last:
                bounds = np.maximum(*changes) + rounding + ends * (scale + np.abs(current))
                if last and (bounds > 1e-3 * scale + 1e-12).any():
                    raise ConfigurationError(
                        "quadrature does not settle on this density; expected one that is continuous and smooth at the scale "
                        f"{frame.scale:.3g} / 1000; state the average in target.averages"
                    )
                unsure = np.finfo(np.float64).eps * (4 * np.sqrt(len(x)) + 8 * height)
                log_mass = float(np.log(mass)) - frame.lowest
                off = abs(mass - before) / mass + float(unsure) + ends
                return LineAverages(current, bounds, x, weights / weights.sum(), log_mass, off)
        spacing /= 2


def _reach(integrate: Any) -> tuple[int, float]:
    """How far out in t the terms matter, and the share of them that is left out beyond.

    Beyond the end the terms fall at least as fast as before it, so what is left out is at most the last unit.
    """
    parts = 16
    terms, *_ = integrate(1 / parts, _FURTHEST * parts)
    sizes = np.abs(terms)
    total = sizes.sum(1)
    total[total == 0] = 1.0
    shares = (sizes / total[:, None]).max(0)
    right, left = shares[_FURTHEST * parts + 1 :], shares[: _FURTHEST * parts][::-1]
    units = (right + left).reshape(_FURTHEST, parts).sum(1)
    matters = np.flatnonzero(units > _NEGLIGIBLE)
    reach = min(_FURTHEST, (int(matters[-1]) if len(matters) else 0) + 2)
    ends = float(units[reach - 1])
    if ends > _LEFT_OUT:
        raise ConfigurationError(
            "the average of the test function does not exist, or its tails are too heavy for quadrature; expected a density "
            "under which it is finite; choose a test function of lower degree"
        )
    return reach, ends


def _evaluated(energy: Energy, x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.asarray(energy(x), dtype=np.float64)
    if np.isnan(values).any():
        place = float(x[np.flatnonzero(np.isnan(values))[0]])
        raise ConfigurationError(
            f"the log density is NaN at theta={place:.6g}; expected a number, or minus infinity where the density is 0; mend "
            "the density there"
        )
    return values

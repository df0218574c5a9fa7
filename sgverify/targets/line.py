"""Averages over the line under exp(-E), and sums over many data by few weighted nodes.

The trapezoid rule in t, x = centre + scale sinh(t), is refined until it converges. The rule converges geometrically for
analytic integrands that vanish at both ends: halving the spacing squares the
error (Trefethen and Weideman 2014, theorem 5.1). The substitution turns algebraic tails into exponential ones.
Peaks that are known to be far apart are averaged one by one, and weighted by their masses.

Sums of a smooth function over many numbers are taken by Gauss's rule on panels: few weighted nodes replace the data.
The rule of K nodes for the measure that puts 1 on every datum of a panel has positive weights and sums polynomials up
to degree 2K - 1 exactly. So sum_i f(x_i) is missed by at most 2 n E for each panel of n data, E the distance of f from
those polynomials. For f analytic and bounded by M inside the ellipse around the panel [c - w, c + w] whose half-axes
sum to rho w, E <= 2 M rho^(1 - 2K)/(rho - 1). Sources: Golub and Welsch 1969; Trefethen 2013, theorems 8.2 and 19.3.

With f(x) = softplus(s x) nearest to singular at a distance pi/|s| from the line, rho is about 2 pi/(|s| w): with s w = 1
and K = 10 the bound is n M 1e-14, which is rounding. How many panels that takes depends on where theta lives: they are halved
until the sum over the nodes is that over the data at points across the mass and far beyond it. So U costs the same for a
thousand data as for ten million. Only sums over all data may use it; minibatches take the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sgverify.errors import ConfigurationError

NODES = 10
FEWEST = 4 * NODES
"""A panel of fewer data is kept as it is."""
SMALLEST = 8 * FEWEST
"""The smallest number of data that is condensed; with fewer, nothing would be gained."""
_FIRST = 4
"""The panels that are tried first; then twice as many, and so on."""
_ACROSS = np.array([-12.0, -6.0, -3.0, -1.0, 0.0, 1.0, 2.0, 5.0, 9.0])
"""The points at which sums are compared, in standard deviations from the mean or a mode."""
_AGREED, _HALF_THE_DIGITS = 64 * float(np.finfo(np.float64).eps), float(np.finfo(np.float64).eps) ** 0.5
"""The rounding of a sum, as a share of the sum of its terms' sizes; and a difference that may still be one of roundings."""


class Weighted(NamedTuple):
    """Weighted data: the numbers and their multiplicities. Shapes (M, w), (M,), float64."""

    data: np.ndarray
    weights: np.ndarray


def condensed(
    data: np.ndarray,
    sums: Callable[[np.ndarray, np.ndarray, np.ndarray | None], np.ndarray],
    prior: Energy,
    hint: tuple[float, float],
    peaks: Sequence[float] = (),
) -> Weighted | None:
    """Few weighted data with the same sums; None where at least half as many as there are data would be needed.

    `sums(theta, data, weights)` are sums of the likelihood's potential at points of the line, and of the sizes of its terms,
    shape (2, n); the mass of exp(-U) is sought from `hint`, or lies at the `peaks`.
    """
    if data.shape[1] == 2 and len(np.unique(data[:, 1])) > len(data) // SMALLEST:
        return None
    panels, nodes, before = _FIRST, 0, math.inf
    while True:
        found = condense(data, panels)
        if len(found.data) > len(data) // 2:
            return None

        def energy(x: np.ndarray, few: Weighted = found) -> np.ndarray:
            return np.asarray(prior(x) + sums(x, *few)[0])

        if peaks:
            places = np.add.outer(peaks, _ACROSS * (max(peaks) - min(peaks)) / 10).ravel()
        else:
            frame = find_frame(energy, *hint)
            places = frame.centre + frame.scale * _ACROSS
        with np.errstate(over="ignore", invalid="ignore"):
            few, (all_of_them, sizes) = sums(places, *found)[0], sums(places, data, None)
            apart = float(np.max(np.abs(few - all_of_them) / (sizes + np.finfo(np.float64).tiny)))
        if apart <= _AGREED:
            return found
        if len(found.data) >= 2 * nodes:
            # The rule's own error falls with a high power of the panels. A small difference that does not is that of the sums.
            if before / 2 < apart <= _HALF_THE_DIGITS:
                return found
            nodes, before = len(found.data), apart
        panels *= 2


def condense(data: np.ndarray, panels: int) -> Weighted:
    """Replace the numbers, shape (N, 1), by at most FEWEST a panel; with labels, shape (N, 2), for each label."""
    labels = np.unique(data[:, 1]) if data.shape[1] == 2 else [None]
    edges = np.linspace(data[:, 0].min(), data[:, 0].max(), panels + 1)[1:-1]
    rows, weights = [], []
    for label in labels:
        x = np.sort(data[:, 0] if label is None else data[data[:, 1] == label, 0])
        for panel in np.split(x, np.searchsorted(x, edges)):
            if not len(panel):
                continue
            middle, half = (panel[0] + panel[-1]) / 2, (panel[-1] - panel[0]) / 2
            if len(panel) < FEWEST or not half:
                nodes, shares = np.unique(panel, return_counts=True)
            else:
                nodes, shares = _gauss((panel - middle) / half)
                nodes = middle + half * nodes
            beside = [] if label is None else [np.full(len(nodes), label)]
            rows.append(np.column_stack([nodes, *beside]))
            weights.append(shares.astype(np.float64))
    return Weighted(_frozen(np.concatenate(rows)), _frozen(np.concatenate(weights)))


def _gauss(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss's rule for the sum over t in [-1, 1], from its orthogonal polynomials."""
    diagonal, beside = np.zeros(NODES), np.zeros(NODES - 1)
    before, now = np.zeros_like(t), np.full_like(t, len(t) ** -0.5)
    for k in range(NODES):
        diagonal[k] = (t * now**2).sum()
        if k < NODES - 1:
            following = (t - diagonal[k]) * now - (beside[k - 1] * before if k else 0.0)
            beside[k] = np.sqrt((following**2).sum())
            if not beside[k] > 1e-12 * np.sqrt(len(t)):
                # Fewer than K different data.
                return np.unique(t, return_counts=True)[0], np.unique(t, return_counts=True)[1].astype(float)
            before, now = now, following / beside[k]
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    return values, len(t) * vectors[0] ** 2


def _frozen(values: np.ndarray) -> np.ndarray:
    values.flags.writeable = False
    return values


_BARRIER = 60.0
"""Peaks are apart where E between them is this far above its minimum: the density there is e^-60 of a peak's height."""
_NARROW = 0.05
"""Peaks are narrow where their standard deviations are below this share of the distance, so that one frame does not suffice."""


def average_on_peaks(
    energy: Energy,
    functions: Callable[[np.ndarray], np.ndarray],
    centre: float,
    scale: float,
    peaks: Sequence[float] = (),
) -> LineAverages:
    """The averages of `functions` under exp(-E) on the line; without peaks, the same as `average_on_line`.

    `peaks` are points near the modes, one for each; a peak is integrated between the middles to its neighbours. Where the
    middles are no barriers, or the peaks not narrow, there is one integral, whose frame is sought from (centre, scale).
    """
    frames = _frames(energy, sorted(peaks))
    if frames is None:
        return average_on_line(energy, functions, find_frame(energy, centre, scale))
    found = []
    for part, frame in frames:
        found.append(average_on_line(part, functions, frame))
    heights = np.array([part.log_mass for part in found])
    masses = np.exp(heights - heights.max())
    shares = masses / masses.sum()
    values = sum(share * part.values for share, part in zip(shares, found, strict=True))
    # A share is off by at most twice the largest relative error of the masses, of itself.
    off = 2 * max(part.mass_error for part in found) + np.exp(-_BARRIER)
    bounds = sum(
        share * (part.error_bounds + off * np.abs(part.values - values))
        for share, part in zip(shares, found, strict=True)
    )
    return LineAverages(
        np.asarray(values),
        np.asarray(bounds),
        np.concatenate([part.nodes for part in found]),
        np.concatenate([share * part.weights for share, part in zip(shares, found, strict=True)]),
        float(heights.max() + np.log(masses.sum())),
        off,
    )


def _frames(energy: Energy, peaks: Sequence[float]) -> list[tuple[Energy, Frame]] | None:
    """For each peak E on its own interval, infinite beyond, with its frame; None where one frame serves all peaks."""
    if len(peaks) < 2 or len(set(peaks)) < len(peaks):
        return None
    middles = (np.array(peaks[1:]) + np.array(peaks[:-1])) / 2
    edges = [-np.inf, *middles, np.inf]
    if not (energy(middles) > energy(np.array(peaks)).min() + _BARRIER).all():
        return None
    found: list[tuple[Energy, Frame]] = []
    for peak, low, high in zip(peaks, edges, edges[1:], strict=False):
        width = min(peak - low, high - peak)
        part = _between(energy, low, high)
        frame = find_frame(part, peak, width / 100)
        if frame.scale > _NARROW * width:
            return None
        found.append((part, frame))
    return found


def _between(energy: Energy, low: float, high: float) -> Energy:
    return lambda x: np.where((x > low) & (x < high), energy(x), np.inf)


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
"""The number of grid points at which E is within a few units of its minimum, from which a grid's scale counts as right."""


@dataclass(frozen=True)
class Frame:
    """The place of the mass of exp(-E): a centre, a scale, and the least E found on the grids."""

    centre: float
    scale: float
    lowest: float


@dataclass(frozen=True)
class LineAverages:
    """Averages of functions on the line with bounds of their errors, and the nodes and weights behind them.

    log_mass: log int exp(-E), and the relative error of the mass itself.
    """

    values: np.ndarray
    error_bounds: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray
    log_mass: float
    mass_error: float


def find_frame(energy: Energy, centre: float = 0.0, scale: float = 1.0) -> Frame:
    """The frame of exp(-E), sought from (centre, scale) by grids that move to the least E on them.

    Raises `ConfigurationError` where E is NaN, nowhere finite, or where no mass is found.
    """
    for look in range(_LOOKS):
        # More points where the grids alternate between one peak and the whole line: the peaks are far apart and narrow.
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

    error_bounds: the larger of the last two changes under refinement, plus a bound of the mass beyond the ends, plus the
    rounding of the sum and of E, which is taken to be right to a few units in the last place. The changes bound the error of
    an integrand that is merely continuous as well, for there they at least halve. Raises `ConfigurationError` where
    refinement does not converge.
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
    """The end in t beyond which terms are negligible, and a bound of their share there.

    Beyond the end the terms fall at least as fast as before it, so that their sum is at most that of the last unit of t.
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

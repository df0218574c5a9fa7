"""Averages on the line under a density of peaks that are known to be far apart: each by itself, weighted by its mass."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sgverify.targets.line import Energy, Frame, LineAverages, average_on_line, find_frame

_BARRIER = 60.0
"""Peaks are apart where E between them is this far above its least: what is cut off there is e^-60 of a peak's height."""
_NARROW = 0.05
"""And where a peak's standard deviation is below this share of the distance, so that one frame would not do."""


def average_on_peaks(
    energy: Energy,
    functions: Callable[[np.ndarray], np.ndarray],
    centre: float,
    scale: float,
    peaks: Sequence[float] = (),
) -> LineAverages:
    """The averages of `functions` under exp(-E) on the line; see `average_on_line`, which this is without peaks.

    `peaks` are points near the modes, one in each; they are integrated between the middles of neighbours. Where those
    are no barriers, or the peaks not narrow, there is one integral, looked for from (centre, scale).
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
    """E on each peak's own interval, infinite beyond, and its frame; None where one frame serves all."""
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

"""Whether a step of kinetic dynamics carries chains off that strayed far enough, and how much of a law it has lost."""

from __future__ import annotations

import numpy as np

from sgverify.exact.transfer.plane_grid import PlaneGrid
from sgverify.exact.transfer.plane_reading import PlaneInterpreter
from sgverify.exact.transfer.result import Escape

_DOUBLINGS, _SECTIONS = 24, 16
"""Starts are tried to 2^24 = 1.7e7 standard deviations from the mean; the first that escapes is found to a 16th."""
_STEPS = 100
_GONE = 100.0
"""Times farther out than it started: a chain that got there without noise is not coming back."""
_FAR, _ORBIT = 1e30, 2000
"""What diverges is beyond 1e30 times the edge within 2000 steps; what an exponential force has thrown out comes back."""
_NEGLIGIBLE = 1e-13


def plane_escape(reading: PlaneInterpreter, step: float) -> Escape | None:
    """How chains escape, `leak` left at 0; None where the step without noise brings every start back.

    Starts at rest, (theta, 0), are followed for 100 steps without noise, and those at the edges that show until they
    diverge. With normal noise every start is reached in the end, so that a chain that escapes from somewhere escapes.
    """
    centre = float(reading.target.location_float64(reading.temperature)[0])
    spread = float(reading.target.spread_float64(reading.temperature)[0])
    signs = np.array([[-1.0], [1.0]])
    reach = spread * 2.0 ** np.arange(-2, _DOUBLINGS + 1) * np.ones((2, 1))
    gone = _gone_from_rest(reading, step, centre, signs * reach)
    if not gone.any():
        return None
    first = gone.argmax(1)
    outer = reach[0, first]
    inner = np.where(first > 0, reach[0, np.maximum(first - 1, 0)], 0.0)
    sections = inner[:, None] + (outer - inner)[:, None] * np.arange(1, _SECTIONS + 1) / _SECTIONS
    closer = _gone_from_rest(reading, step, centre, signs * sections)
    found = sections[[0, 1], closer.argmax(1)]
    found = np.where(gone.any(1), found, np.inf)
    edges = (centre - float(found[0]), centre + float(found[1]))
    if not _diverges(reading, step, centre, np.array(edges)):
        return None
    text = (
        f"without noise, a chain at rest beyond theta = {edges[0]:.3g} or {edges[1]:.3g} is carried off at h={step:.4g}: the drift "
        "outruns the step, so the chain is transient, and its law is a quasi-stationary one"
    )
    return Escape(edges, 0.0, text)


def leak_of(
    reading: PlaneInterpreter, step: float, escape: Escape, grid: PlaneGrid, masses: np.ndarray
) -> float:
    """The mass of a law at points of the grid from which the step without noise carries chains off.

    No more than the mass at energies U + p.p/2 of at least those of the edges, which is looked at first.
    """
    theta, p = grid.points
    finite = np.array([edge for edge in escape.edges if np.isfinite(edge)])
    barrier = float(reading.target.energy_float64(finite[:, None]).min())
    energy = reading.target.energy_float64(grid.theta.nodes[:, None])[:, None] + p**2 / 2
    above = energy >= barrier / 2 + energy.min() / 2
    most = float(np.abs(masses[above]).sum())
    if most <= _NEGLIGIBLE:
        return 0.0
    gone = _gone(reading, step, theta[above], p[above], _GONE * float(np.abs(theta).max()))
    return float(np.abs(masses[above][gone]).sum())


def _diverges(reading: PlaneInterpreter, step: float, centre: float, edges: np.ndarray) -> bool:
    finite = edges[np.isfinite(edges)]
    starts = centre + 1.1 * (finite - centre)
    bounds = _FAR * (1 + np.abs(finite))
    return bool(_gone(reading, step, starts, np.zeros_like(starts), bounds, _ORBIT, all_of_them=False).any())


def _gone_from_rest(reading: PlaneInterpreter, step: float, centre: float, offsets: np.ndarray) -> np.ndarray:
    starts = centre + offsets
    return _gone(reading, step, starts, np.zeros_like(starts), abs(centre) + _GONE * np.abs(offsets))


def _gone(
    reading: PlaneInterpreter,
    step: float,
    theta: np.ndarray,
    p: np.ndarray,
    bounds: np.ndarray | float,
    steps: int = _STEPS,
    *,
    all_of_them: bool = True,
) -> np.ndarray:
    """Whether |theta| came to exceed the bound; without `all_of_them` the first one ends the run."""
    gone = np.zeros(theta.shape, dtype=bool)
    moves = reading.moves(step)
    for _ in range(steps):
        for move in moves:
            images = move(theta, p)
            theta, p = images.theta, images.p
        with np.errstate(invalid="ignore"):
            gone |= ~((np.abs(theta) < bounds) & np.isfinite(p))
        # What is gone waits at the origin, where nothing overflows.
        theta, p = np.where(gone, 0.0, theta), np.where(gone, 0.0, p)
        if gone.all() or (gone.any() and not all_of_them):
            break
    return gone

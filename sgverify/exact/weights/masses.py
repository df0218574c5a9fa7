"""The masses of the energy regions under exp(-U/tau): enclosed on the line and for quadratic potentials, by grids in the plane.

On the line an interval is halved until U on a ball around it certainly lies between two edges, or until it is negligible.
Undecided intervals and the tails widen the balls of the masses, so that no crossing of an edge is missed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from flint import arb

from sgverify.errors import ConfigurationError, DefinitionError, Unreached
from sgverify.exact.numbers.ball import number
from sgverify.exact.posterior.panels import Balls, integrals_between
from sgverify.exact.posterior.tails import BITS, Tails, exactly, find_cut, first_look, read_energy
from sgverify.schemes.composites.composite import region_of
from sgverify.targets import Target
from sgverify.targets.line import find_frame

_NEGLIGIBLE = 2.0**-44
"""The width of undecided intervals around an edge, as a share of the scale of the density."""
_MOST_PIECES = 60_000
_GRID = 1200
_REACH = 9.0
"""The extent of a grid of the plane in standard deviations: the density of a Gaussian is exp(-40) there."""


@dataclass(frozen=True)
class RegionMasses:
    """p_1, ..., p_m with sum 1, the method that found them, and on the line the intervals (a, b, J) between crossings."""

    masses: tuple[arb, ...]
    method: str
    runs: tuple[tuple[float, float, int], ...] = ()

    @property
    def values(self) -> np.ndarray:
        """The midpoints."""
        return np.array([float(mass.mid()) for mass in self.masses])

    @property
    def error_bound(self) -> float:
        """The largest radius."""
        return max(float(mass.rad()) for mass in self.masses)


def region_masses(target: Target, inner: Sequence[Any], tau: Any) -> RegionMasses:
    """The masses of the regions between the inner edges u_1 < ... < u_(m-1) under exp(-U/tau).

    `enclosure`: in closed form where U is quadratic, U - min U ~ tau Gamma(d/2), and by ball arithmetic on the line;
    `quadrature`: on two grids in the plane, the difference of which is the error that is stated. Raises
    `ConfigurationError` where none of these reaches.
    """
    edges = [_exact(edge) for edge in inner]
    T = _exact(tau)
    if target.quadratic:
        return _quadratic(target, edges, T)
    if target.dim == 1:
        try:
            return _on_line(target, edges, T)
        except (Unreached, DefinitionError) as error:
            raise ConfigurationError(
                f"target.name={target.name!r}: the masses of its energy regions are not enclosed ({error}); expected a formula "
                "with tails that have bounds"
            ) from None
    if target.dim == 2:
        return _in_plane(target, [float(edge) for edge in edges], float(T))
    raise ConfigurationError(
        f"target.name={target.name!r} with dim={target.dim}: the masses of its energy regions are beyond quadrature; expected a "
        "quadratic potential, or target.dim of 1 or 2"
    )


def _quadratic(target: Target, edges: list[Fraction], tau: Fraction) -> RegionMasses:
    with flint.ctx.workprec(BITS):
        lowest = float(target.energy_float64(target.mean_float64()[None, :])[0])
        half = number(Fraction(target.dim, 2))
        # Both the mean and the energy there are rounded; N data are summed.
        slack = arb(0, 1e-13 * (1 + abs(lowest)))
        shares = [arb(0)]
        for edge in edges:
            height = (number(edge) - arb(lowest) + slack) / number(tau)
            shares.append(height.gamma_lower(half, regularized=1) if height > 0 else arb(0))
        shares.append(arb(1))
        return RegionMasses(tuple(b - a for a, b in itertools.pairwise(shares)), "enclosure")


def _on_line(target: Target, edges: list[Fraction], tau: Fraction) -> RegionMasses:
    line = target.energy_of_coordinate(0)
    frame = find_frame(lambda x: np.asarray(line(x) / float(tau)), *target.hint(0))
    scaled: Callable[[np.ndarray], np.ndarray] = lambda x: np.asarray(line(x) / float(tau))  # noqa: E731
    with flint.ctx.workprec(BITS):
        centre, width, lowest = arb(frame.centre), arb(frame.scale), arb(frame.lowest)
        on_balls = read_energy(target, 0, tau, Balls, arb(0), lowest)
        on_tails = read_energy(target, 0, tau, Tails, exactly(arb(0)), lowest)
        low, below = find_cut(on_tails, centre, width, -1, 0, first_look(scaled, frame, -1))
        high, above = find_cut(on_tails, centre, width, 1, 0, first_look(scaled, frame, 1))
        heights = [number(edge) / number(tau) - lowest for edge in edges]
        runs, undecided = _runs(on_balls, low, high, heights, _NEGLIGIBLE * frame.scale)
        masses = [arb(0)] * (len(edges) + 1)
        for a, b, region in runs:
            masses[region - 1] += integrals_between(on_balls, a, b, centre, 0, width)[0]
        for a, b in undecided:
            # The density at most: exp of minus the least energy on the piece.
            most = (-on_balls((a + b) / 2 + arb(0, ((b - a) / 2).upper())).lower()).exp() * (b - a)
            masses = [mass + arb(0, most.upper()).union(most) for mass in masses]
        ends = (below[0] + above[0]).upper()
        masses = [mass + arb(0).union(ends) for mass in masses]
        total = sum(masses, arb(0))
        return RegionMasses(
            tuple(mass / total for mass in masses),
            "enclosure",
            tuple((float(a), float(b), region) for a, b, region in runs),
        )


def _runs(
    energy: Callable[[Any], Any], low: arb, high: arb, heights: list[arb], smallest: float
) -> tuple[list[tuple[arb, arb, int]], list[tuple[arb, arb]]]:
    """Intervals whose energies certainly lie in one region, from left to right, and the undecided pieces."""
    runs: list[tuple[arb, arb, int]] = []
    undecided: list[tuple[arb, arb]] = []
    pending, looked = [(low, high)], 0
    while pending:
        a, b = pending.pop()
        looked += 1
        if looked > _MOST_PIECES:
            raise Unreached(f"more than {_MOST_PIECES} pieces are needed to tell the regions apart")
        middle = ((a + b) / 2).mid()
        value = energy(middle + arb(0, max((middle - a).upper(), (b - middle).upper())))
        ends = (region_of(value.lower(), heights), region_of(value.upper(), heights))
        certain = ends[0] == ends[1] and not any(value.overlaps(height) for height in heights)
        if value.is_finite() and certain:
            if runs and runs[-1][2] == ends[0] and bool(runs[-1][1] == a):
                runs[-1] = (runs[-1][0], b, ends[0])
            else:
                runs.append((a, b, ends[0]))
        elif b - a < smallest:
            undecided.append((a, b))
        else:
            pending += [(middle, b), (a, middle)]
    return runs, undecided


def _in_plane(target: Target, edges: list[float], tau: float) -> RegionMasses:
    location, spread = target.location_float64(tau), target.spread_float64(tau)
    found = []
    for points in (_GRID // 2 + 1, _GRID):
        axes = [
            c + s * _REACH * (2 * (np.arange(points) + 0.5) / points - 1)
            for c, s in zip(location, spread, strict=True)
        ]
        x, y = np.meshgrid(*axes, indexing="ij")
        energies = target.energy_float64(np.stack([x.ravel(), y.ravel()], -1))
        shares = np.exp((energies.min() - energies) / tau)
        placed = np.asarray(region_of(energies, edges))
        sums = np.bincount(placed - 1, shares, minlength=len(edges) + 1)
        found.append(sums / sums.sum())
    # Cells that an edge crosses are counted whole: the error falls like the spacing or faster.
    bound = 2 * np.abs(found[1] - found[0])
    return RegionMasses(
        tuple(arb(p, b) for p, b in zip(found[1].tolist(), bound.tolist(), strict=True)), "quadrature"
    )


def _exact(value: Any) -> Fraction:
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)

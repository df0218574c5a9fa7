"""The piece of the line that a chain lives on, and the edges beyond which its drift carries it off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sgverify.errors import OutOfReachError
from sgverify.exact.transfer.hermite import EXTENDED
from sgverify.exact.transfer.motion import StepMap
from sgverify.targets.line import find_frame

_REACH = 14.0
_LOOKS = 8001
_BISECTIONS = 40
_SCAN = 2.0**0.05
_FURTHEST = 1e12
_ORBIT = 400

Energy = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Mass:
    """Where exp(-V) has its mass: V, its least value, and a frame around it."""

    energy: Energy
    centre: float
    scale: float
    lowest: float

    @staticmethod
    def of(energy: Energy, centre: float, scale: float) -> Mass:
        """The mass of exp(-energy), looked for from (centre, scale)."""
        frame = find_frame(energy, centre, scale)
        return Mass(energy, frame.centre, frame.scale, frame.lowest)

    def interval(self, level: float) -> tuple[float, float]:
        """The hull of {V <= min V + level}; exp(-level) is left out at either end, relative to the mode."""
        t = np.linspace(-_REACH, _REACH, _LOOKS)
        x = self.centre + self.scale * np.sinh(t)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.energy(x)
        # Between two looks V may be lower still than the least that was met.
        lowest = min(self.lowest, float(np.nanmin(values)))
        inside = np.flatnonzero(values <= lowest + level)
        first, last = inside[0], inside[-1]
        if first == 0 or last == len(x) - 1:
            raise OutOfReachError("the density falls too slowly for a bounded grid")
        return (
            self._crossing(x[first - 1], x[first], lowest + level),
            self._crossing(x[last + 1], x[last], lowest + level),
        )

    def _crossing(self, outside: float, inside: float, height: float) -> float:
        for _ in range(_BISECTIONS):
            middle = (outside + inside) / 2
            if float(self.energy(np.array([middle]))[0]) <= height:
                inside = middle
            else:
                outside = middle
        return inside


def escape_edges(motion: StepMap, step: float, centre: float, scale: float) -> tuple[float, float] | None:
    """The nearest points (below, above) from where the drift alone steps across `centre` to at least as far away.

    None where there are none, out to 1e12 scales, or where the drift comes back from beyond them. An infinite edge
    stands for a side without one.
    """
    distances = scale * _SCAN ** np.arange(int(np.log(_FURTHEST) / np.log(_SCAN)))
    edges = []
    for side in (-1.0, 1.0):
        x = np.asarray(centre + side * distances, dtype=EXTENDED)
        after = motion.without_noise(x, step)
        outrun = ~(np.abs(after - centre) < distances)
        # A mode may push outwards next to the centre: what counts is a side that stays outrun.
        kept = np.flatnonzero(~outrun)
        first = 0 if not len(kept) else kept[-1] + 1
        edges.append(float(x[first]) if first < len(x) else side * np.inf)
    if not np.isfinite(edges).any():
        return None
    return (edges[0], edges[1]) if _diverges(motion, step, centre, edges) else None


def _diverges(motion: StepMap, step: float, centre: float, edges: list[float]) -> bool:
    for edge in edges:
        if not np.isfinite(edge):
            continue
        x = np.array([centre + 1.1 * (edge - centre)], dtype=EXTENDED)
        for _ in range(_ORBIT):
            x = motion.without_noise(x, step)
            if not np.abs(x[0] - centre) < 1e60 * (1 + abs(edge)):
                return True
    return False

"""What the draws of an adaptively weighted run are made of: energies of data, shares in averages, minibatches drawn apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from sgverify.checks.minibatch_streams import BITS, bits_of
from sgverify.samplers.schedules import Cyclical, Power, Row
from sgverify.samplers.settings import Settings
from sgverify.schemes.composites.adaptation import Adaptation
from sgverify.schemes.composites.weighting import region_below, region_of
from sgverify.targets import Target

ALPHA, CYCLES, THRESHOLD = 0.6, 2, 0.3
"""Of the decreasing and the cyclical row whose averages are looked at."""


def energies_of(target: Target, theta: np.ndarray, chosen: np.ndarray | None) -> np.ndarray:
    """U, or prior + N/n sum likelihood over chosen data, in float64. Shapes (S, C, d), (n, S, C) -> (S, C)."""
    theta = np.asarray(theta, dtype=np.float64)
    if chosen is None:
        return target.energy_float64(theta)
    assert target.data is not None
    assert target.likelihood is not None
    heights = sum(np.asarray(target.likelihood(theta, target.data[one])) for one in chosen)
    return np.asarray(target.prior(theta)) + len(target.data) / len(chosen) * heights


def multipliers_of(
    adaptation: Adaptation, weights: np.ndarray, energies: np.ndarray, size: float
) -> tuple[np.ndarray, np.ndarray]:
    """Multipliers by the definition in plain numbers, and where the region is beyond doubt of rounding. Shape (S, C)."""
    partition = adaptation.partition
    found, sure = np.empty_like(energies), np.ones(energies.shape, dtype=bool)
    for place in np.ndindex(energies.shape):
        energy, theta = float(energies[place]), weights[place].tolist()
        region = region_of(energy, partition.inner)
        width = partition.widths[region - 1] if energy <= partition.edges[-1] else np.inf
        found[place] = adaptation.multiplier(theta[region - 1], theta[region_below(region) - 1], width)
        sure[place] = min(abs(energy - edge) for edge in partition.edges[1:]) > size * (1 + abs(energy))
    return found, sure


def log_weight_of(adaptation: Adaptation, theta: list[float], energy: float) -> float:
    """log of what a draw of this energy counts at weights theta, in plain numbers."""
    partition = adaptation.partition
    region = region_of(energy, partition.inner)
    return float(
        adaptation.log_importance(
            energy,
            here=theta[region - 1],
            below=theta[region_below(region) - 1],
            lower=partition.edges[region - 1],
            width=partition.widths[region - 1],
            top=min(energy, partition.edges[-1]),
        )
    )


def share_of(row: Row, number: int, settings: Settings) -> float:
    """What the state after step l = `number` counts besides its weight: h_l, or 1 at a fixed step; 0 where it is left out."""
    past, schedule = number - settings.burn_in, row.schedule
    if past <= 0 or past % settings.thinning:
        return 0.0
    if isinstance(schedule, Power):
        return schedule.scale * math.exp(-schedule.alpha * math.log(number))
    if isinstance(schedule, Cyclical):
        part = ((number - 1) % schedule.period) / schedule.period
        height = (schedule.scale - schedule.low) / 2
        return 0.0 if part < schedule.threshold else schedule.low + height * (1 + math.cos(math.pi * part))
    return 1.0


def stream_defects(
    energies: Sequence[np.ndarray | None],
    gradients: Sequence[tuple[int, np.ndarray | None]],
    size: int | None,
) -> Iterator[str]:
    """The minibatches of energies are not those of the gradients, at whatever lag, and not the same ones again.

    Compared over all steps and chains together, where two independent sources hardly agree. Shapes (n, S, C).
    """
    drawn = {number: chosen for number, chosen in enumerate(energies) if chosen is not None}
    of_gradients: dict[int, np.ndarray] = {}
    for number, chosen in gradients:
        if chosen is not None:
            of_gradients.setdefault(number, chosen)
    for name, other, lags in (
        ("gradients", of_gradients, (-1, 0, 1)),
        ("the energies of the step before", drawn, (1,)),
    ):
        for lag in lags:
            pairs = [(a, other[number - lag]) for number, a in drawn.items() if number - lag in other]
            # A gradient's minibatch may be one for all rows.
            pairs = [(a, np.broadcast_to(b, a.shape)) for a, b in pairs if len(b) == len(a)]
            if not pairs or size is None:
                continue
            chains = sum(a.shape[-1] for a, _ in pairs)
            if bits_of(size, len(pairs[0][0])) * chains < BITS:
                continue
            if all(np.array_equal(np.sort(a, axis=0), np.sort(b, axis=0)) for a, b in pairs):
                when = {0: "of the same step", 1: "a step earlier", -1: "a step later"}[lag]
                yield f"weights adapt by energies of the minibatches of {name}" + (
                    f", {when}" if other is of_gradients else ""
                )
                return


__all__ = [
    "ALPHA",
    "CYCLES",
    "THRESHOLD",
    "energies_of",
    "log_weight_of",
    "multipliers_of",
    "share_of",
    "stream_defects",
]

"""Do the rules of an adaptively weighted sampler, tested on given energies, satisfy the identities that define them?

Three identities characterise the rules without repeating them. The law that the multiplied gradients leave invariant, times
the weights of draws, is the posterior. The weights stay, on average, at the fixed point of the exact recursion. Step sizes fall.

Also here, in plain numbers: the energies of data, the weights of draws in averages, and the independence of the
minibatches of energies and gradients.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import torch

from sgverify.exact.weights.fixed_point import cumulated_weights, visited_weights
from sgverify.samplers.composites.adapting import AdaptedWeights
from sgverify.samplers.run.schedules import Cyclical, Power, Row
from sgverify.samplers.run.settings import Settings
from sgverify.schemes.composites.adaptation import Adaptation
from sgverify.schemes.composites.composite import region_below, region_of
from sgverify.targets import Target
from tests.self_checks.minibatches import BITS, bits_of

ALPHA, CYCLES, THRESHOLD = 0.6, 2, 0.3
"""alpha of the decreasing row, and the cycles and threshold of the cyclical row, whose averages are recomputed."""


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
    """The multipliers by their definition, and a mask of the energies that rounding cannot move across an edge; shape (S, C)."""
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
    """The log weight of a draw with this energy at weights theta, in plain numbers."""
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
    """The schedule's factor for the state after step l = `number` in averages: h_l, 1 at a fixed step, 0 if it is left out."""
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
    """Sentences if minibatches of energies equal those of gradients, at any lag, or repeat one another.

    Minibatches have shape (n, S, C). They are compared over all steps and chains together, where two independent sources
    agree with negligible probability.
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
            # All rows may share one minibatch of a gradient.
            pairs = [(a, np.broadcast_to(b, a.shape)) for a, b in pairs if len(b) == len(a)]
            if not pairs or size is None:
                continue
            chains = sum(a.shape[-1] for a, _ in pairs)
            if bits_of(size, len(pairs[0][0])) * chains < BITS:
                continue
            if all(np.array_equal(np.sort(a, axis=0), np.sort(b, axis=0)) for a, b in pairs):
                when = {0: "of the same step", 1: "a step earlier", -1: "a step later"}[lag]
                yield (
                    f"energies are not drawn anew; weights adapt by energies of the minibatches of {name}"
                    + (f", {when}" if other is of_gradients else "")
                )
                return


CLOSE = 1e-11
"""The tolerance of differences between numbers of size 1, which are logs, products and sums of a few dozen terms."""

NUMBERS = (1, 2, 3, 10, 1000, 10**6)
"""The steps k at which omega_k is tested."""


def rule_defects(adaptation: Adaptation) -> Iterator[str]:
    """One sentence for each identity that the running weights violate."""
    yield from _region_defects(adaptation)
    yield from _law_defects(adaptation)
    yield from _still_defects(adaptation)
    yield from _step_defects(adaptation)


def _running(adaptation: Adaptation, theta: list[float], chains: int) -> AdaptedWeights:
    """The sampler's weights, with one theta for every chain."""
    made = AdaptedWeights(adaptation, rows=1, chains=chains, device=torch.device("cpu"))
    made.theta = torch.tensor(theta, dtype=made.theta.dtype).expand(1, chains, -1).clone()
    return made


def _region_defects(adaptation: Adaptation) -> Iterator[str]:
    """Sentences about energies in a wrong region: regions are right-closed, the first and last unbounded; floats are exact."""
    edges = adaptation.partition.edges
    inner = [Fraction(edge) for edge in edges[1:-1]]
    beside = [
        u for edge in edges for u in (math.nextafter(edge, -math.inf), edge, math.nextafter(edge, math.inf))
    ]
    width = edges[-1] - edges[0]
    put = [*beside, *((a + b) / 2 for a, b in pairwise(edges)), edges[0] - 9 * width, edges[-1] + 9 * width]
    found = AdaptedWeights(adaptation, rows=1, chains=len(put), device=torch.device("cpu")).regions(
        torch.tensor([put], dtype=torch.float64)
    )
    for energy, region in zip(put, found[0].tolist(), strict=True):
        wanted = 1 + sum(Fraction(energy) > edge for edge in inner)
        if region != wanted:
            yield (
                f"region {region} of an energy, required {wanted}; the energy {energy!r} was put there, and regions hold "
                "u_(i-1) < U <= u_i"
            )
            return


def _law_defects(adaptation: Adaptation) -> Iterator[str]:
    """Sentences if -L/tau + log w is not -U/T up to a constant, L the integral of the multiplier.

    The identity is tested at u_0 - du, u_0, ..., u_m, u_m + du. Smooth weights of draws cancel the multiplied gradients
    exactly; the weight of a region is the smooth weight at its upper end.
    """
    edges, tau, T = adaptation.partition.edges, adaptation.tau, adaptation.temperature
    bins = adaptation.partition.bins
    # Neither equal nor monotone: every difference of logs shows.
    theta = [0.2 + 0.7 * ((5 * i + 3) % 11) / 11 for i in range(bins)]
    ends = [edges[0] - (edges[1] - edges[0]), *edges, edges[-1] + (edges[-1] - edges[-2])]
    middles = [(a + b) / 2 for a, b in pairwise(ends)]
    bent = _running(adaptation, theta, len(middles)).multiplier(torch.tensor([middles], dtype=torch.float64))
    rises = [factor * (b - a) for factor, (a, b) in zip(bent[0, :, 0].tolist(), pairwise(ends), strict=True)]
    potential = np.concatenate([[0.0], np.cumsum(rises)])
    energies = torch.tensor([ends], dtype=torch.float64)
    smooth = _running(replace(adaptation, smooth=True), theta, len(ends)).log_importance(energies)[0].numpy()
    left = -potential / tau + smooth + np.array(ends) / T
    size = 1 + float(np.abs(potential).max() / tau + np.abs(ends).max() / min(T, tau))
    worst = float(np.ptp(left))
    if not worst <= CLOSE * size:
        place = int(np.argmax(np.abs(np.diff(left))))
        yield (
            "gradients and weights do not undo one another; the law that the multiplied gradient leaves invariant, times the "
            "weights of draws, is not exp(-U/T): they differ by "
            f"{worst:.3g} in the log between energies {ends[0]:.4g} and {ends[-1]:.4g}, most from {ends[place]:.4g} to "
            f"{ends[place + 1]:.4g}"
        )
        return
    plain = _running(replace(adaptation, smooth=False), theta, len(ends)).log_importance(energies)[0].numpy()
    # u_0 is in the first region, where Psi is constant; u_1, ..., u_m are upper ends.
    apart = float(np.abs(plain - smooth).max())
    if not apart <= CLOSE * size:
        yield (
            f"theta(J) and Psi_theta(U) differ by {apart:.3g}; their powers zeta, in the log at the upper ends of regions, where "
            "they are one"
        )


def _still_defects(adaptation: Adaptation) -> Iterator[str]:
    """Sentences if the regions' updates, weighted by p_J theta*(J)^-zeta, do not cancel at theta* of the exact recursion."""
    bins, zeta = adaptation.partition.bins, adaptation.zeta
    masses = [Fraction(1 + (7 * i + 2) % 5, 1 + i) for i in range(bins)]
    solved = cumulated_weights(masses, zeta) if adaptation.cumulative else visited_weights(masses)
    star = [float(ball.mid()) for ball in solved]
    edges = adaptation.partition.edges
    running = _running(adaptation, star, bins)
    running.adapt(2, torch.tensor([[(a + b) / 2 for a, b in pairwise(edges)]], dtype=torch.float64))
    moves = (running.theta[0].numpy() - np.array(star)) / adaptation.omega(2)
    # Logarithms, since theta^-zeta may be far larger than 1.
    logs = np.log([float(mass) for mass in masses]) - zeta * np.log(star)
    chances = np.exp(logs - logs.max())
    mean = chances @ moves / chances.sum()
    scale = float((chances @ np.abs(moves)).max() / chances.sum())
    # An update is a difference of weights of size at most 1, divided by omega.
    rounding = 8 * np.finfo(np.float64).eps / float(adaptation.omega(2))
    if not float(np.abs(mean).max()) <= CLOSE * scale + rounding:
        place = int(np.argmax(np.abs(mean)))
        yield (
            f"weights move on at the exact fixed point; theta({place + 1}) by {mean[place]:.3g} omega a step on average, "
            f"where its single moves are about {scale:.3g} omega"
        )


def _step_defects(adaptation: Adaptation) -> Iterator[str]:
    """Sentences if omega_k does not fall, or if k^alpha omega_k does not tend to A from below within the relative B/k^alpha."""
    omegas = [float(adaptation.omega(k)) for k in NUMBERS]
    if any(not 0 < b < a for a, b in pairwise(omegas)):
        yield f"step sizes do not fall; omega = {omegas[0]:.4g} at step 1 and {omegas[-1]:.4g} at step {NUMBERS[-1]}"
        return
    for k, omega in zip(NUMBERS, omegas, strict=True):
        reached = float(k) ** adaptation.alpha * omega / adaptation.scale
        wanted = 1 / (1 + adaptation.offset * float(k) ** -adaptation.alpha)
        if not abs(reached - wanted) <= CLOSE:
            yield (
                f"k^alpha omega_k/A is {reached:.5g}, required {wanted:.5g}; omega at step {k} is {omega:.10g}, and so "
                f"{reached:.10g} where {wanted:.10g} is due"
            )
            return


__all__ = [
    "ALPHA",
    "CLOSE",
    "CYCLES",
    "THRESHOLD",
    "energies_of",
    "log_weight_of",
    "multipliers_of",
    "rule_defects",
    "share_of",
    "stream_defects",
]

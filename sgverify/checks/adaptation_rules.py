"""The rules that an adaptively weighted run applies, held to what they are for, at energies that are put to them.

Three characterisations, none of which repeats a rule: the law that the bent gradients leave invariant, times what draws count,
is the posterior; the weights stand still, on average, at the fixed point that the exact recursion finds; step sizes fall.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import torch

from sgverify.exact.partition.fixed_point import cumulated_weights, visited_weights
from sgverify.samplers.adapted import AdaptedWeights
from sgverify.schemes.composites.adaptation import Adaptation

CLOSE = 1e-11
"""Of differences between numbers of size 1: logs, products and sums of a few dozen, each rounded to 1e-16."""

NUMBERS = (1, 2, 3, 10, 1000, 10**6)
"""The steps at which step sizes are looked at."""


def rule_defects(adaptation: Adaptation) -> Iterator[str]:
    """One sentence for each thing that the running weights do and should not."""
    yield from _region_defects(adaptation)
    yield from _law_defects(adaptation)
    yield from _still_defects(adaptation)
    yield from _step_defects(adaptation)


def _running(adaptation: Adaptation, theta: list[float], chains: int) -> AdaptedWeights:
    """Running weights, the same theta for every chain."""
    made = AdaptedWeights(adaptation, rows=1, chains=chains, device=torch.device("cpu"))
    made.theta = torch.tensor(theta, dtype=made.theta.dtype).expand(1, chains, -1).clone()
    return made


def _region_defects(adaptation: Adaptation) -> Iterator[str]:
    """Regions are right-closed, open at both ends; compared as the exact numbers that floats are."""
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
                f"the energy {energy!r} was put into region {region}, and lies in region {wanted}: regions hold u_(i-1) < U <= u_i"
            )
            return


def _law_defects(adaptation: Adaptation) -> Iterator[str]:
    """-L/tau + log w = -U/T up to a constant at u_0 - du, u_0, ..., u_m, u_m + du, L being the integral of the multiplier.

    Smooth weights undo the bent gradients exactly, and those of a region are theirs at its upper end.
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
            "the law that the multiplied gradient leaves invariant, times the weights of draws, is not exp(-U/T): they differ by "
            f"{worst:.3g} in the log between energies {ends[0]:.4g} and {ends[-1]:.4g}, most from {ends[place]:.4g} to "
            f"{ends[place + 1]:.4g}"
        )
        return
    plain = _running(replace(adaptation, smooth=False), theta, len(ends)).log_importance(energies)[0].numpy()
    # u_0 is in the first region, where Psi is constant; u_1, ..., u_m are upper ends.
    apart = float(np.abs(plain - smooth).max())
    if not apart <= CLOSE * size:
        yield (
            f"theta(J)^zeta and Psi_theta(U)^zeta differ by {apart:.3g} in the log at the upper ends of regions, where they are one"
        )


def _still_defects(adaptation: Adaptation) -> Iterator[str]:
    """At theta* the regions' updates cancel, each weighed by its chance p_J theta*(J)^-zeta; theta* is the exact recursion's."""
    bins, zeta = adaptation.partition.bins, adaptation.zeta
    masses = [Fraction(1 + (7 * i + 2) % 5, 1 + i) for i in range(bins)]
    solved = cumulated_weights(masses, zeta) if adaptation.cumulative else visited_weights(masses)
    star = [float(ball.mid()) for ball in solved]
    edges = adaptation.partition.edges
    running = _running(adaptation, star, bins)
    running.adapt(2, torch.tensor([[(a + b) / 2 for a, b in pairwise(edges)]], dtype=torch.float64))
    moves = (running.theta[0].numpy() - np.array(star)) / adaptation.omega(2)
    # Logs, as theta^-zeta may be far beyond 1.
    logs = np.log([float(mass) for mass in masses]) - zeta * np.log(star)
    chances = np.exp(logs - logs.max())
    mean = chances @ moves / chances.sum()
    scale = float((chances @ np.abs(moves)).max() / chances.sum())
    # A move is a difference of weights up to 1, over omega.
    rounding = 8 * np.finfo(np.float64).eps / float(adaptation.omega(2))
    if not float(np.abs(mean).max()) <= CLOSE * scale + rounding:
        place = int(np.argmax(np.abs(mean)))
        yield (
            f"at the exact fixed point the weights go on moving: theta({place + 1}) by {mean[place]:.3g} omega a step on average, "
            f"where its single moves are about {scale:.3g} omega"
        )


def _step_defects(adaptation: Adaptation) -> Iterator[str]:
    """omega_k falls, k^alpha omega_k tends to A from below, within its share B/k^alpha."""
    omegas = [float(adaptation.omega(k)) for k in NUMBERS]
    if any(not 0 < b < a for a, b in pairwise(omegas)):
        yield f"step sizes do not fall: omega = {omegas[0]:.4g} at step 1 and {omegas[-1]:.4g} at step {NUMBERS[-1]}"
        return
    for k, omega in zip(NUMBERS, omegas, strict=True):
        reached = float(k) ** adaptation.alpha * omega / adaptation.scale
        wanted = 1 / (1 + adaptation.offset * float(k) ** -adaptation.alpha)
        if not abs(reached - wanted) <= CLOSE:
            yield f"omega at step {k} is {omega:.10g}: k^alpha omega_k/A is {reached:.10g}, and {wanted:.10g} was expected"
            return


__all__ = ["CLOSE", "rule_defects"]

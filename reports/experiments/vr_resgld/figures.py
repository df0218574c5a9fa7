"""Figures 2 and 6 of vr-resgld: who crosses between the modes, how often replicas swap, and how noisy energies are."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import torch

from reports.experiments.vr_resgld.settings import (
    APART,
    APPENDIX_G,
    EFFORTS,
    REFRESH,
    SECTION_5_1,
    START,
    ExchangeEffort,
    ExchangeTrail,
    PrintedFigure,
    mixture,
    over_batches,
    paths,
    run,
)
from sgverify.errors import find_named
from sgverify.evidence import Panel, Series, Study, Table
from sgverify.samplers.gradients.differentiation import Potential

RATIO = 10.0
"""Neighbours on the ladder have temperatures of at most this ratio."""

HOTTEST = 0.5
"""The ladder ends at this share of the barrier."""


def figure_2(effort: str) -> Study:
    """Traces, swaps and variances at the settings of section 5.1, vr-resgld Figure 2."""
    found = find_named("effort", effort, EFFORTS)
    return _study(
        SECTION_5_1,
        found,
        id="vr-resgld/figure-2",
        title="Figure 2: traces, swaps and variances at tau = 10, 1000",
        source="Deng et al. 2021, section 5.1 and Figure 2",
        further=(paths(SECTION_5_1, found), over_batches(SECTION_5_1, found)),
    )


def figure_6(effort: str) -> Study:
    """Traces at the settings of appendix G, vr-resgld Figure 6."""
    return _study(
        APPENDIX_G,
        find_named("effort", effort, EFFORTS),
        id="vr-resgld/figure-6",
        title="Figure 6: traces and swaps at tau = 1, 500",
        source="Deng et al. 2021, appendix G and Figure 6",
        further=(),
    )


def _study(
    printed: PrintedFigure,
    effort: ExchangeEffort,
    *,
    id: str,
    title: str,
    source: str,
    further: tuple[tuple[Panel, Table], ...],
) -> Study:
    barrier = barrier_height()
    ladder = _ladder(printed, barrier)
    hottest = printed.tau_1 * ladder[-1]
    at_printed = {
        "SGLD": _alone(printed, effort),
        "reSGLD": _exchanged("resgld", printed, effort, printed.correction_plain),
        "VR-reSGLD": _exchanged("vr-resgld", printed, effort, printed.correction_reduced),
    }
    apart = {
        name: _exchanged(scheme, printed, effort, correction, APART)
        for name, scheme, correction in (
            ("reSGLD", "resgld", printed.correction_plain),
            ("VR-reSGLD", "vr-resgld", printed.correction_reduced),
        )
    }
    with_ladder = {
        name: _on_ladder(scheme, printed, effort, ladder)
        for name, scheme in (("reSGLD", "resgld"), ("VR-reSGLD", "vr-resgld"))
    }
    return Study(
        id=id,
        title=title,
        source=source,
        summary=(
            "The posterior has two equal modes, at -5 and 25. Between them the potential rises by "
            f"{barrier:.4g}: {barrier / printed.tau_2:.3g} times the temperature of the warmer replica, so that at the printed "
            "temperatures a crossing has a chance of about exp of minus that, per relaxation time. The start 30 is printed of SGLD "
            "alone: where both replicas start there, one has to cross before the coldest can see the other mode; where one starts "
            "to either side, a swap exchanges the modes and nobody needs to cross. A last pair of runs climbs "
            f"a ladder of {len(ladder)} temperatures, of which the barrier is {barrier / hottest:.2g} times the highest."
        ),
        panels=(
            _traces("At the printed temperatures, from 30", at_printed),
            _traces("At the printed temperatures, from 30 and -10", apart),
            _traces(f"On a ladder of {len(ladder)} temperatures", with_ladder),
            *(panel for panel, _ in further),
        ),
        tables=(
            _swaps("At the printed temperatures, from 30", at_printed),
            _swaps("At the printed temperatures, from 30 and -10", apart),
            _exchanges("Who moves from mode to mode, from 30 and -10", apart, effort.length),
            _swaps("On the ladder", with_ladder),
            *(table for _, table in further),
        ),
        notes=(
            "Replicas that start in different modes and never cross are one in either mode at all times. Exact swaps keep the "
            "joint law given that: the coldest is in the upper mode with the odds r(tau_1) / r(tau_2), where its own law has the "
            "odds r(tau_1), r(tau) being those of the two modes at the temperature tau. So the start sets the occupation, "
            "and not the posterior. Here the modes are mirror images, r = 1, and both odds are 1: this "
            "posterior cannot show the difference. With both replicas in one mode the share stays 0 or 1.",
            _over_draws(printed, effort),
            f"Not printed, and ours: minibatches of {effort.batch} data, {effort.length} steps (on the ladder "
            f"{effort.ladder_length}), {effort.chains} chains. The data are the toolkit's own, data_seed 0.",
            f"The ladder is geometric, from tau_1 to half the barrier; the coldest step is {SECTION_5_1.step:g}, others grow with "
            "the square root of the temperature, and F = 2.",
            "Energies of a swap are estimated on a minibatch of their own, and variances measured before the control variate is "
            "refreshed, not after as printed (there they are 0).",
        ),
    )


def _over_draws(printed: PrintedFigure, effort: ExchangeEffort) -> str:
    """The spread of the results over draws of the data, since the paper does not print its data."""
    found = [barrier_height(seed) / printed.tau_2 for seed in range(effort.draws)]
    return (
        f"The data are not printed: over {effort.draws} draws of them the barrier is between {min(found):.4g} and "
        f"{max(found):.4g} times tau_2, so that nobody crosses whichever data the paper had."
    )


@cache
def barrier_height(data_seed: int = 0) -> float:
    """U between the modes, at phi/2, less U at a mode; all data, float64."""
    target = mixture(data_seed)
    potential = Potential(target, dtype=torch.float64, device=torch.device("cpu"))
    low, high = modes(data_seed)
    at = torch.tensor([[(low + high) / 2], [low], [high]], dtype=torch.float64)
    heights = potential.energy(at)
    return float(heights[0] - heights[1:].min())


@cache
def modes(data_seed: int = 0) -> tuple[float, float]:
    """The two peaks of the posterior."""
    low, high = mixture(data_seed).peaks
    return float(low), float(high)


def _alone(printed: PrintedFigure, effort: ExchangeEffort) -> ExchangeTrail:
    return _moved("sgld-euler", printed, effort, None, step=printed.step, length=effort.length)


def _exchanged(
    scheme: str,
    printed: PrintedFigure,
    effort: ExchangeEffort,
    correction: float,
    places: tuple[float, ...] = (START,),
) -> ExchangeTrail:
    exchange = {
        "ladder": [1.0, printed.tau_2 / printed.tau_1],
        "correction": correction,
        "refresh": REFRESH,
    }
    return _moved(scheme, printed, effort, exchange, step=printed.step, length=effort.length, places=places)


def _ladder(printed: PrintedFigure, barrier: float) -> tuple[float, ...]:
    """Temperatures over tau_1, from 1 to HOTTEST of the barrier in equal ratios of at most RATIO."""
    top = HOTTEST * barrier / printed.tau_1
    count = math.ceil(math.log(top, RATIO))
    return tuple(top ** (k / count) for k in range(count + 1))


def _on_ladder(
    scheme: str, printed: PrintedFigure, effort: ExchangeEffort, ladder: tuple[float, ...]
) -> ExchangeTrail:
    exchange = {
        "ladder": list(ladder),
        "step_factors": [factor**0.5 for factor in ladder],
        "refresh": REFRESH,
    }
    return _moved(scheme, printed, effort, exchange, step=SECTION_5_1.step, length=effort.ladder_length)


def _moved(
    scheme: str,
    printed: PrintedFigure,
    effort: ExchangeEffort,
    exchange: dict[str, Any] | None,
    *,
    step: float,
    length: int,
    places: tuple[float, ...] = (START,),
) -> ExchangeTrail:
    """A run of a trace, the coldest replica at tau_1; its modes are told apart at the middle between them."""
    return run(
        scheme,
        temperature=printed.tau_1,
        step=step,
        length=length,
        batch=effort.batch,
        chains=effort.chains,
        middle=sum(modes()) / 2,
        exchange=exchange,
        places=places,
    )


def _traces(title: str, trails: dict[str, ExchangeTrail]) -> Panel:
    return Panel(
        title,
        "step",
        "theta of the coldest replica, first chain",
        tuple(
            Series(name, "sampled", tuple(trail.numbers), tuple(float(theta[0, 0]) for theta in trail.theta))
            for name, trail in trails.items()
        ),
        x_scale="linear",
        y_scale="linear",
    )


def _swaps(title: str, trails: dict[str, ExchangeTrail]) -> Table:
    middle = sum(modes()) / 2
    rows = []
    for name, trail in trails.items():
        upper = np.array([theta[0] > middle for theta in trail.theta[len(trail.theta) // 2 :]])
        share = upper.mean(axis=0)
        both = np.array([theta[0] > middle for theta in trail.theta])
        seen = int((both.any(axis=0) & ~both.all(axis=0)).sum())
        error = share.std(ddof=1) / len(share) ** 0.5
        rows.append(
            (
                name,
                None
                if np.ndim(trail.tried) == 0
                else " ".join(str(int(n)) for n in np.atleast_1d(trail.tried)),
                None
                if np.ndim(trail.accepted) == 0
                else " ".join(str(int(n)) for n in np.atleast_1d(trail.accepted)),
                int(np.sum(trail.changes)),
                f"{seen} of {len(share)}",
                f"{share.mean():.3f} +- {error:.3f}",
            )
        )
    return Table(
        title,
        (
            "sampler",
            "swaps tried, each pair",
            "accepted",
            "changes of the mode",
            "chains that saw both modes",
            "share of the upper mode, second half",
        ),
        tuple(rows),
    )


def _exchanges(title: str, trails: dict[str, ExchangeTrail], length: int) -> Table:
    """How the coldest changes its mode: by swaps, or by a motion over the barrier of either replica."""
    return Table(
        title,
        (
            "sampler",
            "changes of the coldest's mode, each chain",
            "in steps",
            "states that went over the barrier",
        ),
        tuple(
            (
                name,
                f"{np.min(trail.changes)} to {np.max(trail.changes)}",
                length,
                int(np.sum(trail.crossings)),
            )
            for name, trail in trails.items()
        ),
    )

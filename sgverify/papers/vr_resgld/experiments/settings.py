"""The settings of vr-resgld's simulations, section 5.1 and appendix G: printed ones, and ours where it prints none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from sgverify.configuration import Configuration, load_configuration
from sgverify.targets import Target, build_target

TARGET = {"name": "tied-means-mixture"}
"""N = 1e5, phi = 20, sigma = 5, beta = -5: the catalogue's defaults."""

START = 30.0
"""The printed start of SGLD; the start of the two replicas is not printed."""

APART = (30.0, -10.0)
"""One replica to each mode, as far outside as the printed start: the other way to start two replicas."""

REFRESH = 40


@dataclass(frozen=True)
class PrintedFigure:
    """The settings of one figure: temperatures of the two replicas, the step size, and F for each way to swap."""

    tau_1: float
    tau_2: float
    step: float
    correction_reduced: float
    correction_plain: float


SECTION_5_1 = PrintedFigure(tau_1=10, tau_2=1000, step=1e-7, correction_reduced=1, correction_plain=100)
APPENDIX_G = PrintedFigure(tau_1=1, tau_2=500, step=1e-5, correction_reduced=1, correction_plain=500)


@dataclass(frozen=True)
class ExchangeEffort:
    """Steps and chains of a trace, the minibatch, the steps and chains over which a variance is averaged, and how many draws
    of the data the barrier is looked at over.

    The paper prints neither the minibatch nor the number of steps, nor which periods m its paths of variances have. It averages
    variances over 10 realisations.
    """

    length: int
    ladder_length: int
    chains: int
    batch: int
    settling: int
    realisations: int
    batches: tuple[int, ...]
    factors: tuple[float, ...]
    periods: tuple[int, ...]
    draws: int


EFFORTS = {
    "quick": ExchangeEffort(60, 40, 2, 50, 20, 4, (50, 100), (1.0, 4.0), (10, 20), 4),
    "default": ExchangeEffort(600, 400, 4, 200, 160, 10, (100, 200, 400), (1.0, 4.0), (20, 40, 80), 24),
    "full": ExchangeEffort(
        10_000, 5_000, 8, 500, 400, 10, (250, 500, 1000, 2000), (1.0, 4.0, 16.0), (20, 40, 80, 160), 24
    ),
}


def configured(
    *,
    temperature: float,
    step: float,
    batch: int,
    chains: int,
    exchange: dict[str, Any] | None,
    places: tuple[float, ...] = (START,),
) -> Configuration:
    """The mixture at a temperature; all replicas start at one place, or each at its own."""
    given: dict[str, Any] = {
        "target": TARGET,
        "temperature": temperature,
        "gradient": {"kind": "iid", "batch": batch},
        "chains": chains,
        "schedule": {"step": step},
    }
    if exchange is not None:
        given["exchange"] = exchange
    starts = [_start(place, temperature) for place in places]
    return load_configuration({**given, "start": starts if len(starts) > 1 else starts[0]})


def _start(place: float, temperature: float) -> float:
    """A place in standard deviations of exp(-U/T) from its mean, as the configuration wants it."""
    target = mixture()
    return float((place - target.location_float64(temperature)[0]) / target.spread_float64(temperature)[0])


@cache
def mixture(data_seed: int = 0) -> Target:
    """The posterior of section 5.1, of one draw of its data."""
    return build_target(load_configuration(None, target={**TARGET, "data_seed": data_seed}).target)

"""The samplers that awsgld compares, each as it is run on a function of known scales."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sgverify.configuration import load_configuration
from sgverify.papers.awsgld.experiments.functions import COLD, DIM, HOT, Scales
from sgverify.papers.awsgld.experiments.settings import FIRST, MOMENTUM, ZETA_OF_CSGLD
from sgverify.samplers import Cyclical, Row, Settings, fixed
from sgverify.samplers.composites.hitting import sample_hits
from sgverify.schemes import Scheme
from sgverify.schemes.composites.composite import Composite
from sgverify.schemes.loading import load_step
from sgverify.targets import build_target

PRECONDITIONED, FLOOR = "psgld-0.999-0.1", 0.1
ZETA = 3.0
"""Of AWSGLD; printed for Griewank's exploration, while those of Table 3 are not at hand."""


@dataclass(frozen=True)
class AdaptiveContender:
    """A sampler: its scheme or composite, its temperature as a share of the height, and its configuration tables.

    `cyclical`: step sizes fall and rise as in the paper's cycles, around the tuned step size. `momentum`: the friction follows
    from the step size, so that the decay of the momentum is the printed one. `evaluations`: gradients per iteration.
    """

    label: str
    scheme: str
    temperature: float
    tables: Callable[[str, Scales], dict[str, Any]] = field(default=lambda name, scales: {}, repr=False)
    cyclical: bool = False
    momentum: bool = False
    evaluations: int = 1


def _partition(bins: int, zeta: float) -> Callable[[str, Scales], dict[str, Any]]:
    def tables(name: str, scales: Scales) -> dict[str, Any]:
        preset = "optimisation-rastrigin" if name == "rastrigin" else "optimisation"
        high = scales.lowest + scales.height
        return {
            "partition": {
                "preset": preset,
                "low": scales.lowest,
                "high": high,
                "bins": bins,
                "zeta": zeta,
            }
        }

    return tables


def _ladder(name: str, scales: Scales) -> dict[str, Any]:
    return {"exchange": {"ladder": [1.0, HOT / COLD]}}


CONTENDERS = (
    AdaptiveContender("SGLD, cold", "sgld-euler", COLD),
    AdaptiveContender("SGLD, hot", "sgld-euler", HOT),
    AdaptiveContender("pSGLD", PRECONDITIONED, COLD),
    AdaptiveContender("SGHMC", "sghmc-momentum-0.001", COLD, momentum=True),
    AdaptiveContender("cycSGLD", "sgld-euler", COLD, cyclical=True),
    AdaptiveContender("reSGLD", "resgld", COLD, _ladder, evaluations=2),
    AdaptiveContender("CSGLD-10", "csgld", HOT, _partition(10, ZETA_OF_CSGLD)),
    AdaptiveContender("AWSGLD-10", "awsgld", HOT, _partition(10, ZETA)),
    AdaptiveContender("AWSGLD-100", "awsgld", HOT, _partition(100, ZETA)),
)


def first_hits(
    contender: AdaptiveContender,
    name: str,
    scales: Scales,
    steps: tuple[float, ...],
    *,
    trials: int,
    most: int,
    period: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, list[int | None]]:
    """The first iteration of each trial at or below the level, `NEVER` for none, and the best U met; shape (steps, trials).

    And the iteration after which no trial went on because one had diverged, None for none; one for each step size.

    The seed determines the starts of the trials, which are equal for every sampler; of replicas the coldest counts.
    `period` is the length of a cycle.
    """
    if len(steps) > 1:
        # A kernel moves one step size; of the momentum form, each has its own friction.
        parts = [
            first_hits(contender, name, scales, (step,), trials=trials, most=most, period=period, seed=seed)
            for step in steps
        ]
        ended = [end for part in parts for end in part[2]]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]), ended
    sizes = tuple(_size(contender, scales, step) for step in steps)
    friction = (1 - MOMENTUM) / sizes[0] if contender.momentum else 2.0
    c = load_configuration(
        {
            "target": {"name": name, "dim": DIM},
            "temperature": contender.temperature * scales.height,
            "friction": friction,
            "chains": trials,
            "seed": seed,
            **contender.tables(name, scales),
        }
    )
    scheme = load_step(contender.scheme)
    assert isinstance(scheme, Scheme | Composite)
    hits = sample_hits(
        scheme,
        build_target(c.target),
        _rows(contender, sizes, most, period),
        level=scales.level,
        settings=Settings.of(c),
        starts=scales.starts(trials, seed),
        coldest=True,
    )
    return hits.first, hits.best, [None if why is None else why.step_number for why in hits.diverged]


def _size(contender: AdaptiveContender, scales: Scales, step: float) -> float:
    """The step h of the scheme: learning rates are h^2 in the momentum form, and are divided by slopes in pSGLD."""
    if contender.momentum:
        return float(np.sqrt(step))
    return step * (FLOOR + scales.gradient) if contender.scheme == PRECONDITIONED else step


def _rows(contender: AdaptiveContender, sizes: tuple[float, ...], most: int, period: int) -> tuple[Row, ...]:
    if not contender.cyclical:
        return fixed(sizes, [most])
    first, last = (end / FIRST.step for end in FIRST.cycle)
    return tuple(Row(Cyclical(size * first, period, size * last), (most,)) for size in sizes)

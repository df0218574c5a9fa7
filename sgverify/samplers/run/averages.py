"""What are the ergodic averages of many chains at many step sizes, and their errors? Memory does not grow with L."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from sgverify.samplers.run.leg import Divergence
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.running_sums import RunningSums
from sgverify.samplers.run.schedules import Fixed, Row
from sgverify.samplers.run.settings import Settings, one_thread
from sgverify.schemes import Scheme
from sgverify.schemes.composites.composite import Composite
from sgverify.targets import Target


@dataclass(frozen=True, eq=False)
class Averages:
    """The running averages of each chain, and its last state.

    `values`, shape (observables, S, K, C), holds the averages over l = 1..L at each of a row's K lengths L, with weights h_l on a
    power or cyclical schedule. States in the burn-in, between thinned states, and in the exploration stage of a cycle do not
    count. An entry is NaN if the row had diverged, or if the length was not reached. `last` holds each variable after its row's
    last step, shape (S, C, d). `diverged` has one entry per row: its divergence, or None.
    """

    rows: tuple[Row, ...]
    values: np.ndarray = field(repr=False)
    last: dict[str, np.ndarray] = field(repr=False)
    diverged: tuple[Divergence | None, ...]
    complete: bool

    @property
    def steps(self) -> np.ndarray:
        """h of each row, or the scale of its schedule, shape (S,)."""
        schedules = [(row.schedule, row.factor) for row in self.rows]
        return np.array(
            [(item.step if isinstance(item, Fixed) else item.scale) * factor for item, factor in schedules]
        )

    @property
    def lengths(self) -> np.ndarray:
        """The lengths at which each row is averaged, shape (S, K)."""
        return np.array([row.lengths for row in self.rows])

    @property
    def mean(self) -> np.ndarray:
        """The average over chains, shape (observables, S, K)."""
        return np.asarray(self.values.mean(-1))

    @property
    def standard_error(self) -> np.ndarray:
        """The standard error of `mean` from the spread between chains, shape (observables, S, K)."""
        return _standard_error(self.values)


def sample(
    scheme: Scheme | Composite,
    target: Target,
    rows: Sequence[Row],
    *,
    observables: Sequence[Callable[..., Any]],
    settings: Settings | None = None,
    progress: Callable[[float], None] | None = None,
    hoist: bool = True,
    block: int | None = None,
    tape: bool = True,
) -> Averages:
    """Run every row of a sweep and average the observables along every chain.

    An observable is called with theta (and p, if the state has a momentum), coordinates on the last axis:
    (*chains, d) -> (*chains), in arithmetic and integer powers. It is summed in float64 for every dtype of the state. An
    observable with an attribute `variables` is called with the state variables of these names instead.
    All rows need the same number of lengths. `progress` is called with the finished share. Ctrl-C ends the run, which then
    returns the averages reached, with `complete=False`. `hoist`, `block` and `tape` (see `Ensemble`) only change the speed.
    Raises `ConfigurationError` if scheme, target, rows and settings contradict one another.
    """
    settings = settings or Settings()
    ensemble = Ensemble(scheme, target, rows, settings, hoist=hoist, block=block, tape=tape)
    sums_so_far = RunningSums(ensemble, observables)
    complete = True
    with one_thread(), torch.no_grad():
        try:
            for part in ensemble.blocks(sums_so_far):
                sums_so_far.enter(part)
                if progress is not None:
                    progress(sums_so_far.share(part))
        except KeyboardInterrupt:
            complete = False
    return Averages(
        ensemble.rows, sums_so_far.values, sums_so_far.last, tuple(sums_so_far.diverged), complete
    )


def _standard_error(values: np.ndarray) -> np.ndarray:
    chains = values.shape[-1]
    if chains < 2:
        return np.full(values.shape[:-1], np.nan)
    return np.asarray(values.std(-1, ddof=1) / np.sqrt(chains))

"""The states of sampled chains at chosen steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from sgverify.errors import ConfigurationError
from sgverify.samplers.run.averages import as_float64
from sgverify.samplers.run.leg import Divergence
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import Row
from sgverify.samplers.run.settings import Settings, one_thread
from sgverify.schemes import Scheme
from sgverify.schemes.composites.composite import Composite
from sgverify.targets import Target


@dataclass(frozen=True, eq=False)
class States:
    """The states X_l at the step numbers `at`.

    `values` maps each variable to an array of shape (S, len(at), C, d), with NaN after a row diverged.
    """

    rows: tuple[Row, ...]
    at: tuple[int, ...]
    values: dict[str, np.ndarray] = field(repr=False)
    diverged: tuple[Divergence | None, ...]


def sample_states(
    scheme: Scheme | Composite,
    target: Target,
    rows: Sequence[Row],
    *,
    at: Sequence[int],
    settings: Settings | None = None,
    hoist: bool = True,
    block: int | None = None,
    tape: bool = True,
) -> States:
    """The states of every chain of every row after the steps `at`; the rows' own lengths are ignored.

    Raises `ConfigurationError` as `sample` does.
    """
    wanted = tuple(sorted(set(at)))
    if not wanted or wanted[0] < 1:
        raise ConfigurationError(f"at={list(at)}: expected step numbers of at least 1")
    settings = settings or Settings()
    ensemble = Ensemble(
        scheme,
        target,
        [replace(row, lengths=wanted, burn_in=None) for row in rows],
        settings,
        hoist=hoist,
        block=block,
        tape=tape,
    )
    scheme, made = ensemble.scheme, ensemble.rows
    widths = {name: target.dim if kind == "vector" else 1 for name, kind in scheme.shapes.items()}
    shape = (len(made), len(wanted), settings.chains)
    values = {name: np.full((*shape, width), np.nan) for name, width in widths.items()}
    diverged: list[Divergence | None] = [None] * len(made)
    with one_thread(), torch.no_grad():
        for part in ensemble.blocks():
            for row, why in part.diverged.items():
                diverged[row] = why
            if part.last in wanted:
                for i, row in enumerate(part.rows):
                    if row not in part.diverged:
                        for name in scheme.state:
                            values[name][row, wanted.index(part.last)] = as_float64(part.state[name][i])
    return States(made, wanted, values, tuple(diverged))

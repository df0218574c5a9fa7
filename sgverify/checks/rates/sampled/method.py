"""How are chains run for a sampled verdict: from which random streams, at which cost?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgverify.checks.progress import tell
from sgverify.samplers import Averages, Divergence, Row, Settings, sample
from sgverify.schemes.definition.limits import evaluations
from sgverify.subject.subject import Subject
from sgverify.targets.own.function import OwnPotential

DISAGREEMENT = 1e-3
"""The probability of rejecting chains that have forgotten their start."""

WORK = 2e8
"""The largest total number of steps, over all chains and rows, before a further look: the cost bound of a default run."""

SPEED = 1e7
"""The order of magnitude of steps per second, over all chains, on one core; it converts a cost into a time."""

OWN_STEP, OWN_DATUM = 8.0, 0.6
"""The cost of a step on a user's own torch code, and of each datum that its gradient visits, in steps at `SPEED`, as measured."""

DATUM = 0.3
"""The same of each datum of a target of the catalogue whose potential is not quadratic."""

COSTLY = 10.0
"""How much longer than other default runs one whose steps cost more may take: minutes."""

WIDEST = 4096
"""The most chains in one tensor: enough to amortise the cost of a step, at little memory."""


@dataclass(frozen=True)
class SampledAverages:
    """Sampled averages of one observable, shape (rows, K, chains), K averages per row, and how rows diverged (or None)."""

    values: np.ndarray
    diverged: tuple[Divergence | None, ...]
    chains: int

    def joined(self, other: SampledAverages) -> SampledAverages:
        """These chains followed by other chains of the same rows; a row that diverged in either sample has diverged."""
        diverged = tuple(a or b for a, b in zip(self.diverged, other.diverged, strict=True))
        values = np.concatenate([self.values, other.values], axis=-1)
        return SampledAverages(values, diverged, self.chains + other.chains)


def run_chains(
    subject: Subject,
    rows: Sequence[Row],
    *,
    seed: int,
    first: int,
    count: int,
    coupled: bool = False,
    observables: Sequence[Callable[..., Any]] = (),
    progress: tuple[float, float] = (0.0, 1.0),
    **changes: Any,
) -> list[SampledAverages]:
    """Averages of the observables (by default the test function) along the chains first, ..., first + count - 1.

    One entry for each observable. With `coupled` all rows share one Brownian path. `progress` is the interval of [0, 1]
    that these chains cover in the progress of the check. Raises `KeyboardInterrupt` if the user ended the run early.
    """
    chosen = list(observables) or [subject.observable]
    found: list[SampledAverages] | None = None
    start, end = progress
    for done in range(0, count, WIDEST):
        size = min(WIDEST, count - done)
        settings = Settings.of(
            subject.configuration,
            seed=seed,
            chains=size,
            first_chain=first + done,
            coupled="brownian" if coupled else False,
            # Each row has its own burn-in, and every later state is averaged: thinning would only add noise.
            burn_in=0,
            thinning=1,
            **changes,
        )

        def share(part: float, done: int = done, size: int = size) -> None:
            tell(start + (end - start) * (done + size * part) / count)

        averages = sample(
            subject.scheme, subject.target, rows, observables=chosen, settings=settings, progress=share
        )
        check_complete(averages)
        made = [SampledAverages(values, averages.diverged, size) for values in averages.values]
        found = made if found is None else [a.joined(b) for a, b in zip(found, made, strict=True)]
    assert found is not None
    return found


def work_of_step(subject: Subject) -> float:
    """The work of one step, in steps at `SPEED`: each datum counts that a step visits, unless the potential is quadratic."""
    target, table = subject.target, subject.configuration.gradient
    own = isinstance(target.prior, OwnPotential)
    if target.quadratic and not own:
        return 1.0
    data = table.batch if table.estimator.draws_data else target.size or 0
    visited = data * evaluations(subject.scheme, minibatches=table.estimator.draws_data)
    return OWN_STEP + OWN_DATUM * visited if own else 1.0 + DATUM * visited


def most_steps(subject: Subject) -> float:
    """The largest total number of steps before a further look of a default run."""
    return min(WORK, WORK * COSTLY / work_of_step(subject))


def cost_text(subject: Subject, steps: float) -> str:
    """The cost of `steps`, the total number of steps over all chains, in a sentence with a time."""
    speed = SPEED / work_of_step(subject)
    seconds = steps / speed
    unit, size = next((u for u in _UNITS if seconds < 100 * u[1]), _UNITS[-1])
    return f"{steps:.1e} steps in all, about {max(1.0, seconds / size):.0f} {unit} at {speed:.0e} a second"


_UNITS = (("seconds", 1.0), ("minutes", 60.0), ("hours", 3600.0), ("days", 86400.0))


def check_complete(averages: Averages) -> None:
    """Raise `KeyboardInterrupt` if Ctrl-C ended a run of the sampler early: an incomplete run is no evidence."""
    if not averages.complete:
        raise KeyboardInterrupt

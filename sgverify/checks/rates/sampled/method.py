"""The sampled rung: its error rate, its random streams, and how chains are run for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgverify.checks.progress import tell
from sgverify.checks.subject.subject import Subject
from sgverify.errors import UserError
from sgverify.evidence.model import canonical_numbers
from sgverify.rates import Decision
from sgverify.rates.sample import CALL, LevelShare
from sgverify.samplers import Averages, Divergence, Row, Settings, sample

DISAGREEMENT = 1e-3
"""The chance at which chains that have forgotten their start are said not to have."""

WORK = 2e8
"""Steps of all chains and rows together beyond which no further look is taken: the bound of a default run."""

SPEED = 1e7
"""Steps a second of all chains together on one core, to the order of magnitude, by which a cost is told in units of time."""

WIDEST = 4096
"""Chains that run in one tensor: wide enough to spread the cost of a step, and small."""


@dataclass(frozen=True)
class SampledAverages:
    """What was sampled of each row: averages of one observable, shape (rows, K, chains), and how rows diverged."""

    values: np.ndarray
    diverged: tuple[Divergence | None, ...]
    chains: int

    def joined(self, other: SampledAverages) -> SampledAverages:
        """These chains followed by others of the same rows; a row that diverged in one of them has diverged."""
        diverged = tuple(a or b for a, b in zip(self.diverged, other.diverged, strict=True))
        values = np.concatenate([self.values, other.values], axis=-1)
        return SampledAverages(values, diverged, self.chains + other.chains)


def run_seed(subject: Subject, *stage: Any) -> int:
    """The seed of a run: a hash of the configuration, in canonical form, and of what is run.

    Two stages never share their random numbers, and the same configuration gives the same ones on every machine.
    """
    content = json.dumps(
        canonical_numbers([subject.configuration.as_dict(), [str(part) for part in stage]]), sort_keys=True
    )
    return int.from_bytes(hashlib.sha256(content.encode()).digest()[:8], "big") >> 1


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
    """Averages of the observables (the test function, where none is given) along chains first, ..., first + count - 1.

    One entry for each observable. With `coupled` the rows are steps of one Brownian path. `progress` is the part of
    the work, from 0 to 1, that these chains are. Raises `KeyboardInterrupt` where the run was ended early.
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
            # Rows bring their own burn-in, and every state after it counts: thinning only adds noise.
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


def cost_text(steps: float) -> str:
    """What so many steps of all chains together cost a reader."""
    seconds = steps / SPEED
    unit, size = next((u for u in _UNITS if seconds < 100 * u[1]), _UNITS[-1])
    return f"{steps:.1e} steps in all, about {max(1.0, seconds / size):.0f} {unit} at {SPEED:.0e} a second"


_UNITS = (("seconds", 1.0), ("minutes", 60.0), ("hours", 3600.0), ("days", 86400.0))


def decided(decide: Callable[[], Decision]) -> Decision:
    """What `decide` says; inconclusive where the sample is one from which it cannot (too few chains, copies of a chain)."""
    try:
        return decide()
    except UserError as error:
        return Decision("inconclusive", str(error))


def expansion_fails(decision: Decision) -> bool:
    """Whether the terms of the expansion do not describe the points, so that more chains would not help."""
    return not all(term["fits"] for term in decision.certificate.get("terms", {}).values())


def check_complete(averages: Averages) -> None:
    """Hand on the Ctrl-C that ended a run of the sampler early: half a run is no evidence."""
    if not averages.complete:
        raise KeyboardInterrupt


def share_of(subject: Subject) -> LevelShare:
    """The chance of a false verdict, `conforms` or `violates`, that one piece of sampled evidence gets of its call's `level`.

    All forbidden orders share it, and all looks at the growing sample (Bonferroni).
    """
    return LevelShare(subject.configuration.level or CALL)


def truth_of(subject: Subject) -> tuple[float, float]:
    """The average under exp(-U/T) and the bound of its error."""
    average = subject.reference_average
    return float(average), float(average.error_bound)

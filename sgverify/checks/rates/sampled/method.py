"""How are chains run for a sampled verdict: from which random streams, at which cost?

Which average under exp(-U/T) are they compared with, how far does its own error reach, and at which level do they decide?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from sgverify.checks.progress import tell
from sgverify.errors import ConfigurationError
from sgverify.exact.posterior.reference import Reference, reference_average
from sgverify.rates.decision import Decision
from sgverify.rates.sample import CALL, LevelShare
from sgverify.samplers import Averages, Divergence, Row, Settings, sample
from sgverify.schemes import exact
from sgverify.schemes.definition.limits import evaluations
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject
from sgverify.targets.observable import Exponents
from sgverify.targets.own.function import OwnPotential

if TYPE_CHECKING:
    from sgverify.samplers.importance.averages import WeightedDraws

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


DECISIONS = 100
"""At least the number of decisions, and of their sides, among which one piece of evidence divides its level."""

LEADS = 0.5
"""The part of the variance of a point from which the error of the reference is named as a cause that nothing is decided."""


def share_of(subject: Subject) -> LevelShare:
    """The part of the call's `level` that one piece of sampled evidence may use for a false `conforms` or `violates`.

    All forbidden orders, and all looks at the growing sample, share this part (Bonferroni).
    """
    return LevelShare(subject.configuration.level or CALL)


def reference_of(subject: Subject) -> Reference:
    """The average of the test function: exact, certified, by quadrature or stated, else by importance sampling.

    Raises `ConfigurationError`, with the reason, where there is none.
    """
    return _reference(subject)[0]


def truth_of(subject: Subject) -> tuple[float, float]:
    """The average under exp(-U/T), and the size of its error as a test counts it.

    That is the bound of an error that has one. The standard error of an estimate from R scrambles is enlarged until a normal law
    has the tail of Student's t with R - 1 degrees of freedom at the smallest level of a decision.
    """
    average = reference_of(subject)
    return float(average), float(average.error_bound) + _enlarged(subject, average.standard_error)


def reference_certificate(subject: Subject) -> dict[str, Any]:
    """The reference average, its error and its method, as a certificate names them."""
    average, draws = _reference(subject)
    found = {"value": float(average), "error_bound": average.error_bound, "method": average.method}
    if draws is None:
        return found
    errors = {"standard_error": average.standard_error, "error_in_tests": truth_of(subject)[1]}
    return {**found, **errors, **draws.provenance}


def with_resolution(subject: Subject, decision: Decision, variance: float) -> Decision:
    """An inconclusive decision says what the reference average resolves, where its error is much of a point's `variance`."""
    error = truth_of(subject)[1]
    if decision.verdict != "inconclusive" or not error**2 > LEADS * variance:
        return decision
    reason = f"{decision.reason}; the reference average is known within {error:.2g} only, which more chains do not resolve"
    return replace(decision, reason=reason)


def _enlarged(subject: Subject, error: float) -> float:
    if not error:
        return 0.0
    from sgverify.samplers.importance.averages import SCRAMBLES

    tail = share_of(subject).rate / DECISIONS
    return error * float(stats.t.isf(tail, SCRAMBLES - 1) / stats.norm.isf(tail))


@cached_per_subject
def _reference(subject: Subject) -> tuple[Reference, WeightedDraws | None]:
    """The reference average, and the draws of an estimated one."""
    try:
        return subject.reference_average, None
    except ConfigurationError:
        if subject.target.dim == 1:
            raise
    # It brings torch, which the chains need anyway.
    from sgverify.samplers.importance.averages import draw_weighted

    temperature = subject.configuration.temperature
    used: list[WeightedDraws] = []

    def estimate(terms: Mapping[Exponents, Fraction]) -> tuple[float, float]:
        used[:] = used or [draw_weighted(subject.target, float(temperature))]
        found = used[0].average(terms)
        return found.value, found.standard_error

    average = reference_average(subject.target, subject.observable, exact(temperature), estimate)
    return average, used[0]

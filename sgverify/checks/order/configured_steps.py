"""What is read off an expansion at h = 0, held against the step at the step sizes that are configured.

A rate as h -> 0 does not say that the configured steps are small enough for it. That a step is its power series there is
asked coefficient by coefficient (`exact.affine.expanded_step`), whatever the size of the error: a large constant, or a step
beyond the leading term, is no objection, another function of h is one. Where a step is far from the leading terms of its
expansion at steps that are small for every method (`exact.leading_terms`), the expansion speaks of no step that anybody runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from sgverify.checks.subject.caching import cached_per_subject
from sgverify.checks.subject.subject import Subject
from sgverify.errors import InstabilityError, NotAffineError, NotExpandableError
from sgverify.exact.affine.expanded_step import ExpandedStep, SeriesDifference
from sgverify.exact.affine.stability import eigenvalues_of
from sgverify.exact.readings.leading_terms import FAR, Departure, LinearSetting, departure
from sgverify.exact.readings.step_switches import switches
from sgverify.exact.series import LocalOrder
from sgverify.rates import Judgement
from sgverify.schemes.definition.binding import parameters_of

USUAL = tuple(2.0**-k for k in range(-1, 7))
"""Step sizes from 2 to 1/64: in units of curvature and friction of about 1, those at which somebody may run a step."""

HALVINGS = 5
"""The default step size, and its halves that a default sweep has."""


def explained(
    subject: Subject,
    judgement: Judgement,
    steps: Iterable[float],
    told: Mapping[float, str] | None = None,
) -> Judgement:
    """`judgement`, undecided where it conforms by an expansion and at one of `steps` the step is not what was expanded.

    `told` says by step what was computed there, beside what the expansion says of it.
    """
    if judgement.verdict != "conforms":
        return judgement
    apart = differences(subject, steps)
    if apart:
        largest = apart[0]
        there = f"at h={largest.step:g} {told[largest.step]}: " if told and largest.step in told else ""
        why = f"{judgement.reason}; this is as h -> 0 alone, and not so at the steps that are configured: {there}{largest}"
    elif far := departures(subject):
        why = f"{judgement.reason}; this is as h -> 0 alone, and small steps are not small enough: {far[0]}"
    elif not subject.affine and isinstance(subject.order, LocalOrder) and subject.order.unseen:
        why = f"{judgement.reason}; this is as h -> 0 alone: {', '.join(subject.order.limits)}"
    else:
        return judgement
    return replace(judgement, verdict="inconclusive", sharp=False, reason=why)


def steps_of_runs(subject: Subject) -> list[float]:
    """The step sizes that are configured, those that runs have by default, and of the usual ones those at which a run may be.

    Where the step that the series is does not contract even on curvature 1 nobody runs it, and what it is there is nobody's.
    """
    schedule, sweep = subject.configuration.schedule, subject.configuration.sweep
    steps = [*([schedule.step] if schedule.step else []), *(sweep.steps or [])]
    expanded = _expanded(subject)
    if expanded is None:
        return steps
    if subject.affine:
        with suppress(InstabilityError):
            steps += [subject.step / 2**k for k in range(HALVINGS)]
    return steps + ([step for step in USUAL if expanded.contracts(step)] or list(USUAL))


@cached_per_subject
def turns_of(subject: Subject) -> list[float]:
    """The step sizes at which the definition turns into another function of h, at the configured parameters."""
    given = {name: parameters_of(subject.configuration)[name] for name in subject.scheme.parameters}
    try:
        return switches(subject.scheme, given, subject.target.dim)
    except ZeroDivisionError:
        # The readings that follow the state say so.
        return []


MOST_COORDINATES = 20

UNIT = LinearSetting(1.0, 1.0, 1.0)
"""What a claim about every potential is asked on, besides the target."""


def departures(subject: Subject, *, every: bool = False) -> list[Departure]:
    """Where a step that is small for the target is far from the leading terms of its expansion, the farthest first.

    `every`: for every potential, and so for one of curvature 1 too.
    """
    asked = [*_settings(subject), *([UNIT] if every else [])]
    found = {_departure(subject, setting) for setting in asked}
    far = [item for item in found if item is not None and not item.share <= FAR]
    return sorted(far, key=lambda item: -item.share)


@cached_per_subject
def _departure(subject: Subject, setting: LinearSetting) -> Departure | None:
    return departure(subject.read_scheme, setting, setting.small, _dimension(subject))


def told_of_steps(subject: Subject) -> str:
    """At which of the steps that a configuration sets a step is far from its leading terms, for the end of a sentence."""
    schedule, sweep = subject.configuration.schedule, subject.configuration.sweep
    steps = [*([schedule.step] if schedule.step else []), *(sweep.steps or [])]
    for setting in _settings(subject) if steps else []:
        found = departure(subject.read_scheme, setting, max(steps), _dimension(subject))
        if found is not None and not found.share <= FAR:
            return f"; of the steps that are configured, {found}"
    return ""


def _dimension(subject: Subject) -> int:
    """That of the target, so far as runs of many coordinates cost little; in one coordinate no step tells them apart."""
    return max(2, min(subject.target.dim, MOST_COORDINATES))


def _settings(subject: Subject) -> list[LinearSetting]:
    """The curvatures of the target with its temperature and friction; none where it has no single ones."""
    if not subject.effective_target.quadratic:
        return []
    rates = eigenvalues_of(subject.effective_target.precision)
    given = subject.configuration
    return [
        LinearSetting(float(rate), float(given.temperature), float(given.friction))
        for rate in sorted({max(rates), min(rates)}, reverse=True)
    ]


def differences(subject: Subject, steps: Iterable[float]) -> list[SeriesDifference]:
    """Where the step is not its series, the largest step first; empty too where the step is not affine."""
    found = [_difference(subject, step) for step in sorted(set(steps), reverse=True)]
    return [difference for difference in found if difference is not None]


@cached_per_subject
def _difference(subject: Subject, step: float) -> SeriesDifference | None:
    expanded = _expanded(subject)
    return None if expanded is None else expanded.difference(step)


@cached_per_subject
def _expanded(subject: Subject) -> ExpandedStep | None:
    try:
        return ExpandedStep(subject.read_scheme, subject.model_parameters)
    except (NotAffineError, NotExpandableError):
        return None

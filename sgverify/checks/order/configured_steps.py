"""Does the expansion of a step at h = 0 also describe the step at the configured step sizes?

A rate for h -> 0 does not show that the configured steps are small enough for it. Two tests are made. First, each
coefficient of the step must equal its power series at the configured step sizes (`exact.affine.expanded_step`). A large
constant, or a step size beyond the leading term, is accepted; another function of h is not. Second, if the step is far from
the leading terms of its expansion even at step sizes that are small for every method (`exact.readings.leading_terms`), the
expansion describes no step size of practical use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from sgverify.errors import InstabilityError, NotExpandableError, Unreached
from sgverify.evidence import Extent, tried
from sgverify.exact.affine.expanded_step import ExpandedStep, SeriesDifference
from sgverify.exact.affine.stability import eigenvalues_of
from sgverify.exact.readings.leading_terms import FAR, Departure, LinearSetting, departure
from sgverify.exact.readings.step_switches import switches
from sgverify.exact.series.orders import LocalOrder
from sgverify.schemes.definition.binding import parameters_of
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject

USUAL = tuple(2.0**-k for k in range(-1, 7))
"""Step sizes from 2 to 1/64: the usual ones if curvature and friction are about 1."""

HALVINGS = 5
"""The number of step sizes in a default sweep: the default step and its halvings."""


def expansion_reach(
    subject: Subject, steps: Iterable[float], told: Callable[[float], str] | None = None
) -> Extent:
    """The step sizes for which an answer holds that comes from the expansion at h = 0: `steps`, or h -> 0 alone.

    `told(step)` is the value computed there, as text.
    """
    if apart := differences(subject, steps):
        largest = apart[0]
        there = f"at h={largest.step:g} {told(largest.step)}: " if told else ""
        return limit_alone(f"the configured steps: {there}{largest}")
    if far := departures(subject):
        return limit_alone(f"larger steps: {far[0]}")
    if not subject.affine and isinstance(subject.order, LocalOrder) and subject.order.unseen:
        return limit_alone(f"larger steps: {', '.join(subject.order.limits)}")
    return tried("h -> 0, and the computed steps")


def order_reach(subject: Subject, order: LocalOrder) -> Extent:
    """The step sizes for which a proved order describes the step: h -> 0 and the usual ones, or h -> 0 alone."""
    apart = differences(subject, steps_of_runs(subject))
    # The series itself reports step switches unless it was cut off (`unseen`); otherwise they are searched for.
    turns = [] if order.unseen else turns_of(subject)
    if turns:
        numbers = ", ".join(f"{h:.6g}" for h in turns)
        return limit_alone(
            f"larger steps: at h={numbers} a root touches 0, and the step becomes another function of h"
        )
    if apart or order.unseen:
        return limit_alone(f"larger steps: {apart[0] if apart else ', '.join(order.limits)}")
    far = departures(subject, every=True)
    return limit_alone(f"larger steps: {far[0]}") if far else tried(f"h -> 0{told_of_steps(subject)}")


def limit_alone(beyond: str) -> Extent:
    """The step sizes of an answer as h -> 0 that says nothing of those `beyond`."""
    return tried(f"as h -> 0 alone, not at {beyond}", ())


def steps_of_runs(subject: Subject) -> list[float]:
    """The configured step sizes, the default ones, and the usual ones at which a chain could run.

    A usual step size is left out if the expanded step does not contract even on curvature 1: no chain runs there.
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
    """The step switches of the definition at the configured parameters: step sizes at which it becomes another function of h."""
    given = {name: parameters_of(subject.configuration)[name] for name in subject.scheme.parameters}
    try:
        return switches(subject.scheme, given, subject.target.dim)
    except ZeroDivisionError:
        # The interpreters that follow the state report this error.
        return []


MOST_COORDINATES = 20

UNIT = LinearSetting(1.0, 1.0, 1.0)
"""The setting, beside the target's own, on which a claim about every potential is tested."""


def departures(subject: Subject, *, every: bool = False) -> list[Departure]:
    """The small steps at which a step is far from the leading terms of its expansion on the target, the farthest first.

    `every`: the claim is about every potential, so that a potential of curvature 1 is tested too.
    """
    asked = [*_settings(subject), *([UNIT] if every else [])]
    found = {_departure(subject, setting) for setting in asked}
    far = [item for item in found if item is not None and not item.share <= FAR]
    return sorted(far, key=lambda item: -item.share)


@cached_per_subject
def _departure(subject: Subject, setting: LinearSetting) -> Departure | None:
    return departure(subject.read_scheme, setting, setting.small, _dimension(subject))


def told_of_steps(subject: Subject) -> str:
    """A clause with the largest configured step size, if a step is far from its leading terms there."""
    schedule, sweep = subject.configuration.schedule, subject.configuration.sweep
    steps = [*([schedule.step] if schedule.step else []), *(sweep.steps or [])]
    for setting in _settings(subject) if steps else []:
        found = departure(subject.read_scheme, setting, max(steps), _dimension(subject))
        if found is not None and not found.share <= FAR:
            return f", and not yet at h = {max(steps):g}: {found}"
    return ""


def _dimension(subject: Subject) -> int:
    """The target's dimension, at least 2 and at most `MOST_COORDINATES`: one coordinate shows no difference between coordinates."""
    return max(2, min(subject.target.dim, MOST_COORDINATES))


def _settings(subject: Subject) -> list[LinearSetting]:
    """The settings of curvature, temperature and friction of the target; empty if its curvature is not constant."""
    if not subject.effective_target.quadratic:
        return []
    rates = eigenvalues_of(subject.effective_target.precision)
    given = subject.configuration
    return [
        LinearSetting(float(rate), float(given.temperature), float(given.friction))
        for rate in sorted({max(rates), min(rates)}, reverse=True)
    ]


def differences(subject: Subject, steps: Iterable[float]) -> list[SeriesDifference]:
    """The step sizes at which the step differs from its series, the largest first; empty for a step that is not affine."""
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
    except (Unreached, NotExpandableError):
        return None

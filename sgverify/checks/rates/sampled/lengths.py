"""Whether chains forget their start within a length: before that an average shows a transient and no rate.

Bias and mean square error from samples: how they fall with the length along the claimed schedule.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sgverify.checks.question import Question
from sgverify.checks.rates.finite_time import schedule_text
from sgverify.checks.rates.sampled.euler_control import control_of, first_order_error, with_control
from sgverify.checks.rates.sampled.method import (
    WORK,
    SampledAverages,
    cost_text,
    decided,
    expansion_fails,
    run_chains,
    run_seed,
    share_of,
    truth_of,
)
from sgverify.checks.rates.sampled.pilot import affine_time
from sgverify.checks.rates.sampled.plan import NoSweep, first_step, plan_sweep
from sgverify.checks.subject.biased_gradient import as_theorem_2_allows
from sgverify.checks.subject.caching import cached_per_subject
from sgverify.checks.subject.subject import Subject
from sgverify.configuration import Configuration
from sgverify.evidence import Evidence, Point
from sgverify.rates import Decision, Judgement, Sample, decide_length_bias, decide_length_mse
from sgverify.samplers import Row, horizon, power

FORGOTTEN = 5
"""Relaxation times that the shortest length has to cover: from then on what the start leaves of an average is tau/(L h)
times its offset, as the theorems' first term says, but for e^-5 of it."""

FEWEST = 4
"""Lengths that a decision needs."""

DOUBLED = 2**7
"""The longest of eight doubling lengths, in units of the first."""


class NoRun(Exception):
    """No chains from which a rate can be read; the message says why."""


def check_forgotten(
    subject: Subject, kind: str, alpha: Fraction, scale: float, lengths: Sequence[int]
) -> None:
    """Raise `NoRun` where a length does not let chains forget their start: a transient is no rate."""
    tau = relaxation_time(subject, scale * lengths[-1] ** -float(alpha))
    least = _shortest(kind, alpha, scale, tau)
    if len(lengths) >= FEWEST and lengths[0] < least:
        raise NoRun(
            f"the chains do not forget their start within L={lengths[0]}: they relax in {tau:.3g} units of time, and the "
            f"lengths must cover {FORGOTTEN} times that; give sweep.lengths from {least} on, or a larger schedule.scale"
        )


def shortest_length(
    subject: Subject, kind: str, alpha: Fraction, scale: float, wanted: int, *, of_the_first: bool
) -> int:
    """The first of doubling lengths: `wanted`, or the least in which chains forget their start. Raises `NoRun`.

    `of_the_first`: `scale` is the step h = C L^-alpha of the first length, whatever that is, and not C.
    """
    least, power = wanted, float(alpha)
    while True:
        C = scale * least**power if of_the_first else scale
        tau = relaxation_time(subject, C * (DOUBLED * least) ** -power)
        needed = _shortest(kind, alpha, C, tau)
        if needed <= least:
            return least
        least = max(least + 1, math.ceil(FORGOTTEN * tau / scale)) if of_the_first else needed


def _shortest(kind: str, alpha: Fraction, scale: float, tau: float) -> int:
    """The least L whose steps add up to `FORGOTTEN` relaxation times: L h, or about C L^(1 - alpha)/(1 - alpha)."""
    span = scale / (1 - float(alpha) if kind == "power" else 1.0)
    return math.ceil((FORGOTTEN * tau / span) ** (1 / (1 - float(alpha))))


def relaxation_time(subject: Subject, step: float) -> float:
    """The time in which chains forget their start: of the step's radius where it is affine, else from a pilot run."""
    if subject.affine:
        return affine_time(subject, step)
    try:
        return plan_sweep(subject).pilot.time
    except NoSweep as why:
        raise NoRun(str(why)) from None


SHORTEST, POINTS = 100, 8
"""The first of the lengths that are sampled where `sweep.lengths` is open, if chains forget their start within it, and how
many doubling lengths there are, if a default run pays for so many."""

LOOKS = 4
"""Looks at the growing sample at most; every one doubles the chains."""

CHAINS = 1024
"""Chains of the first look, where the configuration leaves `chains` open."""

MOST_WORK = WORK / 4
"""Steps of all chains together beyond which no further look is taken: `verify` follows several schedules."""

SHIFTS = 3
"""How often an open scale is halved because the expansion does not hold along the schedule."""


@dataclass(frozen=True)
class _Run:
    """What is run: the schedule, its rows, and the number of chains after each look.

    `shifts` counts the scales that were left for smaller ones, `decisions` is the most that share the level: a smaller
    scale goes on at the look at which the larger one was left, so that each adds one look at most.
    """

    kind: str
    alpha: Fraction
    scale: float
    lengths: tuple[int, ...]
    rows: tuple[Row, ...]
    looks: tuple[int, ...]
    shifts: int
    decisions: int


def sampled_consistency(question: Question) -> Evidence:
    """Consistency is about L to infinity: no sample of finite length shows it, and none refutes it."""
    reason = "consistency is about L to infinity, and samples end at a finite length"
    return question.unanswered(reason, method="monte-carlo")


def sampled_error(question: Question) -> Evidence:
    """|E phi_hat - phi_bar| or E (phi_hat - phi_bar)^2 in L along the claimed schedule, from chains of moderate lengths.

    Of the mean square error what its bias leads is seen (chen2015 Theorems 2, 3, 5).
    """
    subject, quantity = question.subject.under(question.configuration), question.quantity
    kind, alpha, prediction = question.schedule.kind, question.alpha, question.prediction
    what = f"the {_name(quantity)} of {subject.observable} at {schedule_text(kind, alpha)}"
    if kind == "fixed":
        reason = f"{what} need not fall with L, so that no sample can contradict it; choose schedule.kind=horizon or power"
        return question.unanswered(reason, method="monte-carlo")
    order = int(question.facts["K"])
    try:
        run, found, decision = _settle(subject, quantity, kind, alpha, order, what)
    except NoRun as why:
        return question.unanswered(str(why), method="monte-carlo")
    if decision.more is not None and math.isfinite(decision.more):
        steps = decision.more * found.chains * sum(row.lengths[-1] for row in run.rows)
        decision = replace(decision, reason=f"{decision.reason}, which takes {cost_text(steps)}")
    return question.evidence(
        method="monte-carlo",
        judgement=as_theorem_2_allows(
            subject, prediction, Judgement(decision.verdict, False, decision.reason), what
        ),
        prediction=prediction,
        found=decision,
        points=_points(subject, run, found, quantity),
        certificate={
            **decision.certificate,
            "level": share_of(subject).rate,
            "level_of_call": share_of(subject).call,
            "looks": {
                "taken": run.looks.index(found.chains) + 1,
                "planned": list(run.looks),
                "level_of_each": share_of(subject).rate / run.decisions,
            },
            "scales_left_for_smaller_ones": run.shifts,
            "chains": found.chains,
            "coupling": "one chain for all lengths" if kind == "power" else "none",
            "kept_points": decision.kept,
            "schedule": {"kind": kind, "alpha": alpha, "scale": run.scale},
        },
    )


def _settle(
    subject: Subject, quantity: str, kind: str, alpha: Fraction, order: int, what: str
) -> tuple[_Run, SampledAverages, Decision]:
    """Look at growing samples until one decides; take a smaller scale where the expansion does not hold yet."""
    open_scale = subject.configuration.schedule.scale is None
    look = 0
    for shifts in range(SHIFTS + 1 if open_scale else 1):
        try:
            run = _plan(subject, quantity, kind, alpha, shifts)
        except NoRun:
            # At a smaller scale the lengths that were asked for forget their start no more: what was found stands.
            if not shifts:
                raise
            break
        for found in _looks_at(subject, run, look):
            look = run.looks.index(found.chains)
            sample, lengths = _sample(subject, run, found)
            if len(lengths) < FEWEST:
                stop = "; ".join(str(row) for row in found.diverged if row) or "give more in sweep.lengths"
                reason = f"a rate needs {FEWEST} lengths at which no chain diverges, and there are {len(lengths)}: {stop}"
                decision = Decision("inconclusive", reason)
                break
            decision = _decide(subject, run, sample, lengths, quantity, order, what)
            decision = _unless_it_vanishes(decision, what)
            fits = not expansion_fails(decision)
            if decision.verdict != "inconclusive":
                return run, found, decision
            if not fits or decision.more is None:
                break
        if len(lengths) >= FEWEST and fits:
            break
    return run, found, decision


def _plan(subject: Subject, quantity: str, kind: str, alpha: Fraction, shifts: int) -> _Run:
    """The run that the configuration asks for, its scale halved `shifts` times. Raises `NoRun`."""
    c = subject.configuration
    scale = c.schedule.scale or first_step(subject) / 2**shifts
    # bias^2/variance grows with the scale and not with L: the first length gets the largest safe step.
    largest = quantity == "mse" and c.schedule.scale is None and kind == "horizon"
    if c.sweep.lengths:
        lengths = tuple(sorted(set(c.sweep.lengths)))
        if len(lengths) < FEWEST:
            raise NoRun(f"sweep.lengths={list(lengths)}: a rate from samples needs at least {FEWEST} lengths")
        scale *= float(lengths[0]) ** float(alpha) if largest else 1.0
        check_forgotten(subject, kind, alpha, scale, lengths)
    else:
        first = shortest_length(subject, kind, alpha, scale, SHORTEST, of_the_first=largest)
        lengths = _open_lengths(first, kind)
        scale *= float(first) ** float(alpha) if largest else 1.0
    rows = (
        horizon(scale, float(alpha), lengths) if kind == "horizon" else power([scale], float(alpha), lengths)
    )
    if subject.affine and kind == "horizon":
        steps = [row.schedule.at(1) for row in rows]
        subject.check_stable(sorted(set(steps), reverse=True), "schedule.scale*L^-alpha")
    per_chain = sum(row.lengths[-1] for row in rows)
    chosen = SHIFTS if c.schedule.scale is None else 0
    if c.chains != Configuration().chains:
        return _Run(kind, alpha, scale, lengths, rows, (c.chains,), shifts, 2 + chosen)
    looks = tuple(n for n in (CHAINS * 2**k for k in range(LOOKS)) if n * per_chain <= MOST_WORK)
    if not looks:
        raise NoRun(
            f"{CHAINS} chains of the lengths {', '.join(map(str, lengths))} take {cost_text(CHAINS * per_chain)}, and a default "
            f"run has {MOST_WORK:.0e}; give chains to run them all the same, or shorter sweep.lengths"
        )
    # A control's bound takes one share more.
    return _Run(kind, alpha, scale, lengths, rows, looks, shifts, len(looks) + chosen + 1)


def _open_lengths(first: int, kind: str) -> tuple[int, ...]:
    """Doubling lengths from the first on, as many as a default run pays for, and enough for a rate."""
    for count in range(POINTS, FEWEST - 1, -1):
        lengths = tuple(first * 2**k for k in range(count))
        if CHAINS * (lengths[-1] if kind == "power" else sum(lengths)) <= MOST_WORK:
            break
    return lengths


def _looks_at(subject: Subject, run: _Run, first: int = 0) -> Iterator[SampledAverages]:
    """The chains after each look from the `first` on; shared by claims that ask the same, and by bias and mean square error."""
    stage = ("lengths", run.kind, run.alpha, run.scale, run.lengths)
    known = _known(subject, *stage, run.looks, first)
    done = 0
    for look, chains in enumerate(run.looks):
        if look < first:
            continue
        if look not in known:
            (made,) = run_chains(
                subject,
                run.rows,
                seed=run_seed(subject, *stage),
                first=done,
                count=chains - done,
                progress=(done / run.looks[-1], chains / run.looks[-1]),
            )
            known[look] = known[look - 1].joined(made) if look > first else made
        done = chains
        yield known[look]


@cached_per_subject
def _known(subject: Subject, *stage: Any) -> dict[int, SampledAverages]:
    """The chains of each look that was taken, which the next look joins to its own."""
    return {}


def _errors(subject: Subject, run: _Run, found: SampledAverages) -> list[tuple[int, Any, Any]]:
    """(length, errors of the single chains, how they diverged or None), from the shortest to the longest."""
    truth = truth_of(subject)[0]
    if run.kind == "power":
        return [(n, found.values[0, k] - truth, found.diverged[0]) for k, n in enumerate(run.lengths)]
    return [(n, found.values[i, 0] - truth, found.diverged[i]) for i, n in enumerate(run.lengths)]


def _sample(subject: Subject, run: _Run, found: SampledAverages) -> tuple[Sample, list[int]]:
    kept = [(length, errors) for length, errors, diverged in _errors(subject, run, found) if diverged is None]
    if len(kept) < 2:
        return Sample.of([], standard_errors=[]), []
    sample = Sample.of_chains([errors for _, errors in kept], coupled=run.kind == "power")
    return sample.shifted(truth_of(subject)[1]), [length for length, _ in kept]


def _decide(
    subject: Subject,
    run: _Run,
    sample: Sample,
    lengths: Sequence[int],
    quantity: str,
    order: int,
    what: str,
) -> Decision:
    """The verdict on one sample; a bias that does not rise from the noise is held against an Euler control's."""
    level = share_of(subject).rate / run.decisions

    def decide(**given: Any) -> Decision:
        ask = decide_length_bias if quantity == "bias" else decide_length_mse
        return ask(
            lengths,
            sample.values,
            covariance=sample.covariance,
            order=order,
            alpha=run.alpha,
            level=level,
            chains=sample.chains,  # type: ignore[arg-type]
            coupled=sample.coupled,
            what=what,
            kind=run.kind,
            looks=len(run.looks),
            **given,
        )

    decision = decided(decide)
    if quantity != "bias" or decision.verdict != "inconclusive" or not decision.lost:
        return decision
    control = control_of(subject, level, sampled=sample.chains == run.looks[-1])
    if control is None:
        return decision
    error = control.bound * first_order_error(run.kind, float(run.alpha), run.scale, min(lengths))
    return with_control(decided(lambda: decide(control=error)) if error else decision, control)


def _unless_it_vanishes(decision: Decision, what: str) -> Decision:
    """No violation where the whole may be 0 at the first length: before a change of sign every part of it is large.

    Such a share has an unbounded confidence set. Lengths beyond the crossing settle it.
    """
    terms = decision.certificate.get("terms", {}).values()
    unbounded = any(None in piece for term in terms for piece in term["interval"])
    if decision.verdict != "violates" or not unbounded:
        return decision
    reason = f"{what} may vanish at the first length kept, so that no part of it can be told; give longer sweep.lengths"
    return replace(decision, verdict="inconclusive", reason=reason)


def _points(subject: Subject, run: _Run, found: SampledAverages, quantity: str) -> list[Point]:
    points = []
    for length, errors, diverged in _errors(subject, run, found):
        step = run.scale * float(length) ** -float(run.alpha)
        if diverged is not None:
            points.append(Point(step=step, length=length, kind="sampled", diverged=True, note=str(diverged)))
            continue
        values = errors**2 if quantity == "mse" else errors
        points.append(
            Point(
                step=step,
                length=length,
                value=float(values.mean()),
                standard_error=float(values.std(ddof=1)) / found.chains**0.5,
                error_bound=truth_of(subject)[1],
                kind="sampled",
            )
        )
    return points


def _name(quantity: str) -> str:
    return "mean square error" if quantity == "mse" else "bias"

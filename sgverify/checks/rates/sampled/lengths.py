"""How do bias and mean square error of sampled averages fall with their length L?

Only lengths in which chains forget their start are used: before that, an average shows a transient and no rate.
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
    SampledAverages,
    cost_text,
    decided,
    expansion_fails,
    most_steps,
    run_chains,
    run_seed,
    share_of,
)
from sgverify.checks.rates.sampled.pilot import affine_time
from sgverify.checks.rates.sampled.plan import NoSweep, first_step, plan_sweep
from sgverify.checks.rates.sampled.reference import reference_of, truth_of, with_resolution
from sgverify.checks.subject.biased_gradient import as_theorem_2_allows
from sgverify.checks.subject.caching import cached_per_subject
from sgverify.checks.subject.subject import Subject
from sgverify.configuration import Configuration
from sgverify.evidence import Evidence, Point
from sgverify.rates import Decision, Judgement, Sample, decide_length_bias, decide_length_mse
from sgverify.samplers import Row, horizon, power

FORGOTTEN = 5
"""The number of relaxation times tau that the shortest length must cover. From then on the start contributes tau/(L h) times
its offset to an average, as the first term of the theorems says, up to a relative error of e^-5."""

FEWEST = 4
"""The fewest lengths for a decision."""

DOUBLED = 2**7
"""The longest of eight doubling lengths, in units of the first."""


class NoRun(Exception):
    """Raised if no chains can show a rate in L; the message gives the reason."""


def check_forgotten(
    subject: Subject, kind: str, alpha: Fraction, scale: float, lengths: Sequence[int]
) -> None:
    """Raise `NoRun` if chains do not forget their start within some length: a transient is no rate."""
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
    """The first of the doubling lengths: `wanted`, or the shortest in which chains forget their start. Raises `NoRun`.

    With `of_the_first`, `scale` is the step size h = C L^-alpha at the first length; otherwise `scale` is C.
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
    """The least L whose steps cover `FORGOTTEN` relaxation times tau: L h, or about C L^(1 - alpha)/(1 - alpha)."""
    span = scale / (1 - float(alpha) if kind == "power" else 1.0)
    return math.ceil((FORGOTTEN * tau / span) ** (1 / (1 - float(alpha))))


def relaxation_time(subject: Subject, step: float) -> float:
    """The relaxation time of the chain at one step size: from the spectral radius of an affine step, else from a pilot run."""
    if subject.affine:
        return affine_time(subject, step)
    try:
        return plan_sweep(subject).pilot.time
    except NoSweep as why:
        raise NoRun(str(why)) from None


SHORTEST, POINTS = 100, 8
"""The first sampled length if `sweep.lengths` is open and chains forget their start within it, and the number of doubling
lengths if a default run can afford them."""

LOOKS = 4
"""The most looks at the growing sample; every look doubles the chains."""

CHAINS = 1024
"""The chains of the first look if the configuration leaves `chains` open."""

SHARE = 1 / 4
"""The part of the steps of a default run that one schedule may take before a further look, since `verify` follows several."""

SHIFTS = 3
"""The most halvings of an open scale, each because the expansion does not hold along the schedule."""


@dataclass(frozen=True)
class _Run:
    """A planned run: the schedule, its rows (one per length), and the number of chains after each look.

    `shifts` counts the scales that were replaced by smaller ones. `decisions` is the largest number of decisions that share
    the level: a smaller scale continues at the look at which the larger one was abandoned, so that each shift adds at most
    one decision.
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
    """Inconclusive evidence on consistency: it is a limit L -> infinity, which no sample of finite length shows or refutes."""
    reason = "samples end at a finite length; consistency is about L to infinity"
    return question.unanswered(reason, method="monte-carlo")


def sampled_error(question: Question) -> Evidence:
    """|E phi_hat - phi_bar| or E (phi_hat - phi_bar)^2 in L along the claimed schedule, from chains of moderate lengths.

    Of the mean square error, the lengths at which the squared bias leads show the rate (chen2015 Theorems 2, 3, 5).
    """
    subject, quantity = question.subject.under(question.configuration), question.quantity
    kind, alpha, prediction = question.schedule.kind, question.alpha, question.prediction
    what = f"the {_name(quantity)} of {subject.observable} at {schedule_text(kind, alpha)}"
    if kind == "fixed":
        reason = (
            f"no sample can contradict it; {what} need not fall with L: choose schedule.kind=horizon or power"
        )
        return question.unanswered(reason, method="monte-carlo")
    order = int(question.facts["K"])
    try:
        run, found, decision = _settle(subject, quantity, kind, alpha, order, what)
    except NoRun as why:
        return question.unanswered(str(why), method="monte-carlo")
    if decision.more is not None and math.isfinite(decision.more):
        steps = decision.more * found.chains * sum(row.lengths[-1] for row in run.rows)
        decision = replace(decision, reason=f"{decision.reason}, which takes {cost_text(subject, steps)}")
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
    """The run, its averages and the decision: samples grow until one decides.

    The scale is halved while the expansion does not hold along the schedule.
    """
    open_scale = subject.configuration.schedule.scale is None
    look = 0
    for shifts in range(SHIFTS + 1 if open_scale else 1):
        try:
            run = _plan(subject, quantity, kind, alpha, shifts)
        except NoRun:
            # At the smaller scale the chains do not forget their start within the lengths: keep the last decision.
            if not shifts:
                raise
            break
        for found in _looks_at(subject, run, look):
            look = run.looks.index(found.chains)
            sample, lengths = _sample(subject, run, found)
            if len(lengths) < FEWEST:
                stop = "; ".join(str(row) for row in found.diverged if row) or "give more in sweep.lengths"
                reason = f"too few lengths without divergence; a rate needs {FEWEST}, and there are {len(lengths)}: {stop}"
                decision = Decision("inconclusive", reason)
                break
            decision = _decide(subject, run, sample, lengths, quantity, order, what)
            decision = _unless_it_vanishes(decision, what)
            if quantity == "bias":
                decision = with_resolution(subject, decision, float(sample.covariance[0, 0]))
            fits = not expansion_fails(decision)
            if decision.verdict != "inconclusive":
                return run, found, decision
            if not fits or decision.more is None:
                break
        if len(lengths) >= FEWEST and fits:
            break
    return run, found, decision


def _plan(subject: Subject, quantity: str, kind: str, alpha: Fraction, shifts: int) -> _Run:
    """The configured run with its scale halved `shifts` times. Raises `NoRun`."""
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
        lengths = _open_lengths(subject, first, kind)
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
    looks = tuple(
        n for n in (CHAINS * 2**k for k in range(LOOKS)) if n * per_chain <= SHARE * most_steps(subject)
    )
    if not looks:
        raise NoRun(
            f"{CHAINS * per_chain:.1e} steps, a default run has {SHARE * most_steps(subject):.0e}; {CHAINS} chains of the lengths "
            f"{', '.join(map(str, lengths))} take {cost_text(subject, CHAINS * per_chain)}; give chains to run them all the same, "
            "or shorter sweep.lengths"
        )
    # The bound of an Euler control takes one more share of the level.
    return _Run(kind, alpha, scale, lengths, rows, looks, shifts, len(looks) + chosen + 1)


def _open_lengths(subject: Subject, first: int, kind: str) -> tuple[int, ...]:
    """Doubling lengths from `first` on: as many as a default run can afford, but enough for a rate."""
    for count in range(POINTS, FEWEST - 1, -1):
        lengths = tuple(first * 2**k for k in range(count))
        if CHAINS * (lengths[-1] if kind == "power" else sum(lengths)) <= SHARE * most_steps(subject):
            break
    return lengths


def _looks_at(subject: Subject, run: _Run, first: int = 0) -> Iterator[SampledAverages]:
    """The averages after each look, from look `first` on.

    Bias and mean square error share them, as do all claims about the same schedule.
    """
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
    """The averages of the looks that were taken, by look; the next look adds its own chains to them."""
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
    """The verdict on one sample; a bias that is lost in the noise is compared with that of an Euler control."""
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
    """Replace a violation by "inconclusive" if the whole error may be 0 at the first length.

    Close to a change of sign, every term is a large share of the whole error, and the confidence set of such a share is
    unbounded. Longer lengths, beyond the change of sign, decide.
    """
    terms = decision.certificate.get("terms", {}).values()
    unbounded = any(None in piece for term in terms for piece in term["interval"])
    if decision.verdict != "violates" or not unbounded:
        return decision
    reason = f"the error may vanish at the first length; of {what} no part can be told then: give longer sweep.lengths"
    return replace(decision, verdict="inconclusive", reason=reason)


def _points(subject: Subject, run: _Run, found: SampledAverages, quantity: str) -> list[Point]:
    points, reference = [], reference_of(subject)
    for length, errors, diverged in _errors(subject, run, found):
        step = run.scale * float(length) ** -float(run.alpha)
        if diverged is not None:
            points.append(Point(step=step, length=length, kind="sampled", diverged=True, note=str(diverged)))
            continue
        values = errors**2 if quantity == "mse" else errors
        # An error e of the reference average changes a bias by e and a mean square error by 2 e times the bias.
        moved = reference.standard_error * (2 * abs(float(errors.mean())) if quantity == "mse" else 1.0)
        points.append(
            Point(
                step=step,
                length=length,
                value=float(values.mean()),
                standard_error=math.hypot(float(values.std(ddof=1)) / found.chains**0.5, moved),
                error_bound=reference.error_bound,
                kind="sampled",
            )
        )
    return points


def _name(quantity: str) -> str:
    return "mean square error" if quantity == "mse" else "bias"

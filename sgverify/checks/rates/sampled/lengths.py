"""How do bias and mean square error of sampled averages fall with their length L?

Only lengths in which chains forget their start are used: before that, an average shows a transient and no rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from sgverify.checks.question import Question
from sgverify.checks.rates.finite_time import schedule_text
from sgverify.checks.rates.sampled.euler_control import control_of, first_order_error, with_control
from sgverify.checks.rates.sampled.forgetting import FEWEST
from sgverify.checks.rates.sampled.gaussian_control import corrected
from sgverify.checks.rates.sampled.length_plan import SHIFTS, LengthRun, plan_run
from sgverify.checks.rates.sampled.method import (
    DISAGREEMENT,
    SampledAverages,
    beyond_reach,
    decided,
    expansion_fails,
    run_chains,
    share_of,
    with_cost,
)
from sgverify.checks.rates.sampled.reference import reference_of, truth_of, with_resolution
from sgverify.checks.rates.sampled.timed_variance import timed_variance
from sgverify.checks.readings import as_theorem_2_allows
from sgverify.errors import Unreached
from sgverify.evidence import Evidence, Point
from sgverify.rates import Decision, Judgement, Sample, decide_length_bias, decide_length_mse
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject


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
    except Unreached as why:
        return question.unanswered(str(why), method="monte-carlo")
    steps = sum(row.lengths[-1] for row in run.rows)
    decision = with_cost(subject, decision, found.chains, steps, run.looks[-1])
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
) -> tuple[LengthRun, SampledAverages, Decision]:
    """The run, its averages and the decision: samples grow until one decides.

    The scale is halved while the expansion does not hold along the schedule.
    """
    open_scale = subject.configuration.schedule.scale is None
    look = 0
    for shifts in range(SHIFTS + 1 if open_scale else 1):
        try:
            run = plan_run(subject, quantity, kind, alpha, shifts)
        except Unreached:
            # At the smaller scale the chains do not forget their start within the lengths: keep the last decision.
            if not shifts:
                raise
            break
        timed = timed_variance(subject, run, order, what) if quantity == "mse" else None
        if timed is not None:
            return timed
        for found in _looks_at(subject, run, look):
            look = run.looks.index(found.chains)
            sample, lengths = _sample(subject, run, found, quantity)
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
                apart = _no_control(found)
                return (
                    run,
                    found,
                    replace(decision, verdict="inconclusive", reason=apart) if apart else decision,
                )
            if not fits or decision.more is None or beyond_reach(decision, found.chains, run.looks[-1]):
                break
        if len(lengths) >= FEWEST and fits:
            break
    return run, found, decision


def _looks_at(subject: Subject, run: LengthRun, first: int = 0) -> Iterator[SampledAverages]:
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
            beside = () if run.control is None else (run.control.subject,)
            made, *others = (
                run_chains(
                    item,
                    run.rows,
                    seed=run_seed(subject, *stage),
                    first=done,
                    count=chains - done,
                    progress=(done / run.looks[-1], chains / run.looks[-1]),
                )[0]
                for item in (subject, *beside)
            )
            if run.control is not None:
                known_averages = [value for value, _ in _expected(subject, run)]
                by_row = [known_averages] if run.kind == "power" else [[value] for value in known_averages]
                made = corrected(made, others[0], by_row)
            known[look] = known[look - 1].joined(made) if look > first else made
        done = chains
        yield known[look]


@cached_per_subject
def _known(subject: Subject, *stage: Any) -> dict[int, SampledAverages]:
    """The averages of the looks that were taken, by look; the next look adds its own chains to them."""
    return {}


@cached_per_subject
def _expected(subject: Subject, run: LengthRun) -> list[tuple[float, float]]:
    """The exact averages of the control by length, with the bounds of their errors; empty without a control."""
    if run.control is None:
        return []
    return run.control.averages(run.kind, run.alpha, run.scale, run.lengths)


def _no_control(found: SampledAverages) -> str:
    """A sentence where the control's averages differ from their exact expectations; "" where they do not."""
    if found.taken is None:
        return ""
    means = found.taken.mean(-1)
    errors = found.taken.std(-1, ddof=1) / found.chains**0.5
    bound = NormalDist().inv_cdf(1 - DISAGREEMENT / (2 * means.size))
    if not (abs(means) > bound * errors).any():
        return ""
    return "the control is none; chains on a Gaussian target do not average what their exact law says"


def _errors(
    subject: Subject, run: LengthRun, found: SampledAverages, quantity: str
) -> list[tuple[int, Any, Any]]:
    """(length, errors of the single chains, how they diverged or None), from the shortest to the longest.

    A control takes noise away from biases; a mean square error is about that noise.
    """
    truth, values = truth_of(subject)[0], found.values
    if quantity == "mse" and found.taken is not None:
        values = values + found.taken
    if run.kind == "power":
        return [(n, values[0, k] - truth, found.diverged[0]) for k, n in enumerate(run.lengths)]
    return [(n, values[i, 0] - truth, found.diverged[i]) for i, n in enumerate(run.lengths)]


def _sample(
    subject: Subject, run: LengthRun, found: SampledAverages, quantity: str
) -> tuple[Sample, list[int]]:
    kept = [
        (length, errors)
        for length, errors, diverged in _errors(subject, run, found, quantity)
        if diverged is None
    ]
    if len(kept) < 2:
        return Sample.of([], standard_errors=[]), []
    sample = Sample.of_chains([errors for _, errors in kept], coupled=run.kind == "power")
    bound = max((bound for _, bound in _expected(subject, run)), default=0.0)
    return sample.shifted(truth_of(subject)[1] + bound), [length for length, _ in kept]


def _decide(
    subject: Subject,
    run: LengthRun,
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


def _points(subject: Subject, run: LengthRun, found: SampledAverages, quantity: str) -> list[Point]:
    points, reference = [], reference_of(subject)
    for length, errors, diverged in _errors(subject, run, found, quantity):
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

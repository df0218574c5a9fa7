"""How do sampled errors fall with the step size, or with the length? Decided without fitting a slope, in growing samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np

from sgverify.checks.question import Question
from sgverify.checks.rates.finite_time import told_of
from sgverify.checks.rates.sampled.method import (
    DISAGREEMENT,
    SampledAverages,
    cost_text,
    reference_of,
    run_chains,
    share_of,
    truth_of,
    with_resolution,
)
from sgverify.checks.rates.sampled.pilot import affine_time
from sgverify.checks.rates.sampled.plan import FEWEST, SampledRun, plan_lengths, plan_sweep
from sgverify.checks.readings import term_of_theorem_2, unbiased
from sgverify.errors import Unreached, UserError
from sgverify.evidence import Evidence, Point
from sgverify.rates.decision import Decision, decide_order
from sgverify.rates.length import decide_length, decide_length_mse
from sgverify.rates.sample import Sample
from sgverify.rates.verdict import Judgement
from sgverify.samplers import fixed, horizon
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject

OUT_OF_REACH = 4.0
"""No further look is taken where a decision would take so many times the chains of the last one."""

LONGEST = 4_000
"""The longest chain beside an exact curve, in steps. A stationary average is taken over its last half."""

BETWEEN = (200, 400, 3_000)
"""Further sampled lengths beside those of the exact points, so that an exponent can be fitted to the sampled points."""

FORGOTTEN = 7.0
"""The relaxation times before such a stationary average begins: e^-7 = 1e-3 of the start's offset is left at most, and a test
function of degree two then has 1e-6 of it. A step size with a slower chain gets no sampled point."""


def sampled_stationary_bias(question: Question) -> Evidence:
    """d(rho_h, rho) = O(h^K) for the test function, from chains at steps h, h/2, h/4, ... (chen2015 Theorem 4).

    If the steps are halvings, the chains of all steps share a Brownian path; the covariance of their averages enters the fit.
    """
    order, what = int(question.prediction.exponent), f"the stationary bias of {question.subject.observable}"
    decide = partial(decide_order, order=order, what=what)
    return _answered(question, question.subject, plan_sweep, decide)


def sampled_error(question: Question) -> Evidence:
    """|E phi_hat - phi_bar| or E (phi_hat - phi_bar)^2 in L along the claimed schedule, from chains of moderate lengths.

    Of the mean square error, the lengths at which the squared bias leads show the rate (chen2015 Theorems 2, 3, 5).
    """
    subject, kind, alpha = (
        question.subject.under(question.configuration),
        question.schedule.kind,
        question.alpha,
    )
    what = told_of(question)
    never = "" if unbiased(subject) or question.prediction.exponent < 0 else term_of_theorem_2(subject)
    if kind == "fixed" or never:
        reason = f"no sample can contradict it; {what} need not fall with L"
        return question.unanswered(
            f"{reason}: {never or 'choose schedule.kind=horizon or power'}", method="monte-carlo"
        )
    ask = decide_length if question.quantity == "bias" else decide_length_mse
    decide = partial(ask, order=int(question.facts["K"]), alpha=alpha, kind=kind, what=what)
    return _answered(
        question, subject, lambda subject: plan_lengths(subject, question.quantity, kind, alpha), decide
    )


def _answered(
    question: Question,
    subject: Subject,
    plan: Callable[[Subject], SampledRun],
    decide: Callable[..., Decision],
) -> Evidence:
    """The evidence of chains that `plan` chooses, decided by `decide(places, sample, level=)`."""
    try:
        run = plan(subject)
        found, decision = _settled(question, subject, run, decide)
        for halved in range(1, run.halvings + 1):
            if all(term["fits"] for term in decision.certificate.get("terms", {}).values()):
                break
            run = plan_sweep(subject, halved)
            found, decision = _settled(question, subject, run, decide)
    except Unreached as why:
        return question.unanswered(str(why), method="monte-carlo")
    if decision.verdict == "inconclusive" and decision.more is not None and math.isfinite(decision.more):
        wanted = decision.more * found.chains
        cost = f"{wanted:.1e} chains take {cost_text(subject, wanted * run.length)}"
        decision = replace(decision, reason=f"{decision.reason}; {cost}")
    return question.answered(
        method="monte-carlo",
        judgement=Judgement(decision.verdict, False, decision.reason),
        found=decision,
        points=points_of(subject, run, found, squared=question.quantity == "mse"),
        certificate=_certificate(subject, run, found, decision),
    )


def _settled(
    question: Question, subject: Subject, run: SampledRun, decide: Callable[..., Decision]
) -> tuple[SampledAverages, Decision]:
    """The averages and the decision after the first look that decides, or that tells that none will."""
    for found in _looks_at(subject, run):
        decision = _decided(question, subject, run, found, decide)
        hopeful = decision.more is not None and decision.more * found.chains < OUT_OF_REACH * run.looks[-1]
        if decision.verdict != "inconclusive" or not hopeful:
            break
    return found, decision


def _decided(
    question: Question,
    subject: Subject,
    run: SampledRun,
    found: SampledAverages,
    decide: Callable[..., Decision],
) -> Decision:
    errors = _errors(subject, run, found)
    if len(errors) < FEWEST:
        name, key = ("steps", "sweep.steps") if run.kind == "fixed" else ("lengths", "sweep.lengths")
        why = "; ".join(str(row) for row in found.diverged if row) or f"give more in {key}"
        reason = (
            f"too few {name} without divergence; a rate needs {FEWEST}, and there are {len(errors)}: {why}"
        )
        return Decision("inconclusive", reason)
    coupled = run.coupled or run.kind == "power"
    # An error of the reference average shifts all points by the same amount.
    sample = Sample.of_chains(list(errors.values()), coupled=coupled, looks=len(run.looks)).shifted(
        truth_of(subject)[1]
    )
    try:
        decision = decide(list(errors), sample, level=share_of(subject).rate / run.decisions)
    except UserError as error:  # too few chains, or copies of a chain
        return Decision("inconclusive", str(error))
    if question.quantity != "mse":
        decision = with_resolution(subject, decision, float(sample.covariance[0, 0]))
    apart = _transient(run, found) if decision.verdict != "inconclusive" else ""
    return replace(decision, verdict="inconclusive", reason=apart, more=None) if apart else decision


def _looks_at(subject: Subject, run: SampledRun) -> Iterator[SampledAverages]:
    """The averages after each look; the caller stops iterating once a look decides. Claims about the same quantity share them."""
    known = _known(subject, *run.stage, run.looks)
    done = 0
    for chains in run.looks:
        if chains not in known:
            made = run_chains(
                subject,
                run.rows,
                seed=run_seed(subject, *run.stage),
                first=done,
                count=chains - done,
                coupled=run.coupled,
                progress=(done / run.looks[-1], chains / run.looks[-1]),
            )[0]
            known[chains] = known[done].joined(made) if done else made
        done = chains
        yield known[chains]


@cached_per_subject
def _known(subject: Subject, *stage: Any) -> dict[int, SampledAverages]:
    """The averages of the looks that were taken, by their chains; the next look adds its own chains to them."""
    return {}


def _errors(subject: Subject, run: SampledRun, found: SampledAverages) -> dict[float, np.ndarray]:
    """The errors of single chains at every place where they did not diverge."""
    averages = run.averages(found) - truth_of(subject)[0]
    return {
        place: errors
        for place, errors, diverged in zip(run.places, averages, run.diverged(found), strict=True)
        if diverged is None
    }


def _transient(run: SampledRun, found: SampledAverages) -> str:
    """A sentence about a row of a sweep whose averages are not those of a stationary chain; "" if there is none.

    Each row's mean difference between the two halves, of which a burn-in may have left a transient, is tested as normal over
    chains, at the level `DISAGREEMENT` over all rows.
    """
    if run.kind != "fixed":
        return ""
    bound = NormalDist().inv_cdf(1 - DISAGREEMENT / (2 * len(run.places)))
    for step, (first, second), diverged in zip(run.places, run.halves(found), found.diverged, strict=True):
        gaps = first - second
        mean, error = float(gaps.mean()), float(gaps.std(ddof=1)) / math.sqrt(len(gaps))
        if diverged is None and abs(mean) > bound * error:
            apart = f"at h={step:.3g} the halves of the run differ by {mean:.3g} +- {error:.2g}"
            return f"the start is not forgotten; {apart}"
    return ""


def points_of(subject: Subject, run: SampledRun, found: SampledAverages, *, squared: bool) -> list[Point]:
    """The sampled biases, or mean squares, at every place of a run."""
    points, reference = [], reference_of(subject)
    known = _errors(subject, run, found)
    for place, diverged in zip(run.places, run.diverged(found), strict=True):
        at: dict[str, Any] = {"step": place}
        if run.kind != "fixed":
            at = {"step": run.scale * place ** -float(run.alpha), "length": int(place)}
        if diverged is not None:
            points.append(Point(**at, kind="sampled", diverged=True, note=str(diverged)))
            continue
        errors = known[place]
        values = errors**2 if squared else errors
        # An error e of the reference average changes a bias by e and a mean square error by 2 e times the bias.
        moved = reference.standard_error * (2 * abs(float(errors.mean())) if squared else 1.0)
        spread = math.hypot(float(values.std(ddof=1)) / found.chains**0.5, moved)
        bound = reference.error_bound
        value = float(values.mean())
        points.append(Point(**at, value=value, standard_error=spread, error_bound=bound, kind="sampled"))
    return points


def _certificate(
    subject: Subject, run: SampledRun, found: SampledAverages, decision: Decision
) -> dict[str, Any]:
    level = share_of(subject)
    coupling = "one Brownian path for all steps" if run.coupled else "none"
    certificate = {
        **decision.certificate,
        "level": level.rate,
        "level_of_call": level.call,
        "looks": {
            "taken": run.looks.index(found.chains) + 1,
            "planned": list(run.looks),
            "level_of_each": level.rate / run.decisions,
        },
        "chains": found.chains,
        "coupling": "one chain for all lengths" if run.kind == "power" else coupling,
        "kept_points": decision.kept,
        "relaxation": run.relaxation,
    }
    if run.kind != "fixed":
        return {**certificate, "schedule": {"kind": run.kind, "alpha": run.alpha, "scale": run.scale}}
    first, _, last = run.rows[0].lengths
    return {
        **certificate,
        "burn_in": first * run.places[0],
        "averaged_time": (last - first) * run.places[0],
        "steps_per_chain": {
            f"h={step:.6g}": row.lengths[-1] for step, row in zip(run.places, run.rows, strict=True)
        },
    }


# Points that only illustrate: they show the running code on an exact curve of a report.


def with_sampled_points(subject: Subject, evidence: Sequence[Evidence], chains: int) -> list[Evidence]:
    """The evidence with sampled points added to its stationary-bias, bias and MSE curves.

    Verdicts remain those of the exact method. Bias and MSE of one schedule share their random numbers.
    """
    result = []
    for item in evidence:
        run = _beside(subject, item)
        if run is not None:
            seed = subject.configuration.seed
            found = run_chains(subject, run.rows, seed=seed, first=0, count=chains, progress=(0.0, 0.0))[0]
            points = points_of(subject, run, found, squared=item.check == "mse")
            item = replace(item, points=(*item.points, *points))
        result.append(item)
    return result


def _beside(subject: Subject, item: Evidence) -> SampledRun | None:
    """The chains whose averages stand beside an exact curve; None where it has no curve, or no chain of that length."""
    if item.verdict not in ("conforms", "violates") or item.method != "exact":
        return None
    if item.check == "stationary-bias":
        half = LONGEST // 2
        given = [point.step for point in item.points if point.step is not None]
        steps = tuple(step for step in given if half * step >= FORGOTTEN * affine_time(subject, step))
        rows = fixed(steps, [half, half + half // 2, LONGEST]) if steps else ()
        return SampledRun("fixed", steps, rows, (), {}) if steps else None
    if item.check not in ("bias", "mse") or item.configuration["schedule"]["kind"] != "horizon":
        return None
    alpha, scale = Fraction(item.certificate["schedule"]["alpha"]), item.certificate["schedule"]["scale"]
    exact = {point.length for point in item.points if point.length is not None and point.length <= LONGEST}
    lengths = tuple(sorted({*exact, *BETWEEN}))
    rows = horizon(scale, float(alpha), lengths)
    return SampledRun("horizon", lengths, rows, (), {}, alpha=alpha, scale=scale) if exact else None

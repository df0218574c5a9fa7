"""How does the stationary bias of sampled chains fall with the step size? Decided without fitting a slope."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sgverify.checks.question import Question
from sgverify.checks.rates.sampled.controlled_plan import plan_sweep
from sgverify.checks.rates.sampled.euler_control import control_of, with_control
from sgverify.checks.rates.sampled.method import (
    beyond_reach,
    decided,
    expansion_fails,
    share_of,
    with_cost,
)
from sgverify.checks.rates.sampled.plan import SweepPlan, shifted
from sgverify.checks.rates.sampled.reference import reference_of, with_resolution
from sgverify.checks.rates.sampled.sweep import Sweep, looks_at
from sgverify.errors import Unreached
from sgverify.evidence import Evidence, Point
from sgverify.rates import Decision, Judgement, decide_order
from sgverify.subject.subject import Subject

STAGE = "stationary-bias"

FEWEST = 4
"""The fewest steps for a decision: one more than the terms of a fit."""


def sampled_stationary_bias(question: Question) -> Evidence:
    """d(rho_h, rho) = O(h^K) for the test function, from chains at steps h, h/2, h/4, ... (chen2015 Theorem 4).

    If the steps are halvings, the chains of all steps share a Brownian path; the covariance of their averages enters the
    fit. The sample grows in looks, which share the level.
    """
    subject = question.subject
    try:
        plan = plan_sweep(subject)
    except Unreached as why:
        return question.unanswered(str(why), method="monte-carlo")
    prediction = question.prediction
    sweep, decision = _settle(subject, plan, int(prediction.exponent))
    rows = sweep.plan.rows()
    steps = sum(row.lengths[-1] for row in rows) + len(sweep.level) / sweep.chains * rows[0].lengths[-1]
    decision = with_cost(subject, decision, sweep.chains, steps, sweep.plan.looks[-1])
    return question.answered(
        method="monte-carlo",
        judgement=Judgement(decision.verdict, False, decision.reason),
        found=decision,
        points=_points(subject, sweep),
        certificate=_certificate(subject, sweep, decision),
    )


def _settle(subject: Subject, plan: SweepPlan, order: int) -> tuple[Sweep, Decision]:
    """The sweep and the decision: samples grow until one decides, or shows that none will.

    Steps are halved while the expansion does not hold.
    """
    moved: SweepPlan | None = plan
    look = 0
    while moved is not None:
        plan, moved = moved, None
        # Looks at larger steps count: the sweep at smaller steps continues at the look where those were abandoned.
        for sweep in looks_at(subject, plan, STAGE, first=min(look, len(plan.looks) - 1)):
            look = sweep.look
            if plan.steps[0] in sweep.diverged and shifted(subject, plan):
                moved = shifted(subject, plan)
                break
            if len(sweep.steps) < FEWEST:
                why = "; ".join(str(why) for why in sweep.diverged.values()) or "give more in sweep.steps"
                reason = f"too few steps without divergence; a rate needs {FEWEST}, and there are {len(sweep.steps)}: {why}"
                return sweep, Decision("inconclusive", reason)
            decision = _beside_control(subject, sweep, order, _decide(subject, sweep, order))
            decision = with_resolution(subject, decision, float(sweep.sample.covariance[0, 0]))
            if decision.verdict != "inconclusive":
                apart = sweep.disagreement()
                if apart:
                    decision = replace(decision, verdict="inconclusive", reason=apart)
                return sweep, decision
            if expansion_fails(decision):
                moved = shifted(subject, plan)
                if moved is not None:
                    break
            if beyond_reach(decision, sweep.chains, plan.looks[-1]):
                break
    return sweep, decision


def _beside_control(subject: Subject, sweep: Sweep, order: int, decision: Decision) -> Decision:
    """The decision on a bias that is lost in the noise, by comparison with an Euler control, computed or else sampled.

    Chains of the control run from the second look on, so that a bias that more chains would resolve does not wait for them.
    """
    if decision.verdict != "inconclusive" or not decision.lost:
        return decision
    last = sweep.look + 1 == len(sweep.plan.looks)
    level = share_of(subject).rate / sweep.plan.decisions
    control = control_of(subject, level, sampled=sweep.look > 0 or last)
    if control is None:
        return decision
    return with_control(_decide(subject, sweep, order, control.bound) if control.bound else decision, control)


def _decide(subject: Subject, sweep: Sweep, order: int, control: float | None = None) -> Decision:
    # An error of the reference average, or of a control's expectation, shifts all points by the same amount.
    sample = sweep.sample.shifted(sweep.error)
    return decided(
        lambda: decide_order(
            sweep.steps,
            sample.values,
            covariance=sample.covariance,
            order=order,
            level=share_of(subject).rate / sweep.plan.decisions,
            chains=sweep.chains,
            coupled=sample.coupled,
            what=f"the stationary bias of {subject.observable}",
            looks=len(sweep.plan.looks),
            control=control,
        )
    )


def _points(subject: Subject, sweep: Sweep) -> list[Point]:
    points = [
        Point(step=step, value=None, kind="sampled", diverged=True, note=str(why))
        for step, why in sorted(sweep.diverged.items(), reverse=True)
    ]
    sample, reference = sweep.sample, reference_of(subject)
    # The error of an estimated reference average is one of the point too.
    spreads = (sample.covariance.diagonal() + reference.standard_error**2) ** 0.5
    for step, value, spread in zip(sweep.steps, sample.values, spreads, strict=True):
        points.append(
            Point(
                step=step,
                value=float(value),
                standard_error=float(spread),
                error_bound=reference.error_bound,
                kind="sampled",
            )
        )
    return points


def _certificate(subject: Subject, sweep: Sweep, decision: Decision) -> dict[str, Any]:
    plan = sweep.plan
    return {
        **decision.certificate,
        "level": share_of(subject).rate,
        "level_of_call": share_of(subject).call,
        "looks": {
            "taken": sweep.look + 1,
            "planned": list(plan.looks),
            "level_of_each": share_of(subject).rate / plan.decisions,
        },
        "chains": sweep.chains,
        "chains_of_the_largest_step_alone": len(sweep.level),
        "sweeps_left_for_smaller_steps": plan.shifts,
        "coupling": "one Brownian path for all steps" if plan.coupled else "none",
        "kept_points": decision.kept,
        **({"shares_of_averaging_time": list(plan.shares)} if plan.shares else {}),
        **({"gaussian_control": _control(sweep)} if plan.control is not None else {}),
        "relaxation": {"time": plan.pilot.time, "how": plan.pilot.how},
        "burn_in": plan.rows()[0].lengths[0] * plan.steps[0],
        "averaged_time": (plan.rows()[0].lengths[2] - plan.rows()[0].lengths[0]) * plan.steps[0],
        "steps_per_chain": {
            f"h={step:.6g}": row.lengths[2] for step, row in zip(plan.steps, plan.rows(), strict=True)
        },
    }


def _control(sweep: Sweep) -> dict[str, Any]:
    """The exact bias of the Gaussian control by step size, and the part of the chains' variance that it leaves."""
    control = sweep.plan.control
    assert control is not None
    return {
        "exact_bias": {f"h={step:.6g}": control.bias(step).value for step in sweep.steps},
        "error_bound": max((control.average(step)[1] for step in sweep.steps), default=0.0),
        "variance_left": dict(zip((f"h={step:.6g}" for step in sweep.steps), sweep.noise_left, strict=True)),
        # An error of the sampler that is alike on both targets shows from here on; smaller ones are those of the code's own checks.
        "common_errors_seen_from": dict(
            zip((f"h={step:.6g}" for step in sweep.steps), sweep.control_resolution, strict=True)
        ),
    }

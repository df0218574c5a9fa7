"""Does a recorded run of replica exchange agree with its recomputation in plain numbers, step by step?

The recomputation uses the configuration and the recorded draws. Each step starts from the run's own state, controls and
variances before it, so that rounding does not accumulate. Temperatures, step sizes, periods and the pairs that are tried come
from the configuration, never from the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgverify.checks.exchange.sampled_variance import EPS, rounding_of
from sgverify.schemes.composites import composite as exchange_rules
from sgverify.schemes.definition.abstract_value import SCALAR
from tests.self_checks.exchange_plan import ExchangePlan
from tests.self_checks.exchange_transcript import ExchangeStep, ExchangeTranscript
from tests.self_checks.motion import motion_faults
from tests.self_checks.weight_rules import energies_of

LOST = 1e-5
"""The largest rounding of a coefficient, relative to its spread; beyond it the coefficient is not judged."""


def redone_faults(transcript: ExchangeTranscript, plan: ExchangePlan) -> Iterator[tuple[str, str]]:
    """The first fault of each kind, with its kind: start, motion, measurement, swap, transported variables, control."""
    yield from _start_faults(transcript, plan)
    seen: set[str] = set()
    before = _Before(transcript.start, transcript.first_controls, transcript.first_variance)
    walkers = np.repeat(np.arange(len(plan.temperatures))[:, None], transcript.start[0].shape[1], axis=1)
    for step in transcript.steps:
        for kind, fault in _step_faults(step, before, walkers, plan):
            if kind not in seen:
                seen.add(kind)
                yield kind, fault
        if seen:
            return
        before = _Before(step.after, step.controls, step.variance)
        walkers = step.recorded["walker"]


@dataclass(frozen=True)
class _Before:
    """The run's state, controls and variances before a step."""

    state: list[np.ndarray]
    controls: tuple[np.ndarray, ...] | None
    variance: np.ndarray


def _start_faults(transcript: ExchangeTranscript, plan: ExchangePlan) -> Iterator[tuple[str, str]]:
    theta, told = transcript.start[0], plan.starts[:, None, :]
    # Both sides have one product and one sum in float64: two roundings each, of numbers of these sizes.
    rounding = 4 * EPS * (np.abs(told).max() + np.abs(theta).max())
    apart = np.abs(theta - told).max(axis=(1, 2))
    for replica in np.flatnonzero(apart > rounding)[:1]:
        yield (
            "start",
            f"start {theta[replica, 0, 0]:.6g}, required {told[replica, 0, 0]:.6g}; replica {replica} starts at this theta[0]",
        )
    first = 0.0 if plan.exact else np.inf
    if not (transcript.first_variance == first).all():
        variance = f"{transcript.first_variance.flat[0]:.4g}, required {first}"
        yield "variance", f"first variances {variance}; before anything is measured"
    if (transcript.first_controls is not None) != plan.controlled:
        none_meant = "there is a control variate where none is meant"
        yield "control", none_meant if not plan.controlled else "there is no control variate"
    elif transcript.first_controls is not None:
        wanted = _fresh(plan, transcript.start[0], -np.ones((*transcript.start[0].shape[:2], 1)))
        yield from _control_faults(0, transcript.first_controls, wanted, plan)


def _step_faults(
    step: ExchangeStep, before: _Before, walkers: np.ndarray, plan: ExchangePlan
) -> Iterator[tuple[str, str]]:
    """Pairs (kind, sentence) about faults of one step, in the order in which a step computes its parts.

    The order matters, since a fault in one part causes faults in later parts.
    """
    yield from motion_faults(step, before.state, plan)
    theta, controls, variance = step.moved[0], before.controls, before.variance
    due = not plan.exact and step.number % plan.period == 0
    if (step.spread_on is not None) != due:
        how = "measured" if step.spread_on is not None else "not measured"
        yield "period", f"variances were {how} at step {step.number}; due every {plan.period} steps"
        return
    if due:
        found = _measured(step, theta, controls, variance, plan)
        near = _close(step.variance[:-1], found.variance[:-1], found.rounding[:-1])
        if not near.all():
            k, c = np.argwhere(~near)[0]
            yield (
                "variance",
                f"variance {step.variance[k, c]:.6g}, required {found.variance[k, c]:.6g}; the variance of the difference of "
                f"replicas {k + 1} and {k + 2} was {step.variance[k, c]:.9g} after step {step.number}, and (1 - gamma) what it "
                f"was + gamma what was measured is {found.variance[k, c]:.9g}",
            )
            return
        # From here on the run's own variance is used, since it decides on the run's swaps.
        variance, controls = step.variance, found.controls
    elif not (step.variance[:-1] == variance[:-1]).all():
        yield (
            "variance moved",
            f"variances changed without a measurement; those of pairs, at step {step.number}",
        )
        return
    source = np.repeat(np.arange(len(plan.temperatures))[:, None], theta.shape[1], axis=1)
    if step.number % plan.table.every == 0:
        faults, source = _swap_faults(step, theta, controls, variance, plan)
        yield from faults
        if faults:
            return
    elif "energy" in step.recorded:
        yield "every", f"a swap was tried at step {step.number}; expected one every {plan.table.every} steps"
    yield from _moved_faults(step, source, plan)
    if not (step.recorded["walker"] == np.take_along_axis(walkers, source, 0)).all():
        yield "walker", f"replicas are not where their swaps brought them; after step {step.number}"
    if controls is None or step.controls is None:
        return
    wanted = tuple(np.take_along_axis(part, source[..., None], 0) for part in controls)
    if due:
        wanted = _fresh(plan, step.after[0], wanted[2])
    yield from _control_faults(step.number, step.controls, wanted, plan, learning=due and plan.learns)


@dataclass(frozen=True)
class _Found:
    """The recomputed variances and their rounding bounds after a measurement, each of shape (R, C), and the controls."""

    variance: np.ndarray
    rounding: np.ndarray
    controls: tuple[np.ndarray, ...] | None


def _measured(
    step: ExchangeStep,
    theta: np.ndarray,
    controls: tuple[np.ndarray, ...] | None,
    known: np.ndarray,
    plan: ExchangePlan,
) -> _Found:
    target, gamma = plan.subject.target, plan.table.smoothing
    assert step.spread_on is not None
    wide = np.broadcast_to(theta, (step.spread_on.shape[1], *theta.shape))
    here = energies_of(target, wide, step.spread_on)
    estimates, rough, learnt = here, rounding_of(plan.subject.target, theta), controls
    if controls is not None:
        at, full, coefficient = controls
        there = energies_of(target, np.broadcast_to(at, wide.shape), step.spread_on)
        c = coefficient[..., 0]
        estimates = exchange_rules.reduced_energy(here, there, full[..., 0], coefficient=c)
        rough += rounding_of(plan.subject.target, at) * (1 + float(np.abs(c).max()))
        if plan.learns:
            of_there = there.var(0, ddof=1)
            both = ((here - here.mean(0)) * (there - there.mean(0))).sum(0) / (len(here) - 1)
            sure = np.sqrt(of_there) > rough / LOST
            best = exchange_rules.best_coefficient(both, np.where(sure, of_there, 1.0))
            now = c + gamma * (best - c)
            given = step.controls[2][..., 0] if step.controls is not None else now
            # If the spread at the control is rounding, the coefficient that the run learnt is accepted.
            learnt = (at, full, _unswapped(np.where(sure, now, np.nan), given, step, plan)[..., None])
    differences = estimates[:, :-1] - estimates[:, 1:]
    own = np.zeros_like(known)
    # The variance by the rule of one minibatch, from its definition: that of its data times the share of a mean.
    own[:-1] = differences.var(0, ddof=1) * _share(plan)
    bound = 4 * rough * (np.sqrt(own) + rough) + 1e-11 * own
    old = np.isfinite(known)
    with np.errstate(invalid="ignore"):
        smoothed = np.where(old, known + gamma * (own - known), own)
    return _Found(smoothed, bound + 1e-13 * np.abs(smoothed), learnt)


def _unswapped(now: np.ndarray, given: np.ndarray, step: ExchangeStep, plan: ExchangePlan) -> np.ndarray:
    """`now`, with NaN replaced by the run's own coefficient, whose swap in the same step is undone."""
    swapped = step.recorded.get("swapped")
    source = np.arange(len(now))[:, None] + (np.zeros(now.shape, dtype=int) if swapped is None else swapped)
    back = np.argsort(source, axis=0)
    return np.where(np.isnan(now), np.take_along_axis(given, back, 0), now)


def _share(plan: ExchangePlan) -> float:
    """The variance of a mean of n data over that of one: 1/n, times 1 - n/N without replacement; 1 for whole minibatches."""
    c, table = plan.subject.configuration, plan.table
    if table.variance == "repeated" or (table.variance is None and c.gradient.batch == 1):
        return 1.0
    replaced = c.gradient.estimator.energies_replaced
    return (1.0 if replaced else 1 - c.gradient.batch / (plan.subject.target.size or 1)) / c.gradient.batch


def _swap_faults(
    step: ExchangeStep,
    theta: np.ndarray,
    controls: tuple[np.ndarray, ...] | None,
    variance: np.ndarray,
    plan: ExchangePlan,
) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Faults of the energies, pairs, swap probabilities and decisions; and the row that each state comes from."""
    target, T, R = plan.subject.target, plan.temperatures[:, None], len(plan.temperatures)
    source = np.repeat(np.arange(R)[:, None], theta.shape[1], axis=1)
    energy, rough = energies_of(target, theta, step.swapped_on), rounding_of(plan.subject.target, theta)
    if controls is not None:
        at, full, coefficient = (
            part if part.shape[-1] > 1 or i == 0 else part[..., 0] for i, part in enumerate(controls)
        )
        there = energies_of(target, at, step.swapped_on)
        energy = exchange_rules.reduced_energy(energy, there, full, coefficient=coefficient)
        rough += rounding_of(plan.subject.target, at) * (1 + float(np.abs(coefficient).max()))
    found = step.recorded.get("energy")
    if found is None:
        return [
            ("every", f"no swap was tried at step {step.number}; one is due every {plan.table.every} steps")
        ], source
    if not np.abs(found - energy).max() <= rough:
        k, c = np.unravel_index(int(np.argmax(np.abs(found - energy))), energy.shape)
        text = f"energy {found[k, c]:.9g}, required {energy[k, c]:.9g}; compared by replica {k + 1} after step {step.number}"
        return [("energy", text)], source
    low = np.arange((step.number // plan.table.every) % min(2, R - 1), R - 1, 2)
    exponent = np.full(energy.shape, np.nan)
    rule: Any = exchange_rules.log_swap_rate(
        found[low],
        found[low + 1],
        tau_1=T[low],
        tau_2=T[low + 1],
        variance=variance[low],
        F=plan.table.correction,
    )
    exponent[low] = np.minimum(rule, 0.0)
    if plan.table.intensity is not None:
        exponent[low] += math.log(plan.table.intensity * float(plan.h_at(step.number)[0]))
    chance, said = np.exp(exponent), step.recorded["swap_probability"]
    gaps = np.zeros_like(energy)
    gaps[low] = 1 / T[low] - 1 / T[low + 1]
    with np.errstate(invalid="ignore", over="ignore"):
        terms = gaps * (np.abs(energy) + np.nan_to_num(gaps * variance, posinf=0.0) / plan.table.correction)
    slack = (
        1e-12 + 64 * EPS * float(terms.max()) + 64 * EPS * float(np.abs(gaps * np.roll(energy, -1, 0)).max())
    )
    if not np.array_equal(np.isnan(chance), np.isnan(said)):
        tried = [k + 1 for k in range(R) if not np.isnan(said[k]).all()]
        text = f"pairs from {tried} tried, required {(low + 1).tolist()}; replicas with the ones above, after step {step.number}"
        return [("pairs", text)], source
    if not np.nan_to_num(np.abs(chance - said)).max() <= slack:
        k, c = np.unravel_index(int(np.nanargmax(np.abs(chance - said))), chance.shape)
        text = (
            f"chance {said[k, c]:.6g}, required {chance[k, c]:.6g}; replicas {k + 1} and {k + 2} were to swap with the chance "
            f"{said[k, c]:.9g} after step {step.number}; expected {chance[k, c]:.9g} at T = {float(T[k, 0]):.6g} and "
            f"{float(T[k + 1, 0]):.6g}"
        )
        return [("chance", text)], source
    accepted = np.zeros(energy.shape, dtype=bool)
    accepted[low] = step.uniforms[low] < exponent[low]
    swapped = step.recorded["swapped"]
    unsure = np.abs(step.uniforms - np.nan_to_num(exponent, nan=np.inf, neginf=np.inf)) <= slack
    accepted = np.where(unsure, swapped > 0, accepted)
    source[:-1] += accepted[:-1]
    source[1:] -= accepted[:-1]
    if not np.array_equal(source - np.arange(R)[:, None], swapped):
        return [
            (
                "decision",
                f"swaps are not those of chance and uniform number; after step {step.number}",
            )
        ], source
    return [], source


def _moved_faults(step: ExchangeStep, source: np.ndarray, plan: ExchangePlan) -> Iterator[tuple[str, str]]:
    """Faults of the variables that a swap moves.

    theta and memory must move, a momentum as configured; variables that belong to a temperature must stay.
    """
    scheme, T = plan.subject.scheme, plan.temperatures
    for name, value, found in zip(scheme.state, step.moved, step.after, strict=True):
        wanted = value
        if scheme.shapes[name] != SCALAR and not (name == "p" and plan.table.momentum == "kept"):
            wanted = np.take_along_axis(value, source[..., None], 0)
            if name == "p":
                wanted = wanted * np.sqrt(T[:, None] / T[source])[..., None]
        if not np.abs(found - wanted).max() <= 8 * EPS * np.abs(wanted).max():
            yield "state", f"{name} is not where its swaps bring it; after step {step.number}"


def _fresh(plan: ExchangePlan, theta: np.ndarray, coefficient: np.ndarray) -> tuple[np.ndarray, ...]:
    return theta, energies_of(plan.subject.target, theta, None)[..., None], coefficient


def _control_faults(
    number: int,
    found: tuple[np.ndarray, ...],
    wanted: tuple[np.ndarray, ...],
    plan: ExchangePlan,
    *,
    learning: bool = False,
) -> Iterator[tuple[str, str]]:
    rough = rounding_of(plan.subject.target, wanted[0])
    # A coefficient is a covariance over a variance, both of numbers whose rounding is at most `LOST` of their spread.
    bounds = (0.0, rough, 8 * LOST if learning else 1e-13)
    names = ("control", "full energy at the control", "coefficient")
    for name, a, b, bound in zip(names, found, wanted, bounds, strict=True):
        apart = np.abs(a - b)
        if not apart.max() <= bound * (1 + (np.abs(b).max() if learning and name == "coefficient" else 0)):
            k, c, i = np.unravel_index(int(np.argmax(apart)), apart.shape)
            yield (
                name,
                (
                    f"{name} {a[k, c, i]:.6g}, required {b[k, c, i]:.6g}; of replica {k + 1} after step {number}"
                ),
            )


def _close(found: np.ndarray, wanted: np.ndarray, bound: np.ndarray) -> np.ndarray:
    return np.asarray((found == wanted) | (np.abs(found - wanted) <= bound))


__all__ = ["redone_faults"]

"""What evidence says of minibatches that depend on one another: the bias at each position of the period, the crossover.

A period is the epoch of `reshuffle`, the sweep forward and backward of `symmetric`, the steps between two snapshots of
`svrg`. To the bias of full gradients such
minibatches add a share that begins with h^q, q >= 2 (its constant grows with the steps of a period), where fresh ones add
a term in h: below the step size at which the two are equal the first counts, above it the second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sgverify.checks.subject import Subject
from sgverify.errors import InstabilityError
from sgverify.exact.affine.gradient_noise import GradientNoise, gradient_noise
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import ExactAnswers, MomentAnswers, answers_for, unreached
from sgverify.exact.ball import PrecisionLostError
from sgverify.rates import leading_power

FEW = 8
"""Positions that are all shown; of more, the first one and those at the quarters."""

AROUND = range(-3, 4)
"""Powers of 4 times the crossover at which the noise's share is followed."""


def shown_positions(steps: int) -> list[int]:
    """The positions of a period that evidence shows."""
    if steps <= FEW:
        return list(range(1, steps + 1))
    return sorted({1, *(-(-steps * k // 4) for k in range(1, 5))})


def period_certificate(subject: Subject, answers: ExactAnswers, steps: Sequence[float]) -> dict[str, Any]:
    """The bias by position, as expansions and at the largest and smallest of `steps`, and the crossover."""
    if answers.steps is None:
        return {}
    positions = shown_positions(answers.steps)
    certificate: dict[str, Any] = {
        "stationary_bias_by_position": {
            str(k): {f"h^{j}": text for j, text in enumerate(answers.expansion_at(k).texts)}
            for k in positions
        },
        "stationary_bias_at_positions": {
            f"h={step:.6g}": {str(k): _value(answers, step, k) for k in positions}
            for step in sorted({min(steps), max(steps)})
        },
    }
    crossover = _crossover(subject, answers)
    return certificate if crossover is None else {**certificate, "crossover": crossover}


def _value(answers: ExactAnswers, step: float, position: int) -> dict[str, float]:
    bias = answers.stationary_bias(fixed_step(step), position)
    return {"value": bias.value, "error_bound": bias.error_bound}


def _crossover(subject: Subject, answers: ExactAnswers) -> dict[str, Any] | None:
    """Where the share of the noise passes from h to h^q; None where fresh minibatches have no share in h."""
    quiet = answers_for(replace(subject.model, noise=GradientNoise("full")))
    fresh = _first_order_of_fresh(subject, answers)
    if fresh is None:
        return None
    first = fresh - quiet.expansion.values[1]
    pairs = zip(answers.expansion.values, quiet.expansion.values, strict=True)
    shares = [0.0 if both == one else both - one for both, one in pairs]
    order = leading_power(shares, [share == 0 for share in shares])
    if not first or order is None or order < 2:
        return None
    step = abs(first / shares[order]) ** (1 / (order - 1))
    if step >= subject.step_sizes.limit:
        return {
            "step": None,
            "why": f"{first:.6g} h and {shares[order]:.6g} h^{order} meet at h = {step:.3g}, beyond the stability limit "
            f"{subject.step_sizes.limit:.3g}: these leading terms tell of no crossover",
        }
    return {
        "step": step,
        "steps_per_period_times_step": (answers.steps or 1) * step,
        "share_of_the_noise_above": f"{first:.6g} h",
        "share_of_the_noise_below": f"{shares[order]:.6g} h^{order}",
        "local_exponents": _exponents(answers, quiet, [step * 4.0**k for k in AROUND]),
    }


def _first_order_of_fresh(subject: Subject, answers: ExactAnswers) -> float | None:
    """b_1 of the bias with fresh minibatches, None where it is not reached; with a snapshot, where that is old."""
    if subject.noise.refresh is not None:
        assert isinstance(answers, MomentAnswers)
        return answers.first_order_of_old_snapshots
    table = subject.configuration.gradient.model_copy(update={"kind": "without-replacement"})
    model = replace(subject.model, noise=gradient_noise(table, subject.effective_target))
    return None if unreached(model) else answers_for(model).expansion.values[1]


def _exponents(answers: ExactAnswers, quiet: ExactAnswers, steps: Sequence[float]) -> dict[str, float]:
    """The slopes of the noise's share between neighbouring steps, as far as these are stable."""
    shares: list[tuple[float, float]] = []
    for step in steps:
        try:
            share = (
                answers.stationary_bias(fixed_step(step)).value
                - quiet.stationary_bias(fixed_step(step)).value
            )
        except (InstabilityError, PrecisionLostError):
            break
        shares.append((step, share))
    return {
        f"h={low:.3g} to {high:.3g}": math.log(b / a) / math.log(high / low)
        for (low, a), (high, b) in pairwise(shares)
        if a * b > 0
    }

"""Exact values of the weighted average along a decreasing schedule."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sgverify.checks.exact_rung import exact_answers
from sgverify.checks.remembered import remembered
from sgverify.checks.subject import Subject
from sgverify.errors import ConfigurationError
from sgverify.evidence import Point
from sgverify.exact.answers import Answers

LENGTHS = [10**k for k in range(2, 7)]

LONGEST = 10**6
"""The longest schedule: every step has its own size, so the work grows with L."""


def power_points(
    subject: Subject, answers: Answers, quantity: str, alpha: Fraction, lengths: Sequence[int] | None
) -> Sequence[Point]:
    """Bias or mean square error of sum h_l phi(X_l) / S_L at h_l = C l^-alpha; none where no engine reaches it.

    They illustrate; the verdict comes from the series, since a logarithm cannot be told from a slope.
    Claims that ask the same question share the values.
    """
    if answers.why_no_decreasing_steps:
        return []
    lengths = lengths or LENGTHS
    if max(lengths) > LONGEST:
        raise ConfigurationError(
            f"sweep.lengths={max(lengths)}: a power schedule is computed up to L = {LONGEST}, step by step; give shorter "
            "lengths, or schedule.kind=horizon, which reaches 1e12"
        )
    return [_point(subject, quantity == "mse", alpha, length) for length in lengths]


@remembered
def _point(subject: Subject, squared: bool, alpha: Fraction, length: int) -> Point:
    answers = exact_answers(subject)
    values = answers.decreasing_mean_square_error if squared else answers.decreasing_bias
    found = values(subject.scale, float(alpha), length)
    step = subject.scale * float(length) ** -float(alpha)
    return Point(step=step, length=length, value=found.value, error_bound=found.error_bound)

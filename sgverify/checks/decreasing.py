"""Exact values of the weighted average along a decreasing schedule."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

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
    scale = subject.scale
    key = ("power", quantity == "mse", alpha, scale, tuple(lengths))
    if key not in subject.shared:
        values = answers.decreasing_mean_square_error if quantity == "mse" else answers.decreasing_bias
        points = []
        for length in lengths:
            found = values(scale, float(alpha), length)
            step = scale * float(length) ** -float(alpha)
            points.append(Point(step=step, length=length, value=found.value, error_bound=found.error_bound))
        subject.shared[key] = points
    stored: Sequence[Point] = subject.shared[key]
    return stored

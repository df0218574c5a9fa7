"""How far does the rounding of a definition's float constants limit what is proved about the definition?

A float that stands for no simple number, such as 0.1353 for an irrational constant, is known only up to its rounding. A
proof about a definition with such floats therefore holds up to that rounding, and the evidence says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sgverify.checks.question import Question
from sgverify.evidence import Evidence, Point
from sgverify.exact.readings.step_switches import intervals_of, intervals_of_dynamics
from sgverify.schemes.numbers.rounded import rounding_of
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject

SHOWN = 3

LOST = 1e-9
"""The largest relative error bound that still counts as rounding.

A rounding of 1e-15 in a float that becomes a larger share of the compared values was amplified by the computation.
"""


def up_to_rounding(question: Question, evidence: Evidence) -> Evidence:
    """`evidence`; if it conforms by a proof or an exact answer, its reason names the floats whose rounding limits it."""
    reads = question.check.reads
    read = reads and evidence.method in ("proof", "exact") and not question.subject.black_box
    if not read or evidence.verdict != "conforms":
        return evidence
    floats = _floats(question.subject, reads == "dynamics")
    if not floats:
        return evidence
    shown = ", ".join(map(repr, floats[:SHOWN])) + (", ..." if len(floats) > SHOWN else "")
    size = f"{max(rounding_of(number) / abs(number) for number in floats):.1g}"
    reason = (
        f"{evidence.reason}; up to the rounding of the floats in the definition ({shown}), relative error {size} at most: a "
        "smaller error is not seen; fractions, sqrt() and exp() are read exactly"
    )
    certificate = {**evidence.certificate, "floats_read_as_intervals": list(floats)}
    return replace(evidence, reason=reason, certificate=certificate)


def with_zeros(
    subject: Subject, points: Sequence[Point], size: Callable[[], float] = lambda: 1.0
) -> list[Point]:
    """`points`, with value 0 wherever the rounding intervals of the definition's floats contain 0.

    The values are differences of quantities of magnitude `size()`. A replaced value v with error bound e becomes 0 with
    the bound |v| + e. A value whose e exceeds LOST * `size()` is kept: so wide an interval does not show that it is 0.
    """
    if subject.black_box or not _floats(subject, False):
        return list(points)
    least = LOST * (abs(size()) or 1.0)
    return [
        replace(point, value=0.0, error_bound=abs(point.value) + point.error_bound)
        if point.value is not None
        and point.error_bound is not None
        and abs(point.value) <= point.error_bound <= least
        else point
        for point in points
    ]


@cached_per_subject
def _floats(subject: Subject, of_dynamics: bool) -> tuple[float, ...]:
    if of_dynamics:
        return intervals_of_dynamics(subject.scheme.dynamics, subject.target.dim)
    return intervals_of(subject.scheme, subject.target.dim)

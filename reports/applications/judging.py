"""Statements of a paper beside the numbers of a run, decided as one family.

Every statement of an application's table that has a p-value is decided by Holm's correction over all of them at the level of the
family: the chance that any verdict of the table, reproduced or not, comes out by the seeds alone is at most `LEVEL`. A statement is
undecided where the corrected p-value is larger, and where it rests on what the run has not settled (`open`), such as an optimum at
the edge of a grid; its p-value counts in the family all the same.

A statement is of one of three kinds, each a function that returns its `Test`: a difference with a sign (`signed`), a bound from
above, "up to", "at most", "less than" (`bounded`), and counts of chains (`permuted`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

from reports.applications.result import PaperFinding, Reproduced
from reports.applications.statistics import Mean, student

LEVEL = 0.05
"""The level of a family of statements."""

ROUNDING = 1e-9
"""A standard error of this share of a difference or less is rounding: shares of few images may differ alike for every seed."""

MOST_DIVISIONS = 20_000
"""The most divisions of chains that a permutation test tries: all of them with up to 8 chains of each sampler."""


EXCEEDED = "exceeded: "
"""The reason of a bound from above that is not reproduced begins so where what was found is larger."""


@dataclass(frozen=True)
class Test:
    """The test of a statement: its two-sided p-value, and 1 where the estimate speaks for it, -1 against it, 0 neither.

    `told` are the numbers. `degrees` are those of Student's t, None for a permutation. `refuted` is put before the reason of a
    statement that is not reproduced.
    """

    __test__ = False

    p: float
    speaks: int
    told: str
    degrees: int | None = None
    refuted: str = ""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement of the paper beside what the run has found, before its family is decided.

    `test` is its test, or, as a text, why there is none: then `settled` is the verdict. A statement that is `open` is undecided
    whatever its p-value, and `open` says why.
    """

    statement: str
    source: str
    printed: str
    found: str
    test: Test | str
    settled: Reproduced = "undecided"
    open: str = ""


def signed(
    gap: Mean | None,
    sign: int,
    *,
    margin: float = 0.0,
    bias: str = "bias",
    told: str = "the difference is",
) -> Test | str:
    """The test that `sign` times a difference is positive, and beyond a `margin` that may be `bias`.

    A text, in the place of a test, where chains have diverged or the seeds have no spread.
    """
    if gap is None:
        return "chains have diverged, or a variance is 0"
    if gap.error is None:
        return "one chain has no standard error"
    if gap.error <= ROUNDING * abs(gap.value):
        return f"{told} {gap.value:+.3g} for each of {gap.count} seeds, which gives no standard error"
    beyond = f", of which up to {margin:.2g} may be {bias}" if margin else ""
    speaks = 0 if abs(gap.value) <= margin else int(math.copysign(1, sign * gap.value))
    return Test(
        student(gap, margin),
        speaks,
        f"{told} {_with_error(gap)} over {gap.count} seeds{beyond}",
        gap.count - 1,
    )


def bounded(logs: Mean | None, most: float, *, least: float = 1.0, told: str = "the factor") -> Test | str:
    """The test that a factor, whose logarithms have the mean `logs` over the seeds, lies between `least` and `most`.

    "A gain of up to `most` times" is a bound from above on a gain, which is 1 time or more: a larger factor exceeds it, and below
    1 there is no gain at all; either refutes the statement. Outside, p is that of the bound that is violated; inside, the larger
    one of both bounds.
    """
    low, high = math.log(least), math.log(most)
    above, below = (
        signed(None if logs is None else Mean(logs.value - bound, logs.error, logs.count), -1)
        for bound in (high, low)
    )
    if isinstance(above, str) or isinstance(below, str) or logs is None:
        return above if isinstance(above, str) else str(below)
    inside = low <= logs.value <= high
    violated = above if logs.value > high else below
    said = (
        f"{told} is {math.exp(logs.value):.3g} (its logarithm {_with_error(logs)} over {logs.count} seeds), the "
        f"bounds are {least:.3g} and {most:.3g}"
    )
    return Test(
        max(above.p, below.p) if inside else violated.p,
        1 if inside else -1,
        said,
        logs.count - 1,
        EXCEEDED if logs.value > high else "on the other side of no change: ",
    )


def permuted(first: np.ndarray, second: np.ndarray, told: str) -> Test:
    """The test that the mean of the first chains is larger than that of the second, by a permutation of the chains.

    Every division of the chains into two halves is tried: with n chains each the smallest p is 2/C(2n, n).
    """
    gap = float(first.mean() - second.mean())
    size, count = len(first) + len(second), len(first)
    said = f"{told} (a permutation of {count} and {len(second)} chains, whose smallest p is {2 / math.comb(size, count):.2g})"
    if gap == 0 or count == 1:
        return Test(1.0, 0, said)
    found = stats.permutation_test(
        (first, second),
        lambda one, other, axis: one.mean(axis) - other.mean(axis),
        vectorized=True,
        n_resamples=min(math.comb(size, count), MOST_DIVISIONS),
        rng=np.random.default_rng(0),
    )
    return Test(min(1.0, float(found.pvalue)), int(math.copysign(1, gap)), said)


def decide(statements: Sequence[Statement]) -> tuple[PaperFinding, ...]:
    """The verdict on each statement of one table, all of whose p-values are one family."""
    raw = [item.test.p for item in statements if isinstance(item.test, Test)]
    corrected = iter(multipletests(raw, alpha=LEVEL, method="holm")[1] if raw else ())
    return tuple(
        _decided(item, float(next(corrected)), len(raw)) if isinstance(item.test, Test) else _settled(item)
        for item in statements
    )


def verdicts_told(findings: Sequence[PaperFinding]) -> str:
    """The number of statements with each verdict; of those that are not reproduced also how many a larger effect exceeds."""
    count = {verdict: sum(item.verdict == verdict for item in findings) for verdict in get_args(Reproduced)}
    exceeded = sum(item.reason.startswith(EXCEEDED) for item in findings)
    more = {"not reproduced": f" ({exceeded} of them exceeded by what was found)"} if exceeded else {}
    told = ", ".join(f"{number} {verdict}{more.get(verdict, '')}" for verdict, number in count.items())
    return f"Of {len(findings)} statements of the paper: {told}."


def family(findings: Sequence[PaperFinding]) -> str:
    """How the statements of a table are decided, in a few sentences."""
    tested = [item for item in findings if item.p is not None]
    if not tested:
        return "No statement has a p-value: a difference has none without two seeds, and numbers that are exact need none."
    degrees = sorted({item.degrees for item in tested if item.degrees is not None})
    student_told = (
        f"of Student's t over the seeds with {', '.join(map(str, degrees))} degrees of freedom"
        if degrees
        else ""
    )
    permutation = "of a permutation of the chains" if any(item.degrees is None for item in tested) else ""
    alone, together = (
        sum(value is not None and value <= LEVEL for value in values)
        for values in ([item.p for item in tested], [item.corrected for item in tested])
    )
    has = "has" if alone == 1 else "have"
    laws = " or ".join(filter(None, (student_told, permutation)))
    return (
        f"Of {len(findings)} statements {len(tested)} have a p-value. They are one family, decided at the level {LEVEL:g} of the "
        f"whole by Holm's correction; each p-value is two-sided, {laws}. One by one {alone} {has} a p-value of at most {LEVEL:g}, "
        f"as one family {together}."
    )


def _decided(item: Statement, corrected: float, size: int) -> PaperFinding:
    assert isinstance(item.test, Test)
    test = item.test
    verdict: Reproduced = "undecided"
    if corrected <= LEVEL and test.speaks and not item.open:
        verdict = "reproduced" if test.speaks > 0 else "not reproduced"
    law = "" if test.degrees is None else f" with {test.degrees} degrees of freedom"
    numbers = f"{test.told}; p = {test.p:.2g}{law}, {corrected:.2g} as one of {size}"
    before = f"{item.open}; " if item.open else test.refuted if verdict == "not reproduced" else ""
    return _finding(item, verdict, before + numbers, test.p, corrected, test.degrees)


def _settled(item: Statement) -> PaperFinding:
    return _finding(item, item.settled, str(item.test), None, None, None)


def _finding(
    item: Statement,
    verdict: Reproduced,
    reason: str,
    p: float | None,
    corrected: float | None,
    degrees: int | None,
) -> PaperFinding:
    return PaperFinding(
        statement=item.statement,
        source=item.source,
        printed=item.printed,
        found=item.found,
        verdict=verdict,
        reason=reason,
        p=p,
        corrected=corrected,
        degrees=degrees,
    )


def _with_error(mean: Mean) -> str:
    return f"{mean.value:+.3g} ± {mean.error:.2g}"

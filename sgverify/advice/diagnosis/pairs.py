"""Two edits in two places that mend a step together, found by what each changes alone.

The difference E exp(xi . D) - sum_k h^k m_k(xi) of a step from exp(hL) has the leading coefficient c h, a vector over the xi. Two
edits of different terms of a step change c by amounts that add up: with the coefficients c of the wrong step, and a and b of
the steps with one edit each, both together leave a + b - c.
The pairs with a + b = c are found by a search tree and not by trying all pairs.
Where c = 0, the same holds of the coefficients of h^2 among the edits that leave c = 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.spatial import cKDTree

from sgverify.advice.diagnosis.edits.rules import Candidate
from sgverify.advice.diagnosis.screening import Difference
from sgverify.advice.diagnosis.source import Text

CLOSE = 2e-4
"""The extrapolated coefficients are known to about h^2 = 2^-16, times a number of size 1; what passes is run together again."""

MOST = 400
"""The most pairs that are tried, those of one rule and the simplest ones first."""


@dataclass(frozen=True)
class TriedEdit:
    """An edit in one place and the difference of its step."""

    text: Text
    candidate: Candidate
    difference: Difference


def pairs(wrong: Difference, tried: Sequence[TriedEdit]) -> list[tuple[Text, Candidate]]:
    """The edits in two places of one text whose changes add up to the defect, those of one rule first."""
    found: dict[tuple[int, int], None] = {}
    first = wrong.leading
    if np.abs(first).max() <= CLOSE:
        near = [k for k, item in enumerate(tried) if np.abs(item.difference.leading).max() <= CLOSE]
        second = np.array([item.difference.second for item in tried])
        found.update(dict.fromkeys(_summing(second, wrong.second, near)))
    coefficients = np.array([item.difference.leading for item in tried])
    moving = np.abs(coefficients - first).max(axis=1, initial=0.0) > 10 * CLOSE if len(tried) else []
    found.update(dict.fromkeys(_summing(coefficients, first, list(np.flatnonzero(moving)))))
    both = [joined for one, other in found if (joined := _joined(tried[one], tried[other])) is not None]
    both.sort(key=lambda item: (item[1].cost, item[1].length))
    return both[:MOST]


def _summing(coefficients: np.ndarray, wrong: np.ndarray, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The pairs i < j among `places` with coefficients[i] + coefficients[j] = wrong."""
    if len(places) < 2:
        return
    own = coefficients[list(places)]
    sizes = np.maximum(1.0, np.abs(own).max(axis=1))
    usual = sizes < 1e6
    kept = [place for place, use in zip(places, usual, strict=True) if use]
    own = own[usual]
    tree = cKDTree(own)
    radius = CLOSE * np.maximum(1.0, np.abs(own).max(axis=1, initial=0.0))
    for i, near in zip(kept, tree.query_ball_point(wrong - own, radius, p=np.inf), strict=True):
        for k in near:
            if i < kept[k]:
                yield int(i), int(kept[k])


def _joined(one: TriedEdit, other: TriedEdit) -> tuple[Text, Candidate] | None:
    """Both edits as one; None where they touch one another or belong to different texts."""
    if one.text is not other.text:
        return None
    changes = sorted(
        (*one.candidate.changes, *other.candidate.changes), key=lambda change: (change.start, change.end)
    )
    if any(a.end >= b.start for a, b in pairwise(changes)):
        return None
    alike = one.candidate.rule == other.candidate.rule
    cost = one.candidate.cost + other.candidate.cost - alike
    rule = one.candidate.rule if alike else ("two", *one.candidate.rule, *other.candidate.rule)
    return one.text, Candidate(tuple(changes), cost, rule)


__all__ = ["TriedEdit", "pairs"]

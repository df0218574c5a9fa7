"""Points at sight: nothing is computed until somebody looks, and then they are a tuple like any other."""

from __future__ import annotations

import pickle
from dataclasses import asdict, replace

import pytest

import sgverify
from sgverify.checks.rates import finite_time
from sgverify.evidence import Point, PointsAtSight
from sgverify.evidence.storage import decode_evidence, encode_evidence


def test_points_are_made_once_and_when_they_are_looked_at() -> None:
    made: list[int] = []

    def make() -> list[Point]:
        made.append(1)
        return [Point(step=0.1, value=1.0), Point(step=0.2, value=2.0)]

    points = PointsAtSight(make)
    assert not made
    plain = tuple(make())
    assert (len(points), points[0], [*points], (*points,), points == plain) == (
        2,
        plain[0],
        [*plain],
        plain,
        True,
    )
    assert pickle.loads(pickle.dumps(points)) == plain and type(pickle.loads(pickle.dumps(points))) is tuple
    assert (
        len(made) == 2
        and (points != plain) is False
        and hash(points) == hash(plain)
        and repr(points) == repr(plain)
    )


def test_a_verdict_computes_no_point_that_only_illustrates_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a document of the same evidence has them all."""
    seen: list[int] = []
    point = finite_time._point
    monkeypatch.setattr(finite_time, "_point", lambda *given: seen.append(given[-1]) or point(*given))
    found = sgverify.verify("sgld-euler", checks=["chen2015/theorem-5", "chen2015/theorem-2"])
    assert found.outcome and [replace(item, seconds=0.0) for item in found] and not seen
    first = next(item for item in found if item.points)
    assert asdict(first)["points"][0]["length"] == 100
    assert decode_evidence(encode_evidence(first)) == first and seen

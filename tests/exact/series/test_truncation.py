"""What a series claims to know does not change when more of it is known: random expressions at two truncations."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from sgverify.errors import NotExpandableError
from sgverify.exact.rings import power_series as series_module
from sgverify.exact.rings.power_series import EXACT, TruncatedSeries
from sgverify.exact.rings.ring import Ring
from sgverify.schemes import exp, expm1, sqrt

LOW, HIGH = 6, 14
EXPRESSIONS = 100


def grow(draw: random.Random, depth: int) -> Callable[[Any, Any], Any]:
    """A random expression in a number x and s: sums, products, whole powers, roots, quotients, exponentials."""
    if depth == 0:
        a, n = draw.randint(-3, 3), draw.randint(0, 4)
        return draw.choice([lambda x, s: s**n, lambda x, s: x * s**n, lambda x, s: a + s**n])
    left, right = (grow(draw, depth - 1) for _ in range(2))
    n = draw.randint(1, 3)
    return draw.choice(
        [
            lambda x, s: left(x, s) + right(x, s),
            lambda x, s: left(x, s) - right(x, s),
            lambda x, s: left(x, s) * right(x, s),
            lambda x, s: left(x, s) ** n,
            lambda x, s: exp(left(x, s) * s),
            lambda x, s: expm1(s * right(x, s)),
            lambda x, s: left(x, s) / (1 + s * right(x, s)),
            lambda x, s: s**n * left(x, s) / (s**n * (2 + s * right(x, s))),
            lambda x, s: sqrt(s ** (2 * n) * (4 + s * left(x, s))) / s**n,
            lambda x, s: sqrt(s ** (2 * n) * (1 + s**n * left(x, s))) * right(x, s),
        ]
    )


@dataclass
class Comparison:
    """Expressions whose coarse truncation claims what the fine one denies, and how much was compared."""

    contradictions: list[int] = field(default_factory=list)
    coefficients: int = 0
    lost: int = 0


def compare_truncations() -> Comparison:
    found = Comparison()
    for seed in range(EXPRESSIONS):
        expression = grow(random.Random(seed), 3)
        try:
            coarse, fine = (expression(*_arguments(cap)) for cap in (LOW, HIGH))
        except NotExpandableError:
            continue
        known = range(min(coarse.order, fine.order, HIGH))
        found.coefficients += len(known)
        found.lost += coarse.order < LOW
        if any(str(coarse.coefficient(k)) != str(fine.coefficient(k)) for k in known):
            found.contradictions.append(seed)
    return found


def _arguments(cap: int) -> tuple[TruncatedSeries, TruncatedSeries]:
    ring = Ring(1, {"theta": "vector"}, (), depth=0, draws=0, minibatches=1, cap=cap)
    return TruncatedSeries(ring, {0: ring.constant(2)}, EXACT), TruncatedSeries(ring, {1: ring.one}, EXACT)


def test_nothing_is_claimed_that_a_finer_truncation_denies() -> None:
    found = compare_truncations()
    assert found.contradictions == []
    # The comparison is about something: many coefficients, and many series that know less than the cap.
    assert found.coefficients > 3 * EXPRESSIONS and found.lost > EXPRESSIONS / 10


@pytest.fixture
def forgetful_root() -> Iterator[None]:
    """Planted: a root keeps the order of its argument."""
    right = sqrt.dispatch(TruncatedSeries)
    sqrt.register(
        TruncatedSeries,
        lambda value: TruncatedSeries(value.ring, right(value).terms, max(value.order, right(value).order)),
    )
    yield
    sqrt.register(TruncatedSeries, right)


def test_a_root_that_keeps_its_order_is_caught(forgetful_root: None) -> None:
    assert compare_truncations().contradictions


def test_a_shift_that_keeps_its_order_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: s^-n (...) + O(s^m) claims O(s^m)."""

    def planted(self: TruncatedSeries, by: int) -> TruncatedSeries:
        return TruncatedSeries(self.ring, {k + by: c for k, c in self.terms.items()}, self.order)

    monkeypatch.setattr(series_module.TruncatedSeries, "shifted", planted)
    assert compare_truncations().contradictions

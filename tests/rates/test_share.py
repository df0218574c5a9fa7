"""Fieller's set against the inequality that defines it, point by point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgverify.rates.decision import fieller

NUMBERS = st.floats(-3, 3).map(lambda x: round(x, 2))


@given(NUMBERS, NUMBERS, st.floats(-0.95, 0.95), st.floats(0.1, 2), st.floats(0.1, 2))
def test_the_set_is_the_one_defined(
    top: float, bottom: float, correlation: float, s: float, t: float
) -> None:
    variances = (s**2, correlation * s * t, t**2)
    found = fieller(top, bottom, *variances, 2.0)
    for r in np.tan(np.linspace(-1.57, 1.57, 101)):
        excess = abs(top - r * bottom) - 2 * np.sqrt(
            variances[0] - 2 * r * variances[1] + r**2 * variances[2]
        )
        if abs(excess) > 1e-6 * (1 + abs(r)):
            assert (excess < 0) == any(low <= r <= high for low, high in found.pieces)


def test_known_sets() -> None:
    """With an exact denominator the set is the interval of the numerator; with none it is unbounded."""
    assert fieller(1, 2, 0.04, 0, 0, 2).pieces == (pytest.approx((0.3, 0.7)),)
    unbounded = fieller(0.1, 0.1, 1, 0, 1, 2)
    assert unbounded.pieces == ((-np.inf, np.inf),)
    assert not (unbounded.within(0.15) or unbounded.beyond(0.15))
    assert str(unbounded) == "an unknown part"
    outside = fieller(1, 0.01, 0.01, 0, 0.01, 2)
    (low, left), (right, high) = outside.pieces
    assert low == -np.inf and high == np.inf and left < -0.15 and right > 0.15
    assert outside.beyond(0.15) and not outside.within(1e9)
    assert outside.printed[0][0] is None
    assert str(outside).startswith("below -")
    assert fieller(0.1, 1, 0.0001, 0, 0, 2).within(0.15)
    assert fieller(-0.3, 1, 0.0001, 0, 0, 2).beyond(0.15)
    assert not fieller(-0.3, 1, 0.0001, 0, 0, 2).within(0.15)
    assert not fieller(0.3, 1, 0.0001, 0, 0, 2).within(0.15)
    assert not fieller(-0.1, 1, 0.0001, 0, 0, 2).beyond(0.15)
    assert fieller(1, 0, 1, 0, 1, 2).estimate is None

"""E|theta_k - theta*|^2 of two regions: by all paths, by sampling, and in the limit."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sgverify.exact.weights.fixed_point import cumulated_weights
from sgverify.exact.weights.line_weights import TwoRegions


def chain(lower: float, zeta: float) -> TwoRegions:
    return TwoRegions((lower, 1 - lower), zeta, float(cumulated_weights([lower, 1 - lower], zeta)[0]))


def omega(k: int) -> float:
    return 2 / (k**0.75 + 8)


@pytest.mark.parametrize("zeta", [1.0, 2.5])
def test_it_is_the_sum_over_all_paths(zeta: float) -> None:
    about = chain(0.3, zeta)
    total = 0.0
    for path in product((1, 2), repeat=7):
        x, region, chance = 0.9, 1, 1.0
        for k, following in enumerate(path, start=1):
            first = 0.3 * x**-zeta / (0.3 * x**-zeta + 0.7)
            drawn = first if following == 1 else 1 - first
            chance *= 0.5 * (region == following) + 0.5 * drawn
            x += omega(k) * (x * (1 - x) if following == 1 else -x)
            region = following
        total += chance * (x - about.star) ** 2
    (found,), (bound,) = about.squared_errors(omega, [7], 0.9)
    assert abs(found - total) <= 5 * bound and bound < 1e-4 * total


def test_it_tends_to_the_limit_of_the_linearised_equation() -> None:
    about = chain(0.4, 2)
    errors, _ = about.squared_errors(omega, [64, 512], 1.0)
    off = np.abs(errors / [omega(64), omega(512)] / about.limit - 1)
    assert off[1] < off[0] < 0.2 and off[1] < 0.05

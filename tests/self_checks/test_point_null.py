"""Point nulls: the level of the recursion against integrals and counts, its power, and what an acceptance is worth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from sgverify.errors import UserError
from tests.self_checks.nulls import Nulls, mean_null
from tests.self_checks.point_null import decide_point_null, rejection_chance, thresholds
from tests.tables import each_row


def brute_force(bounds: list[tuple[float, float]], cells: int) -> float:
    """The chance of a rejection under uniform p-values, by running the test at the centres of a grid of them."""
    centres = (np.arange(cells) + 0.5) / cells
    grids = np.meshgrid(*[centres] * len(bounds), indexing="ij")
    rejected, running = np.zeros(grids[0].shape, bool), np.ones(grids[0].shape, bool)
    for p, (reject, accept) in zip(grids, bounds, strict=True):
        rejected |= running & (p <= reject)
        running &= (p > reject) & (p <= accept)
    return float(rejected.mean())


@pytest.mark.by_default("1-1000000", "3-200")
@pytest.mark.parametrize(("looks", "cells"), [(1, 10**6), (2, 3000), (3, 200)])
def test_the_level_is_exact_for_uniform_p_values(looks: int, cells: int) -> None:
    level = 0.09
    assert brute_force(thresholds(level, looks), cells) == pytest.approx(level, abs=2 * looks / cells)


def test_the_level_by_nested_integrals() -> None:
    level = 0.03
    (r1, a1), (r2, a2), (r3, _) = thresholds(level, 3)
    inner = integrate.quad(lambda p: r3, r2, a2)[0]
    assert integrate.quad(lambda p: r2 + inner, r1, a1)[0] + r1 == pytest.approx(level, rel=1e-12)


def test_p_values_that_are_too_large_only_lower_the_level() -> None:
    """The worst law of a super-uniform p-value, by the recursion's own dynamic programme on a grid of laws."""
    level, looks = 0.06, 3
    worst = 0.0
    for reject, accept in reversed(thresholds(level, looks)):
        # Mass a <= reject may reject and a + b <= accept may not accept; the best split is at a corner.
        worst = max(a + (accept - a) * worst for a in np.linspace(0, reject, 50))
    assert worst == pytest.approx(level)


def of_normals(shift: float, rng: np.random.Generator, components: int = 1):
    def draw(chains: int) -> Nulls:
        values = rng.standard_normal((components, chains)) + shift * (np.arange(components)[:, None] == 0)
        return Nulls.joined(*(mean_null(f"c{i}", row, 0.0) for i, row in enumerate(values)))

    return draw


def test_simulated_level_and_power_are_those_that_are_computed() -> None:
    """Each p-value uniform by Student's exact law; 1500 tests at level 0.1, and as many at a shift."""
    rng = np.random.default_rng(5)
    first, looks, growth, level, shift = 30, 2, 2, 0.1, 0.35

    def chance(shift: float) -> float:
        runs = 1500
        draw = of_normals(shift, rng)
        hits = sum(
            decide_point_null(draw, first=first, level=level, margins=1.0, looks=looks, growth=growth).verdict
            == "violates"
            for _ in range(runs)
        )
        return hits / runs

    assert abs(chance(0.0) - level) < 4 * math.sqrt(level / 1500)
    expected = rejection_chance(
        shift * math.sqrt(first), level=level, looks=looks, scale=[1.0, 2**-0.5], degrees=first - 1
    )
    assert 0.3 < expected < 0.9
    # The shift of a t statistic is that of a normal one to first order in 1 / degrees.
    assert abs(chance(shift) - expected) < 4 * math.sqrt(0.25 / 1500) + 1 / first


def test_the_resolution_is_found_as_often_as_it_says() -> None:
    rng = np.random.default_rng(6)
    quiet = decide_point_null(of_normals(0.0, rng, 3), first=64, level=1e-3, margins=1.0)
    assert quiet.verdict == "conforms"
    resolved = quiet.certificate["components"]["c0"]["resolution"]
    draw = of_normals(resolved, rng, 3)
    found = sum(
        decide_point_null(draw, first=64, level=1e-3, margins=1.0).verdict == "violates" for _ in range(400)
    )
    # A binomial count of 400 at 0.99 or more falls below 386 once in 1e4.
    assert found >= 386
    assert resolved < 1.0 and stats.binom.cdf(385, 400, 0.99) < 2e-4


def test_an_acceptance_without_power_is_inconclusive_and_says_how_many_chains() -> None:
    rng = np.random.default_rng(7)
    # Sixteen values may put the standard deviation, and so the advice, at half of what it is.
    few = decide_point_null(of_normals(0.0, rng), first=16, level=1e-6, margins=0.2)
    assert few.verdict == "inconclusive" and few.more is not None and "too few" in few.reason
    enough = math.ceil(16 * few.more)
    assert f"take about {enough} chains" in few.reason
    assert (
        decide_point_null(of_normals(0.0, rng), first=4 * enough, level=1e-6, margins=0.2).verdict
        == "conforms"
    )


def test_more_looks_see_what_one_look_cannot() -> None:
    one, three = (
        rejection_chance(4.5, level=1e-6, looks=k, scale=[4.0 ** (-j / 2) for j in range(k)]) for k in (1, 3)
    )
    assert one < 0.5 < 0.95 < three


def test_one_wrong_component_of_many_is_named() -> None:
    rng = np.random.default_rng(8)
    found = decide_point_null(of_normals(1.0, rng, 12), first=256, level=1e-6, margins=1.0)
    assert found.verdict == "violates" and "c0 is off by" in found.reason
    assert found.certificate["looks"]["taken"] == 1


def test_a_component_without_an_error_never_conforms() -> None:
    found = decide_point_null(
        lambda chains: Nulls.of("law", 0.1, math.nan, 0.6), first=100, level=1e-3, margins=0.5
    )
    assert found.verdict == "inconclusive" and found.more is None


def test_an_exact_value_without_noise() -> None:
    def draw(shift: float):
        return lambda chains: mean_null("m", np.full(chains, 2.0 + shift), 2.0)

    assert decide_point_null(draw(0.0), first=4, level=1e-6, margins=0.1).verdict == "conforms"
    assert decide_point_null(draw(1e-12), first=4, level=1e-6, margins=0.1).verdict == "violates"


@each_row(
    ("given", "said"),
    [
        ({"level": 0.7}, "level=0.7"),
        ({"looks": 0}, "looks=0"),
        ({"first": 1}, "first=1"),
        ({"margins": {"other": 1.0}}, "margins"),
        ({"margins": 0.0}, "margins"),
    ],
)
def test_mistakes_are_named(given: dict, said: str) -> None:
    rng = np.random.default_rng(9)
    settings = {"first": 8, "level": 1e-3, "margins": 1.0, **given}
    with pytest.raises(UserError, match=said):
        decide_point_null(of_normals(0.0, rng), **settings)

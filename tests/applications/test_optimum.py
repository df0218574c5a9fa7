"""An optimum is inside of its grid, between neighbours that do not differ, or nothing rests on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reports.applications.judging import Statement, decide, signed
from reports.applications.optimum import Optimum, Point, locate, refine, slack_against, unlocated
from reports.applications.statistics import Mean, difference

SPREAD = np.array([-1.0, 0.5, 1.0, -0.5, 0.0])
STEPS = (0.001, 0.002, 0.004, 0.008, 0.016)
Loss = Callable[[Point], np.ndarray]


def bowl(centre: Point, *, noise: float = 0.1, cliff: float = math.inf, curvature: float = 1.0) -> Loss:
    """A loss with its smallest value, 100, at a setting; chains diverge from the step `cliff` on."""

    def loss(point: Point) -> np.ndarray:
        if point[0] >= cliff:
            return np.full(len(SPREAD), np.nan)
        away = sum(math.log2(value / at) ** 2 for value, at in zip(point, centre, strict=True))
        return 100 + curvature * away + noise * SPREAD

    return loss


def grid(
    loss: Loss, steps: Sequence[float] = STEPS, frictions: Sequence[float] = ()
) -> dict[Point, np.ndarray]:
    points = [(step, friction) for step in steps for friction in frictions] or [(step,) for step in steps]
    return {point: loss(point) for point in points}


def refined(loss: Loss, held: Mapping[Point, np.ndarray], rounds: int = 12):
    count: list[int] = []

    def run(number: int, points: Sequence[Point]) -> dict[Point, np.ndarray]:
        assert number == len(count) and not set(points) & set(held)
        count.append(len(points))
        return {point: loss(point) for point in points}

    axes = ("step", "friction")[: len(next(iter(held)))]
    return refine(held, axes, run, rounds), count


@given(st.floats(0.0012, 0.012))
def test_a_refined_optimum_is_inside_and_as_good_as_the_smallest_value(centre: float) -> None:
    loss = bowl((centre,))
    found, _ = refined(loss, grid(loss), 20)
    assert found is not None and found.located
    # The bowl's smallest value is 100; of a convex loss none is below the best value by more than the slack.
    error = 0.1 * SPREAD.std(ddof=1) / math.sqrt(5)
    assert loss(found.point).mean() - 100 <= found.slack + 1e-9 and found.slack <= 2 * math.sqrt(2) * error


@given(st.floats(0.0012, 0.012), st.floats(0.5, 8.0))
def test_a_grid_of_two_axes_is_refined_along_both(step: float, friction: float) -> None:
    loss = bowl((step, friction), noise=0.3)
    found, count = refined(loss, grid(loss, frictions=(1.0, 2.0, 4.0)), 20)
    assert found is not None and found.located and max(count, default=0) <= 4
    assert abs(math.log2(found.point[0] / step)) < 1 and abs(math.log2(found.point[1] / friction)) < 1


@given(st.floats(0.05, 10))
def test_an_optimum_beyond_the_edge_is_open_until_the_grid_reaches_it(centre: float) -> None:
    loss = bowl((centre,))
    held = grid(loss)
    edge = locate(held, ("step",))
    assert edge is not None and not edge.located and "it has the largest step of the grid" in edge.missing
    assert edge.wanted[-1] == (0.032,)
    found, _ = refined(loss, held, 30)
    assert found is not None and found.located and abs(math.log2(found.point[0] / centre)) < 1
    stopped, count = refined(loss, held, 1)
    assert stopped is not None and not stopped.located and len(count) == 1


def test_a_grid_that_is_too_coarse_has_differing_neighbours() -> None:
    loss = bowl((0.004,))
    found = locate(grid(loss), ("step",))
    assert found is not None and found.point == (0.004,)
    assert found.missing == ("the next smaller step differs from it", "the next larger step differs from it")
    assert locate(grid(bowl((0.004,), noise=5.0)), ("step",)).located


def test_a_neighbour_whose_chains_diverged_is_none() -> None:
    """SGLD's largest step that no chain leaves is not its best step, as long as none lies between it and the cliff."""
    loss = bowl((0.0055,), noise=2.0, cliff=0.0123, curvature=10.0)
    held = grid(loss)
    found = locate(held, ("step",))
    assert found is not None and not found.located and found.point == (0.004,)
    inside, _ = refined(loss, held)
    assert inside is not None and inside.located and abs(math.log2(inside.point[0] / 0.0055)) < 0.5
    on_the_cliff = bowl((0.1,), cliff=0.01, noise=0.01, curvature=10.0)
    still, count = refined(on_the_cliff, grid(on_the_cliff), 5)
    assert still is not None and not still.located and len(count) == 5
    assert "a chain diverged at the next larger step" in still.missing
    nothing = grid(bowl((0.004,), cliff=0.0))
    assert locate(nothing, ("step",)) is None and refined(bowl((1.0,), cliff=0.0), nothing)[0] is None


def test_what_is_missing_is_told_with_what_has_it() -> None:
    located, edge = Optimum((1.0,)), Optimum((2.0,), ("it has the largest step of the grid",), ((4.0,),))
    told = unlocated([("one", edge), ("two", located), ("three", edge), ("four", None)])
    assert told == "the best setting of one and of three is not located: it has the largest step of the grid"
    assert unlocated([("two", located)]) == ""


def test_a_claim_allows_for_what_the_worse_one_could_gain() -> None:
    first, second = Optimum((1.0,), slack=3.0), Optimum((1.0,), slack=5.0)
    assert slack_against(Mean(-1.0, 0.1, 5), first, second) == 5.0
    assert slack_against(Mean(1.0, 0.1, 5), first, second) == 3.0


def test_one_chain_locates_nothing() -> None:
    found = locate({(1.0,): np.array([2.0]), (2.0,): np.array([3.0])}, ("step",))
    assert found is not None and found.missing == ("one chain has no standard error",) and not found.wanted


@given(st.floats(0.0015, 0.004), st.floats(0.0, 1.0), st.sampled_from([0.02, 0.1, 0.5]))
def test_a_coarse_grid_decides_nothing_of_two_optima_that_are_alike(
    centre: float, offset: float, noise: float
) -> None:
    """Two samplers are as good at their best; one has a grid that holds its best step, the other one factors of 4 around it.

    Their chains share their noise, so that differences of the grid alone are many standard errors.
    """
    first, second = bowl((0.004,), noise=noise), bowl((centre,), noise=noise)
    coarse = grid(second, tuple(0.00025 * 4 ** (number + offset) for number in range(-1, 5)))
    shift = 0.01 * np.array([1.0, -1.0, 0.5, -0.5, 0.0])

    def verdict(best: Point, missing: str = "", margin: float = 0.0) -> str:
        gap = difference(first((0.004,)), second(best) + shift)
        item = Statement(
            statement="the first is better",
            source="here",
            printed="",
            found="",
            test=signed(gap, -1, margin=margin),
            open=missing,
        )
        return decide([item])[0].verdict

    two = locate(coarse, ("step",))
    assert two is not None
    assert verdict(two.point, unlocated([("it", two)]), two.slack) == "undecided"
    assert verdict((0.064,)) == "reproduced"
    found, _ = refined(second, coarse, 30)
    assert (
        found is not None
        and found.located
        and verdict(found.point, unlocated([("it", found)]), found.slack) == "undecided"
    )

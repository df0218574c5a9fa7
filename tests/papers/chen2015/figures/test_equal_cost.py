"""Best step sizes against brute force over dense grids and Gaussian covariances; what the study says of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sgverify.checks.rates.engines import exact_answers
from sgverify.configuration import load_configuration
from sgverify.errors import UnknownNameError
from sgverify.exact.affine.model import fixed_step
from sgverify.papers.chen2015.figures.equal_cost import EFFORTS, GRADIENTS, equal_cost, race
from sgverify.papers.chen2015.figures.equal_cost_search import INSIDE, LIMIT, SMALLEST, Runner, smallest
from sgverify.papers.suites import build_study
from sgverify.schemes import Scheme
from sgverify.subject.binding import make_subject
from tests.zoo.schemes import heun

BARE = {"target": {"name": "gaussian", "precision": 4.0}, "start": 1.5}
DATA = {"target": {"data": [0.1, 0.5, 1.0, 0.2]}}


def runner(item: str | Scheme, points: int = 26, **settings: Any) -> Runner:
    return Runner(make_subject(item, load_configuration(None, **settings)), points)


def sgld_rmse(step: float, length: int, precision: float = 4.0, start: float = 1.5) -> float:
    """RMSE of theta^2 for SGLD on N(0, 1/precision), from the joint Gaussian law of all L states."""
    a, x0 = 1 - step * precision, start / math.sqrt(precision)
    powers = a ** np.arange(1, length + 1)
    variances = 2 * step * np.cumsum(a ** (2 * np.arange(length)))
    lags = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    covariance = a**lags * np.minimum.outer(variances, variances)
    mean = x0 * powers
    spread = (2 * covariance**2 + 4 * np.outer(mean, mean) * covariance).sum() / length**2
    bias = (mean**2 + variances).mean() - 1 / precision
    return math.sqrt(spread + bias**2)


@pytest.mark.parametrize(("budget", "start"), [(3, 4.0), (40, 1.5), (130, 1.5)])
def test_the_best_step_is_that_of_a_dense_grid(budget: int, start: float) -> None:
    sgld = runner("sgld-euler", **{**BARE, "start": start})
    (found,) = sgld.best([budget])
    grid = np.geomspace(1e-3, sgld.top, 700)
    brute = [sgld_rmse(step, budget, start=start) for step in grid]
    assert found is not None and found.length == budget
    # The grid's own spacing is 0.9 %, and the error is flat there.
    assert found.rmse == pytest.approx(sgld_rmse(found.step, budget, start=start), rel=1e-11)
    assert found.rmse <= min(brute) * (1 + 1e-12)
    assert found.step == pytest.approx(grid[int(np.argmin(brute))], rel=0.01)
    assert found.error <= 1e-9 * found.rmse and found.end == INSIDE


@pytest.mark.power  # 0.6 s
def test_minibatches_and_momentum_against_a_dense_grid() -> None:
    """Every value of this grid is exact, so that only the search is on trial."""
    for name, kind in (("sghmc-aboba", "iid"), ("sghmc-euler", "full"), ("sghmc-oabao", "full")):
        contest = runner(name, 16, **DATA, gradient={"kind": kind, "batch": 2})
        (found,) = contest.best([800])
        assert found is not None
        dense = np.geomspace(contest.top * 1e-2, contest.top, 150)
        brute = [math.sqrt(contest.errors(float(h), [found.length])[0].value) for h in dense]
        assert found.rmse <= min(brute) * (1 + 1e-9)


def test_every_dip_is_searched() -> None:
    def two_dips(x: float) -> float:
        return min((x - 0.33) ** 2, 4 * (x - 2.71) ** 2 - 0.05)

    grid = [0.0, 0.3, 1.0, 2.0, 2.5, 3.0, 4.0]
    # The lowest point of the grid is in the dip on the left, the minimum in the one on the right.
    values = [two_dips(x) + 0.2 * (x > 1.5) for x in grid]
    assert min(values) == values[1]
    assert smallest(two_dips, grid, values) == pytest.approx(2.71, abs=1e-3)
    assert smallest(lambda x: -x, grid, [-x for x in grid]) == 4.0
    assert smallest(lambda x: x, grid, grid) == 0.0


def test_an_optimum_at_an_end_of_the_search_is_called_that() -> None:
    """BAOAB has no bias of theta^2 on a Gaussian target, so a larger step only helps."""
    (best,) = runner("sghmc-baoab", **BARE, friction=8.0).best([100_000])
    assert best is not None and best.end == LIMIT
    (best,) = runner("sghmc-obabo", **BARE, friction=8.0).best([100_000])
    assert best is not None and best.end == INSIDE
    # One step from a start whose square already is the average: the best is not to move.
    (best,) = runner("sgld-euler", **{**BARE, "start": 1.0}).best([1])
    assert best is not None and best.end == SMALLEST


@pytest.mark.parametrize(
    ("item", "kind", "cost"),
    [
        ("sgld-euler", "full", 4),
        ("sgld-euler", "iid", 2),
        (heun, "full", 8),
        (heun, "iid", 4),
        ("sghmc-baoab", "full", 4),
        ("sghmc-baoab", "iid", 4),
        ("sghmc-baoab", "without-replacement", 4),
    ],
)
def test_a_step_costs_its_gradients_of_single_data(item: str | Scheme, kind: str, cost: int) -> None:
    contest = runner(item, **DATA, gradient={"kind": kind, "batch": 2})
    assert contest.cost == cost
    assert contest.length(100) == 100 // cost
    assert runner(item, **BARE).cost == cost // 4 or kind != "full"


def test_a_budget_below_one_step_buys_nothing() -> None:
    assert runner("sgld-euler", **DATA).best([3, 4])[0] is None
    assert runner("sgld-euler", **DATA).best([3]) == [None]


@pytest.fixture(scope="module")
def study():
    return build_study("chen2015/equal-cost", "quick")


@pytest.mark.power  # 1.1 s
def test_the_study_is_what_the_exact_engine_says(study) -> None:
    effort = EFFORTS["quick"]
    errors = {panel.title: panel for panel in study.panels}
    for kind, words in GRADIENTS.items():
        contest = race(kind, effort)
        lines = {line.label: line for line in errors[f"Best error, {words}"].series}
        steps = {line.label: line for line in errors[f"Best step size, {words}"].series}
        assert list(lines) == list(effort.schemes)
        for name, line in lines.items():
            item = contest.runners[name]
            answers = exact_answers(item.subject)
            for budget, rmse, h in zip(line.x, line.y, steps[name].y, strict=True):
                value = answers.mean_square_error(fixed_step(h), int(budget) // item.cost).value
                assert rmse == pytest.approx(math.sqrt(value), rel=1e-12)


def test_the_winner_has_the_smallest_error(study) -> None:
    panels = {panel.title: panel for panel in study.panels}
    (winners,) = (table for table in study.tables if table.title == "Winner at each budget")
    rows = {(row[0], row[1]): row for row in winners.rows}
    best_of_all: dict[str, float] = {}
    for words in GRADIENTS.values():
        lines = panels[f"Best error, {words}"].series
        for k, budget in enumerate(EFFORTS["quick"].budgets):
            key = f"1e{round(math.log10(budget))}"
            ranking = sorted((line.y[k], line.label) for line in lines)
            assert rows[key, words][2].split(" = ")[0] == ranking[0][1]
            assert rows[key, words][3] == ranking[0][0]
            best_of_all[key] = min(ranking[0][0], best_of_all.get(key, math.inf))
    assert {key: rows[key, "either"][3] for key in best_of_all} == best_of_all


def test_noise_of_the_gradient_takes_the_advantage_of_second_order_away(study) -> None:
    """At the largest budget ABOBA beats SGLD by far with full gradients, and by nothing with minibatches."""
    panels = {panel.title: panel for panel in study.panels}
    gains = {}
    for kind, words in GRADIENTS.items():
        lines = {line.label: line.y[-1] for line in panels[f"Best error, {words}"].series}
        gains[kind] = lines["sgld-euler"] / lines["sghmc-aboba"]
    assert gains["full"] > 2.5 and abs(gains["iid"] - 1) < 0.05


def test_errors_fall_with_the_budget_as_the_orders_say(study) -> None:
    """RMSE ~ G^(-q/(2q+1)) at the best step: q = 1 for SGLD, 2 for ABOBA, with minibatches 1 for all."""
    panels = {panel.title: panel for panel in study.panels}
    for words, orders in (
        (GRADIENTS["full"], {"sgld-euler": 1, "sghmc-aboba": 2}),
        (GRADIENTS["iid"], {"sgld-euler": 1, "sghmc-aboba": 1, "sghmc-baoab": 1}),
    ):
        lines = {line.label: line for line in panels[f"Best error, {words}"].series}
        for name, q in orders.items():
            slope = math.log(lines[name].y[-1] / lines[name].y[-2]) / math.log(
                lines[name].x[-1] / lines[name].x[-2]
            )
            assert slope == pytest.approx(-q / (2 * q + 1), abs=0.03)


def test_the_notes_say_where_a_lead_comes_from(study) -> None:
    unbiased, limit = study.notes[-1], study.notes[-2]
    assert unbiased.startswith("sghmc-baoab (full gradients) has no bias")
    assert "sghmc-baoab (full gradients)" in limit and "minibatches" not in limit


def test_efforts_are_known() -> None:
    with pytest.raises(UnknownNameError):
        equal_cost("quik")

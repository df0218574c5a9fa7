"""The experiments of awsgld: modes, weights, first hits and medians against independent ways to find them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from reports.experiments import build_experiment
from reports.experiments.awsgld import hitting
from reports.experiments.awsgld.exploration import star_of
from reports.experiments.awsgld.first_hits import sample_hits
from reports.experiments.awsgld.hitting import CONTENDERS, HittingResult, first_hits
from reports.experiments.awsgld.settings import (
    EFFORTS,
    FIRST,
    GRIEWANK,
    NAMES,
    chance_interval,
    median_interval,
    scales_of,
)
from reports.experiments.awsgld.visiting import EVERY, modes_of, visit
from sgverify.configuration import load_configuration
from sgverify.errors import ConfigurationError
from sgverify.evidence import Study
from sgverify.samplers import Settings, fixed
from sgverify.schemes.composites.adaptation import Partition
from sgverify.schemes.loading import load_step
from sgverify.targets import build_target
from sgverify.targets.multimodal import FUNCTIONS
from tests.sampled_states import sample_states

HOT_SGLD = next(one for one in CONTENDERS if one.label == "SGLD, hot")


@pytest.fixture(scope="module")
def exploration() -> Study:
    return build_experiment("awsgld/exploration", "quick")


@pytest.fixture(scope="module")
def hits() -> Study:
    return build_experiment("awsgld/hitting-times", "quick")


@pytest.mark.parametrize("printed", [FIRST, GRIEWANK])
def test_every_counted_mode_is_a_minimum_and_none_of_the_box_is_left_out(printed) -> None:
    modes, function = modes_of(printed.target, printed.box), FUNCTIONS[printed.target]
    rng = np.random.default_rng(1)
    found = []
    for start in modes.places[rng.choice(len(modes.places), 12, replace=False)]:
        lowest = optimize.minimize(function.value, start, method="Nelder-Mead").x
        assert np.linalg.norm(lowest - start) < modes.radius / 2
    for start in rng.uniform(-0.9 * printed.box, 0.9 * printed.box, (20, 2)):
        lowest = optimize.minimize(function.value, start, method="Nelder-Mead").x
        found.append(np.linalg.norm(modes.places - lowest, axis=1).min() < modes.radius)
    assert np.mean(found) == 1
    apart = (
        np.linalg.norm(modes.places[:, None] - modes.places[None], axis=-1) + np.eye(len(modes.places)) * 99
    )
    assert apart.min() > 2 * modes.radius


def test_visits_are_those_of_the_states_that_a_run_has() -> None:
    c = load_configuration(
        None, target={"name": "rastrigin", "dim": 2}, chains=3, temperature=20.0, start=2.0
    )
    target, rows, modes = build_target(c.target), fixed([1e-3], [200]), modes_of("rastrigin", 5.12)
    (trail,) = visit(load_step("sgld-euler"), target, rows, Settings.of(c), modes, 6)
    at = range(EVERY, 201, EVERY)
    states = sample_states(load_step("sgld-euler"), target, rows, at=at, settings=Settings.of(c)).values[
        "theta"
    ][0]
    np.testing.assert_array_equal(trail.cloud, states[:, 0])
    for number, share in zip(trail.numbers, trail.shares, strict=True):
        for chain in range(3):
            path = states[: number // EVERY, chain]
            seen = {k for x in path for k, m in enumerate(modes.places) if np.hypot(*(x - m)) <= modes.radius}
            assert share[chain] == pytest.approx(len(seen) / len(modes.places))
    assert trail.shares[-1].min() > 2 / 121


def test_the_weights_limit_is_that_of_masses_summed_coordinate_by_coordinate() -> None:
    """Rastrigin's function is a sum, so P(U <= u) is an average over one coordinate of the law of the other."""
    partition, tau, zeta = Partition.equal(0.0, 20.0, 30), 20.0, 5.0
    star = star_of("rastrigin", partition, tau, zeta, 1.0, 3000)
    x = np.linspace(-20, 20, 40_001)
    u = x**2 + 10 * (1 - np.cos(2 * np.pi * x))
    w = np.exp(-u / tau)
    order = np.argsort(u)
    below = np.concatenate([[0], np.cumsum(w[order])]) / w.sum()
    chance = [
        float((w * below[np.searchsorted(u[order], e - u, side="right")]).sum() / w.sum())
        for e in partition.inner
    ]
    masses = np.diff([0.0, *chance, 1.0])
    steps = np.diff([0.0, *star.weights])
    ratio = steps / (masses * star.weights ** (1 - zeta))
    # A region of the grid is a ring of a few thousand points, and its edge cuts some of them.
    np.testing.assert_allclose(ratio, ratio[-1], rtol=0.05)
    assert star.weights[-1] == 1 and star.errors.max() < 0.05


@pytest.mark.parametrize("name", NAMES)
def test_scales_are_those_of_the_function(name: str) -> None:
    scales, function = scales_of(name), FUNCTIONS[name]
    drawn = scales.starts(4000, 3)
    assert (drawn >= scales.box[:, 0]).all() and (drawn <= scales.box[:, 1]).all()
    values = function.value(drawn)
    assert values.min() >= scales.lowest and scales.height > 0
    assert np.mean(values <= scales.lowest + scales.height) == pytest.approx(0.5, abs=0.05)


def test_a_trial_that_starts_at_the_minimum_hits_at_once_and_starts_of_another_shape_are_refused() -> None:
    c = load_configuration(None, target={"name": "levy", "dim": 2}, chains=2, temperature=1e-6)
    target, there = build_target(c.target), np.ones((2, 2))
    run = {"level": 0.01, "settings": Settings.of(c)}
    hits = sample_hits(load_step("sgld-euler"), target, fixed([1e-4], [5]), starts=there, **run)
    assert hits.first.tolist() == [[1, 1]]
    far = sample_hits(
        load_step("sgld-euler"), target, fixed([1e-4], [5]), starts=there + [[0, 0], [3, 3]], **run
    )
    assert far.first.tolist() == [[1, 0]]
    with pytest.raises(ConfigurationError, match="a point for each chain"):
        sample_hits(load_step("sgld-euler"), target, fixed([1e-4], [5]), starts=there.T[:1], **run)


@pytest.mark.parametrize("n", [10, 20])
def test_intervals_of_medians_are_those_of_scipy(n: int) -> None:
    times = np.random.default_rng(n).integers(1, 1000, n).astype(float)
    low, high = HittingResult("f", "s", 1.0, False, times).interval
    found = stats.quantile_test(times, q=0, p=0.5)
    interval = found.confidence_interval(0.95)
    assert (low, high) == (interval.low, interval.high)


@pytest.mark.parametrize(("count", "trials"), [(0, 20), (7, 20), (20, 20), (3, 5)])
def test_intervals_of_chances_are_those_of_scipy_and_contain_every_chance_often_enough(
    count: int, trials: int
) -> None:
    found = stats.binomtest(count, trials).proportion_ci(0.95, method="exact")
    assert chance_interval(count, trials) == pytest.approx((found.low, found.high), abs=1e-12)
    intervals = [chance_interval(k, trials) for k in range(trials + 1)]
    for p in np.linspace(0.01, 0.99, 23):
        held = [low <= p <= high for low, high in intervals]
        assert stats.binom.pmf(np.flatnonzero(held), trials, p).sum() >= 0.95


def test_few_values_leave_a_median_anywhere() -> None:
    assert median_interval(np.array([3.0, 1.0, 2.0]), 0.0, 121.0) == (0.0, 121.0)


@pytest.mark.power  # 3.5 s
@pytest.mark.parametrize(("scheme", "level"), [("resgld", 0.5), ("awsgld", 4.0)])
def test_a_kernel_and_the_definition_hit_and_visit_at_the_same_steps(scheme: str, level: float) -> None:
    """One row, of whose replicas the coldest is looked at; some trials reach the level and some never do."""
    given = {"target": {"name": "rastrigin", "dim": 2}, "chains": 12, "temperature": 8.0}
    c = load_configuration(
        {**given, **({"partition": {"preset": "exploration"}} if scheme == "awsgld" else {})}
    )
    target, rows, modes = build_target(c.target), fixed([0.02], [400]), modes_of("rastrigin", 5.12)
    starts = scales_of("rastrigin").starts(12, 7)
    hits, trails = [], []
    for compiled in (False, "kernel"):
        how = Settings.of(c, compiled=compiled)
        hits.append(sample_hits(load_step(scheme), target, rows, level=level, settings=how, starts=starts))
        trails.append(visit(load_step(scheme), target, rows, how, modes, 8)[0])
    assert hits[0].first.shape == (1, 12) and 0 < (hits[0].first == 0).sum() < 12
    for name in ("first", "best"):
        np.testing.assert_array_equal(getattr(hits[0], name), getattr(hits[1], name))
    for name in ("numbers", "shares", "cloud"):
        np.testing.assert_array_equal(getattr(trails[0], name), getattr(trails[1], name))


def test_quantiles_say_infinite_where_too_few_trials_arrived() -> None:
    found = HittingResult("f", "s", 1.0, False, np.array([5.0, np.inf, 7.0, np.inf]))
    assert found.reached == 2 and found.quantile(0.5) == 7 and np.isinf(found.quantile(0.75))


def test_the_step_size_is_the_one_that_tunes_best_on_other_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = []

    def given(contender, name, scales, steps, *, trials, most, period, seed):
        seeds.append(seed)
        first = np.array([[0, 4], [3, 2], [0, 0]])[: len(steps)] if len(steps) > 1 else np.array([[0, 9]])
        return first, np.ones(first.shape), [None] * len(first)

    monkeypatch.setattr(hitting, "first_hits", given)
    found = hitting._found(HOT_SGLD, "levy", EFFORTS["default"])
    assert found.step == scales_of("levy").steps(3)[1] and not found.grid_end
    assert found.first.tolist() == [np.inf, 9] and len(set(seeds)) == 2


def test_samplers_start_at_the_same_places_and_colder_ones_stay_where_they_are() -> None:
    scales = scales_of("rastrigin")
    how = {"trials": 4, "most": 30, "period": 3, "seed": 5}
    hot, best, _ = first_hits(HOT_SGLD, "rastrigin", scales, (1e-9,), **how)
    assert (hot == 0).all()
    np.testing.assert_allclose(best[0], FUNCTIONS["rastrigin"].value(scales.starts(4, 5)), rtol=0.01)


@pytest.mark.power  # 2.9 s
def test_the_studies_show_every_sampler(exploration: Study, hits: Study) -> None:
    curves, clouds, weights = exploration.panels[:3]
    labels = [series.label for series in curves.series]
    assert labels == [series.label for series in clouds.series] and "AWSGLD" in labels and len(labels) == 9
    assert [series.kind for series in weights.series] == ["exact", "sampled"]
    for series in curves.series:
        assert all(b >= a for a, b in zip(series.y, series.y[1:], strict=False))
    medians, *_, summary, scales = hits.tables
    assert (
        [row[0] for row in medians.rows]
        == [one.label for one in CONTENDERS]
        == [row[0] for row in summary.rows]
    )
    assert [row[0] for row in scales.rows] == list(NAMES[:2])

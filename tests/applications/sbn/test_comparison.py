"""The grids are those that are printed; a run goes on to the same bits; what the rows say decides what is reproduced."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from reports.applications.application import Job
from reports.applications.chains import ChainRecorder, ChainRun, ChainSetting
from reports.applications.keeping import KeptParts
from reports.applications.result import AdviceBeside
from reports.applications.running import run_application
from reports.applications.sbn import DECLARED, comparison, exact_gradient, exactness, result
from reports.applications.sbn.annealing import AnnealedSampling
from reports.applications.sbn.asking import ask, stand_in
from reports.applications.sbn.comparison import NetworkRow, best, compare
from reports.applications.sbn.data import BinaryImages, digits
from reports.applications.sbn.findings import findings
from reports.applications.sbn.grids import GRIDS, METHODS, points, printed_value
from reports.applications.sbn.model import BeliefNetwork
from reports.applications.sbn.sampled_gradient import GibbsSweeps
from reports.applications.sbn.sampling import NetworkModel, TestLikelihoods
from sgverify.errors import ConfigurationError
from sgverify.schemes import find_scheme
from tests.applications.sbn.networks import binary

TINY = BinaryImages(
    binary(30, 6), binary(8, 6, seed=9), 2, 3, {"name": "tiny", "training images": 30, "pixels": 6}
)


def test_the_printed_grid_and_what_it_is_on_fewer_images() -> None:
    splitting, euler, sgld = METHODS
    assert [len(points(method, "printed", 1438)) for method in METHODS] == [12, 12, 4]
    first = points(splitting, "printed", 1438)[0]
    assert (first.step, first.factor) == (3e-4, 0.9) and first.friction == pytest.approx(0.9 / 3e-4**0.5)
    for method, power in ((euler, 0.5), (sgld, 1.0)):
        for printed, rescaled in zip(*(points(method, grid, 600) for grid in GRIDS), strict=True):
            # 60000 / 600 = 100: h N and h sqrt(N) are kept, and D follows from the new h.
            assert rescaled.step == pytest.approx(printed.step * 100**power)
            if rescaled.friction is not None and rescaled.factor is not None:
                assert rescaled.friction * math.sqrt(rescaled.step) == pytest.approx(rescaled.factor)
    assert [printed_value(method, 100) for method in METHODS] == [103, 105, 126]
    assert printed_value(sgld, 200) == 110 and printed_value(sgld, 50) is None


def moved(kept: KeptParts | None = None, until: int = 6) -> ChainRun:
    network, chains = BeliefNetwork(6, 4), range(2)
    model = NetworkModel(network, TINY.train, batch=10, sweeps=GibbsSweeps(1, 1), seed=1, chains=chains)
    run = ChainRun(
        find_scheme("sghmc-aboba"),
        model,
        [ChainSetting(0.05, 2.0), ChainSetting(0.1, 2.0)],
        steps=until,
        seed=1,
    )
    run.run(ChainRecorder(), kept=kept, part="one")
    return run


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole, half, kept = moved(), moved(until=3), KeptParts(tmp_path, {})
    state = {f"state.{name}": value.numpy() for name, value in half.named().items()}
    kept.store("one", {"done": 3, "finished": False}, {"diverged_at": half.diverged_at, **state})
    assert torch.equal(moved(kept).named()["theta"], whole.named()["theta"])


def test_settings_are_compared_on_the_same_draws_and_chains_have_their_own() -> None:
    model = NetworkModel(
        BeliefNetwork(6, 4), TINY.train, batch=10, sweeps=GibbsSweeps(1, 1), seed=1, chains=range(3)
    )
    theta = model.start(range(3)).expand(2, -1, -1)
    found = model.gradient(theta, 5, 0)
    assert torch.equal(found[0], found[1]) and not torch.isclose(found[0, 0], found[0, 1]).all()
    same = theta[:, :1].expand(-1, 3, -1)
    assert not torch.isclose(model.gradient(same, 5, 0)[0, 0], model.gradient(same, 5, 0)[0, 1]).all()
    assert torch.equal(found, model.gradient(theta, 5, 0))
    for step, minibatch in ((6, 0), (5, 1)):
        assert not torch.isclose(found, model.gradient(theta, step, minibatch)).all()


def test_enumeration_and_sampling_estimate_the_same_gradient() -> None:
    network = BeliefNetwork(6, 4)
    exact = NetworkModel(network, TINY.train, batch=10, sweeps=None, seed=1, chains=range(1))
    sampled = NetworkModel(network, TINY.train, batch=10, sweeps=GibbsSweeps(5, 400), seed=1, chains=range(1))
    theta = 5 * exact.start(range(1))
    found, expected = (model.gradient(theta, 2, 0)[0, 0] for model in (sampled, exact))
    # The same minibatch; 400 states of 10 images, scaled by 3, have errors of about 3 sqrt(10/400)/2 = 0.24 in each coordinate.
    assert float((found - expected).abs().max()) < 4 * 0.24
    full = exact_gradient.gradient(network, theta[0, 0], TINY.train, 30)
    assert float((expected - full).abs().max()) > 4 * 0.24


def test_likelihoods_of_a_diverged_chain_are_no_numbers() -> None:
    network = BeliefNetwork(6, 4)
    for annealing in (None, AnnealedSampling(30)):
        seen = TestLikelihoods(network, TINY.test, annealing, at=(3,), settings=2, chains=range(2), seed=0)
        theta = NetworkModel(network, TINY.train, batch=10, sweeps=None, seed=1, chains=range(2)).start(
            range(2)
        )
        seen.see(3, {"theta": theta.expand(2, -1, -1)}, np.array([[True, False], [True, True]]))
        assert np.isnan(seen.found[0, 0, 1]).all() and np.isfinite(seen.found[0, 1]).all()
        expected = network.log_likelihood(theta[0, 0], TINY.test).numpy()
        assert seen.found[0, 0, 0] == pytest.approx(expected, abs=1e-12 if annealing is None else 0.05)


def test_chains_have_draws_of_annealing_of_their_own_which_settings_share() -> None:
    """Else the error of annealing would be the same in all chains, and missing in the standard error over them."""
    network, chains = BeliefNetwork(6, 4), range(2)
    seen = TestLikelihoods(
        network, TINY.test, AnnealedSampling(3), at=(1, 2), settings=2, chains=chains, seed=0
    )
    start = NetworkModel(network, TINY.train, batch=10, sweeps=None, seed=1, chains=range(1)).start(range(1))
    for number in seen.at:
        seen.see(number, {"theta": start.expand(2, 2, -1)}, np.ones((2, 2), dtype=bool))
    first, second = seen.found
    assert np.array_equal(first[0], first[1]) and not np.isclose(first[0, 0], first[0, 1]).all()
    assert not np.isclose(first, second).all() and not np.isclose(first[0, 1], second[0, 0]).all()


def row(
    label: str, values: list[float], *, grid: str = "rescaled", place: int = 0, hidden: int = 100
) -> NetworkRow:
    method = next(method for method in METHODS if method.label == label)
    held = np.array(values)
    return NetworkRow(
        hidden,
        grid,
        method,
        points(method, grid, 1438)[place],
        (1, 2),
        np.stack([held, held]),
        held,
        held,
        held,
    )


def whole(
    label: str, values: list[float], *, grid: str = "rescaled", hidden: int = 100, beside: float = 0.01
) -> list[NetworkRow]:
    """A grid that is best in its middle, by `beside` more than its neighbours, but for a near one: 0.9 beside 1 and 5."""
    axes = 2 if label != "SGLD" else 1
    found = []
    for place in range(12 if axes == 2 else 4):
        step, factor = divmod(place, 3) if axes == 2 else (place, 1)
        away = abs(step - 1) + abs(factor - 1)
        more = 0.0 if not away else beside * (0.05 if factor == 0 else 1) if away == 1 else 1.0
        found.append(row(label, [value + more for value in values], grid=grid, place=place, hidden=hidden))
    return found


def told(rows: list[NetworkRow], biases: dict[tuple[int, str, str], float] | None = None) -> dict[str, str]:
    return {item.statement: item.verdict for item in findings(rows, (100,), biases)}


GOOD, BAD = [1.0, 1.1, 0.9, 1.05, 0.95], [2.0, 2.12, 1.9, 2.01, 1.99]
BEST = "SGHMC-S has a smaller negative log-likelihood than SGHMC-E, each at its best step, 100 units"
SAME = "SGHMC-S is better than SGHMC-E at the same h and D, on the grid rescaled to this data set's size, 100 units"
OTHER = "SGHMC-E has a smaller negative log-likelihood than SGLD, each at its best step, 100 units"


def test_the_order_is_judged_by_the_standard_errors() -> None:
    noisy = [0.0, 3.0, 0.1, 4.0, 1.0]
    found = told([*whole("SGHMC-S", GOOD), *whole("SGHMC-E", BAD), *whole("SGLD", GOOD)])
    assert [found[name] for name in (BEST, OTHER, SAME)] == ["reproduced", "not reproduced", "reproduced"]
    found = told([*whole("SGHMC-S", BAD), *whole("SGHMC-E", GOOD), *whole("SGLD", noisy)])
    assert [found[name] for name in (BEST, OTHER, SAME)] == ["not reproduced", "undecided", "not reproduced"]
    found = told([*whole("SGHMC-S", [1.0]), *whole("SGHMC-E", [2.0]), *whole("SGLD", [3.0])])
    assert set(found.values()) == {"undecided", "not tried"}
    more = findings([*whole("SGHMC-S", BAD), *whole("SGHMC-S", GOOD, hidden=200)], (100, 200))
    assert more[-1].verdict == "reproduced" and "200 units: 1" in more[-1].found


def test_no_difference_below_the_bias_of_annealing_is_told() -> None:
    rows = [*whole("SGHMC-S", GOOD), *whole("SGHMC-E", BAD), *whole("SGLD", GOOD)]
    for bias, expected in ((0.5, ["reproduced", "not reproduced", "reproduced"]), (1.5, ["undecided"] * 3)):
        biases = {
            (100, grid, label): sign * bias
            for grid in ("rescaled", "refined")
            for label, sign in (("SGHMC-S", -1), ("SGHMC-E", -1), ("SGLD", 1))
        }
        found = told(rows, biases)
        assert [found[name] for name in (BEST, OTHER, SAME)] == expected


def test_what_rests_on_an_edge_of_a_grid_is_undecided() -> None:
    """Steps that are too small: the largest printed one is best, and nothing is claimed of samplers at them."""
    falling = [
        row(label, [value - step for value in values], grid="printed", place=3 * step + factor)
        for label, values in (("SGHMC-S", GOOD), ("SGHMC-E", [5.0, 5.1, 5.2, 4.9, 5.0]))
        for step in range(4)
        for factor in range(3)
    ]
    falling += [
        row("SGLD", [value - place for value in BAD], grid="printed", place=place) for place in range(4)
    ]
    found = findings(falling, (100,))
    assert {item.verdict for item in found if "the printed grid" in item.statement} == {"undecided"}
    first = found[0]
    assert "it has the largest step of the grid" in first.reason and first.p is not None and first.p < 1e-3
    inside = [*whole("SGHMC-S", GOOD, grid="printed"), *whole("SGHMC-E", BAD, grid="printed")]
    assert findings(inside, (100,))[0].verdict == "reproduced"


def test_chains_that_diverge_the_other_way_leave_a_difference_open() -> None:
    rows = [*whole("SGHMC-S", GOOD), *whole("SGHMC-E", BAD)]
    lost = row("SGHMC-S", [float("nan"), *GOOD[1:]], place=11)
    rows[11] = lost
    same = next(item for item in findings(rows, (100,)) if item.statement == SAME)
    assert same.verdict == "undecided" and "chains that diverge speak the other way" in same.reason
    assert "the splitting alone in 1 of 12" in same.found


def test_a_grid_is_refined_around_the_best_setting_of_each_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """SGLD is best at h = 0.002, which neither grid has; the two of SGHMC at the middle of the rescaled one."""

    def measured(job, images, hidden, grid, method, of_grid, part, tell):  # type: ignore[no-untyped-def]
        found = []
        for point in of_grid:
            centre = (0.002,) if not method.momentum else (points(method, "rescaled", 30)[4].coordinates)
            away = sum(math.log2(a / b) ** 2 for a, b in zip(point.coordinates, centre, strict=True))
            values = 20 + away + 0.2 * np.arange(3)
            found.append(
                NetworkRow(
                    hidden, grid, method, point, (1, 2), np.stack([values, values]), values, values, values
                )
            )
        return found, ()

    monkeypatch.setattr(comparison, "_run", measured)
    settings = DECLARED.settings({"hidden": (5,), "refinements": 12, "batch": 5})
    rows, _ = compare(Job(settings, seeds=3), TINY)
    for method in METHODS:
        found = comparison.optimum(rows, 5, "refined", method.label)
        assert found is not None and found.located
        for grid in GRIDS:
            held = comparison.optimum(rows, 5, grid, method.label)
            assert held is not None and (method.momentum or not held.located)
    added = [item.point for item in rows if item.grid == "refined"]
    assert added and all(point.printed_step is None for point in added)
    (friction,) = {
        point.friction == pytest.approx(point.factor / point.step**0.5) for point in added if point.factor
    } or {True}
    assert friction
    quick = DECLARED.settings({"hidden": (5,), "batch": 5}, quick=True)
    assert len(compare(Job(quick, seeds=3), TINY)[0]) == 56


def test_a_setting_with_a_diverged_chain_is_not_chosen() -> None:
    lost = [0.1, float("nan"), 0.1]
    rows = [row("SGHMC-S", lost), row("SGHMC-S", [3.0, 3.0, 3.1], place=1), row("SGHMC-E", lost)]
    chosen = best(rows, 100, "rescaled", "SGHMC-S")
    assert chosen is rows[1] and best(rows, 100, "rescaled", "SGHMC-E") is None
    assert rows[0].told()["negative log-likelihood"] is None and rows[0].told()["diverged chains"] == 1
    found = findings(rows, (100,))
    assert {item.verdict for item in found} <= {"undecided", "not tried"}
    assert any("chains of every setting of SGHMC-E have diverged" in item.reason for item in found)


def test_advice_is_asked_about_a_named_stand_in() -> None:
    network = BeliefNetwork(6, 4)
    theta = NetworkModel(network, TINY.train, batch=10, sweeps=None, seed=1, chains=range(1)).start(range(1))
    held = row("SGLD", [1.0, 1.2], hidden=4)
    held = NetworkRow(**{**held.__dict__, "last": theta[0, 0].numpy()})
    (weak, strong), (_, noise) = stand_in(held, TINY, batch=10, seed=0)
    # 1 of the prior, sigma'(psi) <= 1/4 for each of 30 images; slopes are at most 1, so that 30^2/10 (1 - 1/3) bounds the noise.
    assert 1 <= weak <= strong <= 1 + 30 / 4 and 0 < noise <= 60
    found = ask(held, TINY, batch=10, seed=0)
    assert isinstance(found, AdviceBeside) and found.applies and "4! modes" in found.approximation
    assert found.answer.startswith("h = ") and found.grid.startswith("h = 0.0125: 1.1 ± 0.1")


def test_the_application_writes_what_it_has_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result, "checked", lambda schemes: ())
    monkeypatch.setattr(result, "digits", lambda seed: TINY)
    monkeypatch.setattr(
        result,
        "ask",
        lambda row, images, **_: AdviceBeside(
            sampler=row.method.label,
            applies=False,
            approximation="none",
            answer="not asked",
            grid=str(row.point),
        ),
    )
    monkeypatch.setattr(
        result.exactness,
        "measure",
        lambda images, seed: exactness.Exactness(3, ((1, 0.1, 0.01),), ((1, -1.0, 0.1),)),
    )
    found = run_application("sbn", out=tmp_path, quick=True, hidden=(3,), steps=4, batch=5)
    document = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert len(document["found"]["rows"]) == 56 and found.found.findings
    assert sum("best of its grid" in item for item in document["found"]["rows"]) == 6
    drawn = (tmp_path / "figures" / "dictionary.svg").read_text(encoding="utf-8")
    # A pixel of each of 3 images of 6, beside the ground.
    assert drawn.startswith("<svg") and drawn.count("h1v1h-1") == 18
    assert len(found.found.pictures[0].tiles) == 3 and "figures/dictionary.svg" in (
        tmp_path / "summary.md"
    ).read_text(encoding="utf-8")


def test_settings_that_contradict_one_another_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="expected both files or none"):
        run_application("sbn", train="train-images")
    with pytest.raises(ConfigurationError, match=r"batch=2000: expected 1 to 1438"):
        compare(Job(DECLARED.settings({"batch": 2000}, quick=True)), digits())

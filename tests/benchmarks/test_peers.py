"""The contenders answer one question: laws are compared, bars are judged, what was measured is kept. No time is asserted."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def peers() -> Iterator[SimpleNamespace]:
    # At the end of the path, so that an installed sgverify stays the one that is tested.
    sys.path.append(str(ROOT))
    try:
        from benchmarks.peers import bars, cells, command, comparison, contenders, page, problems

        yield SimpleNamespace(
            bars=bars,
            cells=cells,
            command=command,
            comparison=comparison,
            contenders=contenders,
            page=page,
            problems=problems,
        )
    finally:
        sys.path.remove(str(ROOT))


def law(peers: SimpleNamespace, contender: str, problem: str, *, chains: int = 100) -> dict[str, object]:
    """The means and variances of a contender's chains after a few steps, by the function that the worker uses."""
    from benchmarks.peers.worker import Worker

    worker, cell = Worker(contender), peers.cells.Cell(problem, 100)
    worker.make({**cell.task(comparing=True), "chains": chains})
    return worker.check(cell.compared)


@pytest.mark.parametrize("problem", ["gaussian-kinetic", "vr-resgld", "resgld", "csgld", "saga"])
def test_the_loop_by_hand_has_the_law_of_ours(problem: str, peers: SimpleNamespace) -> None:
    ours, by_hand = law(peers, "sgverify", problem), law(peers, "torch loop", problem)
    assert peers.comparison.largest_gap(ours, by_hand) < peers.comparison.STANDARD_ERRORS


def test_another_law_is_told(peers: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop whose step is three tenths too long is found, so that its time is compared with nothing."""
    ours, problem = law(peers, "sgverify", "gaussian", chains=4000), peers.problems.PROBLEMS["gaussian"]
    monkeypatch.setitem(peers.problems.PROBLEMS, "gaussian", replace(problem, h=1.3e-4))
    other = law(peers, "torch loop", "gaussian", chains=4000)
    assert peers.comparison.largest_gap(ours, other) > peers.comparison.STANDARD_ERRORS


def measured(peers: SimpleNamespace, **rates: float) -> list[object]:
    one = peers.comparison.Measured
    return [
        one(name.replace("_", " "), [1.0], int(rate))
        if rate
        else one(name.replace("_", " "), reason="not installed")
        for name, rate in rates.items()
    ]


@pytest.mark.parametrize(
    ("chains", "rates", "margin", "of"),
    [
        (100, {"blackjax": 200, "torch_loop": 500}, 5 / 3, "3 x blackjax"),
        (100, {"blackjax": 500, "torch_loop": 500}, 2 / 3, "3 x blackjax"),
        (100, {"blackjax": 500, "torch_loop": 500, "floor": 1000}, 1.3, "floor / 1.3"),
        (1, {"blackjax": 800, "floor": 1000}, 1.25, "blackjax"),
        (1, {"blackjax": 200, "numba_loop": 2000}, 0.5, "numba loop"),
        (100, {"blackjax": 0, "torch_loop": 500}, 2.0, "torch loop"),
    ],
)
def test_the_nearest_bar_is_told(
    chains: int, rates: dict[str, float], margin: float, of: str, peers: SimpleNamespace
) -> None:
    cell = peers.cells.Cell("gaussian", chains)
    judged = peers.bars.judge(cell, measured(peers, sgverify=1000, **rates))
    assert (judged.margin, judged.of) == (pytest.approx(margin), of)
    assert judged.met == (margin >= 1)


def test_a_fall_by_more_than_half_is_seen(peers: SimpleNamespace) -> None:
    cell = peers.cells.Cell("gaussian", 100)
    found = measured(peers, sgverify=1000, torch_loop=1000)
    assert peers.bars.judge(cell, found, {cell.key: 2.1}).fell
    assert not peers.bars.judge(cell, found, {cell.key: 1.9}).fell
    assert not peers.bars.judge(cell, found, {}).fell


def test_the_page_names_who_was_not_measured(peers: SimpleNamespace) -> None:
    cell = peers.cells.Cell("saga", 100)
    found = measured(peers, sgverify=1000, blackjax=0, torch_loop=500)
    page = peers.page.tables([(cell, found)], {}, {cell.key: 9.0})
    assert "not measured, blackjax: not installed" in page
    assert "Bars met in 1 of 1 cells" in page
    assert "Fallen to less than half of what was last measured: 100 chains, SAGA" in page


def test_an_earlier_measurement_stands_beside_the_present_one(peers: SimpleNamespace) -> None:
    cell = peers.cells.Cell("saga", 100)
    found = measured(peers, sgverify=500, torch_loop=1000)
    page = peers.page.tables([(cell, found)], {}, {})
    assert (
        "| SAGA, mean of a Gaussian, float32 | 256; 100 | - | 2 | - | - | 4.1 ms a step; now 2 ms a step |"
        in page
    )


def test_what_was_measured_is_not_measured_again(
    peers: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class Told:
        def __init__(self, effort: object) -> None: ...

        def measure(self, cell: object) -> list[object]:
            asked.append(cell.key)  # type: ignore[attr-defined]
            return measured(peers, sgverify=1000, torch_loop=500)

        def close(self) -> None: ...

    monkeypatch.setattr(peers.command, "Comparison", Told)
    monkeypatch.setattr(peers.command, "first_call", lambda cell, name: {"imports": 1.0, "cpu": 2.0})
    stored: dict[str, object] = {}
    held: list[str] = []
    peers.command.measure_peers(
        stored, quick=False, only="saga", write=lambda: held.append(json.dumps(stored))
    )
    assert asked == ["saga/1/float32/0", "saga/100/float32/0", "saga/4096/float32/0"]
    again = json.loads(held[0])
    peers.command.measure_peers(again, quick=False, only="saga", write=lambda: None)
    assert asked[3:] == ["saga/100/float32/0", "saga/4096/float32/0"]
    assert [cell.chains for cell, _ in peers.command.measured_cells(again)] == [1, 100, 4096]
    assert "1 + 2" in peers.command.peers_page(again)


def test_a_gap_of_numbers_that_are_none_is_no_agreement(peers: SimpleNamespace) -> None:
    one = {"count": 4, "mean": [0.0], "variance": [1.0]}
    assert peers.comparison.largest_gap(one, {**one, "mean": [2.0]}) == pytest.approx(2 / np.sqrt(0.5))
    assert np.isnan(peers.comparison.largest_gap(one, {**one, "mean": [float("nan")]}))
    assert (
        peers.comparison.largest_gap({**one, "variance": [0.0]}, {**one, "variance": [0.0], "mean": [1e-9]})
        == np.inf
    )

"""The benchmarks run on their smallest sizes. No time is asserted: a busy machine is no failure."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from sgverify.configuration import load_configuration
from sgverify.subject.binding import make_subject

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def benchmarks() -> Iterator[SimpleNamespace]:
    # At the end of the path, so that an installed sgverify stays the one that is tested.
    sys.path.append(str(ROOT))
    try:
        import benchmarks.__main__ as command
        import benchmarks.measuring as measuring
        import benchmarks.moment_recursion as recursion
        import benchmarks.power_schedule as power
        import benchmarks.printing as printing
        import benchmarks.registry as registry

        yield SimpleNamespace(
            main=command.main,
            measuring=measuring,
            power=power,
            printing=printing,
            recursion=recursion,
            registry=registry,
        )
    finally:
        sys.path.remove(str(ROOT))


@pytest.mark.power  # their last results are in benchmarks/RESULTS.md
@pytest.mark.parametrize(
    "name",
    [
        "local-order",
        "bch",
        "stationarity",
        "mse",
        "dimensions",
        "epochs",
        "plane",
        "power-schedule",
        "posterior-averages",
        "sampler",
        "compilers",
        "cuda",
        "growth",
        "exact-growth",
        "stationary-bias",
        "report",
        "verdicts",
    ],
)
def test_a_benchmark_runs_and_agrees_with_its_peer(name: str, benchmarks: SimpleNamespace) -> None:
    # Each raises Disagreement where the peer's answer is another one.
    rows = list(benchmarks.registry.BENCHMARKS[name](benchmarks.measuring.Setting(1, tiny=True)))
    assert [row.name for row in rows if not row.timing.median > 0] == []
    # A library that is not installed is named, and not measured.
    assert [row.name for row in rows if row.peer_timing and not row.ratio > 0] == []
    assert [
        row.name for row in rows if row.peer and not row.peer_timing and "not measured" not in row.peer
    ] == []
    assert rows or name == "power-schedule"


def test_all_benchmarks_are_tried(benchmarks: SimpleNamespace) -> None:
    marks = test_a_benchmark_runs_and_agrees_with_its_peer.pytestmark
    assert sorted(benchmarks.registry.BENCHMARKS) == sorted(marks[0].args[1])


def test_the_command_prints_a_table_and_writes_json(
    benchmarks: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, page = tmp_path / "times.json", tmp_path / "times.md"
    assert benchmarks.main(["epochs", "--tiny", "--json", str(file), "--markdown", str(page)]) == 0
    out = capsys.readouterr().out
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written["results"]
    for result in written["results"]:
        assert result["name"] in out
        assert result["name"] in page.read_text(encoding="utf-8")
        assert (result["ratio"] is None) == (result["peer"] is None)
        assert result["met"] == (None if result["bar"] is None else result["median"] < result["bar"])
    assert set(written["machine"]) >= {"cores", "python", "torch", "sgverify"}
    assert str(ROOT) not in file.read_text(encoding="utf-8") + page.read_text(encoding="utf-8")


def test_an_unknown_name_is_refused(benchmarks: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        benchmarks.main(["sampelr"])
    assert caught.value.code == 2
    assert "sampelr: expected one of local-order" in capsys.readouterr().err


def test_the_peer_on_a_power_schedule_reads_the_chain_that_the_engines_read(
    benchmarks: SimpleNamespace,
) -> None:
    # The definition on float64 arrays against the definition on balls: a few roundings apart.
    subject = make_subject("sghmc-aboba", load_configuration(None, schedule={"kind": "power"}))
    (step,) = benchmarks.power.steps_of(subject, 0.3, 1)
    expected = benchmarks.recursion.step_of(subject.model, subject.scale)
    for name in ("map", "shift", "covariance"):
        assert getattr(step, name) == pytest.approx(getattr(expected, name), rel=1e-13, abs=1e-16)
    assert step.weight == subject.scale


def test_different_answers_are_not_compared(benchmarks: SimpleNamespace) -> None:
    setting = benchmarks.measuring.Setting(1)
    with pytest.raises(benchmarks.measuring.Disagreement):
        benchmarks.measuring.compare(lambda: 1, lambda: 2, setting, same=lambda a, b: a == b)


def test_the_ratio_is_of_medians_and_counts_what_the_peer_left_undone(benchmarks: SimpleNamespace) -> None:
    timing, peer = benchmarks.measuring.Timing((9.0, 2.0, 1.0)), benchmarks.measuring.Timing((1.0, 3.0, 50.0))
    row = benchmarks.measuring.Row("n", timing, bar=2.0, peer="p", peer_timing=peer, scale=10.0)
    assert (timing.first, timing.median, timing.spread) == (9.0, 2.0, (1.0, 9.0))
    assert (row.peer_median, row.ratio, row.met) == (30.0, 15.0, False)


@pytest.mark.parametrize(
    ("value", "text"),
    [(7200, "2 h"), (360000, "4.17 d"), (59.0, "59 s"), (0.0123, "12.3 ms"), (4.2e-6, "4.2 µs")],
)
def test_times_are_read_at_a_glance(value: float, text: str, benchmarks: SimpleNamespace) -> None:
    assert benchmarks.printing.seconds(value) == text

"""The baseline: it excuses the violations that it holds and hides no other, and says which rows may be removed."""

from __future__ import annotations

import json
import multiprocessing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sgverify.configuration import Configuration, load_configuration
from sgverify.errors import UserError
from sgverify.evidence import Evidence, Found, exit_code
from sgverify.evidence.answers import changed
from sgverify.evidence.numbers import slower
from sgverify.evidence.recorded import BASELINE, BaselineFile, write_baseline
from tests.tables import each_row

FILE = "known.json"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def failing(evidence: Evidence) -> Evidence:
    return under(evidence, friction=3.0)


def under(evidence: Evidence, **settings: Any) -> Evidence:
    return replace(evidence, id="", configuration=load_configuration(**settings).as_dict())


def with_verdict(evidence: Evidence, verdict: str, refuted: bool = False) -> Evidence:
    return replace(evidence, verdict=verdict, refuted=refuted)  # type: ignore[arg-type]


def test_a_known_violation_counts_no_more(failing: Evidence) -> None:
    other = replace(failing, id="", claim="chen2015/theorem-2")
    passing = with_verdict(replace(failing, id="", claim="chen2015/theorem-3"), "conforms")
    write_baseline(FILE, [failing, passing])
    file = BaselineFile.read(FILE)
    compared = file.compared([failing, passing])
    assert (compared.known, compared.new, compared.fixed) == ((failing,), (), ())
    assert compared.outcome == "pass"
    assert compared.told(FILE) == [f"PASS against the baseline {FILE}: 1 known violation, 0 new"]
    # Known violations pass where nothing else was asked too; the evidence itself goes on failing.
    assert file.compared([failing]).outcome == "pass" and failing.outcome == "fail"
    assert file.compared([]).outcome == "undecided"
    compared = file.compared([failing, other, passing])
    assert (compared.known, compared.new) == ((failing,), (other,)) and exit_code(compared.counting) == 1
    assert compared.outcome == "fail"
    assert compared.told(FILE) == [f"FAIL against the baseline {FILE}: 1 known violation, 1 new"]


def test_another_scheme_claim_check_or_configuration_is_new(failing: Evidence) -> None:
    write_baseline(FILE, [failing])
    file = BaselineFile.read(FILE)
    assert file.known_row(failing)
    # The reason, the numbers and the id do not tell rows apart.
    same = replace(failing, reason="Another sentence.", id="x", seconds=3.0, found=Found(0, 0, 0))
    assert file.known_row(same)
    for other in (
        replace(failing, id="", scheme="sghmc-baoab"),
        replace(failing, id="", claim="chen2015/theorem-3"),
        replace(failing, id="", check="mse"),
        under(failing, friction=3.5),
        under(failing),
        under(failing, friction=3.0, seed=1),
        under(failing, friction=3.0, gradient={"kind": "iid"}),
        under(failing, friction=3.0, schedule={"kind": "power"}),
    ):
        assert file.known_row(other) is None


def test_nothing_else_than_a_violation_is_excused(failing: Evidence) -> None:
    write_baseline(FILE, [failing])
    file = BaselineFile.read(FILE)
    undecided = with_verdict(failing, "inconclusive")
    assert file.known_row(undecided) is None
    assert file.known_row(with_verdict(failing, "violates", refuted=True)) is None
    compared = file.compared([undecided])
    assert compared.known == () and exit_code(compared.counting) == 3
    assert [row.check for row in compared.undecided] == ["stationary-bias"] and compared.fixed == ()
    assert compared.told(FILE) == [
        f"UNDECIDED against the baseline {FILE}: 0 known violations, 0 new; 1 answer undecided, which no baseline holds",
        "stays: sghmc-aboba stationary-bias (chen2015/theorem-4), undecided now",
    ]
    # A baseline is of violations: what is undecided or refuted as printed is not written to it.
    write_baseline("other.json", [undecided, with_verdict(failing, "violates", refuted=True)])
    assert BaselineFile.read("other.json").baseline.violations == ()


def test_rows_that_no_longer_fail_may_be_removed(failing: Evidence) -> None:
    unasked = under(failing, friction=7.0)
    write_baseline(FILE, [failing, unasked])
    fixed = with_verdict(failing, "conforms")
    compared = BaselineFile.read(FILE).compared([fixed])
    assert compared.told(FILE) == [
        f"PASS against the baseline {FILE}: 0 known violations, 0 new; 1 known violation no longer occurs; 1 row is about other "
        "questions",
        "no longer occurs, may be removed: sghmc-aboba stationary-bias (chen2015/theorem-4), now pass",
    ]
    gone = BaselineFile.read(FILE).compared([with_verdict(failing, "not-applicable")])
    assert gone.told(FILE)[1].endswith("stationary-bias (chen2015/theorem-4), now not-applicable")
    # Claims with one remark share a line, once each.
    several = [failing, replace(failing, id="", claim="chen2015/theorem-5"), under(failing, friction=9.0)]
    write_baseline(FILE, several)
    mended = BaselineFile.read(FILE).compared(with_verdict(item, "conforms") for item in several)
    assert mended.told(FILE)[1:] == [
        "no longer occurs, may be removed: sghmc-aboba stationary-bias (chen2015/theorem-4, chen2015/theorem-5), now pass"
    ]


def test_a_question_that_no_longer_applies_is_gone_where_all_were_asked(failing: Evidence) -> None:
    other = replace(failing, id="", claim="sgverify/stated-order", check="local-order")
    elsewhere = under(other, friction=5.0)
    write_baseline(FILE, [failing, other, elsewhere])
    passing = with_verdict(failing, "conforms")
    # A part of the questions says nothing about the others.
    assert BaselineFile.read(FILE).compared([passing]).unasked == 2
    compared = BaselineFile.read(FILE).compared([passing], complete=True)
    # Another configuration was not asked about.
    assert (len(compared.fixed), compared.unasked) == (2, 1)
    assert compared.told(FILE)[-1] == (
        "no longer occurs, may be removed: sghmc-aboba local-order (sgverify/stated-order), not asked of it any more"
    )
    write_baseline(FILE, [passing], complete=True)
    kept = BaselineFile.read(FILE).baseline.violations
    assert [row.configuration for row in kept] == [{"friction": 5.0}]


def test_a_known_violation_that_became_worse_is_named(failing: Evidence) -> None:
    write_baseline(FILE, [failing])
    worse = replace(failing, found=Found(0, 0, 0))
    compared = BaselineFile.read(FILE).compared([worse])
    assert compared.outcome == "pass"
    assert compared.told(FILE) == [
        f"PASS against the baseline {FILE}: 1 known violation, 0 new; 1 of the known became worse",
        "worse: sghmc-aboba stationary-bias (chen2015/theorem-4), found exponent 0, recorded 1",
    ]
    better = replace(failing, found=Found(1.5, 1.5, 1.5))
    assert BaselineFile.read(FILE).compared([better]).worse == ()
    # Writing it again records the rate of today.
    write_baseline(FILE, [worse])
    assert BaselineFile.read(FILE).compared([worse]).worse == ()


@each_row(
    ("predicted", "now", "then", "expected"),
    [
        (2, Found(1, 1, 1), Found(1, 1, 1), False),
        (2, Found(0.5, 0.5, 0.5), Found(1, 1, 1), True),
        # Intervals of samples that meet do not differ; open ends are infinite.
        (2, Found(0.5, 0.1, 1.1), Found(1, 0.9, 1.2), False),
        (2, Found(0.5, 0.1, 0.8), Found(1, 0.9, 1.2), True),
        (2, Found(0.5, None, 0.8), Found(1, 0.9, None), True),
        (2, Found(0.5, 0.1, None), Found(1, 0.9, 1.2), False),
        # In L the larger exponent is the lower rate.
        (-1, Found(-0.5, -0.5, -0.5), Found(-1, -1, -1), True),
        (-1, Found(-1, -1, -1), Found(-0.5, -0.5, -0.5), False),
        (-1, Found(-0.5, -0.8, None), Found(-1, None, -0.9), True),
        (None, Found(), Found(1, 1, 1), False),
        (2, Found(1, 1, 1), Found(), False),
    ],
)
def test_a_rate_is_slower_beyond_both_intervals(
    predicted: float | None, now: Found, then: Found, expected: bool
) -> None:
    assert slower(now, then, predicted) is expected


def test_writing_again_brings_up_to_date_what_was_asked(failing: Evidence) -> None:
    other, third = under(failing, friction=7.0), under(failing, friction=8.0)
    write_baseline(FILE, [failing, other])
    text = Path(FILE).read_text()
    write_baseline(FILE, [other, failing])
    assert Path(FILE).read_text() == text
    write_baseline(FILE, [with_verdict(failing, "conforms"), third])
    kept = [row.configuration for row in BaselineFile.read(FILE).baseline.violations]
    assert kept == [{"friction": 7.0}, {"friction": 8.0}]
    write_baseline(FILE, [with_verdict(other, "inconclusive")])
    assert len(BaselineFile.read(FILE).baseline.violations) == 2


def _write(number: int) -> None:
    from tests.evidence.test_baseline import row

    write_baseline(FILE, [row(number)])


def row(number: int) -> Evidence:
    from sgverify.evidence import Found, Predicted

    return Evidence(
        scheme="sghmc-aboba", claim="chen2015/theorem-4", check="mse", method="exact", verdict="violates",
        configuration=load_configuration(friction=float(number)).as_dict(), predicted=Predicted(2),
        found=Found(1, 1, 1), reason="A sentence.",
    )  # fmt: skip


def test_writers_at_once_lose_no_row() -> None:
    processes = [multiprocessing.get_context("fork").Process(target=_write, args=(n,)) for n in range(1, 7)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert len(BaselineFile.read(FILE).baseline.violations) == 6


def test_paths_are_those_from_the_file_wherever_the_run_starts(
    folder: Path, failing: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "code").mkdir()
    mine = under(replace(failing, scheme="code/mine.py:heun"), target={"name": "code/mine.py:banana"})
    write_baseline("code/known.json", [mine])
    (found,) = BaselineFile.read("code/known.json").baseline.violations
    assert found.scheme == "mine.py:heun" and found.configuration == {"target": {"name": "mine.py:banana"}}
    monkeypatch.chdir(folder / "code")
    here = under(replace(failing, scheme="mine.py:heun"), target={"name": "mine.py:banana"})
    assert BaselineFile.read(FILE).known_row(here)
    assert BaselineFile.read(FILE).known_row(replace(here, id="", scheme="code/mine.py:heun")) is None
    # A data file is stored with its whole path, which is another one on another machine.
    data = replace(
        here, configuration={**here.configuration, "target": {"name": "own", "file": f"{folder}/data.csv"}}
    )
    assert BaselineFile.read(FILE).row_of(data).configuration["target"]["file"] == "../data.csv"


def test_a_row_holds_what_differs_from_the_defaults() -> None:
    assert changed(Configuration().as_dict()) == {}
    given = load_configuration(friction=2, temperature=3.0, gradient={"kind": "iid", "batch": 5})
    assert changed(given.as_dict()) == {"temperature": 3.0, "gradient": {"kind": "iid", "batch": 5}}
    # A key that is left out, as by a version that lacks it, is at its default.
    without = {key: value for key, value in Configuration().as_dict().items() if key != "friction"}
    assert changed(without) == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "does not exist; expected a file written by"),
        ("{", "is not JSON"),
        ('{"schema": "sgverify/baseline/2", "violations": []}', "another version"),
        ('{"schema": "sgverify/evidence/1"}', "is not a baseline"),
        ('{"schema": "sgverify/baseline/1", "violations": [{"scheme": "x"}]}', "violations\\[0\\]"),
    ],
)
def test_what_is_no_baseline_is_refused(text: str | None, told: str, failing: Evidence) -> None:
    if text is not None:
        Path(FILE).write_text(text)
    with pytest.raises(UserError, match=told):
        BaselineFile.read(FILE)
    if text is not None:
        with pytest.raises(UserError, match=told):
            write_baseline(FILE, [failing])
        assert Path(FILE).read_text() == text


def test_what_is_written_follows_the_published_schema(failing: Evidence) -> None:
    write_baseline(FILE, [failing])
    document = json.loads(Path(FILE).read_text())
    BASELINE.check(document, "written")
    assert set(document) == {"schema", "violations"}
    assert BASELINE.schema()["properties"]["schema"] == {"const": "sgverify/baseline/1"}

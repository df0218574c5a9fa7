"""Released samplers of other libraries: what the report says of them they do, and no more with the line mended."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from reports.making.in_the_wild import making
from reports.making.in_the_wild.finds import FINDS, Find
from reports.making.in_the_wild.libraries import LIBRARIES, ReleasedLibrary
from reports.making.in_the_wild.making import (
    FOLDER,
    cases_of_find,
    judged,
    library_of,
    line_of,
    mending,
    reproduced,
)
from sgverify.evidence import read_evidence

HERE = Path(__file__).resolve().parents[1] / "reports" / FOLDER
STORED = {row["name"]: row for row in json.loads((HERE / "finds.json").read_text())["finds"]}
ALL = pytest.mark.parametrize("find", FINDS, ids=lambda find: find.name)


@pytest.fixture
def installed(find: Find) -> Iterator[None]:
    """The library of a find, without the warnings that it gives when it is imported."""
    if library_of(find).release is None:
        pytest.skip(f"{find.library} is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@ALL
@pytest.mark.wild
@pytest.mark.usefixtures("installed")
def test_ten_lines_reproduce_a_find_and_another_calculation_predicts_it(find: Find) -> None:
    row, now = STORED[find.name], reproduced(find)
    if library_of(find).release != row["release"]:
        pytest.skip(
            f"{find.library} {library_of(find).release} is installed; the report is on {row['release']}"
        )
    assert now["found"] == pytest.approx(find.predicted(), rel=find.tolerance, abs=find.tolerance)
    assert now["found"] != pytest.approx(now["expected"], rel=1e-3, abs=1e-3)
    assert [line_of(place, was) for place, was, _ in find.edits] == [line["place"] for line in row["lines"]]


@ALL
@pytest.mark.wild
@pytest.mark.usefixtures("installed")
def test_a_find_vanishes_with_its_line_mended(find: Find) -> None:
    with mending(find):
        mended = reproduced(find)
        assert mended["found"] == pytest.approx(mended["expected"], rel=0.02, abs=1e-3)


@ALL
@pytest.mark.wild
@pytest.mark.usefixtures("installed")
def test_the_tool_refutes_the_library_and_not_the_mended_one(find: Find) -> None:
    """The dear one: minutes for each find on JAX."""
    case = cases_of_find(find)[:1]
    before = [item.outcome for one in case for item in judged(one)]
    with mending(find):
        after = [item.outcome for one in case for item in judged(one)]
    assert "fail" in before and "fail" not in after and "pass" in after


@ALL
def test_every_find_that_is_shown_was_refuted_and_is_not_when_mended(find: Find) -> None:
    row = STORED[find.name]
    assert row["verdict"] == "violates" and row["mended"]["verdict"] == "conforms"
    ids = {
        item.id for item in read_evidence(HERE / f"{find.library}.json").evidence if item.outcome == "fail"
    }
    assert row["evidence"] and ids.issuperset(item["id"] for item in row["evidence"])
    assert row["found"] == pytest.approx(row["predicted"], rel=find.tolerance, abs=find.tolerance)
    assert row["mended"]["found"] == pytest.approx(row["expected_number"], rel=0.05, abs=1e-3)
    assert len(row["reproduction"].strip().split("\n")) <= 14


def test_the_report_has_at_least_twelve_samplers_of_four_libraries() -> None:
    schemes = {
        library.distribution: {
            item.scheme for item in read_evidence(HERE / f"{library.distribution}.json").evidence
        }
        for library in LIBRARIES
    }
    assert len(schemes) >= 4 and sum(map(len, schemes.values())) >= 12


def test_the_report_says_so_where_nothing_is_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    absent = ReleasedLibrary("no-such-library", ("no_such_library",), ())
    assert absent.release is None
    monkeypatch.setattr(making, "LIBRARIES", (absent,))
    with pytest.raises(SystemExit, match="none of its libraries is installed; .* of no-such-library"):
        making.make(tmp_path)


def test_the_finds_of_a_library_that_is_absent_stay_as_they_are_stored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(HERE, tmp_path / FOLDER)
    monkeypatch.setattr(ReleasedLibrary, "release", None)
    making.finish(tmp_path)
    before, after = (json.loads((place / "finds.json").read_text()) for place in (HERE, tmp_path / FOLDER))
    assert before["finds"] == after["finds"]
    mended = (read_evidence(place / "mended.json").evidence for place in (HERE, tmp_path / FOLDER))
    before, after = (sorted(items, key=lambda item: item.id) for items in mended)
    assert before == after

"""Released samplers of other libraries: what the report says of them they do, and no more with the line mended."""

from __future__ import annotations

import ast
import json
import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reports.making.in_the_wild import making
from reports.making.in_the_wild.alone import calls_of
from reports.making.in_the_wild.finds import DTYPE, FINDS, Find
from reports.making.in_the_wild.issues import FIELDS, issue_text, options_said, read_finds, script_of, written
from reports.making.in_the_wild.libraries import LIBRARIES, ReleasedLibrary
from reports.making.in_the_wild.making import (
    FOLDER,
    cases_of_find,
    judged,
    library_of,
    line_of,
    mending,
    reproduced,
    reproduced_alone,
)
from reports.making.in_the_wild.page import roots_of
from sgverify.evidence import read_evidence

HERE = Path(__file__).resolve().parents[1] / "reports" / FOLDER
STORED = {row["name"]: row for row in read_finds(HERE / "finds.json")["finds"]}
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
def test_a_script_reproduces_a_find_and_another_calculation_predicts_it(find: Find) -> None:
    row, now = STORED[find.name], reproduced_alone(find)
    if library_of(find).release != row["release"]:
        pytest.skip(
            f"{find.library} {library_of(find).release} is installed; the report is on {row['release']}"
        )
    assert now["found"] == pytest.approx(find.predicted(), rel=find.tolerance, abs=find.tolerance)
    assert now["found"] != pytest.approx(now["expected"], rel=1e-3, abs=1e-3)
    assert [line_of(place, was) for place, was, _ in find.edits] == [line["place"] for line in row["lines"]]
    assert now["calls"] == row["calls"]


@ALL
@pytest.mark.wild
@pytest.mark.usefixtures("installed")
def test_an_issue_runs_with_its_library_and_without_sgverify(find: Find, tmp_path: Path) -> None:
    row = STORED[find.name]
    script = tmp_path / "issue.py"
    script.write_text(script_of(issue_text(row)), encoding="utf-8")
    now = reproduced_alone(find, script)
    if library_of(find).release != row["release"]:
        pytest.skip(
            f"{find.library} {library_of(find).release} is installed; the issue is on {row['release']}"
        )
    assert now["found"] == pytest.approx(row["found"], rel=find.tolerance, abs=find.tolerance)
    assert now["expected"] == pytest.approx(row["expected_number"], rel=1e-6)


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
    assert len(row["reproduction"].strip().split("\n")) <= 20


@ALL
def test_no_issue_imports_anything_of_ours(find: Find) -> None:
    imported = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(script_of(issue_text(STORED[find.name]))))
        for name in (
            [node.module or "."]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }
    others = imported - sys.stdlib_module_names
    assert others <= {library_of(find).packages[-1], "jax", "numpy", "torch"}
    assert library_of(find).packages[-1] in others


@ALL
def test_an_issue_says_what_found_it_and_where_the_library_stands(find: Find) -> None:
    row = STORED[find.name]
    text = issue_text(row)
    for said in (
        f"{find.library} {row['release']}",
        row["upstream"]["state"],
        row["upstream"]["checked"],
        row["time_scale"],
        row["provenance"]["tool"],
        *row["provenance"]["commands"],
        *map(options_said, row["calls"]),
    ):
        assert said in text


@ALL
def test_what_is_called_a_default_is_read_from_the_signature(find: Find) -> None:
    """No text of a find says it by itself, and an option that is passed is not passed at its default."""
    script = making.script_path(find).read_text(encoding="utf-8")
    texts = (find.title, find.expected, find.weight, find.time_scale, find.upstream.seen, script)
    assert not [text for text in texts if re.search(r"\bdefaults?\b", text, re.IGNORECASE)]
    row = STORED[find.name]
    assert row["reproduction"] == script
    for text in ("title", "expected", "weight", "time_scale"):
        assert row[text] == written(getattr(find, text), row["calls"])
    words = [node for node in ast.walk(ast.parse(script)) if isinstance(node, ast.Call)]
    for call in row["calls"]:
        assert all(option["value"] != option["default"] for option in call["passed"].values())
        ours = [node for node in words if ast.unparse(node.func) == call["call"]]
        assert any({word.arg for word in node.keywords}.isdisjoint(call["left"]) for node in ours)
        assert ("at its defaults (" in options_said(call)) == bool(call["left"])


def _sampler(theta: Any, lr: float = 0.1, friction: float = 0.5, *, temperature: float = 1.0) -> None: ...


def test_a_call_tells_which_options_it_passes() -> None:
    names = {"sampler": _sampler, "held": partial(_sampler, lr=1.0), "len": len, "x": 0}
    here = [_sampler.__module__.partition(".")[0]]
    assert calls_of("sampler(x)", names, here) == [
        {"call": "sampler", "passed": {}, "left": {"lr": "0.1", "friction": "0.5", "temperature": "1.0"}}
    ]
    positional, word = calls_of("sampler(x, 0.2); sampler(x, temperature=2)", names, here)
    assert positional["passed"] == {"lr": {"value": "0.2", "default": "0.1"}}
    assert word["passed"] == {"temperature": {"value": "2", "default": "1.0"}}
    assert (
        options_said(word)
        == "sampler: temperature = 2 (default 1.0); else at its defaults (lr = 0.1, friction = 0.5)"
    )
    # What a partial function holds was given where it was made.
    assert [set(call["left"]) for call in calls_of("held(x)", names, here)] == [{"friction", "temperature"}]
    assert calls_of("len([])", names, here) == []
    with pytest.raises(ValueError, match="no parameter step in the signature"):
        calls_of("sampler(x, step=1)", names, here)
    with pytest.raises(ValueError, match="a name that the script does not keep"):
        calls_of("def f(own):\n    own(lr=1)", names, here)
    assert written("at {lr} of lr", [word]) == "at the default of 0.1 of lr"
    with pytest.raises(KeyError):
        written("at {step}", [word])


@pytest.mark.parametrize("field", FIELDS)
def test_a_stored_find_without_a_field_is_refused(field: str, tmp_path: Path) -> None:
    stored = json.loads((HERE / "finds.json").read_text())
    del stored["finds"][0][field]
    (tmp_path / "finds.json").write_text(json.dumps(stored))
    with pytest.raises(ValueError, match=f"lacks {field}; expected all of name, library"):
        read_finds(tmp_path / "finds.json")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("state", "closed", "expected one of open, known"),
        ("seen", "", "what was seen"),
        ("checked", "today", "today"),
    ],
)
def test_a_stored_find_of_no_state_upstream_is_refused(
    key: str, value: str, said: str, tmp_path: Path
) -> None:
    stored = json.loads((HERE / "finds.json").read_text())
    stored["finds"][0]["upstream"][key] = value
    (tmp_path / "finds.json").write_text(json.dumps(stored))
    with pytest.raises(ValueError, match=said):
        read_finds(tmp_path / "finds.json")


def test_failures_are_counted_by_their_roots() -> None:
    evidence = [
        item
        for library in LIBRARIES
        for item in read_evidence(HERE / f"{library.distribution}.json").evidence
    ]
    roots = roots_of(evidence, list(STORED.values()))
    failing = {item.scheme for item in evidence if item.outcome == "fail"}
    assert {scheme for root in roots for scheme in root.samplers} == failing
    assert all(root.finds for root in roots)
    assert {find["name"] for root in roots for find in root.finds} == set(STORED)
    dtype = next(root for root in roots if root.name == DTYPE)
    assert set(dtype.samplers) == {
        item.scheme for item in evidence if item.check == "dtype" and item.outcome == "fail"
    }


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

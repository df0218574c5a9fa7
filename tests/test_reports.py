"""The committed reports: each file is made by a part, holds no path of a machine, and says what the code and its JSON say."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from reports.__main__ import main
from reports.applications import registry
from reports.applications.result import read_application
from reports.making import applications, slow_tests
from reports.making.advised import agreement
from reports.making.parts import KEPT, PARTS, is_rendered
from sgverify.checks.verify_and_rate import replay
from sgverify.evidence import Evidence, decode_errata, read_evidence
from sgverify.papers.formula import check_errata
from tests.applications import toy

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "reports"
SUITES = ("chen2015", "vr-resgld", "awsgld")
FILES = sorted(
    path
    for path in REPORTS.rglob("*")
    if path.is_file()
    and path.suffix != ".py"
    and not {"__pycache__", "making", "applications"} & {*path.relative_to(REPORTS).parts}
    and not is_rendered(path.relative_to(REPORTS).as_posix())
)
LOCAL = re.compile(
    r"""(?:^|[\s"'=`(\[])(?:~|[A-Za-z]:|file:/)?[/\\](?:[A-Za-z_][\w.-]*[/\\])+"""
    rf"|{re.escape(str(ROOT))}|{re.escape(str(Path.home()))}/",
    re.MULTILINE,
)
"""A path from the root of a machine or from somebody's home."""


def test_each_file_is_made_by_one_part() -> None:
    made = [*(name for part in PARTS.values() for name in part.makes if not is_rendered(name)), *KEPT]
    found = [str(path.relative_to(REPORTS)) for path in FILES]
    folders = [name for name in made if name.endswith("/")]
    apart = [name for name in found if not name.startswith(tuple(folders))]
    assert sorted(apart) == sorted(set(made) - set(folders)) and len(made) == len(set(made))
    assert all(any(name.startswith(folder) for name in found) for folder in folders)


def test_the_list_says_of_each_part_what_it_makes_from_what(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--list"])
    said = capsys.readouterr().out
    for part in PARTS.values():
        assert f"{part.name}: {part.source}; about {part.minutes:g} CPU minutes" in said
        assert all(name in said for name in part.makes)


def test_a_part_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["pictures"])
    assert refused.value.code == 2 and "no part pictures; expected one of" in capsys.readouterr().err


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(REPORTS)))
def test_no_file_holds_a_path_of_a_machine(path: Path) -> None:
    assert LOCAL.findall(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    ['"sgverify report --out /srv/ann/out"', "cd ~/work/x", r"C:\Users\ann\x", f"{ROOT}/x", "at '/tmp/x/y'"],
)
def test_a_path_of_a_machine_is_recognised(text: str) -> None:
    assert LOCAL.search(text)


def rendered(name: str, folder: Path) -> None:
    """Write the part's pages and pictures from a copy of the stored JSON."""
    for path in FILES:
        if path.suffix == ".json":
            (folder / path.relative_to(REPORTS)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / path.relative_to(REPORTS))
    PARTS[name].render(folder)
    for made in PARTS[name].makes:
        if is_rendered(made):
            assert (folder / made).exists(), made
            continue
        for path in sorted((REPORTS / made).iterdir()) if made.endswith("/") else [REPORTS / made]:
            again = folder / path.relative_to(REPORTS)
            assert again.read_bytes() == path.read_bytes(), path


QUICK = (
    "power",
    "coefficients",
    "browser",
    "diagnoses",
    "pools",
    "false-alarms",
    "posteriors",
    "advised",
    "in-the-wild",
    "bug-reports",
    "identification",
    "versions",
)


@pytest.mark.parametrize("name", QUICK)
def test_pages_are_those_of_the_stored_numbers(name: str, tmp_path: Path) -> None:
    """`python -m reports --stored` writes them anew."""
    rendered(name, tmp_path)


@pytest.mark.power
# The transcripts are a page without numbers that are stored.
@pytest.mark.parametrize("name", sorted(set(PARTS) - {*QUICK, "transcripts"}))
def test_the_large_pages_are_those_of_the_stored_numbers(name: str, tmp_path: Path) -> None:
    rendered(name, tmp_path)


def test_an_application_is_run_as_its_batch_says_and_its_pages_are_those_of_the_stored_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "APPLICATIONS", ("toy",))
    monkeypatch.setitem(sys.modules, "reports.applications.toy", toy)
    monkeypatch.setitem(applications.BATCHES, "toy", applications.Batch(0.1, 3, {"step": (0.1,)}))
    applications.make("toy", tmp_path)
    folder = tmp_path / "models" / "toy"
    found = read_application(folder / "result.json")
    assert (found.seeds, found.settings["step"]) == (3, [0.1])
    assert found.provenance.command == "python -m reports app-toy"
    written = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for path in written:
        if path.name != "result.json":
            path.unlink()
    applications.render("toy", tmp_path)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == written
    assert {path.name for path in folder.iterdir()} == {name.strip("/") for name in applications.FILES}


def test_a_bias_that_is_not_as_predicted_is_named() -> None:
    row = {
        "predicted_sd": [0.10, 0.01, 0.10],
        "found_sd": [0.13, 0.02, 0.13],
        "error_of_sd": [0.001, 0.001, 0.01],
        "predicted_mean": [0.0, 0.2, 0.0],
        "found_mean": [0.1, 0.21, 0.05],
        "error_of_mean": [0.01, 0.01, 0.01],
    }
    said = agreement(row)
    assert [text.partition(":")[0] for text in said] == ["sd[0]", "sd[2]", "mean[0]"]
    assert "not decided" in said[1] and "not decided" not in said[0]


def pieces(suite: str) -> list[Evidence]:
    return list(read_evidence(REPORTS / suite / "report.json").evidence)


DEAR = ("swap-balance", "exchange-rate", "chain-average", "weighted-average", "weight-mse")
"""Checks that take half a second and more, and have tests of their own."""


def sample(suite: str) -> list[Evidence]:
    """The first piece of each verdict of each check, but for the dear ones."""
    found: dict[tuple[str, str, bool], Evidence] = {}
    for item in pieces(suite):
        if item.check not in DEAR:
            found.setdefault((item.check, item.verdict, item.refuted), item)
    return list(found.values())


def hold(items: list[Evidence]) -> None:
    """Judged again, the pieces have the verdicts and the rates that are committed; seconds and last digits may differ."""
    assert items
    for stored in items:
        again = replay(stored)
        assert told(again) == told(stored), stored.id


def told(item: Evidence) -> tuple[object, ...]:
    rates = [item.predicted.exponent, item.found.exponent]
    rounded = [None if rate is None else round(float(rate), 6) for rate in rates]
    return item.verdict, item.refuted, item.sharp, item.method, item.predicted.kind, *rounded


@pytest.mark.parametrize("suite", SUITES)
def test_a_sample_of_the_committed_verdicts_is_what_the_code_gives(suite: str) -> None:
    hold(sample(suite))


@pytest.mark.power
@pytest.mark.parametrize("suite", SUITES)
def test_every_committed_verdict_is_what_the_code_gives(suite: str) -> None:
    hold(pieces(suite))
    stored = decode_errata(json.loads((REPORTS / suite / "errata.json").read_text(encoding="utf-8")))
    again = check_errata((), suite)
    weights = [
        {item.id: (item.fails, item.severity, item.root) for item in items} for items in (stored, again)
    ]
    assert weights[0] and weights[0] == weights[1]


def test_the_outcomes_of_slow_tests_are_those_of_tests_that_there_are(tmp_path: Path) -> None:
    rows = json.loads((REPORTS / "power" / "slow_tests.json").read_text(encoding="utf-8"))
    assert rows and [name for name in rows if not slow_tests.exists(name)] == []
    assert set(rows.values()) <= {"passed", "skipped"}
    assert not slow_tests.exists("tests/test_reports.py::test_gone[1]")


def test_outcomes_are_read_from_junit() -> None:
    case = '<testcase classname="tests.a.test_b" name="{}">{}</testcase>'
    cases = (
        case.format("test_1[x]", "")
        + case.format("test_2", "<failure/>")
        + case.format("test_3", "<skipped/>")
    )
    assert slow_tests.read(f"<testsuites><testsuite>{cases}</testsuite></testsuites>") == {
        "tests/a/test_b.py::test_1[x]": "passed",
        "tests/a/test_b.py::test_2": "failed",
        "tests/a/test_b.py::test_3": "skipped",
    }

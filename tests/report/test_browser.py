"""The pages of the papers and of schemes of one's own in headless Chromium, and what `reports.making.browser` calls a fault."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reports.making import browser
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
Page = dict[str, Any]
STORED = json.loads((ROOT / "reports" / "browser" / "browser.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """puppeteer-core and axe-core in a temporary folder."""
    if browser.missing():
        pytest.skip(f"no {browser.missing()} on this machine")
    folder = tmp_path_factory.mktemp("libraries")
    problem = browser.install(folder)
    if problem:
        pytest.skip(f"npm does not install {', '.join(browser.LIBRARIES)}: {problem}")
    yield folder


@pytest.mark.browser
@pytest.mark.parametrize("suite", browser.SUITES)
def test_the_pages_of_a_report_open_without_fault(suite: str, libraries: Path) -> None:
    assert browser.faults(browser.look(ROOT / "reports" / suite, libraries)) == []


@pytest.mark.browser
def test_the_pages_of_ones_own_schemes_open_without_fault(libraries: Path, tmp_path: Path) -> None:
    browser.write_own(tmp_path)
    for name in browser.OWN:
        assert browser.faults(browser.look(tmp_path, libraries, [f"{name}.html"])) == []


def test_the_stored_run_found_no_fault() -> None:
    assert sorted(STORED) == sorted([*browser.SUITES, *browser.OWN])
    assert [text for seen in STORED.values() for text in browser.faults(seen)] == []


def axe(page: Page) -> None:
    violation = {"id": "color-contrast", "places": 1, "first": "p", "why": "too pale"}
    page["looks"]["dark"]["violations"].append(violation)


PLANTED: dict[str, Callable[[Page], Any]] = {
    "console": lambda page: page["console"].append("ReferenceError"),
    "network": lambda page: page["requests"].append("a font"),
    "axe": axe,
    "narrow": lambda page: page["looks"]["narrow"].update(overflow=3),
    "filter": lambda page: page["filters"].update(outcome=page["filters"]["all"]),
    "amiss": lambda page: page["filters"].update({"claim amiss": 1}),
    "clear": lambda page: page["filters"].update(cleared=1),
    "folds": lambda page: page["details"].update(expanded=0),
    "skip": lambda page: page["skip"].update(reached=""),
    "copy": lambda page: page["copied"].update(right=0),
    "formulas": lambda page: page["formulas"].update(named=0),
    "script": lambda page: page["withoutScript"].update(entries=0),
}


@each_row("group", ["chen2015", "wrong"])
@each_row("change", PLANTED)
def test_each_fault_is_named(change: str, group: str) -> None:
    seen = copy.deepcopy(STORED[group])
    PLANTED[change](next(iter(seen["pages"].values())))
    assert len(browser.faults(seen)) == 1


def test_the_page_of_a_scheme_that_takes_many_sheets_is_a_fault() -> None:
    seen = copy.deepcopy(STORED["wrong"])
    next(iter(seen["pages"].values()))["sheets"] = browser.SHEETS + 1
    assert len(browser.faults(seen)) == 1


@pytest.mark.parametrize("group", ["chen2015", "wrong"])
def test_a_link_that_does_not_lead_to_its_evidence_is_a_fault(group: str) -> None:
    assert len(browser.faults({**STORED[group], "across": {**STORED[group]["across"], "open": False}})) == 1

"""The committed pages in headless Chromium, and what `reports.browser` calls a fault."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reports import browser

ROOT = Path(__file__).resolve().parents[2]
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


def test_the_stored_run_found_no_fault() -> None:
    assert sorted(STORED) == sorted(browser.SUITES)
    assert [text for seen in STORED.values() for text in browser.faults(seen)] == []


def planted(change: str) -> dict[str, Any]:
    seen: dict[str, Any] = copy.deepcopy(STORED["chen2015"])
    page = seen["pages"]["index.html"]
    violation = {"id": "color-contrast", "places": 1, "first": "p", "why": "too pale"}
    plant = {
        "console": lambda: page["console"].append("ReferenceError"),
        "network": lambda: page["requests"].append("a font"),
        "axe": lambda: page["looks"]["dark"]["violations"].append(violation),
        "narrow": lambda: page["looks"]["narrow"].update(overflow=3),
        "filter": lambda: page["filters"].update(scheme=page["filters"]["all"]),
        "amiss": lambda: page["filters"].update({"claim amiss": 1}),
        "clear": lambda: page["filters"].update(cleared=1),
        "print": lambda: page["details"].update(printed=0),
        "formulas": lambda: page["formulas"].update(named=0),
        "script": lambda: page["withoutScript"].update(entries=0),
        "across": lambda: seen["across"].update(open=False),
    }
    plant[change]()
    return seen


@pytest.mark.parametrize(
    "change",
    [
        "console",
        "network",
        "axe",
        "narrow",
        "filter",
        "amiss",
        "clear",
        "print",
        "formulas",
        "script",
        "across",
    ],
)
def test_each_fault_is_named(change: str) -> None:
    assert len(browser.faults(planted(change))) == 1

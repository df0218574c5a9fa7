"""The committed pages in headless Chromium, and what `reports.browser` calls a fault."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reports import browser

ROOT = Path(__file__).resolve().parents[2]


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

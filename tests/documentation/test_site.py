"""The documentation site as it was seen in a browser, and what `reports.making.site` calls a fault of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docs.making.pages import PAGES
from docs.making.words import BEHIND, COMMANDS, KEYS, PLACES, of_page
from reports.making import site
from sgverify.cli.listing import items_of
from sgverify.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
STORED = json.loads((ROOT / "reports" / "browser" / "site.json").read_text(encoding="utf-8"))
Page = dict[str, Any]

PLANTED: dict[str, Callable[[Page], Any]] = {
    "console": lambda page: page["console"].append("ReferenceError"),
    "network": lambda page: page["requests"].append("a font"),
    "link": lambda page: page["broken"].append("/nowhere.html"),
    "axe": lambda page: page["looks"]["dark"]["violations"].append({"id": "x", "places": 1, "first": "p"}),
    "cut": lambda page: page["looks"]["narrow"]["cut"].append("$ sgverify"),
    "wide": lambda page: page["looks"]["wide"].update(overflow=3),
}


def test_the_stored_site_has_no_fault_and_every_page() -> None:
    assert site.faults(STORED) == []
    documents = [f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")]
    documents += ["README.md", *(f"docs/{place}" for place in PAGES)]
    unseen = [name for name in documents if site.page_of(name) not in STORED["pages"]]
    assert not unseen, f"open them in Chromium: python -m reports browser {' '.join(unseen)}"
    assert all([*page["looks"]] == [*site.LOOKS] for page in STORED["pages"].values())


@pytest.mark.parametrize("change", PLANTED)
def test_each_fault_is_named(change: str) -> None:
    seen = copy.deepcopy(STORED)
    PLANTED[change](seen["pages"]["index.html"])
    assert len(site.faults(seen)) == 1


def test_a_search_that_answers_too_little_is_a_fault() -> None:
    seen = copy.deepcopy(STORED)
    for question in list(site.QUESTIONS)[:3]:
        seen["search"][question] = [["elsewhere.html"]]
    (fault,) = site.faults(seen)
    assert "neural network" in fault and len(site.answered(seen)) <= len(site.QUESTIONS) - 3


def test_the_everyday_words_are_of_keys_commands_and_pages_that_exist() -> None:
    keys = {item["name"] for item in items_of("config")}
    assert set(KEYS) <= keys and set(COMMANDS) <= set(cli.commands)
    places = {*PAGES, "index.md", "CHANGELOG.md", *(path.name for path in (ROOT / "docs").glob("*.md"))}
    assert {*PLACES, *(place for place in BEHIND if place.endswith(".md"))} <= places
    assert "learning rate" in PAGES["configuration.md"]() and "is my sampler" in PAGES["commands.md"]()
    assert of_page("data.md")["tags"] and of_page("python/schemes.md") == {"search": {"boost": 0.2}}


@pytest.mark.browser
def test_the_site_opens_without_fault(tmp_path: Path) -> None:
    from reports.making import browser

    problem = browser.missing() or browser.install(tmp_path)
    if problem:
        pytest.skip(problem)
    assert site.faults(site.look(tmp_path, str(browser.browser()))) == []

"""The line of progress that a notebook shows."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import sgverify
from sgverify.verdict import notebooks
from sgverify.verdict.notebooks import with_progress


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that a notebook shows, one after the other, in place of a kernel."""
    texts: list[str] = []

    def display(data: dict[str, str], **options: Any) -> Any:
        assert options == {"raw": True, "display_id": True}
        texts.append(data["text/plain"])
        return SimpleNamespace(update=lambda data, raw: texts.append(data["text/plain"]))

    ipython, module = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=None)  # type: ignore[attr-defined]
    module.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(notebooks, "PATIENCE", 0.0)
    monkeypatch.setattr(notebooks, "PACE", 0.0)
    return texts


def test_a_long_question_shows_one_line_and_leaves_none(shown: list[str]) -> None:
    results = sgverify.verify("sgld-euler", checks=["local-order", "stationary-bias"])
    assert results.passed
    assert any(text.startswith("verify ") and text.endswith("50%") for text in shown)
    assert shown[-1] == ""


def test_a_quick_question_shows_nothing(shown: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebooks, "PATIENCE", 1000.0)
    sgverify.verify("sgld-euler", checks=["local-order"])
    assert shown == []


def test_the_line_is_emptied_when_the_question_fails_and_a_given_progress_is_kept(shown: list[str]) -> None:
    @with_progress
    def asked(*, progress: Any = None) -> None:
        progress("halfway", 1, 2)
        raise ValueError

    with pytest.raises(ValueError):
        asked()
    assert shown == ["asked halfway: 50%", ""]
    told: list[Any] = []
    with pytest.raises(ValueError):
        asked(progress=lambda *found: told.append(found))
    assert told == [("halfway", 1, 2)] and len(shown) == 2


def test_ipython_in_a_terminal_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    ipython = ModuleType("IPython")
    ipython.get_ipython = lambda: object()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert not notebooks.in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", None)
    assert not notebooks.in_notebook()

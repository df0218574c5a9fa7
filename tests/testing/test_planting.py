"""Edits of the running code: they are there within the context, for everybody, and gone after it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sgverify.errors import DefinitionError
from sgverify.testing.planting import edited_source, source_text
from tests.tables import each_row
from tests.testing import edited
from tests.testing.edited import Base, Derived, plain

HERE = "tests.testing.edited"


@each_row(
    ("place", "was", "now", "ask"),
    [
        ("plain", "x + more", "x - more", lambda: plain(2.0)),
        ("plain", "x + more", "x - more", lambda: edited.through_another(2.0)),
        ("remembered", "x + 1.0", "x - 1.0", lambda: edited.remembered(2.0)),
        ("wrapped", "x + 1.0", "x - 1.0", lambda: edited.wrapped(2.0)),
        ("Base.method", "return x", "return -x", lambda: Base().method(2.0)),
        ("Base.shown", "1.0", "2.0", lambda: Base().shown),
        ("Base.kept", "1.0", "2.0", lambda: Base().kept),
        ("Base.of_class", "+ 1.0", "- 1.0", lambda: Base.of_class(2.0)),
        ("Base.of_none", "+ 1.0", "- 1.0", lambda: Base.of_none(2.0)),
        ("Base.several", "yield 2.0", "yield 3.0", lambda: list(Base().several())),
        ("Derived.method", "+ 1.0", "- 1.0", lambda: Derived().method(2.0)),
    ],
)
def test_whoever_holds_the_function_runs_the_edited_text_and_then_its_own_again(
    place: str, was: str, now: str, ask: Callable[[], object]
) -> None:
    before = ask()
    with edited_source(f"{HERE}:{place}", [(was, now)]):
        assert ask() != before
    assert ask() == before


def test_the_text_is_put_back_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), edited_source(f"{HERE}:plain", [("x + more", "x / 0")]):
        plain(1.0)
    assert plain(1.0) == 2.0


def test_several_edits_go_in_together_and_defaults_stay() -> None:
    with edited_source(f"{HERE}:plain", [("return x", "y = 10 * x\n    return x"), ("x + more", "y + more")]):
        assert plain(2.0) == 21.0


@each_row(
    ("place", "was", "now", "problem"),
    [
        ("plain", "x - more", "x", "occurs 0 times"),
        ("plain", "more", "less", "occurs 2 times"),
        ("plain", "x + more", "x + more", "another text"),
        ("plain", "", "x", "occurs 0 times"),
        ("plain", "= 1.0", "= 2.0", "signature"),
        ("plain", "x + more", "x +", "is not Python"),
        ("Derived.method", "super().method(x)", "x", "encloses"),
        ("absent", "x", "y", "expected module:Qualified.name"),
        ("Base", "x", "y", "expected a function"),
    ],
)
def test_what_cannot_be_planted_is_refused_in_words(place: str, was: str, now: str, problem: str) -> None:
    with pytest.raises(DefinitionError, match=problem), edited_source(f"{HERE}:{place}", [(was, now)]):
        pass


def test_a_function_is_edited_once_at_a_time() -> None:
    with (
        edited_source(f"{HERE}:plain", [("x + more", "x - more")]),
        pytest.raises(DefinitionError, match="edited already"),
    ):
        source_text(f"{HERE}:plain")


def test_compiled_functions_are_refused() -> None:
    with pytest.raises(DefinitionError, match="expected a function written in Python"):
        source_text("math:sqrt")

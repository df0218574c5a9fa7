"""A scheme is loaded once, its target built once, and handed on from there."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from sgverify.configuration import load_configuration
from sgverify.subject import binding, subject
from sgverify.verdict.asking import enquire

DOORS: tuple[tuple[ModuleType, str], ...] = ((binding, "load_step"), (subject, "build_target"))


def counted(name: str, door: Callable[..., Any], passed: list[str]) -> Callable[..., Any]:
    def through(*given: Any, **more: Any) -> Any:
        passed.append(name)
        return door(*given, **more)

    return through


@pytest.mark.parametrize("reference", ["sghmc-aboba", "resgld"])
def test_every_question_shares_one_scheme_and_one_target(
    reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full gradients and minibatches are judged, of a composite its scheme too: all by what was bound first."""
    passed: list[str] = []
    for module, name in DOORS:
        monkeypatch.setattr(module, name, counted(name, getattr(module, name), passed))
    enquiry = enquire(reference, load_configuration(None))
    assert not enquiry.not_validated and len(enquiry.questions) > 20
    assert {item.subject.target for item in enquiry.questions} == {enquiry.subject.target}
    assert sorted(passed) == ["build_target", "load_step"]

"""What extensions are written with stays as it is: names and signatures are those of a committed file, typed and documented."""

from __future__ import annotations

import inspect
import sys
import typing
from subprocess import run

import pytest

import sgverify.extending
from tests.extending.surface import FILE, lines, surface

NAMES = sgverify.extending.__all__


def test_names_and_signatures_are_the_committed_ones() -> None:
    """A change is for `python -m tests.extending.surface` and a line in CHANGELOG.md."""
    assert surface() == FILE.read_text(encoding="utf-8")


def test_a_change_of_a_signature_shows() -> None:
    def before(a: int, *, b: int = 1) -> None: ...
    def after(a: int, *, b: int = 2) -> None: ...

    assert [*lines("f", before)] != [*lines("f", after)]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_documented_and_typed(name: str) -> None:
    found = getattr(sgverify.extending, name)
    if inspect.isclass(found) or inspect.isfunction(found):
        assert inspect.getdoc(found)
    if inspect.isfunction(found):
        # What is annotated with a name of TYPE_CHECKING has no value at run time.
        untyped = [p.name for p in inspect.signature(found).parameters.values() if p.annotation is p.empty]
        assert (
            untyped == [] and inspect.signature(found).return_annotation is not inspect.Signature.empty
        ) or (typing.get_type_hints(found))


def test_the_names_load_nothing_before_they_are_asked_for() -> None:
    program = "import sys, sgverify.extending; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert run([sys.executable, "-c", program], check=False).returncode == 0

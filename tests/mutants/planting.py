"""A mutant planted, and the correct scheme beside it: two subjects under one configuration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sgverify.exact.readings.formula import define, formula
from sgverify.schemes import Scheme
from sgverify.schemes.loading import load_scheme
from sgverify.schemes.scheme import make_scheme
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from sgverify.testing.planting import PlantError, edited, edited_source
from tests.mutants.mutant import FORMULA, ORDER, WORD, Mutant


def right(mutant: Mutant) -> Subject:
    """The correct scheme, under the mutant's configuration."""
    return make_subject(mutant.scheme, mutant.configuration)


@contextmanager
def planted(mutant: Mutant) -> Iterator[Subject]:
    """The subject with the bug in it; a bug of the running code is there until the context ends.

    Raises `PlantError` where the text does not occur exactly once, and what making the edited scheme raises where it is
    not well-formed.
    """
    if mutant.in_definition:
        yield make_subject(planted_scheme(mutant), mutant.configuration)
        return
    with edited_source(mutant.place, mutant.edits):
        yield right(mutant)


def planted_scheme(mutant: Mutant) -> Scheme:
    """The scheme of a bug that lies in a definition, with a reference that every command takes.

    Raises what `planted` does, and `PlantError` for a bug of the running code.
    """
    original = load_scheme(mutant.scheme)
    if mutant.place == FORMULA:
        scheme = _by_formula(original, mutant)
    elif mutant.place == WORD:
        if original.word is None:
            raise PlantError(f"mutant {mutant.name}: {mutant.scheme} is no word; expected one")
        text = edited(original.word.text, mutant.edits, WORD)
        scheme = original.word.alphabet.word(text, order=original.order)
    elif mutant.place == ORDER:
        scheme = original.named(original.name, order=int(edited(str(original.order), mutant.edits, ORDER)))
    else:
        raise PlantError(
            f"mutant {mutant.name}: changes the running code, {mutant.place}, and no scheme; judge it by `python -m reports power "
            f"{mutant.name}`"
        )
    return scheme.named(
        mutant.name,
        summary=f"{original.name} with a planted bug: {mutant.reason}",
        source=mutant.source,
        reference=f"tests.mutants.schemes:{mutant.name}",
    )


def _by_formula(original: Scheme, mutant: Mutant) -> Scheme:
    text = edited(formula(original), mutant.edits, mutant.scheme)
    name = text.split("(", 1)[0].removeprefix("def ")
    function = define(text, name, f"<planted in {original.name}>")
    return make_scheme(function, original.dynamics, order=original.order, memory=original.memory)

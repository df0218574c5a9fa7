"""A mutant is the correct scheme with one change, and nothing is left of it afterwards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sgverify.errors import DefinitionError, UnknownNameError
from sgverify.exact.readings.formula import formula
from sgverify.schemes import find_scheme
from sgverify.schemes.loading import load_scheme
from sgverify.testing.planting import edited_source, source_text
from tests.mutants.mutant import WORD, Mutant
from tests.mutants.planting import planted, right
from tests.mutants.registry import find_mutant, mutants


def assert_leaves_nothing_behind(mutant: Mutant) -> None:
    """Plant a mutant and take it out."""
    assert mutant.reason and mutant.source
    correct = right(mutant)
    if mutant.in_definition:
        with planted(mutant) as subject:
            assert subject.configuration == correct.configuration
            assert subject.scheme.dynamics is correct.scheme.dynamics
            changed = formula(subject.scheme).split("\n")[1:] != formula(correct.scheme).split("\n")[1:]
            assert changed or subject.scheme.order != correct.scheme.order
            assert load_scheme(subject.reference).name == mutant.name
    else:
        before = source_text(mutant.place)
        with planted(mutant) as subject:
            assert subject == correct
            with pytest.raises(DefinitionError, match="edited already"):
                source_text(mutant.place)
        assert source_text(mutant.place) == before


@pytest.mark.power  # `test_kills` asks it of each mutant
@pytest.mark.parametrize("mutant", mutants().values(), ids=lambda mutant: mutant.name)
def test_every_mutant_can_be_planted_and_leaves_nothing_behind(mutant: Mutant) -> None:
    assert_leaves_nothing_behind(mutant)


def test_an_edit_that_does_not_occur_once_is_refused() -> None:
    with pytest.raises(DefinitionError, match="occurs 0 times"), planted(replace(noise(), was="sqrt(3*h)")):
        pass
    with pytest.raises(DefinitionError, match="occurs 2 times"), planted(replace(noise(), was="h/2*p")):
        pass


def test_a_word_is_edited_in_words_alone() -> None:
    with (
        pytest.raises(DefinitionError, match="no word"),
        planted(replace(noise(), place=WORD, scheme="sgld-euler")),
    ):
        pass


def test_a_bug_of_the_running_code_has_no_reference() -> None:
    with pytest.raises(DefinitionError, match="python -m reports power"):
        load_scheme("tests.mutants.schemes:noise-of-two-steps")


def test_the_formula_as_it_was_is_the_scheme() -> None:
    """What tells a mutant apart is the edit, not the way in which it is made."""
    with planted(replace(noise(), now=noise().was + "*1")) as subject:
        assert subject.scheme.order == find_scheme("sghmc-aboba").order
        assert subject.order.order == right(noise()).order.order


def test_an_unknown_mutant_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="aboba-noise-by-h"):
        find_mutant("aboba-noise-by")


def test_a_mutant_of_the_running_code_runs_for_whoever_imported_the_function() -> None:
    from sgverify.samplers.gradients.minibatches import check_minibatches

    place = "sgverify.samplers.gradients.minibatches:check_minibatches"
    with edited_source(place, [("return target.size", "return 0")]):
        assert check_minibatches("iid", right(noise()).target, 2) == 0
    assert check_minibatches("iid", right(noise()).target, 2) == 4


def noise() -> Mutant:
    return find_mutant("aboba-noise-without-2")

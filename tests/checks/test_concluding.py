"""One function of judgement, scope and question decides a verdict, and scopes are combined in one place."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sgverify.checks.concluding import conclude
from sgverify.evidence import AXES, EVERY, Extent, Scope, held, tried
from sgverify.rates.verdict import Judgement
from sgverify.verdict.untested import NOUNS, reach_text

CONFORMS, VIOLATES = Judgement("conforms", True, "order 2"), Judgement("violates", False, "order 0")

numbers = st.lists(st.floats(0.1, 100), max_size=4, unique=True)
extents = st.one_of(
    st.just(EVERY),
    st.builds(lambda values: tried(f"at {values}", values), numbers),
    st.builds(lambda name: tried(f"as {name}"), st.sampled_from("abc")),
    st.builds(lambda name: held(f"the counter {name}"), st.sampled_from("abc")),
)
scopes = st.builds(
    lambda found: Scope(**found), st.dictionaries(st.sampled_from(AXES), extents, max_size=len(AXES))
)
questions = st.dictionaries(st.sampled_from(AXES), st.lists(st.floats(0.1, 100), min_size=1, max_size=2))


@given(scopes, scopes, questions)
def test_an_answer_that_rests_on_others_reaches_no_more_than_each(one, other, asked):
    both = one.meet(other)
    missed = {*both.missing(asked)}
    assert missed >= {*one.missing(asked), *other.missing(asked)}
    assert {*other.meet(one).missing(asked)} == missed
    assert both.extents.keys() == one.extents.keys() | other.extents.keys()


@given(scopes, scopes, scopes, questions)
def test_the_order_in_which_scopes_meet_is_nothing(one, other, third, asked):
    assert (
        one.meet(other).meet(third).missing(asked).keys() == one.meet(other.meet(third)).missing(asked).keys()
    )
    assert one.meet(one) == one


@given(scopes, scopes, questions)
def test_answers_that_try_more_never_take_back_what_was_held(one, other, asked):
    joined = one.join(other)
    for axis, extent in joined.extents.items():
        parts = [scope.extents[axis] for scope in (one, other) if axis in scope.extents]
        assert (extent.reach == "held") == any(part.reach == "held" for part in parts)
        if extent.reach == "every":
            assert any(part.reach == "every" for part in parts)
        for part in parts:
            assert extent.reach != "tried" or part.told in extent.told or part.values is not None


@given(scopes, questions)
def test_a_pass_covers_every_axis_that_was_examined(scope, asked):
    judged = conclude(CONFORMS, scope, asked)
    missing = scope.missing(asked)
    assert (judged.verdict == "conforms") == (not missing)
    if missing:
        assert judged.verdict == "inconclusive" and not judged.sharp
        assert all(extent.told in judged.reason for extent in missing.values()) and "order 2" in judged.reason


@given(scopes, questions)
def test_a_failure_rests_on_nothing_that_was_held(scope, asked):
    judged = conclude(VIOLATES, scope, asked)
    assert (judged.verdict == "violates") == all(extent.reach != "held" for extent in scope.extents.values())


@pytest.mark.parametrize("verdict", ["inconclusive", "not-applicable"])
@given(scope=scopes, asked=questions)
def test_no_scope_makes_an_answer_of_none(verdict, scope, asked):
    judged = Judgement(verdict, False, "not computed")
    assert conclude(judged, scope, asked) == judged


@given(st.lists(scopes, min_size=1, max_size=4), st.sampled_from(AXES))
def test_each_axis_that_was_tried_is_named_in_the_answers_own_line(parts, axis):
    whole = reduce(Scope.meet, parts)
    extent = whole.extents.get(axis)
    assume(extent is not None)
    assert isinstance(extent, Extent)
    line = reach_text(whole)
    assert NOUNS[axis] in line if extent.reach == "every" else extent.told in line


def test_texts_of_scopes_are_read_back():
    for extent in (EVERY, tried("h -> 0"), held("the counter n at 1")):
        assert Extent.read(str(extent)) == extent


def test_an_extent_says_what_it_is_of():
    with pytest.raises(ValueError, match="what was tried or held is named"):
        Extent("tried")
    with pytest.raises(ValueError, match="expected one of every, tried, held"):
        Extent("some", "thing")  # type: ignore[arg-type]

"""The schemes that ship, and how they are found."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgverify.errors import DefinitionError, UnknownNameError
from sgverify.schemes import ALPHABETS, NAMED, Scheme, find_scheme
from tests.tables import each_row


@each_row(
    "name",
    [
        "sgld-euler",
        "sghmc-euler",
        "sghmc-euler-explicit",
        "sghmc-aboba",
        "sghmc-baoab",
        "sghmc-obabo",
        "sghmc-oabao",
        "sghmc-ubu",
        "sghmc-nogin",
        "sghmc-nogin-0.5",
        "sgnht-euler",
        "sgnht-aboba",
        "sgrld-euler",
        "sgrhmc-euler",
        "psgld",
        "psgld-0.999-0.1",
        "psgld-0.9-0.01",
    ],
)
def test_the_schemes_that_are_promised_are_there(name: str) -> None:
    assert find_scheme(name).name == name


@each_row("name", NAMED)
def test_a_named_scheme_is_complete(name: str) -> None:
    found = find_scheme(name)
    assert isinstance(found, Scheme)
    assert found.name == name
    # A sampler that is known to leave another density invariant states no order.
    assert found.order or found.memory
    assert found.summary
    assert found.source
    assert found.draws >= 1
    assert found.gradients >= 1
    assert set(found.parameters) <= set(found.dynamics.parameters)


@given(st.sampled_from(sorted(ALPHABETS)), st.data(), st.booleans())
@settings(max_examples=40)
def test_any_word_is_a_scheme(prefix: str, data: st.DataObject, capitals: bool) -> None:
    letters = sorted(ALPHABETS[prefix].letters)
    more = st.lists(st.sampled_from(letters), max_size=4)
    text = data.draw(more.flatmap(lambda extra: st.permutations(letters + extra)).map("".join))
    found = find_scheme(f"{prefix}-{text if capitals else text.lower()}")
    assert found.name == f"{prefix}-{text.lower()}"
    assert found.word is not None
    assert found.word.text == text
    assert found.word.alphabet is ALPHABETS[prefix]
    assert found.order is None
    assert text in found.summary
    assert found.source


def test_the_short_names_mean_the_paper_that_they_are_known_from() -> None:
    for short, long in (
        ("sghmc-aboba", "sghmc-chen-aboba"),
        ("sghmc-baoab", "sghmc-md-baoab"),
        ("sgnht-aboba", "sgnht-chen-aboba"),
    ):
        assert find_scheme(short).word == find_scheme(long).word


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("sghmc-abobo", "sghmc-aboba"),
        ("sgld_euler", "sgld-euler"),
        ("sghmc-euler-implicit", "sghmc-euler-explicit"),
        ("sghmc-chem-word", "sghmc-chen-WORD"),
    ],
)
def test_an_unknown_scheme_is_refused_with_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(
        UnknownNameError, match=rf"unknown scheme '{name}'; did you mean '{nearest}'"
    ) as caught:
        find_scheme(name)
    assert caught.value.nearest == nearest


def test_a_scheme_that_resembles_nothing_is_refused_with_all_names() -> None:
    with pytest.raises(UnknownNameError, match=r"known: .*sgld-euler.*path/to/file\.py:attribute"):
        find_scheme("zzzzzz")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sghmc-chen-", "the word is empty"),
        ("sghmc-chen-abba", "the letter O does not occur"),
        ("sghmc-md-abxba", "unknown letter"),
    ],
)
def test_a_malformed_word_is_refused(name: str, message: str) -> None:
    with pytest.raises((DefinitionError, UnknownNameError), match=message):
        find_scheme(name)


def test_names_must_be_names() -> None:
    with pytest.raises(UnknownNameError):
        find_scheme("")


def test_names_that_are_equally_near_are_all_named():
    with pytest.raises(
        UnknownNameError, match="did you mean 'sghmc-aboba' or 'sghmc-baoab' or 'sghmc-oabao'"
    ):
        find_scheme("sghmc-abaob")

"""Every configuration key says what it is, in one clause."""

from __future__ import annotations

from sgverify.configuration.keys import MEANINGS, keys


def test_every_key_has_a_meaning_and_no_meaning_is_left_of_a_key_that_went() -> None:
    assert [key.name for key in keys()] == list(MEANINGS)


def test_a_meaning_is_a_clause_of_one_line() -> None:
    for name, meaning in MEANINGS.items():
        assert meaning and ": " not in meaning and not meaning.endswith("."), name
        assert len(meaning) <= 110, name

"""Which edits of a definition are tried? All changes in one place that somebody makes by mistake, the simplest first."""

from __future__ import annotations

from collections.abc import Iterator

from sgverify.advice.diagnosis.expressions import Expressions
from sgverify.advice.diagnosis.names import Names
from sgverify.advice.diagnosis.products import Products
from sgverify.advice.diagnosis.rules import SIMPLE, Candidate
from sgverify.advice.diagnosis.source import Replacement, Text
from sgverify.advice.diagnosis.sums import SumRules


def candidates(text: Text) -> list[Candidate]:
    """All edits in one place of a text, the simplest first, and of equally simple ones the shortest."""
    found = list(_of_word(text) if text.word else _of_function(text))
    unlike: dict[str, Candidate] = {}
    for candidate in sorted(found, key=lambda candidate: (candidate.cost, candidate.length)):
        unlike.setdefault(candidate.applied(text.text), candidate)
    unlike.pop(text.text, None)
    return list(unlike.values())


def _of_word(text: Text) -> Iterator[Candidate]:
    word, letters = text.text, text.names
    for k in range(len(word) + 1):
        for letter in letters:
            yield Candidate((Replacement(k, k, letter),), SIMPLE, ("letter", "", letter))
            if k < len(word):
                yield Candidate((Replacement(k, k + 1, letter),), SIMPLE, ("letter", word[k], letter))
        if k < len(word):
            yield Candidate((Replacement(k, k + 1, ""),), SIMPLE, ("letter", word[k], ""))
        if k + 1 < len(word):
            yield Candidate(
                (Replacement(k, k + 2, word[k + 1] + word[k]),), SIMPLE, ("letter", word[k], word[k + 1])
            )


def _of_function(text: Text) -> Iterator[Candidate]:
    read = Expressions(text.text)
    yield from Products(text, read).all()
    yield from SumRules(text, read).all()
    yield from Names(text, read).all()

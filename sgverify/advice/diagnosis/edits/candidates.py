"""Which edits of a definition are tried? All changes in one place that somebody makes by mistake, the simplest first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from sgverify.advice.diagnosis.edits.expressions import Expressions
from sgverify.advice.diagnosis.edits.names import Names
from sgverify.advice.diagnosis.edits.products import Products
from sgverify.advice.diagnosis.edits.rules import SIMPLE, USUAL, Candidate
from sgverify.advice.diagnosis.edits.sums import SumRules
from sgverify.advice.diagnosis.source import Replacement, Text


def candidates(text: Text) -> list[Candidate]:
    """All edits in one place of a text, the simplest first, and of equally simple ones the shortest."""
    made = _of_shares if text.shares else _of_word if text.word else _of_function
    found = list(made(text))
    unlike: dict[str, Candidate] = {}
    for candidate in sorted(found, key=lambda candidate: (candidate.cost, candidate.length)):
        candidate = _asking(candidate, text)
        unlike.setdefault(candidate.applied(text.text), candidate)
    unlike.pop(text.text, None)
    return list(unlike.values())


def _asking(candidate: Candidate, text: Text) -> Candidate:
    """The edit, and one of the signature where it writes a number that the text does not ask for."""
    new = " ".join(change.new for change in candidate.changes)
    missing = [name for name in text.offered if re.search(rf"\b{name}\b", new)]
    if not missing or text.word:
        return candidate
    read = Expressions(text.text)
    asked = read.definition.args.kwonlyargs
    if not asked:
        return candidate
    end = read.end_of_argument(asked[-1])
    signature = Replacement(end, end, "".join(f", {name}" for name in missing))
    return replace(candidate, changes=(signature, *candidate.changes))


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


def _of_shares(text: Text) -> Iterator[Candidate]:
    """Equal shares for the occurrences of one letter, or of all; and shares that read the same from both ends."""
    shares, word = text.text.split(","), text.names
    counts = Counter(word)
    equal = [str(Fraction(1, counts[letter])) for letter in word]
    for letter in dict.fromkeys(word):
        new = [equal[k] if word[k] == letter else share for k, share in enumerate(shares)]
        yield _of_parts(shares, new, SIMPLE, ("share", letter))
    yield _of_parts(shares, equal, USUAL, ("share",))
    if word == word[::-1]:
        with suppress(ValueError):
            own = [Fraction(share) for share in shares]
            both = [str((a + b) / 2) for a, b in zip(own, reversed(own), strict=True)]
            yield _of_parts(shares, both, USUAL, ("share", "both ends"))


def _of_parts(parts: Sequence[str], new: Sequence[str], cost: int, rule: tuple[str, ...]) -> Candidate:
    """The edit that puts new parts in a text with commas."""
    changes, place = [], 0
    for one, other in zip(parts, new, strict=True):
        if one != other:
            changes.append(Replacement(place, place + len(one), other))
        place += len(one) + 1
    return Candidate(tuple(changes), cost, rule)


def _of_function(text: Text) -> Iterator[Candidate]:
    read = Expressions(text.text)
    yield from Products(text, read).all()
    yield from SumRules(text, read).all()
    yield from Names(text, read).all()

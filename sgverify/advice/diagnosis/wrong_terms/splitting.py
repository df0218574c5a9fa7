"""The cause where the step is a word: a letter that is not its exact flow, letters that act for the wrong time, no symmetry."""

from __future__ import annotations

from fractions import Fraction

from sgverify.advice.diagnosis.model import Cause
from sgverify.exact.series.letters import AlphabetProof
from sgverify.exact.splittings.bch import bch
from sgverify.schemes.splittings import Word


def wrong_word(word: Word, alphabet: AlphabetProof, order: Fraction, required: int) -> Cause | None:
    """The cause of a word's lower order where its letters or their places explain it.

    None where the letters are not proved because they sum to another generator: then the terms of that say more.
    """
    inexact = [fault for fault in alphabet.faults if "is not the flow" in fault]
    if not alphabet.faults or (inexact and order >= 1):
        if inexact:
            return Cause("letter-not-exact", _inexact(inexact[0], alphabet))
        return _by_shares(word) or _by_symmetry(word, order, required)
    return None


def _inexact(fault: str, alphabet: AlphabetProof) -> str:
    symbol = fault.split()[1]
    return f"{fault}; it flows along {alphabet.generators[symbol]}"


def _by_shares(word: Word) -> Cause | None:
    """A letter whose shares do not sum to 1."""
    for letter in dict.fromkeys(word.text):
        shares = [share for symbol, share in zip(word.text, word.shares, strict=True) if symbol == letter]
        total = sum(shares[1:], shares[0])
        if total != 1:
            texts = " + ".join(map(str, shares))
            return Cause(
                "substep-wrong", f"letter {letter} acts for ({texts}) h = {total} h in all, where h is due"
            )
    return None


def _by_symmetry(word: Word, order: Fraction, required: int) -> Cause | None:
    """Order 1 of a word that does not read the same in both directions, or a claim beyond what a symmetric one has."""
    found = bch(word.text, word.shares)
    leading = ", ".join(str(term) for term in found.leading[:3])
    if not word.palindromic:
        apart = next(
            place
            for place, pair in enumerate(zip(_steps(word), reversed(_steps(word)), strict=True))
            if pair[0] != pair[1]
        )
        first, last = _steps(word)[apart], _steps(word)[-1 - apart]
        return Cause(
            "word-not-symmetric",
            f"the word {word.text} is not symmetric: place {apart + 1} from the front is {_shown(first)}, and from the back "
            f"{_shown(last)}; its order is {order}, with the leading term {leading}",
        )
    return Cause(
        "claimed-order",
        f"the word {word.text} is symmetric and of order {order}, and {required} is claimed: its leading term is {leading}",
    )


def _steps(word: Word) -> list[tuple[str, object]]:
    return list(zip(word.text, word.shares, strict=True))


def _shown(step: tuple[str, object]) -> str:
    letter, share = step
    return letter if share == 1 else f"{letter} for {share} h"


__all__ = ["wrong_word"]

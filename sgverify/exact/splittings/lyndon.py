"""Lyndon words, their standard bracketing, and Lie elements in the basis they form.

How a product of exponentials acts on the coefficients of Lyndon words, tabulated once for an alphabet.

The coefficient of a word w in P exp(c X) needs those of P at w itself and at w without its last 1, 2, ... letters,
as far as these are X: prefixes of w only. So the prefixes of the Lyndon words of one degree are closed under every
factor; for 3 letters and degree 8 they are a sixth of all words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import comb, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgverify.errors import SgverifyError


class NotALieElementError(SgverifyError):
    """An element of the free associative algebra is not a combination of commutators."""


def is_lyndon(word: str) -> bool:
    """Tell whether a word is smaller than each of its proper suffixes, in the order of the dictionary.

    >>> is_lyndon("AAB"), is_lyndon("ABA"), is_lyndon("AA")
    (True, False, False)
    """
    return bool(word) and all(word < word[i:] for i in range(1, len(word)))


def lyndon_words(letters: Sequence[str], degree: int) -> tuple[str, ...]:
    """Return the Lyndon words of exactly `degree` letters, in the order of the dictionary.

    Source: Duval 1988, Theoretical Computer Science 60, 255-283. From one Lyndon word of at most `degree`
    letters to the next: repeat it up to `degree` letters, drop the largest letter at the end as often as it
    stands there, and raise the last letter that is left.

    >>> lyndon_words("AB", 3)
    ('AAB', 'ABB')
    """
    shorter_too = _lyndon_words_up_to(tuple(sorted(set(letters))), degree)
    return tuple(word for word in shorter_too if len(word) == degree)


def standard_factorization(word: str) -> tuple[str, str]:
    """Return (u, v) with word = uv and v the longest proper suffix that is a Lyndon word; u is then one too.

    `word`: a Lyndon word of two letters or more (Lothaire 1983, Combinatorics on Words, section 5.1).

    >>> standard_factorization("AABB")
    ('A', 'ABB')
    """
    if len(word) < 2 or not is_lyndon(word):
        raise SgverifyError(
            f"word={word!r} has no standard factorization: expected a Lyndon word of two letters or more"
        )
    # The longest Lyndon suffix is the smallest suffix in the order of the dictionary.
    start = min(range(1, len(word)), key=lambda i: word[i:])
    return word[:start], word[start:]


@lru_cache(maxsize=100_000)
def commutator(word: str) -> str:
    """Return the standard bracketing of a Lyndon word as text: b(uv) = [b(u),b(v)], b of a letter the letter.

    Every standard bracketing is read back by dropping the brackets and commas.

    >>> commutator("AAB"), commutator("ABB")
    ('[A,[A,B]]', '[[A,B],B]')
    """
    if len(word) == 1:
        return word
    left, right = standard_factorization(word)
    return f"[{commutator(left)},{commutator(right)}]"


def standard_bracketing(text: str) -> tuple[str, str]:
    """Return the two entries of a commutator of the basis.

    >>> standard_bracketing("[[A,B],B]")
    ('[A,B]', 'B')
    """
    left, right = standard_factorization(_lyndon_word_of(text))
    return commutator(left), commutator(right)


def expand(combination: Mapping[str, Any]) -> dict[str, Any]:
    """Return a combination of standard bracketings as a combination of associative words, zeros left out.

    `combination`: coefficient of each commutator (the text of `commutator`), or of its Lyndon word.

    >>> expand({"[A,[A,B]]": Fraction(1)})
    {'AAB': Fraction(1, 1), 'ABA': Fraction(-2, 1), 'BAA': Fraction(1, 1)}
    """
    total: defaultdict[str, Any] = defaultdict(Fraction)
    for text, coefficient in combination.items():
        for word, integer in _expansion(_lyndon_word_of(text)).items():
            total[word] = total[word] + coefficient * integer
    return {word: total[word] for word in sorted(total) if total[word]}


def lyndon_coefficients(element: Mapping[str, Any]) -> dict[str, Any]:
    """Return the coefficients of a Lie element in the Lyndon basis, keyed by commutator, zeros left out.

    element: coefficient of each associative word; degrees may be mixed.

    The standard bracketing of a Lyndon word l is l plus greater words (Lothaire 1983, section 5.3). So, with
    the Lyndon words of a degree read upwards, the coefficient of l is what the smaller ones have left at l.
    A remainder of zero at the end proves that the element is a Lie element.

    Raises NotALieElementError otherwise.

    >>> lyndon_coefficients({"AB": Fraction(1, 2), "BA": Fraction(-1, 2)})
    {'[A,B]': Fraction(1, 2)}
    """
    # Rationals are brought to integers first; numbers of a field stay what they are.
    rational = all(isinstance(coefficient, Fraction) for coefficient in element.values())
    denominator = lcm(1, *(coefficient.denominator for coefficient in element.values())) if rational else 1
    remainder: dict[str, Any] = {
        word: int(coefficient * denominator) if rational else coefficient
        for word, coefficient in element.items()
        if coefficient
    }
    letters = sorted({letter for word in remainder for letter in word})
    found: dict[str, Any] = {}
    for degree in sorted({len(word) for word in remainder}):
        for lyndon_word in lyndon_words(letters, degree):
            coefficient = remainder.get(lyndon_word, 0)
            if coefficient:
                found[commutator(lyndon_word)] = (
                    Fraction(coefficient, denominator) if rational else coefficient
                )
                for word, integer in _expansion(lyndon_word).items():
                    remainder[word] = remainder.get(word, 0) - coefficient * integer
    for word, left in remainder.items():
        if left:
            raise NotALieElementError(
                f"not a Lie element: the word {word!r} keeps the weight {left * Fraction(1, denominator)} "
                "when all commutators of the Lyndon basis are taken out"
            )
    return found


def from_lyndon_words(element: Mapping[str, Any], degree: int) -> dict[str, Any]:
    """Return the Lyndon basis coefficients of a homogeneous Lie element from its coefficients at Lyndon words alone.

    element: the coefficient at each Lyndon word of `degree` letters, zeros left out. Any numbers that know - and *.

    The standard bracketing of a Lyndon word l is l plus greater words, so the system is unitriangular, read upwards.
    The element is assumed to be a Lie element; `lyndon_coefficients` proves that, from all of its words.

    >>> from_lyndon_words({"AAB": Fraction(1, 2)}, 3)
    {'[A,[A,B]]': Fraction(1, 2)}
    """
    remainder = dict(element)
    found: dict[str, Any] = {}
    for lyndon_word in lyndon_words(sorted({letter for word in element for letter in word}), degree):
        coefficient = remainder.get(lyndon_word, 0)
        if coefficient:
            found[commutator(lyndon_word)] = coefficient
            for word, integer in _at_lyndon_words(lyndon_word):
                remainder[word] = remainder.get(word, 0) - coefficient * integer
    return found


def _lyndon_words_up_to(letters: tuple[str, ...], degree: int) -> Iterator[str]:
    successor = dict(pairwise(letters))
    word = letters[0] if letters and degree > 0 else ""
    while word:
        yield word
        repeated = (word * degree)[:degree].rstrip(letters[-1])
        word = repeated[:-1] + successor[repeated[-1]] if repeated else ""


def _lyndon_word_of(text: str) -> str:
    word = text.translate(str.maketrans("", "", "[],"))
    if not is_lyndon(word) or text not in (word, commutator(word)):
        raise SgverifyError(
            f"commutator={text!r} is not in the Lyndon basis: expected a Lyndon word or its standard "
            "bracketing, such as '[A,[A,B]]'"
        )
    return word


@lru_cache(maxsize=100_000)
def _at_lyndon_words(lyndon_word: str) -> tuple[tuple[str, int], ...]:
    """The part of the standard bracketing at Lyndon words, itself included."""
    return tuple((word, integer) for word, integer in _expansion(lyndon_word).items() if is_lyndon(word))


@lru_cache(maxsize=100_000)
def _expansion(lyndon_word: str) -> dict[str, int]:
    """The standard bracketing in associative words; the result is cached and must not be changed."""
    if len(lyndon_word) == 1:
        return {lyndon_word: 1}
    left, right = (_expansion(factor) for factor in standard_factorization(lyndon_word))
    terms: defaultdict[str, int] = defaultdict(int)
    for u, p in left.items():
        for v, q in right.items():
            terms[u + v] += p * q
            terms[v + u] -= p * q
    return {word: terms[word] for word in terms if terms[word]}


Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Ending:
    """The action of a factor exp(c X) of one letter X: new[target] = sum_n weight c^n old[source], n = 0, 1, ....

    targets: the prefixes that end in X. sources, powers, weights: one entry for each target and n; the entries of
    the i-th target start at starts[i]. weights: binomial(length of the target, n), for coefficients that are scaled
    by the factorial of the length.
    """

    targets: Places
    starts: Places
    sources: Places
    powers: Places
    weights: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LyndonTable:
    """The Lyndon words of one degree, and the actions of letters on the coefficients of their prefixes.

    words: the Lyndon words in lexicographic order; places: their indices among the prefixes, of which the empty one
    is the first. endings: the action of each letter.
    """

    words: tuple[str, ...]
    size: int
    places: Places
    endings: dict[str, Ending]


@lru_cache(maxsize=64)
def lyndon_table(letters: str, degree: int) -> LyndonTable:
    """The table of an alphabet of sorted `letters` at one degree of 1 or more."""
    words = lyndon_words(letters, degree)
    place = {"": 0}
    parents, lasts, lengths, runs = [0], [""], [0], [0]
    for before, word in pairwise(("", *words)):
        # In the order of the dictionary the prefixes that two neighbours share are known already.
        shared = 0
        while before[: shared + 1] == word[: shared + 1]:
            shared += 1
        at = place[word[:shared]]
        for length in range(shared + 1, degree + 1):
            letter = word[length - 1]
            runs.append(runs[at] + 1 if lasts[at] == letter else 1)
            parents.append(at)
            lasts.append(letter)
            lengths.append(length)
            at = place[word[:length]] = len(parents) - 1
    return LyndonTable(
        words,
        len(parents),
        np.array([place[word] for word in words], dtype=np.intp),
        {letter: _ending(letter, parents, lasts, lengths, runs) for letter in letters},
    )


def _ending(letter: str, parents: list[int], lasts: list[str], lengths: list[int], runs: list[int]) -> Ending:
    targets = [i for i, last in enumerate(lasts) if last == letter]
    starts: list[int] = []
    sources: list[int] = []
    powers: list[int] = []
    weights: list[int] = []
    for target in targets:
        starts.append(len(sources))
        source, length = target, lengths[target]
        for n in range(runs[target] + 1):
            sources.append(source)
            powers.append(n)
            weights.append(comb(length, n))
            source = parents[source]
    return Ending(
        np.array(targets, dtype=np.intp),
        np.array(starts, dtype=np.intp),
        np.array(sources, dtype=np.intp),
        np.array(powers, dtype=np.intp),
        np.array(weights, dtype=np.int64),
    )

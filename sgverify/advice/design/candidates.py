"""Candidates: the words over an alphabet that take so many gradients a step, and which of their shares are equal.

A candidate is a core, of mirrored shares where the order is even, and a tail of letters that leave the density invariant, each for
the whole step: where the core keeps the density to some order, so does the word. Without a tail it is a usual splitting, with one
a method such as the geometric Langevin algorithms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any

from numpy.typing import NDArray

from sgverify.exact.series.invariant_order import leaves_density
from sgverify.exact.series.letters import AlphabetProof
from sgverify.exact.splittings.splitting import product_of_exponentials
from sgverify.schemes.splittings import Alphabet, flows_backwards


@dataclass(frozen=True)
class CandidateWord:
    """A word whose k-th letter has the share x[places[k]]; `forwards`: the places of shares that may not be negative."""

    word: str
    gradients: int
    places: tuple[int, ...]
    forwards: tuple[int, ...]

    def series(self, x: Sequence[Any], letters: str, degree: int) -> list[NDArray[Any]]:
        """The coefficients of the words of 0, 1, ..., `degree` letters in exp(c_1 X_1) exp(c_2 X_2) ..."""
        return product_of_exponentials(self.word, [x[k] for k in self.places], degree, letters).components


def gradients_per_step(word: str, alphabet: Alphabet, proof: AlphabetProof) -> int:
    """The points theta at which a step of a long run evaluates the gradient: one where theta has not moved since the last is kept.

    The step is a circle: a gradient at its end is that at the start of the next one.
    """
    theta = [k for k, (name, _) in enumerate(proof.ring.coordinates) if name == "theta"]
    moving = {
        symbol
        for symbol, operator in proof.operators.items()
        if any(index[k] for index in operator for k in theta)
    }
    asking = {
        symbol for symbol, letter in alphabet.letters.items() if "grad" in letter.declaration.ingredients
    }
    start = next((k for k, symbol in enumerate(word) if symbol in moving), 0)
    count, known = 0, False
    # What moves theta and asks for its gradient evaluates it at points of its own.
    for symbol in word[start:] + word[:start]:
        if symbol in asking and (symbol in moving or not known):
            count, known = count + 1, True
        known = known and symbol not in moving
    return count


def candidates(
    alphabet: Alphabet, proof: AlphabetProof, gradients: int, length: int, order: int
) -> Iterator[CandidateWord]:
    """All words of at most so many letters and gradients a step, the shorter first, that may have an order.

    Cores of an even order read the same backwards. From order 3 on some shares are negative; letters that flow forwards alone stand
    once in a word then.
    """
    letters, mirrored = tuple(alphabet.letters), order % 2 == 0
    forwards = {s for s in letters if not flows_backwards(alphabet.letters[s], alphabet.dynamics)}
    closing = [s for s in letters if leaves_density(proof, {s: Fraction(1)}, alphabet.dynamics)]
    # A core that need not read the same backwards has such letters in itself.
    tails = [tail for n in range(len(closing) + 1 if mirrored else 1) for tail in combinations(closing, n)]
    for size, tail in product(range(len(letters), length + 1), tails):
        inner, core = tuple(s for s in letters if s not in tail), size - len(tail)
        if not inner or (mirrored and core % 2 == 0):
            continue
        mirror = [min(k, core - 1 - k) if mirrored else k for k in range(core)]
        places = (*mirror, *range(max(mirror) + 1, max(mirror) + 1 + len(tail)))
        for first in product(inner, repeat=max(mirror) + 1):
            word = "".join((*(first[k] for k in mirror), *tail))
            if set(first) != set(inner) or any(a == b for a, b in pairwise(word)):
                continue
            if order > 2 and any(word.count(symbol) > 1 for symbol in forwards):
                continue
            count = gradients_per_step(word, alphabet, proof)
            if count <= gradients:
                kept = sorted({k for k, symbol in zip(places, word, strict=True) if symbol in forwards})
                yield CandidateWord(word, count, places, tuple(kept))

"""Candidates, and the shares of each with the smallest leading error: found by least squares in floats, and then made exact.

A candidate is a core, of mirrored shares where the order is even, and a tail of letters that leave the density invariant, each for
the whole step: where the core keeps the density to some order, so does the word. Without a tail it is a usual splitting, with one
a method such as the geometric Langevin algorithms.

Order conditions and errors are linear in the coefficients of words, which are polynomials in the shares. Shares that the conditions
leave open become simple fractions near the minimum; those that the conditions fix are found to 100 digits and recognised as
fractions or as roots of a polynomial. That they are what they seem is proved of the scheme afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, islice, pairwise, product
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import least_squares

from sgverify.exact.series.invariant_order import leaves_density
from sgverify.exact.series.letters import AlphabetProof
from sgverify.exact.splittings.splitting import product_of_exponentials
from sgverify.schemes.numbers.algebraic import Algebraic
from sgverify.schemes.numbers.text import read_number
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


Share = Fraction | Algebraic

STRICT, TOLERANCE = 1e4, 1e-8
"""The weight of conditions beside errors, and the largest residual of one in floats; exact shares are proved."""

STARTS, FOLLOWED = 24, 3
"""The most places from which the conditions are solved, and the solutions from which errors are made small."""

WORSE = 1.02
"""The errors at simple fractions are at most so many times the smallest ones."""

DENOMINATORS = (*range(1, 65), 1000, 10**6)

DIGITS, DEGREE, LARGEST = 100, 3, 10**6
"""Shares that conditions fix are found to so many digits, and are roots of polynomials of at most this degree and coefficient."""


@dataclass(frozen=True, eq=False)
class ShareSearch:
    """The conditions of `order`, by degree from 2 on, and the errors at the next degree: rows for the coefficients of words."""

    letters: str
    order: int
    conditions: Sequence[Sequence[Sequence[Fraction]]]
    errors: NDArray[Any]

    def error(self, candidate: CandidateWord, x: Sequence[Any]) -> float:
        """The norm of the leading errors, in floats."""
        return float(np.linalg.norm(self._errors(candidate, [*map(float, x)])))

    def best(self, candidate: CandidateWord) -> tuple[Share, ...] | str | None:
        """Exact x with the smallest error; None where no start meets the conditions, a sentence where they are not recognised."""
        x = self._minimum(candidate)
        # A letter that does not flow is no letter: the shorter word has its own place.
        if x is None or np.abs(x).min() < 1e-4:
            return None
        slope = _slope(lambda y: self._residuals(candidate, y), x)
        rank = int(np.linalg.matrix_rank(slope, tol=1e-6))
        fixed = sorted(qr(slope, mode="r", pivoting=True)[1][:rank].tolist())
        wanted = WORSE * self.error(candidate, x) + 1e-9
        for denominator in DENOMINATORS if len(fixed) < len(x) else DENOMINATORS[:1]:
            simple: list[Any] = [Fraction(round(value * denominator), denominator) for value in x.tolist()]
            near = np.array([x[k] if k in fixed else float(value) for k, value in enumerate(simple)])
            solved = self._solved(candidate, near, fixed)
            if solved is None or (len(fixed) < len(x) and self.error(candidate, solved) > wanted):
                continue
            exact = self._recognised(candidate, simple, solved, fixed)
            if exact is not None:
                return exact if all(exact) else None
        return (
            f"its shares meet the conditions, and are not found to be roots of polynomials of degree {DEGREE}"
        )

    def _errors(self, candidate: CandidateWord, x: Sequence[float]) -> NDArray[Any]:
        return self.errors @ candidate.series(x, self.letters, self.order + 1)[-1]

    @cached_property
    def _floats(self) -> list[NDArray[Any]]:
        return self._rows(float)

    def _rows(self, number: Callable[[Fraction], Any]) -> list[NDArray[Any]]:
        """The conditions in numbers of one kind."""
        width = len(self.letters)
        return [
            np.array([[number(c) for c in row] for row in rows]).reshape(-1, width**d)
            for d, rows in enumerate(self.conditions, start=2)
        ]

    def _residuals(
        self, candidate: CandidateWord, x: Sequence[Any], rows: list[NDArray[Any]] | None = None
    ) -> Any:
        """What the conditions leave in the numbers of `rows`, by default floats; each letter flows for the whole step."""
        found = candidate.series(x, self.letters, self.order)
        conditions = enumerate(self._floats if rows is None else rows, start=2)
        return np.concatenate([found[1] - 1, *(held @ found[d] for d, held in conditions)])

    def _minimum(self, candidate: CandidateWord) -> Any | None:
        """x of the smallest error in floats, from equal shares and from places around them where the conditions hold."""
        first = {k: symbol for symbol, k in reversed([*zip(candidate.word, candidate.places, strict=True)])}
        equal = np.array([1 / candidate.word.count(first[k]) for k in sorted(first)])
        everything, random = list(range(len(equal))), np.random.default_rng(0)
        starts = [equal, *(random.uniform(-2, 3, size=len(equal)) for _ in range(STARTS))]
        solved = (self._solved(candidate, start, everything) for start in starts)

        def together(x: Any) -> Any:
            # The last part chooses where errors do not depend on a share.
            return np.concatenate(
                [STRICT * self._strict(candidate, x), self._errors(candidate, x), 1e-7 * (x - equal)]
            )

        best: tuple[float, Any] | None = None
        for start in islice((x for x in solved if x is not None), FOLLOWED):
            found = least_squares(together, start, xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=60).x
            kept = self._solved(candidate, found, everything)
            if kept is not None and (best is None or self.error(candidate, kept) < 0.999 * best[0]):
                best = self.error(candidate, kept), kept
        return None if best is None else best[1]

    def _strict(self, candidate: CandidateWord, x: Any) -> Any:
        return np.concatenate([self._residuals(candidate, x), np.minimum(0, x[list(candidate.forwards)])])

    def _solved(self, candidate: CandidateWord, x: Any, moved: list[int]) -> Any | None:
        """The point beside x at which the conditions hold, reached by its entries at `moved` alone."""

        def at(y: Any) -> Any:
            point = x.copy()
            point[moved] = y
            return point

        if moved and np.abs(self._strict(candidate, x)).max() >= TOLERANCE:
            found = least_squares(
                lambda y: self._strict(candidate, at(y)), x[moved], xtol=1e-15, gtol=1e-15, max_nfev=30
            )
            x = at(found.x)
        return x if np.abs(self._strict(candidate, x)).max() < TOLERANCE else None

    def _recognised(
        self, candidate: CandidateWord, simple: list[Any], near: Any, fixed: list[int]
    ) -> tuple[Share, ...] | None:
        """x with the shares that the conditions fix as exact numbers; None where they are not recognised."""
        with mpmath.workdps(DIGITS + 20):
            rows = self._rows(_many_digits)
            x = [mpmath.mpf(near[k]) if k in fixed else _many_digits(value) for k, value in enumerate(simple)]
            backwards = np.linalg.pinv(_slope(lambda y: self._residuals(candidate, y), near)[:, fixed])
            # Newton's method with the derivatives of floats wins some seven digits each time.
            for _ in range(40):
                steps = backwards.astype(object) @ self._residuals(candidate, x, rows)
                for k, step in zip(fixed, steps, strict=True):
                    x[k] -= step
                if max(map(abs, steps), default=0) < mpmath.mpf(10) ** -DIGITS:
                    break
            exact = recognised([x[k] for k in fixed])
        known = None if exact is None else dict(zip(fixed, exact, strict=True))
        return None if known is None else tuple(known.get(k, value) for k, value in enumerate(simple))


def _many_digits(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


def _slope(function: Any, x: Any) -> NDArray[Any]:
    """The derivatives, one column for each entry of x, by central differences."""
    steps = 1e-6 * np.eye(len(x))
    return np.stack([(function(x + step) - function(x - step)) / 2e-6 for step in steps], axis=1)


def recognised(values: Sequence[Any]) -> list[Share] | None:
    """Exact numbers that agree with all digits, fractions and polynomials in one root of a polynomial; None without such ones."""
    found: list[Share] = []
    powers, root = [mpmath.mpf(1)], Fraction(1)
    for value in values:
        if abs(value) < mpmath.mpf(10) ** (10 - DIGITS):
            found.append(Fraction(0))
            continue
        relation = _relation([value, *powers])
        if relation is None and len(powers) == 1:
            polynomials = (_relation([value**k for k in range(n, -1, -1)]) for n in range(2, DEGREE + 1))
            own = next(filter(None, polynomials), None)
            if own is None:
                return None
            text = "+".join(f"{c}x^{len(own) - 1 - k}" for k, c in enumerate(own) if c)
            text = text.replace("+-", "-").replace("x^0", "").replace("x^1", "x")
            root = read_number(f"root({text}, {mpmath.nstr(value, 6)})")  # type: ignore[assignment]
            powers, relation = [value**k for k in range(len(own) - 1)], [-1, 0, 1]
        if relation is None:
            return None
        parts = [Fraction(-c, relation[0]) for c in relation[1:]]
        found.append(sum((part * root**k if k else part for k, part in enumerate(parts)), Fraction(0)))
    return found


def _relation(numbers: list[Any]) -> list[int] | None:
    """Whole c with sum c_k numbers_k = 0 and c_0 > 0."""
    found = mpmath.pslq(numbers, maxcoeff=LARGEST, maxsteps=10**5, tol=mpmath.mpf(10) ** (10 - DIGITS))
    return [c if found[0] > 0 else -c for c in found] if found and found[0] else None

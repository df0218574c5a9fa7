"""The order conditions of a splitting word: polynomial equations in its coefficients, one for each Lyndon word.

The word X1 X2 ... with unknown coefficients has order p if and only if in exp(c1 X1) exp(c2 X2) ... every Lyndon word
of d = 1, ..., p letters has the coefficient 1/d!, as it has in exp(S). That is enough by induction (below):
once the conditions through degree d - 1 hold, what is left at degree d is a Lie polynomial, and its coefficients at
Lyndon words determine it. There are as many conditions as dimensions of the free Lie algebra (Witt's formula), so
none is superfluous for a generic word.

Source: Hairer, Lubich, Wanner 2006, Geometric Numerical Integration, section III.5; the conditions themselves are the
ones of the coefficients of words there, before logarithms.

The difference of a product of exponentials and exp(S) at one degree, on Lyndon words alone and without a logarithm.

Let P = exp(c1 X1) exp(c2 X2) ... = exp(Z), S the sum of the letters, and let P and exp(S) agree below degree d. Then
Z = S + E + (higher degrees) with E of degree d, and in exp(Z) a product of n factors with at least one E among them
has degree d + n - 1 or more: degree d only for n = 1. So P - exp(S) = E + (higher degrees), and E is a Lie
polynomial. Now the standard bracketing b(l) of a Lyndon word l is l plus greater words of the same letters
(Lothaire 1983, Combinatorics on Words, section 5.3). In E = sum_l e_l b(l) the coefficient at the word l is thus e_l
plus a combination of the e_k with k < l: a unitriangular system. E vanishes if and only if its coefficients at the
Lyndon words do, and they determine it: 810 of the 6561 words of degree 8 in 3 letters.

The coefficients themselves are integers: scaled by q^d d!, q a common denominator, they obey

    |q^d d! P(w)| <= (|q c1| + |q c2| + ...)^d,

because d! P(w) is a sum of terms d!/(n1! n2! ...) c1^n1 c2^n2 ..., each of which the expansion of (c1 + c2 + ...)^d
has as well. Below 2^62 machine integers are exact, and so are all the sums on the way, which the same bound
holds; above it Python's take over. Numbers of a field of dimension N over Q stand as N integers in a basis of
algebraic integers and multiply by integer matrices, with a norm of the matrix in the place of |q c_i|.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb, factorial, lcm
from typing import Any

import numpy as np
from flint import Ordering, fmpq, fmpq_mpoly
from numpy.typing import NDArray

from sgverify.errors import ConfigurationError, DefinitionError
from sgverify.exact.rings.polynomials import polynomials_in, to_fraction
from sgverify.exact.splittings.lyndon import LyndonTable, lyndon_table
from sgverify.exact.splittings.splitting import read_degree, read_splitting
from sgverify.schemes.numbers.algebraic import Algebraic, Basis, basis_of, coordinates, multiplication

Exact = Fraction | Algebraic
MACHINE = 2**62


def defect_of(
    word: str,
    coefficients: Sequence[Exact],
    degree: int,
    *,
    letters: str | None = None,
    identity: bool = False,
) -> dict[str, Exact]:
    """Return P - exp(S) at the Lyndon words of one degree, zeros left out; P as in the module's text.

    letters: those that S sums, which may be more than the word has; default, the word's. identity: compare with 1
    in the place of exp(S).
    """
    words, scaled, basis, divisor = _scaled_defect(word, coefficients, degree, letters, identity)
    left = np.flatnonzero(scaled.any(axis=1))
    return {words[i]: _number(scaled[i].tolist(), basis, divisor) for i in left.tolist()}


def vanishes(
    word: str,
    coefficients: Sequence[Exact],
    degree: int,
    *,
    letters: str | None = None,
    identity: bool = False,
) -> bool:
    """Tell whether `defect_of` is empty, without making a fraction of what is left."""
    return not _scaled_defect(word, coefficients, degree, letters, identity)[1].any()


def _scaled_defect(
    word: str, coefficients: Sequence[Exact], degree: int, letters: str | None, identity: bool
) -> tuple[tuple[str, ...], NDArray[Any], Basis, int]:
    """The Lyndon words, the defect there times a divisor (one row for each, one column for each basis number)."""
    table = lyndon_table("".join(sorted(letters or set(word))), degree)
    basis = basis_of(coefficients)
    denominator = lcm(1, *(x.denominator for c in coefficients for x in coordinates(c, basis)))
    powers = _powers([c * denominator for c in coefficients], basis, degree, denominator)
    start = np.zeros((table.size, len(basis)), dtype=powers[0].dtype if powers else object)
    start[0, 0] = 1
    scaled = spread(table, word, powers, start)
    if not identity:
        # In exp(S) every word of d letters has the coefficient 1/d!.
        scaled[:, 0] -= denominator**degree
    return table.words, scaled, basis, denominator**degree * factorial(degree)


def spread(
    table: LyndonTable, word: str, powers: Sequence[NDArray[Any]], values: NDArray[Any]
) -> NDArray[Any]:
    """The scaled coefficients of the product at the Lyndon words of a table, from those of 1 in `values`.

    powers: of each coefficient, [1, c, c^2, ...]; of numbers of a field these are matrices, which multiply rows from the right.
    """
    matrices = values.ndim == 2
    for power, letter in zip(powers, word, strict=True):
        ending = table.endings[letter]
        left, right = values[ending.sources], power[ending.powers]
        terms = (left[:, None, :] @ right)[:, 0] if matrices else left * right
        weights = ending.weights.astype(terms.dtype) if terms.dtype == object else ending.weights
        weighted = terms * (weights[:, None] if matrices else weights)
        values = values.copy()
        if len(ending.targets):
            values[ending.targets] = np.add.reduceat(weighted, ending.starts, axis=0)
    return values[table.places]


def _powers(whole: Sequence[Exact], basis: Basis, degree: int, denominator: int) -> list[NDArray[Any]]:
    """The powers of whole numbers of a field, as matrices on its basis."""
    size = len(basis)
    matrices = [
        np.array([[int(x) for x in row] for row in multiplication(c, basis)], dtype=object) for c in whole
    ]
    # Row vectors are multiplied from the left: the largest column sum bounds what a matrix does to their entries.
    norm = max(denominator, sum(int(abs(matrix).sum(axis=0).max()) for matrix in matrices))
    kind: Any = np.int64 if norm**degree < MACHINE else object
    found = []
    for matrix in matrices:
        stack = [np.eye(size, dtype=int).astype(object)]
        for _ in range(degree):
            stack.append(stack[-1] @ matrix)
        found.append(np.stack(stack).astype(kind))
    return found


def _number(entries: list[int], basis: Basis, divisor: int) -> Exact:
    if len(entries) == 1:
        return Fraction(entries[0], divisor)
    return Algebraic.make({m: Fraction(x, divisor) for m, x in zip(basis, entries, strict=True) if x})


DEFAULT_DEGREE = 3
MOST_MONOMIALS = 20_000


@dataclass(frozen=True)
class OrderCondition:
    """polynomial = value: what the coefficients must satisfy at one Lyndon word.

    polynomial: in the unknowns, as text. terms: {exponents: coefficient}, one exponent for each unknown.
    """

    degree: int
    word: str
    unknowns: tuple[str, ...]
    polynomial: str
    value: Fraction
    terms: dict[tuple[int, ...], Fraction] = field(repr=False, compare=False)

    def residual(self, *values: Any) -> Any:
        """polynomial - value at one number for each unknown; exact where the numbers are."""
        if len(values) != len(self.unknowns):
            raise DefinitionError(
                f"{len(values)} numbers for {len(self.unknowns)} unknowns; give one for each of {', '.join(self.unknowns)}"
            )
        total: Any = -self.value
        for exponents, coefficient in self.terms.items():
            term: Any = coefficient
            for value, exponent in zip(values, exponents, strict=True):
                for _ in range(exponent):
                    term = term * value
            total = total + term
        return total

    def __str__(self) -> str:
        return f"{self.polynomial} = {self.value}"

    __repr__ = __str__


def order_conditions(
    word: str, degree: int | None = None, *, symmetric: bool = False
) -> tuple[OrderCondition, ...]:
    """Return the order conditions of a word through a degree, 3 by default.

    The unknowns are named after the letters: ABA has a1, b1, a2. symmetric: the coefficients of a palindromic word
    mirror one another; the unknowns are those of its first half, and odd degrees suffice, because a time-symmetric
    word has even order.

    Raises DefinitionError for a malformed word, or one that is no palindrome where `symmetric` asks for it, and
    ConfigurationError for a degree out of range or conditions of more than 20,000 monomials.

    >>> [str(condition) for condition in order_conditions("ABA", 2)]
    ['a1 + a2 = 1', 'b1 = 1', 'a1*b1 = 1/2']
    """
    splitting = read_splitting(word)
    if symmetric and word != word[::-1]:
        raise DefinitionError(
            f"word={word!r} is no palindrome: expected one for symmetric conditions; mirror it, or ask for all"
        )
    last = read_degree(degree, len(splitting.letters), DEFAULT_DEGREE)
    names = _names(word)
    if symmetric:
        names = [names[min(i, len(word) - 1 - i)] for i in range(len(word))]
    unknowns = tuple(dict.fromkeys(names))
    if (monomials := comb(len(unknowns) + last - 1, last)) > MOST_MONOMIALS:
        raise ConfigurationError(
            f"degree={last}: conditions in {len(unknowns)} unknowns may have {monomials} monomials, expected at most "
            f"{MOST_MONOMIALS}; lower the degree or shorten the word"
        )
    context = polynomials_in(unknowns, Ordering.deglex)
    generators = dict(zip(unknowns, context.gens(), strict=True))
    letters = "".join(splitting.letters)
    conditions = []
    for d in range(1, last + 1):
        if symmetric and d % 2 == 0:
            continue
        polynomials = _polynomials(word, [generators[name] for name in names], letters, d)
        for lyndon_word, polynomial in polynomials.items():
            conditions.append(_condition(d, lyndon_word, unknowns, polynomial))
    return tuple(conditions)


def _polynomials(word: str, unknowns: list[fmpq_mpoly], letters: str, degree: int) -> dict[str, fmpq_mpoly]:
    table = lyndon_table(letters, degree)
    one = unknowns[0] * 0 + 1
    powers = [_array([one * unknown**n for n in range(degree + 1)]) for unknown in unknowns]
    scaled = spread(table, word, powers, _array([one] + [one * 0] * (table.size - 1)))
    return {
        text: polynomial * fmpq(1, factorial(degree))
        for text, polynomial in zip(table.words, scaled.tolist(), strict=True)
    }


def _array(polynomials: list[fmpq_mpoly]) -> NDArray[Any]:
    # numpy would take a polynomial for a sequence of its terms.
    array = np.empty(len(polynomials), dtype=object)
    for i, polynomial in enumerate(polynomials):
        array[i] = polynomial
    return array


def _condition(degree: int, word: str, unknowns: tuple[str, ...], polynomial: fmpq_mpoly) -> OrderCondition:
    terms = {
        tuple(int(e) for e in exponents): to_fraction(c) for exponents, c in polynomial.to_dict().items()
    }
    return OrderCondition(degree, word, unknowns, str(polynomial), Fraction(1, factorial(degree)), terms)


def _names(word: str) -> list[str]:
    seen: Counter[str] = Counter()
    names = []
    for letter in word:
        seen[letter] += 1
        names.append(f"{letter.lower()}{seen[letter]}")
    return names

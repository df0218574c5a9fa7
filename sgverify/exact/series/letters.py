"""An alphabet proved: every letter is the exact flow of its generator, and the generators sum to L.

BCH reads letters, not code. Without this proof it would call an ABOBA with the wrong noise second order.

Lie polynomials of an alphabet's letters as differential operators: what BCH says, held against P_h itself.

Two readings of one word must agree. The step, expanded for every smooth U, differs from exp(hL) at some power of h
by an operator; the letters' generators, put into the commutators of the Baker-Campbell-Hausdorff series, give an
operator as well. Where every letter is the exact flow of its generator both are log P_h - hL there, and so the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from math import inf
from typing import Any

from sgverify.errors import DefinitionError, NotExpandableError
from sgverify.exact.rings.polynomials import Polynomial
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.averaging import merge_minibatches
from sgverify.exact.series.dimensions import Seen, over_dimensions
from sgverify.exact.series.operators import (
    Operator,
    add_to,
    compose_symbols,
    difference,
    exponential_symbols,
    generator_of,
    operator_of,
    operator_text,
    ring_of,
    symbol_of,
    transition_of,
    transition_of_flow,
)
from sgverify.exact.splittings.bch import BCHResult, bch
from sgverify.exact.splittings.lyndon import standard_bracketing
from sgverify.schemes import Alphabet, Scheme
from sgverify.schemes.numbers.periods import Periods


@dataclass(frozen=True)
class CommutatorComparison:
    """P_h - exp(hL) of a word at h^power, read in two ways.

    defect: from the expansion of the step. commutators: from the letters' generators and the leading terms of BCH.
    difference: defect - commutators; empty where they agree.
    """

    power: int
    defect: Operator
    commutators: Operator
    difference: Operator

    @property
    def agree(self) -> bool:
        """Whether both readings give one operator, for every smooth U."""
        return not self.difference


def compare_with_commutators(
    scheme: Scheme, dim: int = 1, result: BCHResult | None = None
) -> CommutatorComparison:
    """Hold the leading commutators of a splitting scheme against its expansion, at the power where they stand.

    result: what BCH says about the word; default `bch(word, shares)`. Below that power both vanish if they are
    right; the comparison is at h^(order + 1).

    Raises DefinitionError for a scheme that is no word, or whose commutators were not found; NotExpandableError where
    a letter has no power series.
    """
    word = scheme.word
    if word is None:
        raise DefinitionError(f"{scheme.name} is not a word: expected a splitting over an alphabet")
    found = result or bch(word.text, word.shares)
    if not found.leading or found.order is None:
        raise DefinitionError(f"{scheme.name} has no leading commutators through degree {found.degree}")
    power = found.order + 1
    degree = 2 * power
    dynamics = scheme.dynamics
    ring = ring_of(
        dynamics,
        dim,
        depth=degree + 2,
        draws=scheme.draws,
        minibatches=scheme.minibatches,
        parts=scheme.census.parts,
        cap=degree + 2,
    )
    step = merge_minibatches({(): transition_of(scheme, ring, degree).symbol(degree)}, ring).get(
        (), ring.zero
    )
    flow = exponential_symbols(symbol_of(generator_of(dynamics, ring), ring), ring, power)[power]
    letters = {
        symbol: symbol_of(transition_of_flow(letter.flow, ring, 2).at(2), ring)
        for symbol, letter in word.alphabet.letters.items()
    }
    commutators = symbol_of_lie_polynomial(
        {term.commutator: term.coefficient for term in found.leading}, letters, ring
    )
    defect = ring.reduce(step - flow)
    return CommutatorComparison(
        power,
        operator_of(defect, ring),
        operator_of(commutators, ring),
        operator_of(ring.reduce(defect - commutators), ring),
    )


def symbol_of_lie_polynomial(
    polynomial: Mapping[str, Any], letters: Mapping[str, Polynomial], ring: Ring
) -> Polynomial:
    """The symbol of sum_b c_b b, b standard bracketings over `letters`, each letter a first-order generator's symbol.

    [X, Y] = XY - YX as operators on functions, the left factor acting last.
    """

    @cache
    def of(text: str) -> Polynomial:
        if len(text) == 1:
            return letters[text]
        left, right = (of(part) for part in standard_bracketing(text))
        return ring.reduce(compose_symbols(left, right, ring) - compose_symbols(right, left, ring))

    total = ring.zero
    for text, coefficient in polynomial.items():
        total = total + of(text) * ring.constant(coefficient)
    return ring.reduce(total)


DRAWS_PER_LETTER = 4


@dataclass(frozen=True)
class AlphabetProof:
    """What was proved of an alphabet, through the power `degree` of the time t.

    `generators` are the letters' generators as text; `faults` names, letter by letter, what is not so. `crowd` is as
    for `LocalOrder`.
    """

    degree: int
    generators: dict[str, str]
    faults: tuple[str, ...]
    operators: dict[str, Operator] = field(repr=False, compare=False)
    ring: Ring = field(repr=False, compare=False)
    crowd: float = 1.0

    @property
    def proved(self) -> bool:
        """Whether every letter is exact and the letters sum to the dynamics."""
        return not self.faults


def prove_alphabet_everywhere(alphabet: Alphabet, base: int, configured: int) -> AlphabetProof:
    """The proof in dimension `base`; where it succeeds, its faults are those through t^2 in every dimension that is examined."""
    letters = alphabet.letters.values()
    proof = prove_alphabet(alphabet, base)
    if not proof.proved:
        return proof

    def look(dim: int, symbol: bool) -> Seen[AlphabetProof]:
        found = prove_alphabet(alphabet, dim, SECOND, symbol)
        return Seen(found, not found.proved, found.ring.sums, inf if found.ring.counts else found.crowd)

    declarations = (alphabet.dynamics.declaration, *(letter.declaration for letter in letters))
    examined = over_dimensions(
        look,
        _periods(alphabet),
        SECOND,
        base,
        configured,
        largest=5 if alphabet.dynamics.riemannian else 10,
        symbolic=any("dim" in declaration.ingredients for declaration in declarations),
    )
    if examined.wrong is None:
        return proof
    return replace(proof, faults=tuple(f"in dimension {examined.dim}, {f}" for f in examined.wrong.faults))


SECOND = 2
"""The power of t through which letters are compared in all dimensions."""


def prove_alphabet(
    alphabet: Alphabet, dim: int = 2, degree: int = 4, symbolic: bool = False
) -> AlphabetProof:
    """Prove, in dimension `dim` and for every smooth U, that the letters split the dynamics exactly.

    For each letter the generator is read off at t^1 and E f(X_t) is compared with exp(t L_letter) f through
    t^degree; then the generators are summed and compared with L. The ring holds 2 degree derivatives of U, so that
    the generators can be multiplied on. `symbolic`: a symbol stands for `dim`. Raises `NotExpandableError` where a letter has no
    power series.
    """
    # Roots and quotients lose orders, the root of a variance of order t^3 three; more working orders bring them back.
    why = NotExpandableError("nothing")
    for more in (3, 7):
        try:
            return _proof(alphabet, dim, degree, 2 * degree + more, symbolic)
        except NotExpandableError as error:
            why = error
    raise why


def _periods(alphabet: Alphabet) -> Periods:
    letters = (constant for letter in alphabet.letters.values() for constant in letter.census.constants)
    return Periods.of((*letters, *alphabet.dynamics.constants))


def unread_alphabet(alphabet: Alphabet, dim: int, why: NotExpandableError) -> AlphabetProof:
    """What is left to say of an alphabet where `prove_alphabet` has raised: nothing is proved of it."""
    dynamics = alphabet.dynamics
    ring = ring_of(dynamics, dim, depth=2, cap=3)
    return AlphabetProof(
        0, {}, (f"a letter has no power series that could be read: it uses {why}",), {}, ring
    )


def _proof(alphabet: Alphabet, dim: int, degree: int, cap: int, symbolic: bool) -> AlphabetProof:
    dynamics = alphabet.dynamics
    groups, crowd = _periods(alphabet).groups(dim), 0.0
    ring = ring_of(
        dynamics,
        dim,
        depth=2 * degree,
        draws=DRAWS_PER_LETTER,
        cap=cap,
        parts=any(letter.census.parts for letter in alphabet.letters.values()),
        symbolic=symbolic,
    )
    operators: dict[str, Operator] = {}
    faults: list[str] = []
    for symbol, letter in alphabet.letters.items():
        transition = transition_of_flow(letter.flow, ring, 2 * degree)
        crowd = max(crowd, transition.crowd(groups))
        operators[symbol] = difference(transition.at(2), {}, ring)
        powers = exponential_symbols(symbol_of(operators[symbol], ring), ring, degree)
        for j in range(2 * degree + 1):
            left = ring.reduce(transition.symbol(j) - (ring.zero if j % 2 else powers[j // 2]))
            if left:
                faults.append(
                    f"letter {symbol} is not the flow of its generator: it differs at t^{Fraction(j, 2)} by "
                    f"{operator_text(operator_of(left, ring), ring)}"
                )
                break
    total: Operator = {}
    for operator in operators.values():
        for index, value in operator.items():
            add_to(total, index, value)
    whole = generator_of(dynamics, ring)
    crowd = max(crowd, ring.crowd(symbol_of(whole, ring), 2, groups))
    missing = difference(total, whole, ring)
    if missing:
        faults.append(f"the letters' generators sum to L plus {operator_text(missing, ring)}")
    texts = {symbol: operator_text(operator, ring) for symbol, operator in operators.items()}
    return AlphabetProof(degree, texts, tuple(faults), operators, ring, crowd)

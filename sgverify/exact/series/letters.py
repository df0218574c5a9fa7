"""An alphabet proved: every letter is the exact flow of its generator, and the generators sum to L.

BCH reads letters, not code. Without this proof it would call an ABOBA with the wrong noise second order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf

from sgverify.errors import NotExpandableError
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.dimensions import Seen, over_dimensions
from sgverify.exact.series.operators import (
    Operator,
    add_to,
    difference,
    exponential_symbols,
    generator_of,
    operator_of,
    operator_text,
    ring_of,
    symbol_of,
    transition_of_flow,
)
from sgverify.schemes import Alphabet
from sgverify.schemes.numbers.periods import Periods

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
    whole = generator_of(dynamics, ring)
    crowd = max(crowd, ring.crowd(symbol_of(whole, ring), 2, groups))
    distinct: list[Operator] = []
    for operator in operators.values():
        if all(difference(operator, other, ring) for other in distinct):
            distinct.append(operator)
    missing = difference(_sum(operators.values()), whole, ring)
    # Letters of one generator may be ways to flow along it, or parts of it.
    if missing and difference(_sum(distinct), whole, ring):
        faults.append(f"the letters' generators sum to L plus {operator_text(missing, ring)}")
    texts = {symbol: operator_text(operator, ring) for symbol, operator in operators.items()}
    return AlphabetProof(degree, texts, tuple(faults), operators, ring, crowd)


def _sum(operators: Iterable[Operator]) -> Operator:
    total: Operator = {}
    for operator in operators:
        for index, value in operator.items():
            add_to(total, index, value)
    return total

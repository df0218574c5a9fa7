"""The leading commutators of a word as a differential operator, held against the defect of its step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.exact.rings.polynomials import Polynomial
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.averaging import merge_minibatches
from sgverify.exact.series.operators import (
    Operator,
    compose_symbols,
    exponential_symbols,
    generator_of,
    operator_of,
    ring_of,
    symbol_of,
    transition_of,
    transition_of_flow,
)
from sgverify.exact.splittings.bch import BCHResult, bch
from sgverify.exact.splittings.lyndon import standard_bracketing
from sgverify.schemes import Scheme


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

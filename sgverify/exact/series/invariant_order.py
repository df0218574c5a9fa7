"""The order of the invariant law of a scheme, proved for every smooth potential.

Let E = 1 + h L_1 + h^2 A_2 + ... be the operator of one step on averages. If rho E f = rho f + O(h^(r+1)) for every f, that is
A_j^* rho = 0 for j = 1..r, the invariant law of an ergodic scheme differs from rho by O(h^r). (Talay and
Tubaro 1990; Abdulle, Vilmart, Zygalakis 2014, equation (19).) Weak order K at finite times is enough for r = K, and not
needed: the method of Leimkuhler and Matthews has 1 at finite times and 2 here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf

from sgverify.errors import NotExpandableError
from sgverify.evidence.scope import Extent
from sgverify.exact.rings.context import TooShallowError
from sgverify.exact.rings.polynomials import Polynomial
from sgverify.exact.rings.ring import Ring
from sgverify.exact.rings.roots import WHERE
from sgverify.exact.series.averaging import merge_minibatches
from sgverify.exact.series.carrier import Signs, on_every_branch, told_from_zero
from sgverify.exact.series.dimensions import Seen, least
from sgverify.exact.series.equilibrated_memory import EquilibratedStep
from sgverify.exact.series.letters import AlphabetProof
from sgverify.exact.series.operators import (
    Operator,
    add_to,
    difference,
    generator_of,
    operator_of,
    operator_text,
    ring_of,
    symbol_of,
    transition_of,
)
from sgverify.exact.series.stated_density import StatedDensity, spreads
from sgverify.schemes import Dynamics, Scheme
from sgverify.schemes.numbers.algebraic import Algebraic, basis_of, coordinates
from sgverify.schemes.numbers.periods import Periods

HIGHEST = 4


@dataclass(frozen=True)
class InvariantOrder:
    """r with E f under the invariant law = E f under rho + O(h^r), and the defect at h^(r+1) where one was found.

    `left` is None where no defect was found through h^(examined + 1). `generator` is L_1, and `own` says whether it differs
    from the dynamics' generator. `mixes` is False where L_1 does not forget its start: a chain that does not move leaves
    every law invariant, and no order follows. `sums` and `crowd` are those of `LocalOrder`.
    """

    dim: int
    examined: int
    left: str | None
    power: Fraction | None
    generator: str
    own: bool
    mixes: bool
    sums: bool = False
    crowd: float = 1.0
    rest: Polynomial | None = field(default=None, repr=False, compare=False)
    """What `left` is the text of."""

    @property
    def order(self) -> Fraction:
        """r, or the highest examined order where no defect was found."""
        return Fraction(self.examined) if self.power is None else self.power - 1


def invariant_order(
    scheme: Scheme, dim: int = 2, highest: int = 2, *, symbolic: bool = False
) -> InvariantOrder:
    """Prove the order of the invariant law in dimension `dim`, to `highest` at most, for every smooth potential.

    `symbolic`: a symbol stands for the `dim` that definitions ask for. Raises `NotExpandableError` where the
    step has no power series or the dynamics states another density than exp(-U/T) in theta.
    """
    highest = min(highest, HIGHEST)
    found = [
        branch
        for _, branch in on_every_branch(lambda signs: _on_branch(scheme, dim, highest, signs, symbolic))
    ]
    return replace(
        min(found, key=lambda branch: (branch.order, branch.mixes)),
        mixes=all(branch.mixes for branch in found),
        sums=any(branch.sums for branch in found),
        crowd=max(branch.crowd for branch in found),
    )


def prove_invariant_order(
    scheme: Scheme, base: int, configured: int, highest: int = 2
) -> tuple[InvariantOrder, Extent, int]:
    """The least order of the invariant law over all dimensions, those in which it holds, and the dimension that has it.

    A step that does not forget its start has order 0 here. Raises as `invariant_order` does in dimension `base`.
    """

    def look(dim: int, symbol: bool, through: int) -> Seen[InvariantOrder]:
        found = invariant_order(scheme, dim, through - 1, symbolic=symbol)
        wrong = found.power is not None or not found.mixes
        return Seen(found, wrong, found.sums, found.crowd)

    found, examined, dim = least(
        invariant_order(scheme, base, highest),
        lambda found: found.order if found.mixes else Fraction(0),
        look,
        Periods.of(scheme.constants),
        base,
        configured,
        largest=lambda through: {1: 15, 2: 8, 3: 5}.get(through, 3),
        symbolic=scheme.asks_for_dimension,
    )
    return found, examined.extent, dim


def leaves_density(
    alphabet: AlphabetProof, combination: Mapping[str, Fraction | Algebraic], dynamics: Dynamics
) -> bool:
    """Whether Y^* rho = 0 is proved, Y a combination of the letters' generators: rho Y f = 0 for every f."""
    ring = alphabet.ring
    try:
        density = StatedDensity(dynamics, ring)
    except NotExpandableError:
        return False
    basis = basis_of(list(combination.values()))
    # Shares are linear over the rationals in numbers that are independent: the sum is 0 where each part is.
    for part in range(len(basis)):
        operator: Operator = {}
        for letter, share in combination.items():
            times = coordinates(share, basis)[part]
            for index, value in alphabet.operators[letter].items():
                add_to(operator, index, value * ring.constant(times))
        if told_from_zero(density.adjoint(symbol_of(operator, ring)), ring):
            return False
    return True


def _on_branch(scheme: Scheme, dim: int, highest: int, signs: Signs, symbolic: bool) -> InvariantOrder:
    degree = 2 * (highest + 1)
    why: NotExpandableError = NotExpandableError("a step")
    for depth in range(degree, 2 * degree + 2, 2):
        try:
            return _examined(scheme, dim, highest, depth, signs, symbolic)
        except TooShallowError as error:
            why = error
    raise why


def _examined(
    scheme: Scheme, dim: int, highest: int, depth: int, signs: Signs, symbolic: bool
) -> InvariantOrder:
    degree = 2 * (highest + 1)
    ring, symbols, crowd = _symbols(scheme, dim, degree, depth, signs, symbolic)
    _refuse_kinks(ring)
    if symbols[0] - ring.one:
        raise NotExpandableError("a step that does not tend to the identity")
    first = operator_of(symbols[2], ring)
    stated = generator_of(scheme.dynamics, ring)
    density = StatedDensity(scheme.dynamics, ring)
    power, left, found = None, None, None
    for j in range(1, degree + 1):
        rest = density.adjoint(symbols[j])
        if told_from_zero(rest, ring):
            power, left, found = Fraction(j, 2), ring.text(rest), rest
            break
    return InvariantOrder(
        dim=dim,
        examined=highest,
        left=left,
        power=power,
        generator=operator_text(first, ring),
        own=bool(difference(first, stated, ring)),
        mixes=not symbols[1] and spreads(first, ring),
        sums=ring.sums,
        crowd=inf if ring.counts else crowd,
        rest=found,
    )


def _refuse_kinks(ring: Ring) -> None:
    """Raise for |x| of a state, or a pole: the adjoint takes derivatives across them, where there are none."""
    for f in ring.supposed.values():
        if not ring.depends_only_on_parameters(f):
            raise NotExpandableError(f"|{ring.text(f)}|, whose derivatives jump")
    for condition in ring.conditions:
        if condition.kind == WHERE:
            raise NotExpandableError(f"what is not defined everywhere, but where {condition.text}")


def _symbols(
    scheme: Scheme, dim: int, degree: int, depth: int, signs: Signs, symbolic: bool
) -> tuple[Ring, list[Polynomial], float]:
    """The symbols of the operator of one step on averages, by powers of s = sqrt(h), with one minibatch throughout.

    And the most coordinates that a term has for each factor of h.
    """
    groups = Periods.of(scheme.constants).groups(dim)
    if scheme.memory:
        equilibrated = EquilibratedStep(scheme, dim, degree, depth, signs, symbolic)
        symbols = [equilibrated.symbol(j) for j in range(degree + 1)]
        return equilibrated.ring, symbols, equilibrated.crowd(groups)
    ring = ring_of(
        scheme.dynamics,
        dim,
        depth=depth,
        draws=scheme.draws,
        minibatches=scheme.minibatches,
        parts=scheme.census.parts,
        cap=degree + 4,
        signs=signs,
        symbolic=symbolic,
    )
    step = transition_of(scheme, ring, degree)
    raw = [step.symbol(j) for j in range(degree + 1)]
    symbols = [ring.reduce(merge_minibatches({(): symbol}, ring).get((), ring.zero)) for symbol in raw]
    return ring, symbols, step.crowd(groups)

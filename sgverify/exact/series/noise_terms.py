"""The terms that minibatch noise adds to E f(X_1), power by power, with named moments: V = E g^2, E g^3, ...

The average of P_h over minibatches is P_h of the full gradient plus terms with moments of g, the minibatch's gradient less
the full one. The terms of the lowest power determine the averaged order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sgverify.exact.rings.polynomials import print_operator
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.averaging import Moments, average, print_moments
from sgverify.exact.series.local_order import defect_text, expand_step
from sgverify.exact.series.operators import Operator, compose, difference, generator_of, operator_of, ring_of
from sgverify.exact.series.orders import Defect
from sgverify.schemes import Dynamics, Scheme

_ALONE = re.compile(r"\[(-?)(\d+)(?:/(\d+))?\] ([^+]+)")

HIGHEST = 4
"""The highest power of h, at which E g^4 enters."""


@dataclass(frozen=True)
class NoiseTerm:
    """h^power E[moments] (operator) f; `name` is that of the moments and `text` the whole term."""

    power: Fraction
    moments: Moments
    name: str
    operator_text: str
    operator: Operator = field(repr=False, compare=False)
    ring: Ring = field(repr=False, compare=False)

    @property
    def text(self) -> str:
        """Such as (h^2/2) V d_p^2 f."""
        alone = _ALONE.fullmatch(self.operator_text)
        if alone is None:
            return f"h^{self.power} {self.name} ( {self.operator_text} ) f"
        sign, above, below, derivative = alone.groups()
        factor = ("" if above == "1" else f"{above} ") + f"h^{self.power}" + (f"/{below}" if below else "")
        return f"{sign}({factor}) {self.name} {derivative} f"

    @property
    def orders(self) -> tuple[int, ...] | None:
        """The k of E g^k, for each independent minibatch; None where derivatives of g enter."""
        return _orders(self.moments)


def noise_terms(scheme: Scheme, *, through: int = HIGHEST) -> list[NoiseTerm]:
    """Every term of E f(X_1) with moments of the noise, through h^through, in one dimension and for every smooth U.

    Minibatches are independent, and one that is used twice is the same noise twice.
    """
    ring, transition, _ = expand_step(scheme, 1, 2 * through)
    found = []
    for j in range(2 * through + 1):
        for moments, part in sorted(average({(): transition.symbol(j)}, ring).items()):
            if not moments:
                continue
            operator = operator_of(ring.reduce(part[()]), ring)
            if operator:
                found.append(
                    NoiseTerm(
                        Fraction(j, 2), moments, moment_name(moments), _text(operator, ring), operator, ring
                    )
                )
    return found


def moment_name(moments: Moments) -> str:
    """The name of a product of moments in one dimension: V for E g^2, E g^3, E[g g'] and so on.

    >>> moment_name((((1,), (1,)), ((1,), (1,)))), moment_name((((1,), (2,)),))
    ('V^2', "E[g g']")
    """
    names = Counter(_name(family) for family in moments)
    return " ".join(name if times == 1 else f"{name}^{times}" for name, times in names.items())


def noise_defect(dynamics: Dynamics, dim: int) -> Defect | None:
    """(h^2/2) (E L_l^2 - L^2): the difference of the average of exp(h L_l) over minibatches and exp(h L).

    If P_h = exp(h L_l) + O(h^3) given the minibatch, then its average has exactly this defect at h^2, whatever
    the scheme: the step of chen2015 appendix D that replaces psi by L_l^(K-1) psi drops it.
    """
    ring = ring_of(
        dynamics,
        dim,
        depth=4,
        cap=5,
    )
    generator = generator_of(dynamics, ring)
    squared = {a: c * ring.constant(Fraction(1, 2)) for a, c in compose(generator, generator, ring).items()}
    parts = average(squared, ring)
    plain = difference(parts.pop((), {}), squared, ring)
    assert not plain, "the part without noise is L^2 itself"
    texts = []
    for moments, part in sorted(parts.items()):
        reduced = difference(part, {}, ring)
        if reduced:
            texts.append(f"{print_moments(moments, dim)} * ( {defect_text(reduced, ring, Fraction(2))} )")
    return Defect(Fraction(2), " + ".join(texts), noise_alone=True) if texts else None


def _orders(moments: Moments) -> tuple[int, ...] | None:
    if any(sum(index) != 1 for family in moments for index in family):
        return None
    return tuple(len(family) for family in moments)


def _text(operator: Operator, ring: Ring) -> str:
    # After the average all minibatches are the full data: U', not U'[0].
    printed = {index: ring.text(value).replace("[0]", "") for index, value in operator.items()}
    return print_operator(printed, ring.labels)


def _name(family: Sequence[tuple[int, ...]]) -> str:
    order = len(family)
    if all(index == (1,) for index in family):
        return "V" if order == 2 else f"E g^{order}"
    primes = Counter("g" + "'" * (index[0] - 1) for index in family)
    return f"E[{' '.join(name if times == 1 else f'({name})^{times}' for name, times in primes.items())}]"

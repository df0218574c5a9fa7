"""The difference of a scheme's transition operator and a diffusion's on the line: P_h = exp(h G) + h^2 D_2 + h^3 D_3 + ....

For every smooth U at once: the coefficients are polynomials in U', U'', ... and the parameters' roots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sgverify.errors import NotExpandableError, Unreached
from sgverify.exact.numbers.jets import Jet
from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.exact.rings.evaluation import root_interval, sign_of
from sgverify.exact.rings.polynomials import Polynomial, to_fraction
from sgverify.exact.rings.ring import Ring
from sgverify.exact.rings.roots import UnknownSignError
from sgverify.exact.series.averaging import merge_minibatches
from sgverify.exact.series.carrier import Signs, on_every_branch
from sgverify.exact.series.operators import (
    Operator,
    Transition,
    derivative,
    difference,
    exponential,
    is_smooth,
    operator_text,
    ring_of,
    transition_of,
)
from sgverify.schemes import Scheme, exp, sqrt
from sgverify.schemes.numbers.rounded import Rounded


@dataclass(frozen=True)
class Defects:
    """The generator G of the diffusion that a scheme tends to, and the operators D_k, k = 2..highest.

    `operators` holds the non-zero D_k; `adjoints` the non-zero a^m D_k^* 1 for some m, with a the coefficient of d^2 in G and
    the adjoint with respect to G's invariant density: int D_k f d pi = int f D_k^* 1 d pi. `unread` are the k whose
    coefficients contain roots of the state, for which no adjoint is computed.

    A definition with |x| has operators for each branch of the line: these ones hold where the polynomials of `where`
    have their signs, and `elsewhere` holds the operators of the other branches.
    """

    highest: int
    generator: Operator
    operators: Mapping[int, Operator]
    adjoints: Mapping[int, Polynomial]
    ring: Ring = field(repr=False, compare=False)
    unread: frozenset[int] = frozenset()
    where: tuple[tuple[Polynomial, int], ...] = field(default=(), repr=False, compare=False)
    elsewhere: tuple[Defects, ...] = field(default=(), repr=False, compare=False)

    @property
    def branches(self) -> tuple[Defects, ...]:
        """The operators of every branch."""
        return (self, *self.elsewhere)

    @cached_property
    def kinked(self) -> frozenset[int]:
        """The k for which D_k differs between branches, so that its coefficients are not smooth where branches meet."""
        texts = [
            {k: operator_text(operator, one.ring) for k, operator in one.operators.items()}
            for one in self.branches
        ]
        return frozenset(k for one in texts for k in one if any(other.get(k) != one[k] for other in texts))

    @property
    def drift(self) -> Polynomial:
        """F in G = F d + a d^2."""
        return self.generator.get((1,), self.ring.zero)

    @property
    def diffusion(self) -> Polynomial:
        """a in G = F d + a d^2, free of the state."""
        return self.generator[(2,)]

    @cached_property
    def keeps_posterior(self) -> bool:
        """Whether G leaves exp(-U/T) invariant, by algebra: F T + a U' = 0."""
        ring = self.ring
        if "T" not in ring.parameters:
            return False
        T = ring.generator("root", "T") ** 2
        derivative = ring.derivative_of_potential(0, (1,))
        return not ring.reduce(self.drift * T + self.diffusion * derivative)

    @cached_property
    def gradient_factor(self) -> Polynomial:
        """c in F = -c U', so that G leaves exp(-(c/a) U) invariant; raises `Unreached` where F is another."""
        ring = self.ring
        place = ring.position("U", 0, (1,))
        found: dict[tuple[int, ...], Any] = {}
        for exponents, factor in self.drift.to_dict().items():
            rest = tuple(e - (k == place) for k, e in enumerate(exponents))
            if rest[place] != 0:
                raise Unreached("the drift that the scheme tends to is no multiple of the gradient")
            found[rest] = -factor
        value = ring.context.from_dict(found)
        if not value or not ring.depends_only_on_parameters(value):
            raise Unreached("the drift that the scheme tends to is no multiple of the gradient")
        return value


def expand_defects(scheme: Scheme, highest: int, parameters: Mapping[str, float]) -> Defects:
    """G and D_2, ..., D_highest of a scheme on the line with full gradients.

    A branch that depends on signs of parameters is the one at `parameters`. Raises `Unreached` where P_h has no
    expansion in whole powers of h around the identity, where the diffusion of G depends on the state, or where G differs
    between the branches of a definition.
    """
    try:
        branches = [
            found
            for _, found in on_every_branch(lambda signs: _on_branch(scheme, highest, signs, parameters))
        ]
    except NotExpandableError as error:
        raise Unreached(f"no expansion at h = 0: {error}") from None
    known = [found for found in branches if found is not None]
    if not known:
        raise Unreached("the parameters lie where a root of the definition changes its sign")
    first, *others = known
    if any(
        operator_text(one.generator, one.ring) != operator_text(first.generator, first.ring) for one in others
    ):
        raise Unreached(
            "what the scheme tends to as h -> 0 differs between the states on either side of a sign"
        )
    return replace(first, elsewhere=tuple(others))


def _on_branch(scheme: Scheme, highest: int, signs: Signs, parameters: Mapping[str, float]) -> Defects | None:
    """The operators of one branch; None where `parameters` exclude the branch."""
    ring, transition = _expand(scheme, highest, signs)
    roots = {
        ring.position("root", name): root_interval(Fraction(parameters[name])) for name in ring.parameters
    }
    of_state = []
    for key, f in ring.supposed.items():
        if not ring.depends_only_on_parameters(f):
            of_state.append((f, signs[key]))
        elif sign_of(f, ring, roots.__getitem__) != signs[key]:
            return None
    parts = [merge_minibatches(transition.at(j), ring) for j in range(2 * highest + 1)]
    parts = [difference(part, {}, ring) for part in parts]
    if parts[0] or parts[1]:
        raise Unreached("one step does not tend to the identity at the pace of a diffusion")
    if any(parts[3::2]):
        raise Unreached("the expansion has half powers of h")
    generator = parts[2]
    if set(generator) - {(1,), (2,)} or (2,) not in generator:
        raise Unreached("what the scheme tends to as h -> 0 is no diffusion")
    if not ring.depends_only_on_parameters(generator[(2,)]):
        raise Unreached("the diffusion that the scheme tends to depends on the state")
    exact = exponential(generator, ring, highest)
    operators = {}
    for k in range(2, highest + 1):
        left = difference(parts[2 * k], exact[k], ring)
        if left:
            operators[k] = left
    smooth = {k: o for k, o in operators.items() if all(is_smooth(c, ring) for c in o.values())}
    adjoints = {k: _adjoint_of_one(operator, generator, ring) for k, operator in smooth.items()}
    return Defects(
        highest,
        generator,
        operators,
        {k: v for k, v in adjoints.items() if v},
        ring,
        unread=frozenset(operators) - frozenset(smooth),
        where=tuple(of_state),
    )


def highest_adjoint_power(operator: Operator) -> int:
    """m in a^m D^* 1: the order of the operator."""
    return max(index[0] for index in operator)


def _adjoint_of_one(operator: Operator, generator: Operator, ring: Ring) -> Polynomial:
    """a^m sum_n (-1)^n (d + F/a)^n c_n for D = sum_n c_n d^n: partial integration against exp(int F/a)."""
    drift, diffusion = generator.get((1,), ring.zero), generator[(2,)]
    most = highest_adjoint_power(operator)
    total = ring.zero
    for (order,), coefficient in operator.items():
        value = coefficient
        for _ in range(order):
            value = diffusion * derivative(value, (1,), ring) + drift * value
        total = total + value * diffusion ** (most - order) * (-1) ** order
    return ring.reduce(total)


def _expand(scheme: Scheme, highest: int, signs: Signs) -> tuple[Ring, Transition]:
    degree = 2 * highest
    for cap in (degree + 1, degree + 3, degree + 7):
        ring = ring_of(
            scheme.dynamics,
            1,
            # The adjoint differentiates coefficients as often as an operator does, 2 highest times.
            depth=cap + 1 + degree,
            draws=scheme.draws,
            minibatches=scheme.minibatches,
            parts=scheme.census.parts,
            cap=cap,
            signs=signs,
        )
        try:
            transition = transition_of(scheme, ring, degree)
            for j in range(degree + 1):
                transition.at(j)
        except UnknownSignError:
            raise
        except NotExpandableError:
            # Roots and quotients lose orders; more working orders may bring them back.
            if cap == degree + 7:
                raise
            continue
        return ring, transition
    raise AssertionError("unreachable")


def value_of(
    polynomial: Polynomial, ring: Ring, parameters: Mapping[str, Any], derivatives: Mapping[int, Any]
) -> Any:
    """A polynomial in T, D, ... and U', U'', ... at numbers: `derivatives[j]` stands for U^(j), `parameters` by name.

    Raises `Unreached` where the state itself occurs in it, or a root without a real value.
    """
    known: dict[int, Any] = {}
    for position in {k for exponents in polynomial.to_dict() for k, e in enumerate(exponents) if e}:
        known[position] = _meaning(position, ring, parameters, derivatives)
    powers: dict[tuple[int, int], Any] = {}

    def power(position: int, exponent: int) -> Any:
        if exponent == 1:
            return known[position]
        key = (position, exponent)
        if key not in powers:
            powers[key] = power(position, exponent - 1) * known[position]
        return powers[key]

    total: Any = 0.0
    for exponents, factor in polynomial.to_dict().items():
        term: Any = _number(factor)
        for position, exponent in enumerate(exponents):
            if exponent:
                term = power(position, exponent) * term
        total = term + total
    return total


def _meaning(position: int, ring: Ring, parameters: Mapping[str, Any], derivatives: Mapping[int, Any]) -> Any:
    for name in ring.parameters:
        if position == ring.position("root", name):
            return EXTENDED(parameters[name]) ** EXTENDED(0.5)
    for (order,) in ring.derivatives:
        if position == ring.position("U", 0, (order,)):
            return derivatives[order]
    try:
        what = ring.opaque.get(position)
        if what is not None and what.kind != "number":
            inside = value_of(what.argument, ring, parameters, derivatives)
            function = exp if what.kind == "exp" else sqrt
            return function(inside if isinstance(inside, Jet) else Jet(np.array([inside], dtype=EXTENDED)))
        if what is not None and isinstance(what.number, Rounded):
            return EXTENDED(float(what.number))
        return _number(ring.square_of_slot(position)) ** EXTENDED(0.5)
    except NotExpandableError:
        raise Unreached(f"{ring.label(position)[0]} in the expansion stands for no number") from None


def _number(factor: Any) -> Any:
    number = factor if isinstance(factor, Fraction) else to_fraction(factor)
    return EXTENDED(number.numerator) / EXTENDED(number.denominator)

"""Roots in a ring: square roots of polynomials, reciprocals, and the conditions on states and step sizes of a power series.

The square root of a polynomial is non-negative at every real state: sqrt(x^2) is |x|, and not x. For
value = c prod_k f_k^(e_k), c rational and the f_k irreducible, the root is

    sqrt(value) = prod_k |f_k|^floor(e_k / 2) * sqrt(c prod_(e_k odd) f_k),

which holds at every real state at which `value` is not negative. |f| is f or -f by the sign of f: by the sign that f
has at every real state, where its terms show one (x^2 + 1, T + D, 2 - sqrt(2)), else by the sign that the ring
supposes, one branch of the definition after the other. The parameters are positive numbers (the configuration refuses
others), all other generators any real numbers.

A reciprocal 1/q of an expression q in parameters alone is an element r of the ring with the relation r q = 1. Allowed are sums
of positive multiples of parameters, and polynomials in `dim` without a whole root: then r is a number at every setting, and
identities with it hold at every setting. An element with r is zero exactly where it is zero with its denominators cleared,
sum_i c_i r^i = r^m sum_i c_i q^(m - i).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sgverify.errors import NotExpandableError
from sgverify.exact.rings.evaluation import sign_of
from sgverify.exact.rings.functions import Opaque
from sgverify.exact.rings.polynomials import Polynomial, coefficients_in, factors, to_fraction
from sgverify.schemes.numbers.algebraic import sqrt_of_rational

if TYPE_CHECKING:
    from sgverify.exact.rings.ring import Ring

WHERE = "where"
"""A condition on the state or the parameters, such as theta != 0, without which the definition is not defined."""

LIMIT = "as h -> 0"
"""A condition on h, such as h < 1/5, beyond which the definition is not real, or may differ from its series."""

UNSEEN = "as h -> 0 alone"
"""A property that no coefficient at h = 0 shows: a term such as exp(-1/h), or an h beyond which the definition differs."""


@dataclass(frozen=True)
class Condition:
    """One condition; `kind` is WHERE, LIMIT or UNSEEN, `text` is for the middle of a sentence."""

    kind: str
    text: str


class UnknownSignError(NotExpandableError):
    """A root needs the sign of a polynomial, which differs from state to state. `key` identifies it in every ring."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(f"|{text}|, whose sign differs from state to state")
        self.key = key


def square_root(value: Polynomial, ring: Ring) -> Polynomial:
    """sqrt(value) >= 0 wherever value >= 0.

    Raises `UnknownSignError` where the sign of a factor decides and the ring does not suppose one, and
    `NotExpandableError` where a draw is under the root, or a state at which the root would not be real.
    """
    value = ring.reduce(value)
    if not value:
        return value
    factor, parts = _factors(value, ring)
    whole, odd = ring.one, []
    for base, exponent in parts:
        half, once = divmod(exponent, 2)
        if half:
            whole = whole * (base**half if half % 2 == 0 else magnitude(base, ring) ** half)
        if once:
            odd.append(base)
    return ring.reduce(whole * _root_of_rest(value, factor, odd, ring))


def magnitude(value: Polynomial, ring: Ring) -> Polynomial:
    """|value|: value times its sign."""
    sign = manifest_sign(value, ring) or ring.supposed_sign(value)
    return value if sign > 0 else -value


def manifest_sign(value: Polynomial, ring: Ring) -> int:
    """1 where value >= 0 at every real state, -1 where value <= 0, 0 where its terms do not decide.

    A term has the sign of its coefficient if everything in it that may be negative stands in an even power; see `ManifestSigns.of`.
    """
    if ring.is_number(value):
        return sign_of(value, ring)
    return 1 if ring.signs_of.of(value) else -1 if ring.signs_of.of(-value) else 0


def _root_of_rest(value: Polynomial, factor: Fraction, odd: Iterable[Polynomial], ring: Ring) -> Polynomial:
    """sqrt(factor * the product of the irreducible polynomials `odd`).

    The root of a product is the product of the roots of those factors that are never negative; the others stay
    together under one root, for their product may be positive where none of them is.
    """
    root, left = ring.one, ring.one
    for base in odd:
        sign = manifest_sign(base, ring)
        if sign:
            root = root * ring.opaque_root(base if sign > 0 else -base)
            factor *= sign
        else:
            left = left * base
    if left == ring.one:
        if factor < 0:
            raise NotExpandableError(f"the square root of {ring.text(value)}, which is negative")
        return root * ring.constant(sqrt_of_rational(factor))
    left = left if factor > 0 else -left
    if not ring.depends_only_on_parameters(left):
        raise NotExpandableError(
            f"the square root of {ring.text(value)}, which depends on the state and may be negative"
        )
    ring.condition(WHERE, f"{ring.text(left)} >= 0")
    ring.under_roots.append(left)
    return root * ring.constant(sqrt_of_rational(abs(factor))) * ring.opaque_root(left)


def _factors(value: Polynomial, ring: Ring) -> tuple[Fraction, list[tuple[Polynomial, int]]]:
    """The irreducible factors; T - 1 is one, although it is (sqrt(T) - 1)(sqrt(T) + 1) in the ring's generators."""
    halved = {k for k in ring.parameter_positions if all(m[k] % 2 == 0 for m in value.monoms())}
    factor, parts = factors(_scaled(value, {k: Fraction(1, 2) for k in halved}, ring))
    found = []
    for base, exponent in parts:
        # T itself is the square of a generator.
        single = any(base == ring.generator_at(k) for k in halved)
        whole = base if single else _scaled(base, {k: Fraction(2) for k in halved}, ring)
        found.append((whole, 2 * exponent if single else exponent))
    return factor, found


def _scaled(value: Polynomial, by: Mapping[int, Fraction], ring: Ring) -> Polynomial:
    """The exponents of some generators times a number."""
    return ring.context.from_dict(
        {tuple(int(int(e) * by.get(k, 1)) for k, e in enumerate(m)): c for m, c in value.to_dict().items()}
    )


DIM = "dim"
"""The parameter that stands for the dimension where it is a symbol."""

MOST_DIMENSIONS = 10_000
"""The largest dimension that is tried as a root of a polynomial in the dimension."""


def reciprocal(value: Polynomial, ring: Ring) -> Polynomial:
    """1/value. Raises `NotExpandableError` where `value` may be 0."""
    if not (is_positive(value, ring) or _has_no_whole_root(value, ring)):
        raise NotExpandableError(f"the quotient (1) / ({ring.text(value)}), which is not a polynomial")
    what = Opaque("reciprocal", f"1/({ring.text(value)})", argument=value)
    return ring.slot(("reciprocal", str(value)), what)


def without_quotients(value: Polynomial, ring: Ring) -> Polynomial:
    """`value` with r q = 1 carried out wherever a factor q stands beside r; the ring's zero where it vanishes."""
    for at, divisor in reversed(ring.reciprocals.items()):
        if value.degrees()[at]:
            value = _cancelled(value, at, divisor, ring)
    return value if as_quotient(value, ring)[0] else ring.zero


def is_positive(value: Polynomial, ring: Ring) -> bool:
    """Whether the terms of `value` show that it is above 0 at every state."""

    if ring.is_number(value):
        return sign_of(value, ring) > 0
    return ring.signs_of.of(value) == 2


def _has_no_whole_root(value: Polynomial, ring: Ring) -> bool:
    """Whether `value` is a polynomial in `dim` alone that no whole number makes vanish."""
    if DIM not in ring.parameters:
        return False
    at = ring.position("root", DIM)
    terms = {tuple(map(int, powers)): to_fraction(c) for powers, c in value.to_dict().items()}
    if any(e % 2 or (e and k != at) for powers in terms for k, e in enumerate(powers)):
        return False
    coefficients = {powers[at] // 2: c for powers, c in terms.items()}
    last = coefficients[max(coefficients)]
    # Cauchy: beyond 1 + max |c_i/c_n| a polynomial has no root.
    bound = 1 + max(abs(c / last) for c in coefficients.values())
    return bound <= MOST_DIMENSIONS and all(
        sum(c * n**power for power, c in coefficients.items()) for n in range(1, int(bound) + 1)
    )


def _cancelled(value: Polynomial, at: int, divisor: Polynomial, ring: Ring) -> Polynomial:
    parts = coefficients_in(value, at)
    for n in range(len(parts) - 1, 0, -1):
        quotient, parts[n] = divmod(parts[n], divisor)
        parts[n - 1] = parts[n - 1] + quotient
    total = ring.zero
    for n, part in enumerate(parts):
        total = total + part * ring.generator_at(at) ** n
    return total


def as_quotient(value: Polynomial, ring: Ring) -> tuple[Polynomial, Polynomial]:
    """Two polynomials without reciprocals of which `value` is the quotient."""
    below = ring.one
    while value:
        degrees, others = value.degrees(), below.degrees()
        at = next((at for at in reversed(ring.reciprocals) if degrees[at] or others[at]), None)
        if at is None:
            break
        most = int(max(degrees[at], others[at]))
        value, below = (_times_divisor(part, at, most, ring) for part in (value, below))
    return value, below


def _times_divisor(value: Polynomial, at: int, most: int, ring: Ring) -> Polynomial:
    """`value` q^most, where r q = 1 for the reciprocal r at a position, in which its degree is at most that."""
    total, divisor = ring.zero, ring.reciprocals[at]
    for n, part in enumerate(coefficients_in(value, at)):
        total = total + part * divisor ** (most - n)
    return ring.carried_out(total)

"""The square root of a polynomial as the non-negative number that it is at every real state.

sqrt(x^2) is |x|, and not x. Of value = c prod_k f_k^(e_k), c rational and the f_k irreducible, the root is

    sqrt(value) = prod_k |f_k|^floor(e_k / 2) * sqrt(c prod_(e_k odd) f_k),

which holds at every real state at which `value` is not negative. |f| is f or -f by the sign of f: by the sign that f
has at every real state, where its terms show one (x^2 + 1, T + D, 2 - sqrt(2)), else by the sign that the ring
supposes, one branch of the definition after the other. Assumed of a ring's generators: parameters are positive
numbers (the configuration refuses others), everything else is any real number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from sgverify.errors import NotExpandableError
from sgverify.exact.series.conditions import WHERE
from sgverify.exact.series.polynomials import Polynomial, factors

if TYPE_CHECKING:
    from sgverify.exact.series.ring import Ring


class UnknownSignError(NotExpandableError):
    """A root asks for the sign of a polynomial, which differs from state to state. `key` names it in every ring."""

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
    """1 where value >= 0 at every real state, -1 where value <= 0, 0 where its terms do not say.

    A term has the sign of its coefficient if everything in it that may be negative stands in an even power.
    """
    if ring.is_number(value):
        return ring.sign_of_number(value)
    signs = set()
    for exponents, coefficient in value.to_dict().items():
        if any(e % 2 and k not in ring.never_negative for k, e in enumerate(exponents)):
            return 0
        signs.add(1 if coefficient > 0 else -1)
    return signs.pop() if len(signs) == 1 else 0


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
        return root * ring.constant_root(factor)
    left = left if factor > 0 else -left
    if not ring.depends_only_on_parameters(left):
        raise NotExpandableError(
            f"the square root of {ring.text(value)}, which depends on the state and may be negative"
        )
    ring.condition(WHERE, f"{ring.text(left)} >= 0")
    ring.under_roots.append(left)
    return root * ring.constant_root(abs(factor)) * ring.opaque_root(left)


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

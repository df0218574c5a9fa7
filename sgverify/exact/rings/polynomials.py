"""Polynomials over the rationals: python-flint's, packed exponents and products in C.

Polynomials and differential operators as text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from sgverify.exact.rings.time_limit import check_time

Polynomial = fmpq_mpoly
"""An element of Q[x_1, ..., x_n]; `==` and `bool` compare with the exact zero."""


def polynomials_in(names: Sequence[str]) -> fmpq_mpoly_ctx:
    """The ring Q[x_1, ..., x_n]. A name that is already taken gets underscores."""
    found: dict[str, None] = {}
    for name in names:
        while name in found:
            name += "_"
        found[name] = None
    return fmpq_mpoly_ctx.get(tuple(found), Ordering.degrevlex)


def to_fmpq(value: Fraction) -> fmpq:
    """A rational as a coefficient."""
    return fmpq(value.numerator, value.denominator)


def to_fraction(value: int | fmpq) -> Fraction:
    """A coefficient as a fraction."""
    return Fraction(value) if isinstance(value, int) else Fraction(int(value.p), int(value.q))


def coefficients_in(value: Polynomial, position: int) -> list[Polynomial]:
    """[c_0, c_1, ...] with value = sum_n c_n x^n, x the generator at `position`: c_n is d^n/n! at x = 0."""
    # Going through `to_dict` instead costs thirty times as much.
    nothing: dict[str | int, int] = {value.context().name(position): 0}
    parts = [value.subs(nothing)]
    for n in range(1, int(value.degrees()[position]) + 1):
        value = value.derivative(position) * fmpq(1, n)
        parts.append(value.subs(nothing))
    return parts


def parts_in(value: Polynomial, positions: Sequence[int]) -> dict[tuple[int, ...], Polynomial]:
    """{a: c_a} with value = sum_a c_a x^a, x the generators at `positions`, none of which is in a c_a."""
    parts: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
    for exponents, factor in value.to_dict().items():
        rest = list(exponents)
        for k in positions:
            rest[k] = 0
        parts.setdefault(tuple(int(exponents[k]) for k in positions), {})[tuple(rest)] = factor
    context = value.context()
    return {index: context.from_dict(terms) for index, terms in parts.items()}


def remainder(value: Polynomial, position: int, relation: Sequence[Polynomial]) -> Polynomial:
    """`value` modulo g^n = sum_i c_i g^i, g the generator at `position` and `relation` [c_0, ..., c_(n-1)]."""
    size = len(relation)
    if int(value.degrees()[position]) < size:
        return value
    parts = coefficients_in(value, position)
    for n in range(len(parts) - 1, size - 1, -1):
        for i, below in enumerate(relation):
            if below:
                check_time(len(parts[n]) * len(below))
                parts[n - size + i] = parts[n - size + i] + parts[n] * below
    generator = value.context().gen(position)
    total: Polynomial = value.context().constant(0)
    for n, part in enumerate(parts[:size]):
        total = total + part * generator**n
    return total


def evaluate(
    terms: Mapping[tuple[int, ...], Any], number: Callable[[int], Any], scalar: Callable[[Any], Any]
) -> Any:
    """sum_m scalar(c_m) prod_k number(k)^m_k over the terms {m: c_m} of a polynomial, in their order."""
    known: dict[int, Any] = {}
    total = scalar(fmpq(0))
    for exponents, factor in terms.items():
        term = scalar(factor)
        for k, exponent in enumerate(exponents):
            if exponent:
                if k not in known:
                    known[k] = number(k)
                term = term * known[k] ** int(exponent)
        total = total + term
    return total


def factors(value: Polynomial) -> tuple[Fraction, list[tuple[Polynomial, int]]]:
    """(c, [(f, e), ...]) with value = c * the product of f^e, c rational, the f irreducible."""
    factor, parts = value.factor()
    return to_fraction(factor), [(base, int(exponent)) for base, exponent in parts]


Index = tuple[int, ...]


def print_polynomial(
    terms: Mapping[tuple[int, ...], str], label: Callable[[int], tuple[str, int]], most: int
) -> str:
    """Terms {exponents: coefficient} as text, the largest monomials first, at most `most` of them.

    `label(k)` is the printed name of the k-th generator and the power of it that the name stands for, so
    that the square of sqrt(D) prints as D.
    """
    if not terms:
        return "0"
    shown = []
    for exponents in sorted(terms, reverse=True)[:most]:
        factors = [_factor(*label(k), e) for k, e in enumerate(exponents) if e]
        coefficient = terms[exponents]
        if coefficient in ("1", "-1") and factors:
            shown.append(coefficient[:-1] + " ".join(factors))
        else:
            number = f"({coefficient})" if "/" in coefficient and factors else coefficient
            if number.startswith("(-"):
                number = "-(" + number[2:]
            shown.append(" ".join([number, *factors]))
    text = " + ".join(shown).replace("+ -", "- ")
    return text + (f" + ... ({len(terms) - most} more terms)" if len(terms) > most else "")


def potential_label(index: Index, dim: int) -> str:
    """Printed name of a derivative of U: U'' in one dimension, U_12 for a mixed one."""
    if dim == 1:
        return f"U^({index[0]})" if index[0] > 3 else "U" + "'" * index[0]
    return "U_" + "".join(str(i + 1) * n for i, n in enumerate(index))


def root_label(i: int, j: int, index: Index, dim: int) -> str:
    """Printed name of a derivative of an entry of the metric's root: B' in one dimension, B_12,1 for a mixed one."""
    if dim == 1:
        return f"B^({index[0]})" if index[0] > 3 else "B" + "'" * index[0]
    marks = "".join(str(k + 1) * n for k, n in enumerate(index))
    return f"B_{i + 1}{j + 1}" + (f",{marks}" if marks else "")


def symbol_label(family: str, member: int, *index: Any, dim: int, minibatches: int) -> str:
    """Printed name of a derivative of U, of its prior's part or of the metric's root, of a draw z or of a slot."""
    if family == "U":
        return potential_label(index[0], dim) + ("" if minibatches == 1 else f"[{member}]")
    if family == "prior":
        return potential_label(index[0], dim).replace("U", "U_prior")
    if family == "B":
        return root_label(*divmod(member, dim), index[0], dim)
    return "_".join([f"{family}{member}", *map(str, index)])


def _factor(name: str, unit: int, exponent: int) -> str:
    whole, half = divmod(exponent, unit)
    parts = [f"{name}^{whole}" if whole > 1 else name] if whole else []
    if half:
        parts.append(f"sqrt({name})")
    return " ".join(parts)


def print_operator(coefficients: Mapping[tuple[int, ...], str], names: list[str], most: int = 12) -> str:
    """sum_a c_a d^a as text, the lowest derivatives first."""
    if not coefficients:
        return "0"
    keys = sorted(coefficients, key=lambda index: (sum(index), [-i for i in index]))
    shown = []
    for index in keys[:most]:
        derivative = " ".join(
            f"d_{name}" + (f"^{n}" if n > 1 else "") for name, n in zip(names, index, strict=True) if n
        )
        shown.append(f"[{coefficients[index]}] {derivative}".strip())
    return " + ".join(shown) + (f" + ... ({len(keys) - most} more)" if len(keys) > most else "")

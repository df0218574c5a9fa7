"""Polynomials and differential operators as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

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

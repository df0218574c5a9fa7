"""Random expressions of the functions that definitions are made of, as trees that any carrier evaluates."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq
from hypothesis import strategies as st

from sgverify.schemes.definition.mathematics import exp, magnitude, sqrt

Tree = tuple[Any, ...]

STATES = ("x", "y")
"""What may have any sign."""

FUNCTIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "neg": lambda a: -a,
    "square": lambda a: a**2,
    "cube": lambda a: a * a * a,
    "root of a square": lambda a: sqrt(a * a),
    "magnitude": magnitude,
    "root of a fourth power": lambda a: sqrt(a**4),
    "root of a root": lambda a: sqrt(sqrt(a**4)),
    "root of a product of squares": lambda a, b: sqrt(a * a * b * b),
    "product of roots": lambda a, b: sqrt(a * a) * sqrt(b * b),
    "length": lambda a, b: sqrt(a * a + b * b),
    "smooth root": lambda a: sqrt(1 + a * a),
    "sign": lambda a: a / sqrt(a * a),
    "quotient": lambda a, b: a / b,
    "tamed": lambda a: a / (1 + sqrt(a * a)),
    "reciprocal": lambda a: a**-1,
    "reciprocal square": lambda a: a**-2,
    "exp": lambda a: exp(a),
    "exp of minus": lambda a: exp(-sqrt(a * a)),
}
TWO = {"+", "-", "*", "root of a product of squares", "product of roots", "length", "quotient"}


def trees(
    names: tuple[str, ...], without: frozenset[str] = frozenset(), most: int = 5
) -> st.SearchStrategy[Tree]:
    """Trees over these names and small fractions; shrinks to a name."""
    numbers = st.fractions(-3, 3, max_denominator=4)
    leaves = st.one_of(
        st.sampled_from([("name", name) for name in names]), numbers.map(lambda q: ("number", q))
    )
    known = [name for name in FUNCTIONS if name not in without]

    def extend(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        return st.sampled_from(known).flatmap(
            lambda name: (
                st.tuples(st.just(name), inner, inner) if name in TWO else st.tuples(st.just(name), inner)
            )
        )

    return st.recursive(leaves, extend, max_leaves=most)


def evaluate(tree: Tree, values: Mapping[str, Any], number: Any = lambda q: q) -> Any:
    """The tree on a carrier's values; `number` is what a fraction of the definition is to it."""
    kind, *rest = tree
    if kind == "name":
        return values[rest[0]]
    if kind == "number":
        return number(rest[0])
    return FUNCTIONS[kind](*(evaluate(part, values, number) for part in rest))


def slope_in_balls(tree: Tree, values: Mapping[str, Any]) -> arb | None:
    """d/dx of the tree, by a difference so short that what it leaves out is far below a float; None as `in_balls`."""
    short = fmpq(1, 2**200)
    ends = [in_balls(tree, {**values, "x": ball(values["x"]) + side * short}, 1200) for side in (1, -1)]
    return None if None in ends else (ends[0] - ends[1]) / (2 * short)


def in_balls(tree: Tree, values: Mapping[str, Any], bits: int = 400) -> arb | None:
    """The oracle: the tree in ball arithmetic at numbers; None where it is no number, or not told from none."""
    before = ctx.prec
    ctx.prec = bits
    try:
        found = _plain(tree, {name: ball(value) for name, value in values.items()})
    finally:
        ctx.prec = before
    return found if found.is_finite() and abs(found) < 1e9 else None


def ball(value: Any) -> arb:
    """A fraction as a ball."""
    return value if isinstance(value, arb) else arb(fmpq(value.numerator, value.denominator))


def _plain(tree: Tree, values: Mapping[str, arb]) -> arb:
    """By |a| where the trees take roots of squares: the oracle shares no rewriting with a carrier."""
    kind, *rest = tree
    if kind == "name":
        return values[rest[0]]
    if kind == "number":
        return ball(rest[0])
    parts = [_plain(part, values) for part in rest]
    a, b = parts[0], parts[-1]
    meant: dict[str, Any] = {
        "root of a square": lambda: abs(a),
        "magnitude": lambda: abs(a),
        "root of a fourth power": lambda: a * a,
        "root of a root": lambda: abs(a),
        "root of a product of squares": lambda: abs(a * b),
        "product of roots": lambda: abs(a * b),
        "length": lambda: (a * a + b * b).sqrt(),
        "smooth root": lambda: (1 + a * a).sqrt(),
        "sign": lambda: a / abs(a),
        "tamed": lambda: a / (1 + abs(a)),
        "reciprocal": lambda: 1 / a,
        "reciprocal square": lambda: 1 / (a * a),
        "exp": lambda: a.exp(),
        "exp of minus": lambda: (-abs(a)).exp(),
    }
    return meant[kind]() if kind in meant else FUNCTIONS[kind](*parts)


points = st.fixed_dictionaries({name: st.fractions(-4, 4, max_denominator=8).filter(bool) for name in STATES})
"""States of every sign."""

parameters = st.fractions(Fraction(1, 8), 4, max_denominator=8)
"""A positive number."""

"""Every rewriting of every carrier against balls: the same random expression at random states of every sign.

A carrier may refuse an expression, by an error that names what it does not read. What it does not refuse it must read as
what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from flint import acb, arb
from hypothesis import given, settings

from sgverify.errors import SgverifyError
from sgverify.exact.affine.field import Scalar
from sgverify.exact.numbers.ball import BALLS
from sgverify.exact.numbers.jets import Jet
from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.exact.posterior import panels as enclosure
from sgverify.exact.readings.expression import name as leaf
from sgverify.exact.readings.expression import number, text
from sgverify.exact.readings.formula import define
from sgverify.exact.readings.long_double import LongDouble
from sgverify.exact.rings.evaluation import root_interval, sign_of, value_at
from sgverify.exact.rings.polynomials import Polynomial
from sgverify.exact.rings.power_series import EXACT, TruncatedSeries
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.carrier import on_every_branch
from sgverify.exact.series.operators import derivative_along
from sgverify.exact.transfer.plane.interpreter import Noisy
from sgverify.samplers.reading.carrier import Chains
from sgverify.schemes.definition.abstract_value import SCALAR
from sgverify.schemes.definition.reverse_mode import Tracked, gradient_of
from sgverify.schemes.numbers.algebraic import Algebraic, sqrt_of_rational
from sgverify.testing.profiles import examples
from tests.exact.random_expressions import (
    STATES,
    Tree,
    ball,
    evaluate,
    in_balls,
    parameters,
    points,
    slope_in_balls,
    trees,
)
from tests.tables import each_row

assert enclosure  # registers the functions of balls

REFUSALS = (SgverifyError, ZeroDivisionError, OverflowError)
NAMES = (*STATES, "T")
ABS_X = ("root of a square", ("name", "x"))
HIDDEN = [
    ABS_X,
    ("root of a root", ("name", "x")),
    ("root of a product of squares", ("name", "x"), ("name", "y")),
    ("sign", ("-", ("name", "x"), ("number", Fraction(1)))),
    ("root of a square", ("-", ("name", "T"), ("number", Fraction(1)))),
    ("reciprocal", ("name", "x")),
]
"""What was once read with the wrong sign, or to the wrong power."""

Point = dict[str, Fraction]
FLOATS = 1e-9


def near(found: Any, expected: arb, allowed: float) -> bool:
    """Within `allowed`, relative to 1 or to what is expected."""
    return bool(abs(ball_of(found) - expected) <= allowed * (1 + abs(expected)))


def ball_of(value: Any) -> arb:
    """A number of any kind as a ball."""
    if isinstance(value, arb):
        return value
    if isinstance(value, Algebraic | float | np.floating):
        return arb(float(value))
    return ball(Fraction(value))


def in_series(tree: Tree, point: Point, T: Fraction) -> arb | None:
    """The parameter is the square of the ring's symbol, which T stands for here."""
    return on_its_branch(tree, point, T, lambda value, ring: value)


def on_its_branch(
    tree: Tree, point: Point, root: Fraction | arb, follow: Callable[[Polynomial, Ring], Polynomial]
) -> arb | None:
    """What follows from the coefficient of h^0 on the branch that holds the point, `root` the root of T."""

    def read(signs: Any) -> tuple[Ring, Any]:
        here = Ring(
            1, {"x": "vector", "y": "vector"}, ("T",), depth=0, draws=0, minibatches=1, cap=1, signs=signs
        )
        values = {k: TruncatedSeries(here, {0: here.coordinate(k, 0)}, EXACT) for k in STATES}
        values["T"] = TruncatedSeries(here, {0: here.generator("root", "T") ** 2}, EXACT)
        return here, evaluate(tree, values)

    for signs, (here, value) in on_every_branch(read):
        at = {here.position(k, 0): point[k] for k in STATES} | {here.position("root", "T"): root}
        if all(sign_of(f, here, at.__getitem__) in (0, signs[key]) for key, f in here.supposed.items()):
            if isinstance(value, TruncatedSeries):
                return value_at(follow(value.coefficient(0), here), here, at.__getitem__)
            return ball_of(value) if not follow(here.zero + 1, here).is_zero() else arb(0)
    raise AssertionError("no branch holds the point")


def as_text(tree: Tree, point: Point, T: Fraction) -> arb | None:
    values = {k: leaf(k) for k in NAMES}
    found = evaluate(tree, values)
    shown = text(found if hasattr(found, "operation") else number(found), {})[0]
    value = define(f"def f(x, y, T):\n    return {shown}", "f")(
        **{k: Scalar(BALLS, ball(v)) for k, v in {**point, "T": T}.items()}
    )
    return value.value if isinstance(value, Scalar) else ball_of(value)


def in_an_affine_reading(tree: Tree, point: Point, T: Fraction) -> arb | None:
    values = {k: Scalar(BALLS, ball(v)) for k, v in {**point, "T": T}.items()}
    found = evaluate(tree, values)
    return found.value if isinstance(found, Scalar) else ball_of(found)


def in_jets(tree: Tree, point: Point, T: Fraction) -> arb | None:
    values = {k: Jet(np.array([[v]], dtype=EXTENDED)) for k, v in floats(point, T).items()}
    found = evaluate(tree, values)
    return ball_of(float(found.c[0][0]) if isinstance(found, Jet) else found)


def in_the_plane(tree: Tree, point: Point, T: Fraction) -> arb | None:
    values = {k: Noisy(np.float64(v)) for k, v in floats(point, T).items()}
    found = evaluate(tree, values)
    return ball_of(float(found.mean) if isinstance(found, Noisy) else found)


def in_long_doubles(tree: Tree, point: Point, T: Fraction) -> arb | None:
    values = {k: LongDouble(np.array([[v]], dtype=EXTENDED)) for k, v in floats(point, T).items()}
    found = evaluate(tree, values)
    return ball_of(float(found.value[0, 0]) if isinstance(found, LongDouble) else found)


def in_torch(tree: Tree, point: Point, T: Fraction) -> arb | None:
    values = {k: Chains(torch.tensor([[v]], dtype=torch.float64)) for k, v in floats(point, T).items()}
    found = evaluate(tree, values)
    return ball_of(float(found.tensor[0, 0]) if isinstance(found, Chains) else found)


def on_boxes(tree: Tree, point: Point, T: Fraction) -> arb | None:
    """Boxes that reach into the complex plane: what is finite there holds the real value."""
    values = {k: acb(ball(v), arb(0, 1e-12)) for k, v in {**point, "T": T}.items()}
    found = evaluate(tree, values, lambda q: acb(ball(q)))
    return found.real if found.is_finite() else None


def in_surds(tree: Tree, point: Point, T: Fraction) -> arb | None:
    """x, y and T are multiples of sqrt(2)."""
    two = sqrt_of_rational(Fraction(2))
    return ball_of(evaluate(tree, {k: v * two for k, v in {**point, "T": T}.items()}))


def floats(point: Point, T: Fraction) -> dict[str, float]:
    """The numbers in float64; what they have in eighths is exact."""
    return {k: float(v) for k, v in {**point, "T": T}.items()}


CARRIERS: dict[Callable[[Tree, Point, Fraction], arb | None], frozenset[str]] = {
    in_series: frozenset(),
    as_text: frozenset(),
    in_an_affine_reading: frozenset(),
    in_jets: frozenset(),
    in_the_plane: frozenset(),
    in_long_doubles: frozenset(),
    in_torch: frozenset(),
    on_boxes: frozenset(),
    in_surds: frozenset(),
}


def agrees(
    read: Callable[[Tree, Point, Fraction], arb | None], tree: Tree, point: Point, T: Fraction
) -> bool | None:
    """Whether a carrier reads what balls say; None where it refuses, or balls do not say."""
    meant: dict[str, Any] = {**point, "T": T * T if read is in_series else T}
    if read is in_surds:
        meant = {k: ball(v) * arb(2).sqrt() for k, v in meant.items()}
    expected = in_balls(tree, meant)
    if expected is None:
        return None
    try:
        found = read(tree, point, T)
    except REFUSALS:
        return None
    return near(found, expected, FLOATS) if found is not None and found.is_finite() else None


@each_row("read", CARRIERS)
@each_row("tree", HIDDEN)
def test_what_was_once_misread(read: Callable[[Tree, Point, Fraction], arb | None], tree: Tree) -> None:
    for x in (Fraction(-3, 2), Fraction(3, 2)):
        assert agrees(read, tree, {"x": x, "y": Fraction(-1, 4)}, Fraction(1, 2)) is not False


@settings(max_examples=examples(30))
@given(tree=trees(NAMES), point=points, T=parameters)
def test_what_a_carrier_reads_is_what_balls_say(tree: Tree, point: Point, T: Fraction) -> None:
    for read in CARRIERS:
        assert agrees(read, tree, point, T) is not False, f"{read.__name__} reads {tree} as another number"


def test_every_carrier_read_something() -> None:
    """Else the property above would say nothing."""
    for x in (Fraction(-3, 2), Fraction(3, 2)):
        for read in CARRIERS:
            assert agrees(
                read, ("*", ("name", "T"), ("number", Fraction(3, 2))), {"x": x, "y": x}, Fraction(1, 2)
            )


@settings(max_examples=examples(20))
@given(tree=trees(NAMES), point=points, T=parameters)
def test_derivatives_are_those_of_the_same_branch(tree: Tree, point: Point, T: Fraction) -> None:
    """By Taylor polynomials, by the chain rule on symbols, by the reverse mode."""
    given_at = {**point, "T": T}
    expected = slope_in_balls(tree, given_at)
    if expected is None or not abs(expected) < 1e9:
        return
    for slope in (by_jets, by_a_ring, by_the_reverse_mode):
        try:
            found = slope(tree, point, T)
        except REFUSALS:
            continue
        if found is not None and found.is_finite():
            assert near(found, expected, FLOATS), (slope.__name__, tree, point, T)


def by_jets(tree: Tree, point: Point, T: Fraction) -> arb | None:
    """The second coefficient of a Taylor polynomial in x."""
    values = {k: Jet(np.array([[v], [float(k == "x")]], dtype=EXTENDED)) for k, v in floats(point, T).items()}
    found = evaluate(tree, values)
    return ball_of(float(found.c[1][0])) if isinstance(found, Jet) else arb(0)


def by_a_ring(tree: Tree, point: Point, T: Fraction) -> arb | None:
    """By the chain rule on symbols."""
    return on_its_branch(tree, point, root_interval(T), lambda value, ring: derivative_along(value, 0, ring))


def by_the_reverse_mode(tree: Tree, point: Point, T: Fraction) -> arb | None:
    """By pullbacks."""
    x = Tracked(Scalar(BALLS, ball(point["x"])), SCALAR)
    others = {k: Scalar(BALLS, ball(v)) for k, v in {**point, "T": T}.items()}
    (found,) = gradient_of(evaluate(tree, {**others, "x": x}), [x])
    return found.value if isinstance(found, Scalar) else ball_of(found)

"""Benchmark: the Baker-Campbell-Hausdorff series of a word over three letters."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import factorial
from typing import Any

import sympy as sp

from benchmarks.measuring import Row, Setting, compare, measure
from sgverify.exact.bch import bch_series
from sgverify.exact.lyndon import expand

WORD = "ABCBA"
BAR = 1.0


def run(setting: Setting) -> Iterator[Row]:
    """The whole logarithm through degree 8 in the Lyndon basis, and a smaller one beside sympy."""
    degree, small = (3, 2) if setting.tiny else (8, 4)
    for word in ("ABC", WORD):
        timing = measure(lambda word=word: bch_series(word, degree=degree), setting)
        yield Row(f"bch of {word}, whole series through degree {degree}", timing, BAR)
    timing, peer = compare(
        lambda: bch_series(WORD, degree=small), lambda: logarithm_by_sympy(WORD, small), setting, same=_same
    )
    yield Row(
        f"bch of {WORD}, whole series through degree {small}, beside sympy",
        timing,
        None,
        "non-commutative symbols, expanded by sympy",
        peer,
        note=f"degree {small}, which sympy reaches within seconds",
    )


def logarithm_by_sympy(word: str, degree: int) -> Any:
    """log(exp(c1 X1) exp(c2 X2) ...) through `degree`, as a sympy polynomial in non-commuting letters."""
    letters = {letter: sp.Symbol(letter, commutative=False) for letter in sorted(set(word))}
    t = sp.Symbol("t")
    product = sp.Integer(1)
    for letter in word:
        share = sp.Rational(1, word.count(letter))
        flow = sum((t * share * letters[letter]) ** k / factorial(k) for k in range(degree + 1))
        product = _cut(product * flow, t, degree)
    power, total = sp.Integer(1), sp.Integer(0)
    for k in range(1, degree + 1):
        power = _cut(power * (product - 1), t, degree)
        total += sp.Rational((-1) ** (k + 1), k) * power
    return sp.expand(total.subs(t, 1))


def _cut(value: Any, t: Any, degree: int) -> Any:
    return sp.Add(
        *(term for term in sp.Add.make_args(value.expand()) if term.as_coeff_exponent(t)[1] <= degree)
    )


def _same(series: dict[int, dict[str, Fraction]], polynomial: Any) -> bool:
    ours = {word: c for part in series.values() for word, c in expand(part).items()}
    theirs = {}
    for term in sp.Add.make_args(polynomial):
        scalar, factors = term.args_cnc()
        word = "".join(str(f.base) * int(f.exp) if f.is_Pow else str(f) for f in factors)
        theirs[word] = Fraction(*sp.Mul(*scalar).as_numer_denom())
    return ours == theirs

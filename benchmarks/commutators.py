"""Benchmark: Baker-Campbell-Hausdorff, the order verdict of a word and its whole series, beside sympy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import factorial
from typing import Any

import sympy as sp

from benchmarks.measuring import Row, Setting, compare, measure
from sgverify.exact.splittings.bch import BCHResult, bch, bch_series
from sgverify.exact.splittings.lyndon import expand
from sgverify.exact.splittings.order_conditions import vanishes
from sgverify.exact.splittings.splitting import read_splitting
from sgverify.schemes.numbers.algebraic import Algebraic

WORD = "ABCBA"
SERIES_BAR = 1.0
VERDICT_BAR = 0.005
YOSHIDA = "ABABABA"
PEER = "non-commutative symbols, expanded by sympy"


def run(setting: Setting) -> Iterator[Row]:
    """Verdicts through degree 8, verdicts over a number field, and the whole logarithm."""
    yield from _verdicts(setting)
    yield from _fields(setting)
    yield from _series(setting)


def _verdicts(setting: Setting) -> Iterator[Row]:
    degree = 3 if setting.tiny else 8
    for word in (WORD, "ABCBACB", "ABCBABCBABCBA"):
        yield Row(
            f"order verdict of {word}, every degree through {degree}",
            measure(lambda word=word: through(word, None, degree), setting),
            VERDICT_BAR,
            note="the order conditions at all Lyndon words, met or not; a search stops at the first that is not",
        )
    yield Row(f"bch of {WORD}: order and leading error", measure(lambda: bch(WORD), setting), VERDICT_BAR)
    timing, peer = compare(
        lambda: bch(WORD), lambda: logarithm_by_sympy(WORD, _shares(WORD), 3), setting, same=_same_leading(3)
    )
    yield Row(f"bch of {WORD} beside sympy", timing, VERDICT_BAR, PEER, peer, note="sympy's through degree 3")


def _fields(setting: Setting) -> Iterator[Row]:
    """Yoshida's word: sympy in degree 3 only, with its roots left as they are, and so without a proof that they cancel."""
    yield Row(
        f"bch of {YOSHIDA} in Q(2^(1/3)): order 4, leading error",
        measure(lambda: bch(YOSHIDA, "yoshida4"), setting),
        None,
    )
    cube_root = sp.cbrt(2)
    w = 1 / (2 - cube_root)
    shares = [w / 2, w, (1 - w) / 2, 1 - 2 * w, (1 - w) / 2, w, w / 2]
    timing, peer = compare(
        lambda: through(YOSHIDA, "yoshida4", 3),
        lambda: logarithm_by_sympy(YOSHIDA, shares, 2 if setting.tiny else 3),
        setting,
        same=lambda ours, theirs: ours == 3 and _vanishes(theirs),
    )
    yield Row(f"no error of {YOSHIDA} through degree 3, proved", timing, None, PEER, peer)


def _series(setting: Setting) -> Iterator[Row]:
    degree, small = (3, 2) if setting.tiny else (8, 4)
    for word in ("ABC", WORD):
        timing = measure(lambda word=word: bch_series(word, degree=degree), setting)
        yield Row(f"bch of {word}, whole series through degree {degree}", timing, SERIES_BAR)
    timing, peer = compare(
        lambda: bch_series(WORD, degree=small),
        lambda: logarithm_by_sympy(WORD, _shares(WORD), small),
        setting,
        same=_same,
    )
    yield Row(
        f"bch of {WORD}, whole series through degree {small}, beside sympy",
        timing,
        None,
        PEER,
        peer,
        note=f"degree {small}, which sympy reaches within seconds",
    )


def through(word: str, coefficients: str | None, degree: int) -> int:
    """Look at every degree, as a word without an error would make `bch` do; how many degrees have none."""
    splitting = read_splitting(word, coefficients)
    shares: list[Any] = list(splitting.coefficients)
    return sum(vanishes(word, shares, d) for d in range(1, degree + 1))


def logarithm_by_sympy(word: str, shares: Sequence[Any], degree: int) -> Any:
    """log(exp(c1 X1) exp(c2 X2) ...) through `degree`, as a sympy polynomial in non-commuting letters."""
    letters = {letter: sp.Symbol(letter, commutative=False) for letter in sorted(set(word))}
    t = sp.Symbol("t")
    product = sp.Integer(1)
    for letter, share in zip(word, shares, strict=True):
        flow = sum((t * share * letters[letter]) ** k / factorial(k) for k in range(degree + 1))
        product = _cut(product * flow, t, degree)
    power, total = sp.Integer(1), sp.Integer(0)
    for k in range(1, degree + 1):
        power = _cut(power * (product - 1), t, degree)
        total += sp.Rational((-1) ** (k + 1), k) * power
    return sp.expand(total.subs(t, 1))


def _shares(word: str) -> list[Any]:
    return [sp.Rational(1, word.count(letter)) for letter in word]


def _cut(value: Any, t: Any, degree: int) -> Any:
    return sp.Add(
        *(term for term in sp.Add.make_args(value.expand()) if term.as_coeff_exponent(t)[1] <= degree)
    )


def _words(polynomial: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for term in sp.Add.make_args(polynomial):
        scalar, factors = term.args_cnc()
        word = "".join(str(f.base) * int(f.exp) if f.is_Pow else str(f) for f in factors)
        found[word] = found.get(word, 0) + sp.Mul(*scalar)
    return found


def _rational_words(polynomial: Any) -> dict[str, Fraction]:
    return {word: Fraction(*c.as_numer_denom()) for word, c in _words(polynomial).items()}


def _same(series: dict[int, dict[str, Fraction]], polynomial: Any) -> bool:
    ours = {word: c for part in series.values() for word, c in expand(part).items()}
    return ours == _rational_words(polynomial)


def _same_leading(degree: int) -> Callable[[BCHResult, Any], bool]:
    def same(result: BCHResult, polynomial: Any) -> bool:
        theirs = {word: c for word, c in _rational_words(polynomial).items() if len(word) == degree}
        ours = {term.commutator: term.coefficient for term in result.leading}
        return not any(isinstance(c, Algebraic) for c in ours.values()) and expand(ours) == theirs

    return same


def _vanishes(polynomial: Any) -> bool:
    """Whether all words but the letters have coefficients that are 0 to 30 digits."""
    return all(abs(sp.N(c, 30)) < 1e-25 for word, c in _words(polynomial).items() if len(word) > 1)

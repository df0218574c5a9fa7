"""The products of exponentials that chen2015 prints, against Baker-Campbell-Hausdorff.

A printed logarithm is a table {power of h: {commutator: coefficient}}; commutators may be written in any order, they
are compared as words of the free associative algebra.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import factorial

from sgverify.evidence.erratum import powers
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.operators import (
    Operator,
    compose,
    difference,
    identity,
    operator_text,
    ring_of,
    transition_of_flow,
)
from sgverify.exact.splittings.bch import bch, bch_series
from sgverify.exact.splittings.lyndon import lyndon_coefficients
from sgverify.exact.splittings.splitting import product_of_exponentials
from sgverify.papers.formula import Examination, formula
from sgverify.schemes.catalogue.kinetic import CHEN

Logarithm = Mapping[int, Mapping[str, Fraction]]

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
FORMAL = "for every two or three operators, as formal series"


def words_of(commutator: str) -> dict[str, int]:
    """A commutator such as "[A,[A,B]]" as associative words, [X,Y] = XY - YX.

    >>> words_of("[O,B]")
    {'OB': 1, 'BO': -1}
    """
    if not commutator.startswith("["):
        return {commutator: 1}
    depth, comma = 0, 0
    for place, sign in enumerate(commutator):
        depth += (sign == "[") - (sign == "]")
        if sign == "," and depth == 1:
            comma = place
    left, right = words_of(commutator[1:comma]), words_of(commutator[comma + 1 : -1])
    total: defaultdict[str, int] = defaultdict(int)
    for x, a in left.items():
        for y, b in right.items():
            total[x + y] += a * b
            total[y + x] -= a * b
    return {word: weight for word, weight in total.items() if weight}


def text_of(logarithm: Logarithm) -> str:
    """h^k coefficient [X,Y] + ..., in the Lyndon basis."""
    parts = [
        f"{coefficient} {_power(k)}{commutator}"
        for k, part in sorted(logarithm.items())
        for commutator, coefficient in part.items()
        if coefficient
    ]
    return " + ".join(parts).replace("+ -", "- ")


def minus(printed: Logarithm, computed: Logarithm) -> Logarithm:
    """printed - computed, in the Lyndon basis, zeros left out."""
    found: dict[int, dict[str, Fraction]] = {}
    for k in sorted({*printed, *computed}):
        words: defaultdict[str, Fraction] = defaultdict(Fraction)
        for sign, logarithm in ((1, printed), (-1, computed)):
            for commutator, coefficient in logarithm.get(k, {}).items():
                for word, weight in words_of(commutator).items():
                    words[word] += sign * weight * coefficient
        left = lyndon_coefficients({word: weight for word, weight in words.items() if weight})
        if left:
            found[k] = left
    return found


def compare(
    word: str, shares: Sequence[Fraction], printed: Logarithm, mended: Logarithm, degree: int
) -> Examination:
    """A printed logarithm of exp(c_1 h X_1) exp(c_2 h X_2) ... through h^degree, and the one that is to hold."""
    computed = bch_series(word, tuple(shares), degree)
    apart = minus(printed, computed)
    return Examination(
        printed=text_of(apart),
        holds=text_of(minus(mended, computed)),
        certificate={"product": _product(word, shares), "logarithm": text_of(computed)},
        family=powers("h", min(apart), degree + 1, FORMAL) if apart else None,
    )


def baker_campbell_hausdorff() -> Examination:
    """(46): the third term without its h^3."""
    third = {"[A,[A,B]]": Fraction(1, 96), "[B,[B,A]]": Fraction(1, 96)}
    low: dict[int, dict[str, Fraction]] = {1: {"A": HALF, "B": HALF}, 2: {"[A,B]": Fraction(1, 8)}}
    return compare("AB", (HALF, HALF), {0: third, **low}, {**low, 3: third}, 3)


def lemma_13_second_line() -> Examination:
    """exp(h O) exp(h/2 A) exp(h/2 B)."""
    low = {1: {"O": Fraction(1), "A": HALF, "B": HALF}}
    second = {"[A,B]": Fraction(1, 8), "[O,A]": QUARTER, "[O,B]": QUARTER}
    return compare("OAB", (Fraction(1), HALF, HALF), {**low, 2: second}, {**low, 2: second}, 2)


def lemma_13_third_line() -> Examination:
    """exp(h/2 A) exp(h O) exp(h/2 A) exp(h/2 B)."""
    low = {1: {"O": Fraction(1), "A": Fraction(1), "B": HALF}}
    printed = {**low, 2: {"[A,B]": QUARTER, "[O,B]": HALF}}
    mended = {**low, 2: {"[A,B]": QUARTER, "[O,B]": QUARTER}}
    return compare("AOAB", (HALF, Fraction(1), HALF, HALF), printed, mended, 2)


def lemma_13_last_line() -> Examination:
    """exp(h/2 B) exp(h/2 A) exp(h O) exp(h/2 A) exp(h/2 B), with the sum of commutators that is printed."""
    low = {1: {"O": Fraction(1), "A": Fraction(1), "B": Fraction(1)}}
    sum_of = {"[A,B]": QUARTER, "[B,A]": QUARTER, "[B,O]": QUARTER}
    return compare(
        "BAOAB",
        (HALF, HALF, Fraction(1), HALF, HALF),
        {**low, 2: {**sum_of, "[O,B]": HALF}},
        {**low, 2: {**sum_of, "[O,B]": QUARTER}},
        2,
    )


def lemma_13_word() -> Examination:
    """The word that the lemma states against the word that its proof multiplies out."""
    stated, proved = bch("ABOBA"), bch("BAOAB")
    apart = minus(
        {3: {t.commutator: t.coefficient for t in proved.leading}},
        {3: {t.commutator: t.coefficient for t in stated.leading}},
    )
    confirmed = stated.order == proved.order == 2
    return Examination(
        printed=text_of(apart),
        holds="" if confirmed else f"orders {stated.order} and {proved.order}",
        certificate={
            "leading error of ABOBA": " + ".join(map(str, stated.leading)),
            "leading error of BAOAB": " + ".join(map(str, proved.leading)),
            "orders": {"ABOBA": stated.order, "BAOAB": proved.order},
        },
    )


def scheme_of_the_proof() -> Examination:
    """The word of the proof of Theorem 3, said to be symmetric and of second order, against the one that is proposed."""
    used, proposed = bch("ABOAB"), bch("ABOBA")
    return Examination(
        printed=""
        if used.symmetric and used.order == 2
        else f"order {used.order}: {' + '.join(map(str, used.leading))}",
        holds="" if proposed.symmetric and proposed.order == 2 else f"order {proposed.order}",
        certificate={
            "ABOAB": {"symmetric": used.symmetric, "order": used.order},
            "ABOBA": {"symmetric": proposed.symmetric, "order": proposed.order},
        },
        family=powers("h", used.order + 1, 3, FORMAL) if used.order is not None and used.order < 2 else None,
    )


def coefficients_of_the_exponential() -> Examination:
    """1/2 for 1/k! in front of h^(k-1) L~_l^k, for integrators of order K >= 3."""
    series = product_of_exponentials("X", (Fraction(1),), 4)
    truth = {k: series.component(k)["X" * k] for k in range(2, 5)}
    apart = {k: HALF - truth[k] for k in truth if truth[k] != HALF}
    mended = {k: Fraction(1, factorial(k)) - truth[k] for k in truth}
    return Examination(
        printed=", ".join(f"{difference} at k = {k}" for k, difference in apart.items()),
        holds=", ".join(f"{left} at k = {k}" for k, left in mended.items() if left),
        certificate={
            "coefficient of (hX)^k in exp(hX)": {f"k = {k}": str(value) for k, value in truth.items()}
        },
    )


def powers_of_the_exponential() -> Examination:
    """h^k/k! L~_l^2 for h^k/k! L~_l^k, for integrators of order K >= 3."""
    series = product_of_exponentials("X", (Fraction(1),), 4)
    truth = {k: series.component(k) for k in range(2, 5)}
    apart = [k for k in truth if truth[k] != {"XX": Fraction(1, factorial(k))}]
    left = [k for k in truth if truth[k] != {"X" * k: Fraction(1, factorial(k))}]
    return Examination(
        printed=", ".join(f"L~_l^2 for L~_l^{k} at h^{k}" for k in apart),
        holds=", ".join(f"h^{k}" for k in left),
        certificate={
            "exp(hX)": {f"h^{k}": f"{c} X^{len(w)}" for k, part in truth.items() for w, c in part.items()}
        },
        family=powers("h", min(apart), max(truth) + 1, "K = 4, every operator X") if apart else None,
    )


def order_of_steps() -> Examination:
    """E f(X_2) where the first step is a letter A and the second a letter O, against both products of their operators."""
    first, second = (CHEN.letters[name].flow for name in "AO")
    dynamics = CHEN.dynamics
    ring = ring_of(dynamics, 1, depth=6, draws=1, cap=5)

    def both(state, **given):  # type: ignore[no-untyped-def]
        return second(first(state, **given), **given)

    one, two, together = (transition_of_flow(flow, ring, 4) for flow in (first, second, both))
    truth = difference(together.at(4), {}, ring)
    found = {}
    for name, (left, right) in {"P_1 P_2 f": (one, two), "P_2 P_1 f": (two, one)}.items():
        product: Operator = {}
        for j in range(5):
            # The increments' moments leave out that of order 0, the identity.
            before, after = (t.at(k) if k else identity(ring) for t, k in ((left, j), (right, 4 - j)))
            for index, value in compose(before, after, ring).items():
                product[index] = product[index] + value if index in product else value
        found[name] = _operator(difference(product, truth, ring), ring)
    return Examination(
        printed=found["P_2 P_1 f"],
        holds=found["P_1 P_2 f"],
        certificate={
            "steps": "first the drift A, then the noisy kick O, for every smooth U in one dimension; compared at h^2",
            "in every dimension": "E f(X_2) = E E[f(X_2) | X_1] = P_1 (P_2 f)",
            "P_1 P_2 f - E f(X_2)": found["P_1 P_2 f"] or "0",
            "P_2 P_1 f - E f(X_2)": found["P_2 P_1 f"],
        },
    )


def _operator(operator: Operator, ring: Ring) -> str:
    if not operator:
        return ""
    return f"h^2 ( {operator_text(operator, ring)} )"


def _power(k: int) -> str:
    return "" if k == 0 else "h " if k == 1 else f"h^{k} "


def _product(word: str, shares: Sequence[Fraction]) -> str:
    return " ".join(f"exp({'' if c == 1 else f'{c} '}h {x})" for x, c in zip(word, shares, strict=True))


FORMULAS = (
    formula("chen2015/equation-3", order_of_steps),
    formula("chen2015/equation-24", coefficients_of_the_exponential),
    formula("chen2015/equation-26", scheme_of_the_proof),
    formula("chen2015/equation-35", powers_of_the_exponential),
    formula("chen2015/equation-46", baker_campbell_hausdorff),
    formula("chen2015/lemma-13-second-line", lemma_13_second_line),
    formula("chen2015/lemma-13-third-line", lemma_13_third_line),
    formula("chen2015/lemma-13-last-line", lemma_13_last_line),
    formula("chen2015/lemma-13-word", lemma_13_word),
)

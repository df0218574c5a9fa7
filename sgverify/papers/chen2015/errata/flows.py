"""The flows of several minibatches that appendix J of chen2015 prints, against Baker-Campbell-Hausdorff."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from sgverify.evidence.erratum import RefutingFamily, powers
from sgverify.exact.splittings.bch import bch_series
from sgverify.exact.splittings.mean_flow import (
    Commutators,
    compare,
    corrected,
    induction_defect,
    noise_moves_at_third_order,
    noises_commute,
    printed,
    second_order,
    subtract,
    text_of,
    third_order_of_halves,
    weight,
)
from sgverify.exact.splittings.splitting import product_of_exponentials
from sgverify.papers.chen2015.errata.products import words_of
from sgverify.papers.formula import Examination, formula
from sgverify.schemes import kinetic

DIMENSION = 2


def three_batches() -> Examination:
    """exp(h(L + dV_k)) exp(h(L + dV_j)) exp(h(L + dV_i)), i, j, k = 1, 2, 3."""
    return _one_line({"[L,dV1]": Fraction(1), "[L,dV3]": Fraction(1)}, 3)


def two_batches() -> Examination:
    """exp(h(L + dV_j)) exp(h(L + dV_i)), i, j = 1, 2."""
    return _one_line({"[L,dV1]": Fraction(1, 2), "[L,dV2]": Fraction(-1, 2)}, 2)


def any_batches() -> Examination:
    """Equation (50), for 2 to 6 minibatches and by induction for any number."""
    as_printed, mended = (compare(formula, kinetic, DIMENSION) for formula in (printed, corrected))
    gap = induction_defect()
    # With the first step first, as products act on test functions, the printed term is off too.
    acting = [m for m, truth in mended.truth.items() if not subtract(printed(m), truth)]
    return Examination(
        printed="; ".join(f"L = {m}: {text_of(left)}" for m, left in as_printed.apart.items()),
        holds="; ".join([*map(text_of, mended.apart.values()), *gap]),
        certificate={
            "h^2 of the logarithm, last step first": {
                f"L = {m}": text_of(found) for m, found in as_printed.truth.items()
            },
            "h^2 of the logarithm, first step first": {
                f"L = {m}": text_of(found) for m, found in mended.truth.items()
            },
            "numbers L for which the printed term holds with the first step first": acting or "none",
            f"[dV_i, dV_j] = 0, dimension {DIMENSION}: a gradient of theta times grad_p": mended.commuting,
            "induction over L": gap
            or "complete: 2 S_(L+1) has the weights of 2 S_L less 1, and L for [L, dV_(L+1)]",
        },
        family=_halves() if as_printed.apart else None,
    )


def _halves() -> RefutingFamily:
    """Equation (50) at T = 1, h = 1/L, with the noise V in the first half of the steps and -V in the second, over O(h^2).

    The two commutators that are printed cancel; those of all minibatches, each by its weight, add up to a multiple of [L,V] that
    does not fall with h.
    """
    ratios = []
    for length in (8, 16, 32):
        weights = (Fraction(weight(length, number), 2) for number in range(1, length + 1))
        left = sum((w if 2 * i < length else -w for i, w in enumerate(weights)), Fraction(0))
        # h^2 sum_l (...) [L, V] over h^2.
        ratios.append(float(abs(left)))
    return RefutingFamily(
        along="h -> 0 at T = L h = 1",
        hypotheses="for every smooth U, SGHMC's flows, and noises V, V, ..., -V, -V, ...",
        ratios=tuple(ratios),
    )


def _one_line(line: Commutators, batches: int) -> Examination:
    """A printed S_m for one number of minibatches, the last step first, and the corrected formula in its place."""
    truth = second_order(batches, commuting=noises_commute(kinetic, DIMENSION), last_first=True)
    mended = {name: -value for name, value in corrected(batches).items()}
    return Examination(
        printed=text_of(subtract(line, truth)),
        holds=text_of(subtract(mended, truth)),
        certificate={"h^2 of the logarithm": text_of(truth)},
        family=powers("h", 2, 3, "for every smooth U and every noise") if subtract(line, truth) else None,
    )


def remainder() -> Examination:
    """(Lh) O(h^2) in (50): the third order over T^3, T = L h, of two halves with opposite noises, for every even L."""
    third = third_order_of_halves()
    moves = noise_moves_at_third_order(kinetic, DIMENSION)
    weights: defaultdict[str, Fraction] = defaultdict(Fraction)
    for commutator, coefficient in bch_series("ABC", (Fraction(1),) * 3, 3)[3].items():
        for word, factor in words_of(commutator).items():
            weights[word] += Fraction(coefficient) * factor
    largest = max(abs(weight) for weight in weights.values())
    return Examination(
        printed=f"with the noise V in the first half of the steps and -V in the second the third order is T^3 ({text_of(third)}) "
        "for every even L: at a fixed T it does not fall with h"
        if third and moves
        else "",
        holds="" if largest <= Fraction(1, 3) else f"a weight of {largest}",
        certificate={
            f"[[L,V],V] = 0 for SGHMC, every smooth U and V, dimension {DIMENSION}": not moves,
            "why for every even L": "flows with one noise commute: each half of the steps is one flow of the time T/2",
            "largest weight of a product of three operators in the logarithm": str(largest),
            "uniformly": "L^3 such products, each with h^3 and a weight of 1/3 at most: O(T^3), and O(h^3) at a fixed L",
        },
        family=powers("h", 0, 2, "at T = L h = 1, the two halves of opposite noises")
        if third and moves
        else None,
    )


def exact_flow() -> Examination:
    """exp(hL) ... exp(hL), two factors, as a power series in h: X = L."""
    series = product_of_exponentials("XX", (Fraction(1), Fraction(1)), 2)
    terms = {k: series.component(k) for k in range(3)}
    constant = terms[0].get("", Fraction(0))
    linear = terms[1].get("X", Fraction(0))
    return Examination(
        printed=f"the term of order 0, {constant}" if constant else "",
        holds="" if constant == 1 and linear == 2 else f"order 0: {constant}, order 1: {linear}",
        certificate={
            "exp(hL) exp(hL)": " + ".join(
                f"{c} h^{k} {w or '1'}" for k, part in terms.items() for w, c in part.items()
            ),
            "remainder": "O(T^2), T = L h: at a fixed running time T it does not vanish with h",
        },
        family=powers("h", 0, 2, "for two factors and every L") if constant else None,
    )


FORMULAS = (
    formula("chen2015/appendix-j-two-batches", two_batches),
    formula("chen2015/appendix-j-three-batches", three_batches),
    formula("chen2015/theorem-14", any_batches),
    formula("chen2015/theorem-14-remainder", remainder),
    formula("chen2015/appendix-j-exact-flow", exact_flow),
)

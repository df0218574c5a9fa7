"""Checks: how does the probability of a swap fall with the noise of the energies, and which control variate reduces it most?

The probability is the subject of vr-resgld Lemmas 2 and D4, the coefficient of the control variate that of the text below
equation (3).
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import flint
from flint import arb

from sgverify.checks.question import Question
from sgverify.evidence import EVERY, Evidence, Scope, tried
from sgverify.exact.exchange.acceptance import least_variance, swap_chance, unbalanced_terms
from sgverify.exact.numbers.ball import number
from sgverify.rates.verdict import Judgement


def check_best_coefficient(question: Question) -> Evidence:
    """Var L~ at c* = -Cov/Var is (1 - rho^2) Var L(B | theta) and the least over c, exactly, over all minibatches of small data.

    Cannot see: coefficients that are learnt during a run, and data sets larger than those that are enumerated.
    """
    found = least_variance()
    reason = (
        f"Var L~ at c* is not as claimed; not (1 - rho^2) Var L(B | theta), or not the least: {'; '.join(found.defects)}"
        if found.defects
        else "Var L~ at c* is the least over c; it is (1 - rho^2) Var L(B | theta), and less than at c* - 1 and c* + 1, between "
        "which Var L~ is a parabola"
    )
    return question.answered(
        Judgement("violates" if found.defects else "conforms", not found.defects, reason),
        certificate=found.certificate,
    )


_OF_A_LEMMA = Scope(
    dimensions=EVERY,
    steps=EVERY,
    temperatures=EVERY,
    states=tried("the tried log S and noise"),
    targets=EVERY,
)
"""A statement about E min(1, S) alone, in which no target, step and temperature enters but by S."""

BITS = 256
F = Fraction(2)
"""The correction factor F of (16), the one in both lemmas."""

SMALL = Fraction(1, 2**30)
AT = tuple(Fraction(k, 2) for k in range(-8, 9))
"""The values of u = log S without noise at which the lemmas are tested."""

DEVIATIONS = (Fraction(1, 1000), Fraction(1, 4), Fraction(1), Fraction(4), Fraction(16))
CLOSE = 1e-6


def check_swap_rate(question: Question) -> Evidence:
    """min(1, S) - E min(1, S~) in powers of sigma~^2 = O(m^2 eta/n), and that the chance falls with sigma~ at every u.

    Cannot see: energy noise that is not normal, and values of u and sigma~ other than those that are computed.
    """
    prediction = question.prediction
    with flint.ctx.workprec(BITS):
        orders = {u: _order(u) for u in AT}
        least = min(orders.values())
        # Far from u = 0 the differences are below the precision: only enclosures that do not overlap are compared.
        rises = any(
            swap_chance(u, later * later, F=F) > swap_chance(u, s * s, F=F)
            for u in AT
            for s, later in pairwise(DEVIATIONS)
        )
        above = [
            (str(u), str(s))
            for u in AT
            for s in DEVIATIONS
            if _loss(u, s) < 0 or _loss(u, s) > number(s) / (2 * arb.pi()).sqrt()
        ]
        balanced = not unbalanced_terms(F)
    holds = Fraction(least) >= prediction.exponent and not rises and balanced and not above
    worst = min(orders, key=lambda u: orders[u])
    if not balanced:
        reason = "swaps do not balance the joint Gibbs law; with normal noise, at F = 2"
    elif rises or above:
        reason = f"the loss leaves its bounds or does not grow; the chance loses 0 to sigma~/sqrt(2 pi): (u, sigma~) = {above[:3]}"
    else:
        reason = (
            f"noise lowers the chance of a swap; by the order (sigma~^2)^{least:g} at log S = {worst}, at most sigma~/sqrt(2 pi), "
            "and the chance falls with sigma~ at every log S"
        )
    return question.answered(
        Judgement("conforms" if holds else "violates", Fraction(least) == prediction.exponent, reason),
        scope=_OF_A_LEMMA,
        found=Fraction(least).limit_denominator(100),
        certificate={
            "order in sigma~^2 by log S": {
                str(u): order if math.isfinite(order) else "beyond every power" for u, order in orders.items()
            },
            "sigma~^2": "(1/tau1 - 1/tau2)^2 Var(L~1 - L~2), of the order m^2 eta/n by lemma 1",
            "noise": "normal; the 1/n^2 of the lemma is what minibatches leave of that",
        },
    )


def check_swap_bound(question: Question) -> Evidence:
    """E min(1, S) over the stated bound, for normal noise: bounded for every u and sigma, or not.

    Cannot see: energy noise that is not normal.
    """
    printed = question.claim.corrects is None
    with flint.ctx.workprec(BITS):
        ratios = {(share, s): _ratio(share * s * s, s, printed) for s in DEVIATIONS for share in _shares()}
        worst = max(ratios, key=lambda key: float(ratios[key].mid().log()))
        # At u = -sigma^2/2 the ratio to the printed bound is at least exp(sigma^2/8)/2.
        unbounded = all(
            ratio > number(s * s / 8).exp() / 2
            for (share, s), ratio in ratios.items()
            if share == Fraction(-1, 2)
        )
        holds = all(ratio <= 1 for ratio in ratios.values()) and not unbalanced_terms(F)
    if holds:
        reason = (
            "E min(1, S) <= the bound; wherever it is computed, and by E min(1, S) <= E S^lambda everywhere"
        )
    elif printed and unbounded:
        reason = "no constant times the bound holds; at u = -sigma^2/2 E min(1, S) is more than exp(sigma^2/8)/2 times the bound"
    else:
        times = ratios[worst].str(4, radius=False)
        reason = f"E min(1, S) is {times} times the bound; at u/sigma^2, sigma = {worst[0]}, {worst[1]}"
    return question.answered(
        Judgement("conforms" if holds else "violates", False, reason),
        scope=_OF_A_LEMMA,
        certificate={
            "log of E min(1, S) over the bound": {
                f"u = {share} sigma^2, sigma = {s}": float(ratio.log().mid())
                for (share, s), ratio in ratios.items()
            },
            "E min(1, S)": "Phi(u/sigma - sigma/2) + exp(u) Phi(-u/sigma - sigma/2)",
        },
    )


def _shares() -> tuple[Fraction, ...]:
    return tuple(Fraction(k, 4) for k in range(-4, 5))


def _ratio(u: Fraction, s: Fraction, printed: bool) -> arb:
    if printed:
        exponent = u - s * s / 8
    else:
        exponent = u / 2 - s * s / 8
        if abs(u) <= s * s / 2:
            exponent -= u * u / (2 * s * s)
    return swap_chance(u, s * s, F=F) / number(exponent).exp()


def _loss(u: Fraction, s: Fraction) -> arb:
    return arb.min(arb(1), number(u).exp()) - swap_chance(u, s * s, F=F)


def _order(u: Fraction) -> float:
    """The exponent of sigma~^2 in the loss as sigma~ -> 0; infinite if the loss is smaller than every power."""
    more, less = _loss(u, SMALL), _loss(u, SMALL / 2)
    if less.contains(0) or abs(less) < number(SMALL) ** 4:
        return math.inf
    value = float((more / less).log().mid()) / math.log(4)
    near = round(2 * value) / 2
    return near if abs(value - near) < CLOSE else value

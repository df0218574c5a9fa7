"""The swap rule of vr-resgld with noisy energies: what it balances at, and how its chance falls with the noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from flint import arb

from sgverify.evidence.erratum import RefutingFamily
from sgverify.exact.exchange.acceptance import GAP, TAUS, imbalance, swap_chance, unbalanced_terms
from sgverify.exact.exchange.first_swap import FirstSwap, distance_from_gibbs
from sgverify.exact.numbers.ball import number
from sgverify.papers.formula import Examination, formula
from sgverify.schemes.composites.composite import log_swap_rate

DEVIATIONS = (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
PRINTED_POWER, MENDED_POWER = Fraction(9, 8), Fraction(3, 4)
GROWN = 10
"""Times that a ratio grows over 18 halvings; a bound that holds leaves it bounded."""

FACTORS = (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(100))
AT = Fraction(1)
"""log S without noise, where imbalances are printed."""

SHARES = tuple(Fraction(k, 8) for k in range(-4, 5))
"""u/sigma^2 over the domain |u| <= sigma^2/2."""


def correction_factor() -> Examination:
    """E min(1, S) at F = 1, and at F = 2, against the joint Gibbs law."""
    printed, mended = (unbalanced_terms(Fraction(F)) for F in (1, 2))
    off = {f"s = {s}": imbalance(AT, s * s, F=1).str(6, radius=False) for s in DEVIATIONS}
    balanced = [str(F) for F in FACTORS if not unbalanced_terms(F)]
    return Examination(
        printed=f"the flow of swaps at log S = {AT} is exp({off['s = 1']}) times its reverse where s, the noise of log S, is 1"
        if printed
        else "",
        holds=f"{len(mended)} terms of the balance are left" if mended else "",
        certificate={
            f"log of flow over reverse at F = 1, log S = {AT}": off,
            "terms left of chance(u) - exp(u) chance(-u) at F = 2": len(mended),
            "balanced among F = " + ", ".join(map(str, FACTORS)): balanced,
            "distance from the joint Gibbs law of three energies, F = 1": {
                f"s = {s}": distance_from_gibbs(s * s, F=1).str(6, radius=False) for s in DEVIATIONS
            },
            "at F = 2 it is below": max(distance_from_gibbs(s * s, F=2).abs_upper() for s in DEVIATIONS).str(
                2, radius=False
            ),
            "where": "normal noise whose variance is that of the difference of the two energies",
        },
    )


def mean_of_the_rate() -> Examination:
    """E S~ = S: log S~ is normal, so E S~ = exp(mean + variance/2)."""

    def excess(F: Fraction) -> Fraction:
        mean = log_swap_rate(Fraction(0), Fraction(0), **TAUS, variance=1 / GAP**2, F=F)
        slope = log_swap_rate(1 / GAP, Fraction(0), **TAUS, variance=Fraction(0), F=F)
        left: Fraction = mean + slope**2 / 2
        return left

    one, two = excess(Fraction(1)), excess(Fraction(2))
    return Examination(
        printed=f"E S~ = S exp({one} s^2) at F = 1, s^2 the variance of log S~" if one else "",
        holds=f"E S~ = S exp({two} s^2) at F = 2" if two else "",
        certificate={"log(E S~/S) over s^2": {"F = 1": str(one), "F = 2": str(two)}},
    )


def detailed_balance_of_13() -> Examination:
    """pi(x1, x2) S(x1, x2) = pi(x2, x1) for S of equation (13)."""
    broken = []
    for first in (Fraction(-3), Fraction(1, 2), Fraction(7)):
        for second in (Fraction(0), Fraction(5, 3)):
            tau_1, tau_2 = Fraction(2, 3), Fraction(5)
            gain = (first - second) / tau_1 + (second - first) / tau_2
            if (
                log_swap_rate(first, second, tau_1=tau_1, tau_2=tau_2, variance=Fraction(0), F=Fraction(2))
                != gain
            ):
                broken.append(f"L1 = {first}, L2 = {second}")
    return Examination(
        printed=", ".join(broken),
        holds="",
        certificate={
            "log pi(x2, x1)/pi(x1, x2)": "L1/tau1 + L2/tau2 - L2/tau1 - L1/tau2 = (1/tau1 - 1/tau2)(L1 - L2)",
            "why these points": "both sides are bilinear in the energies and the inverse temperatures",
        },
    )


def exponential_dependence() -> Examination:
    """Lemma D4: E min(1, S) against exp(u - sigma^2/8), and against the bound that min(1, S) <= S^lambda gives."""
    ratios = {}
    for sigma in (2, 4, 8, 16):
        u = -Fraction(sigma**2, 2)
        chance = swap_chance(u, sigma**2, F=2)
        ratios[sigma] = chance / (number(u) - number(Fraction(sigma**2, 8))).exp()
    # At u = -sigma^2/2 the mean of the two halves is half of exp(u) at least: the ratio is exp(sigma^2/8)/2 or more.
    unbounded = all(ratio > number(Fraction(s**2, 8)).exp() / 2 for s, ratio in ratios.items())
    above = [
        f"u = {u}, sigma = {s}"
        for s in DEVIATIONS
        for u in (share * s * s for share in SHARES)
        if not swap_chance(u, s * s, F=2) < _mended(u, s * s)
    ]
    anywhere = [
        f"u = {u}, sigma = {s}"
        for s in DEVIATIONS
        for u in (Fraction(k) for k in range(-40, 41, 4))
        if not swap_chance(u, s * s, F=2) < (number(u) / 2 - number(s * s) / 8).exp()
    ]
    outside = swap_chance(Fraction(-16), 16, F=2) / _mended(Fraction(-16), Fraction(16))
    return Examination(
        printed=f"at u = -sigma^2/2 the ratio of the two is {', '.join(f'{r.str(4, radius=False)}' for r in ratios.values())} "
        f"for sigma = {', '.join(map(str, ratios))}: above exp(sigma^2/8)/2, without bound"
        if unbounded
        else "",
        holds="; ".join(above + anywhere),
        family=RefutingFamily(
            along="sigma -> infinity",
            hypotheses="u = -sigma^2/2, which a bound uniform in u allows",
            ratios=tuple(map(float, ratios.values())),
        )
        if unbounded
        else None,
        certificate={
            "E min(1, S)": "Phi(u/sigma - sigma/2) + exp(u) Phi(-u/sigma - sigma/2)",
            "why the other bound": "min(1, S) <= S^lambda, E S^lambda = exp(lambda u - lambda (1 - lambda) sigma^2/2), least at "
            "lambda = 1/2 - u/sigma^2, which lies in [0, 1] where |u| <= sigma^2/2; lambda = 1/2 for every u",
            "outside, at u = -16, sigma = 4, E min(1, S) over it": outside.str(6, radius=False),
            "as printed it holds for": "u >= 0",
        },
        method="exact",
    )


def swap_rate_near_one() -> Examination:
    """Lemma 2: E min(1, S~) = S exp(-O(sigma~^2)): at S = 1 the loss is of first order in sigma~, not of second."""
    deviations = [Fraction(1, 10**k) for k in (2, 3, 4)]
    losses = [1 - swap_chance(0, s * s, F=2) for s in deviations]
    over_square = [loss / number(s * s) for loss, s in zip(losses, deviations, strict=True)]
    first_order = 1 / (2 * arb.pi()).sqrt()
    printed = all(later > 9 * earlier for earlier, later in pairwise(over_square))
    above = [
        f"u = {u}, s = {s}"
        for s in (*deviations, *DEVIATIONS)
        for u in (Fraction(k, 2) for k in range(-8, 9))
        if not arb.min(arb(1), number(u).exp()) - swap_chance(u, s * s, F=2) <= number(s) * first_order
    ]
    more = [
        f"E min(1, S~) > min(1, S) at u = {u}, s = {s}"
        for s in (*deviations, *DEVIATIONS)
        for u in (Fraction(k, 2) for k in range(-8, 9))
        if swap_chance(u, s * s, F=2) > arb.min(arb(1), number(u).exp())
    ]
    return Examination(
        printed="1 - E min(1, S~) over sigma~^2 is "
        + ", ".join(
            f"{value.str(5, radius=False)} at sigma~ = {s}"
            for value, s in zip(over_square, deviations, strict=True)
        )
        + " where S = 1, without bound"
        if printed
        else "",
        holds="; ".join([*above, *more]),
        family=RefutingFamily(
            along="sigma~ -> 0", hypotheses="normal noise, S = 1", ratios=tuple(map(float, over_square))
        )
        if printed
        else None,
        certificate={
            "E min(1, S~) <= min(1, S), the bound that is proved": "at every u and sigma~ tried",
            "1 - E min(1, S~) over sigma~, at S = 1": (losses[-1] / number(deviations[-1])).str(
                8, radius=False
            ),
            "1/sqrt(2 pi)": first_order.str(8, radius=False),
            "why": "the derivative of E min(1, S~) in sigma~ is -phi(u/sigma~ - sigma~/2), between -1/sqrt(2 pi) and 0: the chance "
            "falls with the noise at every u",
            "sigma~": "the deviation of log S~, (1/tau1 - 1/tau2) times that of the difference of the energies",
        },
        method="exact",
    )


def footnote_of_14() -> Examination:
    """(14) and (16) are said to be (6) at F = 1."""

    def apart(F: Fraction) -> Fraction:
        tau_1, tau_2, variance = Fraction(1, 3), Fraction(2), Fraction(7)
        gap = 1 / tau_1 - 1 / tau_2
        of_16 = gap * (Fraction(5) - Fraction(1) - gap * variance / 2)
        left: Fraction = of_16 - log_swap_rate(
            Fraction(5), Fraction(1), tau_1=tau_1, tau_2=tau_2, variance=variance, F=F
        )
        return left / (gap**2 * variance)

    one, two = apart(Fraction(1)), apart(Fraction(2))
    return Examination(
        printed=f"log S of (16) less that of (6) at F = 1 is {one} g^2 sigma^2, g = 1/tau1 - 1/tau2"
        if one
        else "",
        holds=f"apart by {two} g^2 sigma^2" if two else "",
        certificate={
            "log S of (16) less that of (6), over g^2 sigma^2": {"F = 1": str(one), "F = 2": str(two)}
        },
    )


def _mended(u: Fraction, variance: Fraction) -> arb:
    exponent = u / 2 - variance / 8 - u * u / (2 * variance)
    return number(exponent).exp()


def bound_at_a_fixed_k() -> Examination:
    """W2 after one step against eta^(9/8), the bound of Theorem 2 without gradient noise at k = 1, m^2 = n."""
    steps = [FirstSwap(2.0**-k) for k in (12, 18, 24, 30)]
    over = [step.below / step.eta ** float(PRINTED_POWER) for step in steps]
    within = [step.above / step.eta ** float(MENDED_POWER) for step in steps]
    return Examination(
        printed=f"W2 over eta^({PRINTED_POWER}) is at least {over[0]:.3g}, ..., {over[-1]:.3g} as eta falls from 2^-12 to 2^-30"
        if over == sorted(over) and over[-1] > GROWN * over[0]
        else "",
        family=RefutingFamily(
            along="eta -> 0 at k = 1, m^2 = n",
            hypotheses="full gradients, replicas of equal energies that swap places",
            ratios=tuple(over),
        )
        if over == sorted(over) and over[-1] > GROWN * over[0]
        else None,
        holds=""
        if max(within) < 2 * min(within)
        else f"W2 over eta^({MENDED_POWER}) is up to {max(within):.3g}",
        method="exact",
        certificate={
            "W2 from below and from above": {
                f"eta = {step.eta:.3g}": [step.below, step.above] for step in steps
            },
            "where temperatures are swapped, after two steps, from above, over eta^(5/4)": [
                step.above_where_temperatures_swap / step.eta**1.25 for step in steps
            ],
            "mean chance of a swap that noise takes, over sqrt(eta)": [
                step.missing / step.eta**0.5 for step in steps
            ],
            "setting": "U = beta^2 of the data -1 and 1, from replicas of equal energies, full gradients, r = 1, F = 2",
        },
    )


FORMULAS = (
    formula("vr-resgld/equation-13", detailed_balance_of_13),
    formula("vr-resgld/equation-6", correction_factor),
    formula("vr-resgld/equation-6-mean", mean_of_the_rate),
    formula("vr-resgld/equation-14-footnote", footnote_of_14),
    formula("vr-resgld/lemma-2", swap_rate_near_one),
    formula("vr-resgld/lemma-d4", exponential_dependence),
    formula("vr-resgld/theorem-2-fixed-k", bound_at_a_fixed_k),
)

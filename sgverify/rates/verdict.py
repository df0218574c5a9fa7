"""Which verdict follows from a rate found and a rate predicted?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

# Two float coefficients of opposite sign that agree to this relative size are taken to cancel; the floats
# are correctly rounded from certified values, so a genuine difference is far larger.
CANCELLATION = 1e-12


@dataclass(frozen=True)
class Judgement:
    """`conforms` or `violates`, whether equality was shown, and why in one sentence."""

    verdict: str
    sharp: bool
    reason: str


@dataclass(frozen=True)
class Rate:
    """A leading term: coefficient * x^exponent * (log x)^logarithm; exponent None for an exact zero.

    `coefficient` is None where only the exponent is known; with `at_most` the exponent is an upper bound.
    """

    exponent: Fraction | None
    coefficient: float | None = None
    logarithm: int = 0
    at_most: bool = False

    def __str__(self) -> str:
        if self.exponent is None:
            return "0"
        return f"{self.exponent}" + (" with log L" if self.logarithm else "")


def judge_step_rate(found: Rate, predicted: Fraction, what: str) -> Judgement:
    """A rate in h: at least as fast means an exponent at least as large. A zero conforms."""
    if found.exponent is None:
        return _vanishes(what)
    if found.exponent < predicted:
        return Judgement(
            "violates",
            False,
            f"{what} is of order h^{found.exponent} as h -> 0, slower than the predicted h^{predicted}",
        )
    sharp = found.exponent == predicted
    relation = "exactly as predicted" if sharp else f"faster than the predicted h^{predicted}"
    return Judgement("conforms", sharp, f"{what} is of order h^{found.exponent} as h -> 0, {relation}")


def judge_length_rate(found: Rate, predicted: Rate, what: str, strict: bool = False) -> Judgement:
    """A rate in L: at least as fast means an exponent at most as large, a logarithm counting as slower.

    `strict` asks for an exponent below the predicted one (consistency: below 0).
    """
    assert predicted.exponent is not None
    if found.exponent is None:
        return _vanishes(what)
    law = _law(found)
    slower = found.exponent > predicted.exponent or (
        found.exponent == predicted.exponent and (strict or found.logarithm > predicted.logarithm)
    )
    if slower and found.at_most:
        return Judgement(
            "inconclusive",
            False,
            f"{what} decays like {law} or faster, which leaves the predicted {_law(predicted)} undecided",
        )
    if slower:
        if found.exponent == 0 and not found.logarithm:
            limit = "0" if strict and predicted.exponent == 0 else f"0 like {_law(predicted)}"
            return Judgement(
                "violates", False, f"{what} tends to a constant, and not to {limit} as predicted"
            )
        relation = "not faster than" if strict else "slower than"
        return Judgement(
            "violates", False, f"{what} decays like {law}, {relation} the predicted {_law(predicted)}"
        )
    if found.at_most:
        return Judgement(
            "conforms", False, f"{what} decays like {law} or faster; predicted: {_law(predicted)}"
        )
    sharp = not strict and (found.exponent, found.logarithm) == (predicted.exponent, predicted.logarithm)
    if sharp and found.exponent == 0 and not found.logarithm:
        return Judgement("conforms", True, f"{what} tends to a constant, exactly as predicted")
    if sharp:
        return Judgement("conforms", True, f"{what} decays like {law}, exactly as predicted")
    to_zero = strict and predicted.exponent == 0
    relation = "to 0 as predicted" if to_zero else f"faster than the predicted {_law(predicted)}"
    return Judgement("conforms", False, f"{what} decays like {law}, {relation}")


def _vanishes(what: str) -> Judgement:
    reason = f"{what} is identically zero: every coefficient of its expansion and every computed value is 0"
    return Judgement("conforms", False, reason)


def leading_power(coefficients: Sequence[float], zero: Sequence[bool]) -> int | None:
    """q: the index of the first coefficient that is not zero, None where all are."""
    for j, (value, vanishes) in enumerate(zip(coefficients, zero, strict=True)):
        if not vanishes and value != 0:
            return j
    return None


def horizon_bias(bias: Sequence[float], transient: Sequence[float], scale: float, alpha: Fraction) -> Rate:
    """The rate in L of the bias at h = C L^-alpha.

    b_j contributes b_j C^j L^(-alpha j), tau_j contributes tau_j C^(j-1) L^(-(1 - alpha) - alpha j); terms of one
    exponent are added, because at one special C the leading ones cancel. Zero coefficients must be exact zeros.
    """
    terms: dict[Fraction, list[float]] = {}
    for j, b in enumerate(bias):
        if b:
            terms.setdefault(-alpha * j, []).append(b * scale**j)
    for j, tau in enumerate(transient):
        if tau:
            terms.setdefault(-(1 - alpha) - alpha * j, []).append(tau * scale ** (j - 1))
    for exponent in sorted(terms, reverse=True):
        total = sum(terms[exponent])
        if not math.isfinite(total):
            # The size is beyond float64, so that cancellation cannot be seen; it is not zero.
            return Rate(exponent)
        if abs(total) > CANCELLATION * sum(abs(term) for term in terms[exponent]):
            return Rate(exponent, total)
    return Rate(None)


def horizon_mse(bias: Sequence[float], variance: float | None, scale: float, alpha: Fraction) -> Rate:
    """The rate in L of the mean square error at h = C L^-alpha: b_q^2 h^(2q) + sigma_0^2 / (L h).

    Both are positive, so nothing cancels; the cross term of bias and transient is of higher order than one of
    them at every alpha. `variance` None stands for a positive one of unknown size. Where sigma_0^2 = 0 (the time
    average of p telescopes) the variance is O(1/L + 1/(L h)^2), and that bound is all that is known of it.
    """
    terms: dict[Fraction, float | None] = {}
    q = next((j for j, b in enumerate(bias) if b), None)
    if q is not None:
        terms[-2 * alpha * q] = (bias[q] * scale**q) ** 2
    exponent = -(1 - alpha)
    if variance is None:
        terms[exponent] = None
    elif variance:
        terms[exponent] = (terms.get(exponent) or 0.0) + variance / scale
    else:
        bound = max(Fraction(-1), 2 * exponent)
        if not terms or max(terms) < bound:
            return Rate(bound, at_most=True)
    slowest = max(terms)
    return Rate(slowest, terms[slowest])


def decreasing_bias(bias: Sequence[float], alpha: Fraction) -> Rate:
    """The rate in L of the weighted average's bias at h_l = C l^-alpha.

    sum h_l^(q+1) / S_L is of order L^(-q alpha), L^-(1-alpha) log L or L^-(1-alpha) as (q+1) alpha is below, at or
    above 1; the transient and all summable remainders leave a constant over S_L ~ L^(1-alpha). Where that constant
    leads the rate is a bound: that the constant is not zero is not shown.
    """
    q = next((j for j, b in enumerate(bias) if b), None)
    if q is None or (q + 1) * alpha > 1:
        return Rate(-(1 - alpha), at_most=True)
    if (q + 1) * alpha == 1:
        return Rate(-(1 - alpha), logarithm=1)
    return Rate(-q * alpha)


def decreasing_mse(bias: Sequence[float], variance: float | None, alpha: Fraction) -> Rate:
    """The rate in L of the weighted average's mean square error at h_l = C l^-alpha.

    The variance is sigma_0^2 / S_L ~ L^-(1-alpha), and smaller where sigma_0^2 = 0 (None: positive); a squared bias
    with a logarithm is of the order L^(-2(1-alpha)) log^2 L and never leads.
    """
    squared = decreasing_bias(bias, alpha)
    assert squared.exponent is not None
    exponent = max(-(1 - alpha), 2 * squared.exponent)
    return Rate(exponent, at_most=variance == 0 and 2 * squared.exponent < exponent)


def length_rate(
    quantity: str,
    schedule: str,
    alpha: Fraction,
    scale: float,
    bias: Sequence[float],
    variance: float | None = None,
    transient: Sequence[float] | None = None,
) -> Rate:
    """The rate in L of bias, mean square error, or the slower of both, at a horizon's steps or at falling ones.

    From the powers of h in the stationary bias, in h times the sum of the transients, and the long-run variance. Without
    `variance` it is positive, and without `transient` the transients sum to O(1/h), of a size that is not known.
    """
    if schedule == "power":
        square, mean = decreasing_mse(bias, variance, alpha), decreasing_bias(bias, alpha)
    else:
        square = horizon_mse(bias, variance, scale, alpha)
        mean = (
            _bounded_bias(bias, alpha) if transient is None else horizon_bias(bias, transient, scale, alpha)
        )
    if quantity != "consistency":
        return mean if quantity == "bias" else square
    both = [rate for rate in (square, mean) if rate.exponent is not None]
    return max(both, key=lambda rate: rate.exponent or 0, default=Rate(None))


def _bounded_bias(bias: Sequence[float], alpha: Fraction) -> Rate:
    """The slower of h^q and 1/(L h) at h = C L^-alpha.

    The rate is only a bound if 1/(L h) is at least as slow, since the constant of that term is unknown.
    """
    slow = -alpha * (len(bias) - 1)
    transient = -(1 - alpha)
    return Rate(slow) if bias and slow > transient else Rate(transient, at_most=True)


def _law(rate: Rate) -> str:
    return f"L^({rate.exponent})" + (" log L" if rate.logarithm else "")

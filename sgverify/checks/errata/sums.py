"""The sums over decreasing steps that chen2015 bounds, in ball arithmetic: h_l = l^-alpha."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from flint import arb, fmpq

from sgverify.checks.errata.formula import Examination, formula

EXPONENTS = (Fraction(1, 5), Fraction(1, 3), Fraction(1, 2), Fraction(7, 10))
LONGEST = 2000


def upper_bound_of_40() -> Examination:
    """sum_(l <= L) l^-alpha < 1 + the integral of x^-alpha from 1 to L - 1, for every L up to 2000 and four alpha."""
    printed, mended = {}, {}
    for alpha in EXPONENTS:
        sums = _sums(alpha)
        if broken := [L for L in range(1, LONGEST + 1) if sums[L] >= 1 + _integral(alpha, L - 1)]:
            printed[str(alpha)] = broken
        # At L = 1 both sides are 1: the bound is attained.
        if broken := [L for L in range(2, LONGEST + 1) if not sums[L] < 1 + _integral(alpha, L)]:
            mended[str(alpha)] = broken
    at = 10
    return Examination(
        printed="; ".join(
            f"alpha = {alpha}: false for L = {_range(fail)}" for alpha, fail in printed.items()
        ),
        holds="; ".join(f"alpha = {alpha}: false for L = {_range(fail)}" for alpha, fail in mended.items()),
        certificate={
            f"sum of l^-1/2 to L = {at}": _sums(Fraction(1, 2))[at].str(12, radius=False),
            f"printed bound at L = {at}": (1 + _integral(Fraction(1, 2), at - 1)).str(12, radius=False),
            "1 + integral to L": (1 + _integral(Fraction(1, 2), at)).str(12, radius=False),
            "lengths": f"1 to {LONGEST}, alpha = {', '.join(map(str, EXPONENTS))}",
            "for every L": "l^-alpha is less than its integral over (l - 1, l); summed over l = 2..L",
        },
        method="exact",
    )


def lower_bound_of_40() -> Examination:
    """sum_(l <= L) l^-alpha > the integral of x^-alpha from 1 to L."""
    broken = {
        str(alpha): fail
        for alpha in EXPONENTS
        if (fail := [L for L in range(1, LONGEST + 1) if _sums(alpha)[L] <= _integral(alpha, L)])
    }
    return Examination(
        printed="; ".join(f"alpha = {alpha}: false for L = {_range(fail)}" for alpha, fail in broken.items()),
        holds="",
        certificate={
            "lengths": f"1 to {LONGEST}, alpha = {', '.join(map(str, EXPONENTS))}",
            "for every L": "l^-alpha is more than its integral over (l, l + 1); summed over l = 1..L",
        },
        method="exact",
    )


def ratio_below_40() -> Examination:
    """The bound of sum l^-alpha_1 / sum l^-alpha at alpha_1 = (K + 1) alpha, alpha = 1/(K + 1), which remark 7 calls best."""
    divisors = {f"K = {K}": (K + 1) * Fraction(1, K + 1) - 1 for K in (1, 2, 3, 4)}
    undefined = [name for name, divisor in divisors.items() if divisor == 0]
    harmonic = _sums(Fraction(1))
    growth = [harmonic[2 * L] - harmonic[L] for L in (250, 500, 1000)]
    doubling = arb(2).log()
    # The sum over (L, 2L] of 1/l lies between log 2 - 1/(2L) and log 2.
    logarithmic = all(
        doubling - arb(1) / (2 * L) < g < doubling for g, L in zip(growth, (250, 500, 1000), strict=True)
    )
    return Examination(
        printed=f"division by alpha_1 - 1 = 0 for {', '.join(undefined)}" if undefined else "",
        holds="" if logarithmic else "the harmonic sum does not grow by log 2 a doubling",
        certificate={
            "alpha_1 - 1": {name: str(divisor) for name, divisor in divisors.items()},
            "sum of 1/l over L < l <= 2L": {
                f"L = {L}": g.str(10, radius=False) for L, g in zip((250, 500, 1000), growth, strict=True)
            },
            "log 2": doubling.str(10, radius=False),
        },
        method="exact",
    )


def first_term_of_7() -> Examination:
    """sum h_l^2 / S_L^2, the first term of (7), said in remark 7 to be L^-1 for every alpha."""
    exponents = {alpha: -_growth(2 * alpha)[0] + 2 * _growth(alpha)[0] for alpha in _grid()}
    other = {alpha: -e for alpha, e in exponents.items() if e != 1}
    logs = [alpha for alpha in exponents if _growth(2 * alpha)[1]]
    mended = [str(alpha) for alpha, e in exponents.items() if e != min(Fraction(1), 2 - 2 * alpha)]
    return Examination(
        printed=", ".join(f"alpha = {alpha}: L^{e}" for alpha, e in other.items())
        + (f"; alpha = {', '.join(map(str, logs))}: L^-1 log L" if logs else ""),
        holds=", ".join(mended),
        certificate={
            "exponents": {f"alpha = {alpha}": str(-e) for alpha, e in exponents.items()},
            "why": "sum l^-2alpha grows as L^(1 - 2alpha), as log L at alpha = 1/2, and is bounded beyond; S_L^2 as L^(2 - 2alpha)",
        },
    )


def _grid() -> tuple[Fraction, ...]:
    return tuple(Fraction(k, 10) for k in range(1, 10))


def _growth(power: Fraction) -> tuple[Fraction, int]:
    """sum_(l <= L) l^-power grows as L^exponent (log L)^logarithm."""
    return (max(Fraction(0), 1 - power), int(power == 1))


@cache
def _sums(alpha: Fraction) -> list[arb]:
    exponent = -arb(fmpq(alpha.numerator, alpha.denominator))
    sums = [arb(0)]
    for length in range(1, LONGEST + 1):
        sums.append(sums[-1] + arb(length) ** exponent)
    return sums


def _integral(alpha: Fraction, end: int) -> arb:
    """The integral of x^-alpha from 1 to `end`; over (1, 0) it is -1/(1 - alpha), as the printed bound has it."""
    power = arb(fmpq((1 - alpha).numerator, (1 - alpha).denominator))
    return ((arb(end) ** power if end else arb(0)) - 1) / power


def _range(values: list[int]) -> str:
    whole = values == list(range(values[0], values[-1] + 1))
    return f"{values[0]} to {values[-1]}" if whole and len(values) > 1 else ", ".join(map(str, values))


FORMULAS = (
    formula("chen2015/equation-40-lower", lower_bound_of_40),
    formula("chen2015/equation-40", upper_bound_of_40),
    formula("chen2015/corollary-6-ratio", ratio_below_40),
    formula("chen2015/remark-7-first-term", first_term_of_7),
)

"""The sums over decreasing steps that chen2015 bounds, in ball arithmetic: h_l = l^-alpha.

The sums over steps that the proofs of Theorems 3 and 5 rearrange, as identities in free symbols.

With psi_l = psi(X_l), its expectation one step before e_l and the step's expansion e_l = psi_(l-1) + h_l (phi_l - mean) +
h_l dV_l psi + r_l, where L psi = phi - mean has been put in, the sum over l = 1..L gives sum_l h_l (phi_l - mean).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

from flint import arb, fmpq

from sgverify.evidence.erratum import powers
from sgverify.papers.formula import Examination, formula

STEPS = 4
"""As many steps as the identities are written out for: each term's sign shows from two on."""

Terms = dict[str, list[Any]]


def signs_between_24_and_25() -> Examination:
    """The sum of E psi - psi with a minus in front."""
    return _examine(
        lambda t: t["e"][STEPS] - t["psi"][0] - _sum(t, lambda k: t["e"][k] - t["psi"][k]) - _rest(t),
    )


def signs_above_38() -> Examination:
    """E psi + psi for E psi - psi, and plus in front of dV and of the higher terms."""
    return _examine(
        lambda t: t["e"][STEPS] - t["psi"][0] + _sum(t, lambda k: t["e"][k] + t["psi"][k]) + _rest(t),
    )


def index_of_21() -> Examination:
    """The Poisson equation holds where the step starts: its sum is that of phi(X_(l-1)h), not of phi(X_lh)."""
    from sympy import expand, symbols

    phi = symbols(f"phi_0:{STEPS + 1}")
    poisson = sum(phi[:STEPS])
    printed, mended = sum(phi[1:]) - poisson, sum(phi[1:]) - (phi[STEPS] - phi[0]) - poisson
    apart, left = expand(printed), expand(mended)
    return Examination(
        printed=str(apart) if apart != 0 else "",
        holds=str(left) if left != 0 else "",
        certificate={"sum_l L psi(X_(l-1)h) + L mean": str(poisson), "steps": STEPS},
    )


def _examine(printed: Callable[[Terms], Any]) -> Examination:
    from sympy import expand, symbols

    t: Terms = {name: list(symbols(f"{name}_0:{STEPS + 1}")) for name in ("e", "psi", "dV", "r")}
    # The start is known, so that its expectation is itself.
    t["e"][0] = t["psi"][0]
    truth = sum(t["e"][k] - t["psi"][k - 1] - t["dV"][k] - t["r"][k] for k in range(1, STEPS + 1))
    mended = t["e"][STEPS] - t["psi"][0] + _sum(t, lambda k: t["e"][k] - t["psi"][k]) - _rest(t)
    apart, left = expand(printed(t) - truth), expand(mended - truth)
    return Examination(
        printed=str(apart) if apart != 0 else "",
        holds=str(left) if left != 0 else "",
        certificate={
            "sum_l h_l (phi_l - mean)": str(truth),
            "symbols": "e: the expectation of psi after a step, dV: h_l dV_l psi, r: the terms of order h^2 and higher",
            "steps": STEPS,
        },
    )


def _sum(t: Terms, term: Callable[[int], Any]) -> Any:
    """sum over the states between the first and the last."""
    return sum(term(k) for k in range(1, STEPS))


def _rest(t: Terms) -> Any:
    return sum(t["dV"][k] + t["r"][k] for k in range(1, STEPS + 1))


REARRANGED = (
    formula("chen2015/equation-21", index_of_21),
    formula("chen2015/equation-24-signs", signs_between_24_and_25),
    formula("chen2015/equation-38-signs", signs_above_38),
)


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
        family=powers("L", float(other[max(other)]), -1.0, f"h_l = l^-{max(other)}") if other else None,
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


BOUNDED = (
    formula("chen2015/equation-40-lower", lower_bound_of_40),
    formula("chen2015/equation-40", upper_bound_of_40),
    formula("chen2015/corollary-6-ratio", ratio_below_40),
    formula("chen2015/remark-7-first-term", first_term_of_7),
)

FORMULAS = (*REARRANGED, *BOUNDED)

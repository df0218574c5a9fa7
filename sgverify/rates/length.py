"""Rates in the length, judged from signed biases along the claimed schedule.

Along h = C L^-alpha the bias is a sum of the terms h^j ~ L^(-alpha j) and of the transient h^i / (L h) ~
L^(-(1-alpha) - alpha i); with steps h_l = C l^-alpha, weighted by h_l, of sum h_l^(j+1) / S_L and 1 / S_L. So a rate in L is a
question about forbidden terms again: those that are slower than what is predicted. Exponents in L are negative.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from sgverify.errors import UserError
from sgverify.rates.decision import MARGIN, Decision, ErrorTerm, decide_terms, largest_error_first
from sgverify.rates.fit import regress
from sgverify.rates.sample import Floats, Sample

TELLABLE = Fraction(1, 4)
"""Exponents nearer than this part of alpha count as one: no affordable lengths tell them apart."""


def decide_length(
    lengths: ArrayLike,
    sample: Sample,
    *,
    order: int,
    alpha: Fraction,
    level: float,
    margin: float = MARGIN,
    what: str = "the bias",
    kind: str = "horizon",
) -> Decision:
    """Does the bias fall like L^-min(alpha K, 1 - alpha) or faster, chen2015 Theorems 2 (`horizon`) and 5 (`power`)?

    `lengths` (J,) with J >= 4, the `sample` of signed biases, and `level`, as for `decide_order`. At K alpha =
    1 - alpha decreasing steps carry a factor log L, which is part of their term here.

    Raises `UserError` for an alpha outside (0, 1), an unknown `kind`, and as `decide_order` does.
    """
    return _decide(lengths, sample, order, alpha, min(order * alpha, 1 - alpha), level, margin, what, kind)


def decide_length_mse(
    lengths: ArrayLike,
    sample: Sample,
    *,
    order: int,
    alpha: Fraction,
    level: float,
    margin: float = MARGIN,
    what: str = "the mean square error",
    kind: str = "horizon",
) -> Decision:
    """Does the mean square error fall like L^-min(2 alpha K, 1 - alpha) or faster, chen2015 Theorems 3 and 5?

    The values of the sample are the signed mean biases over its chains; a single chain's variance is `chains` times theirs.
    The variance falls like L^-(1-alpha) for every scheme, so only the squared
    bias can break the rate: it is judged as a bias is, and only where bias^2 / variance >= 1 at every length. Elsewhere it
    is the variance that is being timed. The ratio grows with the schedule's scale like C^(2K+1) and, on the optimal
    schedule, not with L. `regression` describes the mean square error.

    Raises `UserError` as `decide_length` does.
    """
    chains = sample.chains
    assert chains is not None
    if sample.vanishes:
        return Decision("conforms", f"{what} is identically zero at every length", kept=len(sample.values))
    slowest = min(2 * order * alpha, 1 - alpha) / 2
    decision = _decide(lengths, sample, order, alpha, slowest, level, margin, f"the bias in {what}", kind)
    places, ordered = largest_error_first("lengths", lengths, sample, falling=False)
    variances = np.diagonal(ordered.covariance)
    ratios = (ordered.values**2 - variances) / (chains * variances)
    lowest = max(float(ratios.min()), 0.0)
    regression = regress(places, _squares(ordered, chains))
    certificate = {
        **decision.certificate,
        "regression": regression.certificate(places.tolist(), "L"),
        "bias^2/variance": ratios.tolist(),
    }
    decision = replace(decision, regression=regression, certificate=certificate)
    if lowest >= 1:
        return decision
    return replace(
        decision, verdict="inconclusive", reason=variance_leads(lowest, chains, order, what), more=None
    )


def variance_leads(ratio: float, chains: int, order: int, what: str) -> str:
    """Why a mean square error shows no rate: bias^2/variance is `ratio` < 1 at one length, and how much larger steps have to be.

    On the optimal schedule the ratio grows with the schedule's scale like C^(2K+1), K the order.
    """
    wanted = (
        f"at least {ratio ** (-1 / (2 * order + 1)):.3g} times the"
        if ratio > 0.01 / chains
        else "a much larger"
    )
    return (
        f"the variance outweighs the squared bias; that of {what} is being timed: bias^2/variance is only {ratio:.2g} at "
        f"one length; raise schedule.scale ({wanted} scale), not the lengths"
    )


def _decide(
    lengths: ArrayLike,
    sample: Sample,
    order: int,
    alpha: Fraction,
    slowest: Fraction,
    level: float,
    margin: float,
    what: str,
    kind: str,
) -> Decision:
    """Terms slower than L^-slowest are forbidden; the slowest of the others lead."""
    if not 0 < alpha < 1:
        raise UserError(f"alpha={alpha}: expected an exponent between 0 and 1, e.g. 1/{order + 1}")
    if order < 1:
        raise UserError(f"order={order}: expected at least 1, for an error that vanishes with the length")
    if kind not in ("horizon", "power"):
        raise UserError(f"kind={kind!r}: expected 'horizon' (h = C L^-alpha) or 'power' (h_l = C l^-alpha)")
    L, sample = largest_error_first("lengths", lengths, sample, falling=False)
    terms = (_horizon_terms if kind == "horizon" else _power_terms)(L, alpha, order + 4)
    forbidden = [term for e, term in terms if e < slowest]
    allowed = [term for e, term in terms if e >= slowest][:3]
    return decide_terms(L, sample, forbidden, allowed, level=level, margin=margin, what=what, name="L")


def _horizon_terms(L: Floats, alpha: Fraction, orders: int) -> list[tuple[Fraction, ErrorTerm]]:
    """(e, L^-e) for every e = alpha j and 1 - alpha + alpha i, the slowest first."""
    exponents = sorted({j * alpha for j in range(orders)} | {1 - alpha + i * alpha for i in range(4)})
    told: list[Fraction] = []
    for e in exponents:
        if not told or e - told[-1] >= TELLABLE * alpha:
            told.append(e)
    return [(e, ErrorTerm(_law(e), L ** -float(e))) for e in told]


def _power_terms(L: Floats, alpha: Fraction, orders: int) -> list[tuple[Fraction, ErrorTerm]]:
    """(alpha j, sum l^(-alpha (j+1)) / sum l^-alpha) and the transient (1 - alpha, 1 / sum l^-alpha), the slowest first."""
    l = np.arange(1, int(L.max()) + 1, dtype=np.float64)
    ends = L.astype(int) - 1
    total = np.cumsum(l ** -float(alpha))[ends]
    terms = [(1 - alpha, ErrorTerm("1/S_L", 1 / total))]
    for j in range(orders):
        e = j * alpha
        column = np.cumsum(l ** -float(alpha + e))[ends] / total
        law = _law(e) if e < 1 - alpha else f"sum h^{j + 1}/S_L"
        terms.append((e, ErrorTerm(law, column)))
    return sorted(terms, key=lambda item: item[0])


def _law(exponent: Fraction) -> str:
    return f"L^(-{exponent})" if exponent else "a constant"


def _squares(sample: Sample, chains: int) -> Sample:
    """The mean squares of the single chains' errors, with the covariance that Gaussian errors give them.

    E e^2 = b^2 + v; cov(e_i^2, e_j^2) = 2 c_ij^2 + 4 b_i b_j c_ij with c the covariance of single chains.
    """
    single = chains * sample.covariance
    squares = sample.values**2 + np.diagonal(single) * (chains - 1) / chains
    covariance = (2 * single**2 + 4 * np.outer(sample.values, sample.values) * single) / chains
    return replace(sample, values=squares, covariance=covariance)

"""Check: is E|theta_k - limit|^2 = O(omega_k), and |limit - theta*| = O(Var + eps + 1/m) (awsgld theorem 1)?"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from sgverify.checks.question import Question
from sgverify.checks.weights.line_terms import BoundTerm, LineTerms, certified, with_terms
from sgverify.checks.weights.weighted_sampler import WeightedSampler
from sgverify.errors import SgverifyError
from sgverify.evidence import Evidence
from sgverify.exact.weights.fixed_point import cumulated_weights
from sgverify.exact.weights.line_weights import TwoRegions
from sgverify.exact.weights.piecewise import PlaneEnergies
from sgverify.rates.verdict import Judgement
from sgverify.schemes.composites.composite import omega_of

LENGTHS = (32, 128, 512)
STEPS = {"scale": 2.0, "offset": 8.0}
"""omega_k = 2/(k^alpha + 8): large enough for the start to be forgotten within the lengths, below 1 from the first step on."""
_ALPHA = 0.75
"""The alpha in place of a configured alpha = 1, whose limit needs A > 1/(2 phi)."""
_MOST = 0.35
"""The largest relative distance of E/omega from its limit at the last length: the next term is a small multiple of omega,
which is 0.02 to 0.05 here."""
_BALANCED = (0.1, 0.9)
_GROWS = 1.5
"""The largest growth of (m times an error) from m to 4 m: 1 for an error of order 1/m, 2 for one of order m^(-1/2)."""


def check_weight_mse(question: Question) -> Evidence:
    """E|theta_k - theta*|^2/omega_k for two regions with Markovian noise, against the limit of the linearised equation.

    The masses are those of the configured regions, merged into a lower and an upper one. The regions follow a chain whose
    invariant law is the piecewise law, so that eps, the noise of energies and 1/m are 0. `line_terms` computes the shifts of
    the limit by eps and Var, and the spread about the limit for several regions, on chains in one dimension.

    Cannot see: more than two regions in the numbers of the verdict, and runs longer than 512 steps.
    """
    subject = question.subject
    weighing = WeightedSampler.of(subject)
    try:
        masses = weighing.masses.values
    except SgverifyError as error:
        return question.unanswered(str(error))
    cumulated = np.cumsum(masses)[:-1]
    lower = float(np.clip(cumulated[np.argmin(np.abs(cumulated - 0.5))], *_BALANCED))
    pair = (lower, 1 - lower)
    zeta = weighing.adaptation.zeta
    star = float(cumulated_weights(pair, weighing.zeta)[0])
    chain = TwoRegions(pair, zeta, star, weighing.adaptation)
    alpha = weighing.adaptation.alpha if weighing.adaptation.alpha < 1 else _ALPHA

    def omega(k: int) -> float:
        return float(omega_of(k, alpha=alpha, **STEPS))

    errors, bounds = chain.squared_errors(omega, LENGTHS, 1.0)
    steps = np.array([omega(k) for k in LENGTHS])
    ratios = errors / steps
    limit = chain.limit if chain.decay > 0 else float("nan")
    off = abs(ratios[-1] / limit - 1) if chain.decay > 0 else float("inf")
    certificate: dict[str, Any] = {
        "masses": list(pair),
        "theta*(1)": star,
        "zeta": zeta,
        "omega_k": f"2/(k^{alpha:g} + 8)",
        "regions": "a chain that stays with chance 1/2 and is drawn anew otherwise",
        "E|theta_k - theta*|^2": {f"k = {k}": float(e) for k, e in zip(LENGTHS, errors, strict=True)},
        "error bounds": [float(b) for b in bounds],
        "over omega_k": {f"k = {k}": float(r) for k, r in zip(LENGTHS, ratios, strict=True)},
        "-h'(theta*)": chain.decay,
        "limit by Lyapunov's equation": limit if chain.decay > 0 else "none: theta* is not stable",
    }
    verdict = _judgement(ratios, off, limit)
    if verdict.verdict == "conforms":
        terms = LineTerms.of(subject)
        found = {**terms.limits, "omega": _spread(terms), "1/m": _by_regions(weighing.zeta)}
        certificate["on the line"] = certified(terms, found)
        verdict = with_terms(verdict, found)
    return question.answered(
        verdict,
        method="exact" if weighing.masses.method == "enclosure" else "quadrature",
        found=Fraction(1) if off <= _MOST else None,
        certificate=certificate,
    )


def _judgement(ratios: np.ndarray, off: float, limit: float) -> Judgement:
    told = ", ".join(f"{ratio:.4g} at k = {k}" for k, ratio in zip(LENGTHS, ratios, strict=True))
    if off <= _MOST:
        return Judgement(
            "conforms",
            False,
            f"E|theta_k - theta*|^2/omega_k tends to {limit:.4g}; for two regions it is {told}",
        )
    if ratios[-1] > 2 * ratios[0]:
        return Judgement("violates", False, f"E|theta_k - theta*|^2/omega_k grows; {told}")
    return Judgement("inconclusive", False, f"E|theta_k - theta*|^2/omega_k has not converged; {told}")


def _spread(terms: LineTerms) -> BoundTerm:
    """The limit of E|theta_k - limit|^2/omega_k for all regions in one dimension; finite if the weights' limit is stable."""
    name = f"lim E|theta_k - limit|^2/omega_k for {terms.adaptation.partition.bins} regions"
    found = terms.spread
    if isinstance(found, str):
        return BoundTerm(name, (), None, f"not computed: {found}")
    return BoundTerm(name, found[:1], found[1] < 0)


def _by_regions(zeta: Fraction) -> BoundTerm:
    """m times the distance between theta* and the weights' limit under the law of the multiplier, from m to 4 m."""
    name, found = "m |theta(m) - theta*|, m = 4, 16, 64", []
    for bins in (4, 16, 64):
        law = PlaneEnergies(bins)
        star = np.array([float(w) for w in cumulated_weights(law.masses(), zeta)])
        try:
            found.append(bins * float(np.abs(law.rest(star, zeta) - star).max()))
        except SgverifyError as error:
            return BoundTerm(name, (), None, f"not computed: {error}")
    return BoundTerm(name, tuple(found), found[-1] <= _GROWS * max(found[:-1]))

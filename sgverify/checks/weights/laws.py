"""Checks: how large is the error of finitely many energy regions, relative to the law of continuous energies (awsgld)?

The claims are stated for all targets, so that one target can refute them: U = |x|^2/2 in the plane, with exponential
energies and integrals in closed form. zeta is the configured one. With eps -> 0, k -> infinity and the weights at theta*,
only the regions cause an error of an average; `line_terms` computes the terms in eps, 1/(k eps) and omega.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import flint
from flint import arb

from sgverify.checks.question import Question
from sgverify.checks.weights.line_terms import LineTerms, certified, with_terms
from sgverify.checks.weights.weighted_sampler import WeightedSampler, text
from sgverify.evidence import Evidence
from sgverify.exact.numbers.ball import number
from sgverify.exact.weights.fixed_point import BITS, cumulated_weights, random_field
from sgverify.exact.weights.piecewise import PlaneEnergies, one_jump
from sgverify.rates.verdict import Judgement
from sgverify.schemes.composites import composite as weighting
from sgverify.subject.subject import Subject

REGIONS = (8, 32, 128)
JUMPS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
"""The positions of the weights' jump, as fractions of the regions."""
SPREADS = tuple(Fraction(1, 4**k) for k in range(1, 6))
_BOUNDED_GROWTH = 1.5
_STAYS = 3.0
"""The growth of (m times an error) from m to 4 m beyond which the error counts as constant.

The growth is near 1 for an error of order 1/m, near 2 for order m^(-1/2), and 4 for a constant error.
"""


def check_piecewise_law(question: Question) -> Evidence:
    """The distance of the multiplier's law from the piecewise one, as m grows, for monotone weights: theta*, and one jump.

    Update (18) moves theta towards a step function, so that a monotone theta stays monotone.

    Cannot see: anything about a scheme or the configured target: the claim is about all targets, and is computed on one
    in the plane.
    """
    subject = question.subject
    zeta = WeightedSampler.of(subject).zeta
    distances: dict[str, list[arb]] = {}
    within = True
    with flint.ctx.workprec(BITS):
        for bins in REGIONS:
            law = PlaneEnergies(bins)
            star = cumulated_weights(law.masses(), zeta)
            shapes = {
                "theta*": star,
                **{f"a jump at {at} of the regions": one_jump(bins, at) for at in JUMPS},
            }
            for name, weights in shapes.items():
                apart = law.distance(weights, zeta)
                within = within and bool(apart <= law.monotone_bound(weights, zeta))
                distances.setdefault(name, []).append(apart)
    kept = _monotone_stays(one_jump(REGIONS[0], JUMPS[1]))
    certificate: dict[str, Any] = {
        "energies": "U = |x|^2/2 on the disc U <= 4, tau = 1, u_1 = 1/2",
        "zeta": str(zeta),
        **{f"distance, {name}": _rows(values) for name, values in distances.items()},
        "at most (2/Z) max_(i > 1) p_i |theta(1)^-zeta - theta(m)^-zeta|": within,
        "(18) keeps a monotone theta monotone": kept,
    }
    worst = max(distances.values(), key=_growth)
    verdict = _of_rate(
        within and kept,
        worst,
        "for every theta that does not decrease, as (18) keeps it, the laws are apart by at most max p_i times the variation",
    )
    order = _order(_growth(worst) < _BOUNDED_GROWTH)
    return question.answered(verdict, found=order, certificate=certificate)


def _monotone_stays(start: Sequence[Fraction]) -> bool:
    """Is theta + omega H(theta, J) monotone for a monotone theta, every J and omega theta(J) in (0, 1]?"""
    for omega in (Fraction(1, 1000), Fraction(1, 2), Fraction(1)):
        for region in range(1, len(start) + 1):
            field = random_field(start, region)
            moved = [weighting.adapted(w, omega, h) for w, h in zip(start, field, strict=True)]
            if any(a > b for a, b in pairwise(moved)):
                return False
    return True


def check_energy_noise(question: Question) -> Evidence:
    """E H~ - H under noise of two values, at an x whose energy is an edge, and averaged over exponential energies.

    Cannot see: other noise, other energies, and more than two regions: the claim is about all of them, and is computed
    on one case.
    """
    edge, weights = Fraction(1), (Fraction(1, 2), Fraction(1))
    law = PlaneEnergies(2, first=edge, beyond=True)

    def field(energy: Fraction) -> Fraction:
        found: Fraction = random_field(weights, weighting.region_of(energy, (edge,)))[0]
        return found

    at_edge = {s: (field(edge + s) + field(edge - s)) / 2 - field(edge) for s in SPREADS}
    with flint.ctx.workprec(BITS):
        jump = number(field(edge) - field(edge + 1))
        averaged = [
            abs(jump * ((law.cumulated(edge + s) + law.cumulated(edge - s)) / 2 - law.cumulated(edge)))
            / number(s * s)
            for s in SPREADS
        ]
        bounded = all(b < _BOUNDED_GROWTH * a for a, b in pairwise(averaged))
    left = abs(at_edge[SPREADS[-1]])
    stays = 2 * left > abs(at_edge[SPREADS[0]]) > 0
    certificate = {
        "noise": "+s or -s with chance 1/2; two regions, theta = (1/2, 1)",
        "E H~_1 - H_1 at U(x) = u_1": {f"Var = {s * s}": str(v) for s, v in at_edge.items()},
        "|averaged over x|/Var": {f"Var = {s * s}": text(v) for s, v in zip(SPREADS, averaged, strict=True)},
    }
    if question.claim.corrects is None and stays:
        verdict = Judgement(
            "violates",
            False,
            f"where U(x) = u_1, |E H~_1 - H_1| is {left} at Var = {SPREADS[-1] ** 2} as at {SPREADS[0] ** 2}",
        )
    elif bounded:
        verdict = Judgement(
            "conforms", True, f"averaged over x, |E H~_1 - H_1| tends to {text(averaged[-1])} times Var"
        )
    else:
        verdict = Judgement(
            "violates",
            False,
            f"averaged over x, |E H~_1 - H_1| is {text(averaged[-1])} times Var, and growing",
        )
    found = Fraction(int(not stays)) if question.claim.corrects is None else _order(bounded)
    return question.answered(verdict, found=found, certificate=certificate)


def check_chain_average(question: Question) -> Evidence:
    """What lemma 6 leaves at eps -> 0, k -> infinity, theta_k = theta*: int f varpi_Psi - int f varpi_Psi~.

    Cannot see: targets and functions other than the one in the plane on which the claim is computed, and errors at a
    finite number of steps.
    """
    subject = question.subject
    left = _left(WeightedSampler.of(subject).zeta, weighted=False)
    certificate: dict[str, Any] = {
        "f": "1 on the lower half of the regions",
        "limit of the average less int f varpi_Psi~": _rows(left),
    }
    remains = bool(left[0] > 0)
    if question.claim.corrects is None and remains:
        verdict = Judgement(
            "violates",
            False,
            f"{text(left[0], 3)} is left at m = {REGIONS[0]}, where 1/(k eps) + eps + sqrt(sum omega/k) is 0: 1/m is missing",
        )
    else:
        verdict = _of_rate(True, left, "the limit of the average is off the piecewise law by O(1/m)")
    verdict = _with_terms(subject, verdict, certificate, weighted=False)
    return question.answered(
        verdict,
        found=Fraction(0)
        if question.claim.corrects is None and remains
        else _order(_growth(left) < _BOUNDED_GROWTH),
        certificate=certificate,
    )


def check_weighted_average(question: Question) -> Evidence:
    """What theorem 2 leaves at eps -> 0, k -> infinity: averages by theta*^zeta(J) under varpi_Psi, less those of pi_tau.

    Cannot see: targets and functions other than the one in the plane on which the claim is computed, and errors at a
    finite number of steps.
    """
    subject = question.subject
    left = _left(WeightedSampler.of(subject).zeta, weighted=True)
    certificate: dict[str, Any] = {
        "f": "1 on the lower half of the regions",
        "limit of the weighted average less int f pi_tau": _rows(left),
        "weighed by Psi^zeta(U)": "0: Psi^zeta varpi_Psi ~ pi_tau (partition.weights = smooth)",
    }
    verdict = _of_rate(True, left, "the limit of the weighted average is off int f pi_tau by O(1/m)")
    verdict = _with_terms(subject, verdict, certificate, weighted=True)
    order = _order(_growth(left) < _BOUNDED_GROWTH)
    return question.answered(verdict, found=order, certificate=certificate)


def _left(zeta: Fraction, *, weighted: bool) -> list[arb]:
    found = []
    with flint.ctx.workprec(BITS):
        for bins in REGIONS:
            law = PlaneEnergies(bins)
            star = cumulated_weights(law.masses(), zeta)
            ran, wanted = law.smooth_parts(star, zeta), law.flat_parts(star, zeta)
            if weighted:
                counts = [weighting.importance(w, zeta=zeta) for w in star]
                ran, wanted = [c * r for c, r in zip(counts, ran, strict=True)], law.masses()
            half = (bins + 1) // 2
            found.append(abs(_share(ran, half) - _share(wanted, half)))
    return found


def _share(parts: Sequence[arb], half: int) -> arb:
    return sum(parts[:half], arb(0)) / sum(parts, arb(0))


def _growth(values: Sequence[arb]) -> float:
    """The largest growth of (m times the value) from m to 4 m: 1 for a value of order 1/m, 4 for a constant one."""
    pairs = pairwise(zip(REGIONS, values, strict=True))
    return max(float((n * b / (m * a)).upper()) if a > 0 else 0.0 for (m, a), (n, b) in pairs)


def _of_rate(holds: bool, values: Sequence[arb], told: str) -> Judgement:
    growth = _growth(values)
    sizes = ", ".join(f"{text(m * v, 3)} at m = {m}" for m, v in zip(REGIONS, values, strict=True))
    if holds and growth < _BOUNDED_GROWTH:
        return Judgement("conforms", False, f"{told}; m times that is {sizes}")
    if not holds or growth > _STAYS:
        return Judgement("violates", False, f"the difference is not what it should be: m times it is {sizes}")
    return Judgement(
        "inconclusive", False, f"whether it falls like 1/m is not seen yet: m times it is {sizes}"
    )


def _with_terms(
    subject: Subject, verdict: Judgement, certificate: dict[str, Any], *, weighted: bool
) -> Judgement:
    """The verdict extended to the other terms of the bound; a violation of one term violates the bound."""
    if verdict.verdict != "conforms":
        return verdict
    terms = LineTerms.of(subject)
    found = terms.averages(weighted=weighted)
    certificate["on the line"] = certified(terms, found)
    return with_terms(verdict, found)


def _order(decided: bool) -> Fraction:
    return Fraction(int(decided))


def _rows(values: Sequence[arb]) -> dict[str, str]:
    return {f"m = {m}": text(value) for m, value in zip(REGIONS, values, strict=True)}

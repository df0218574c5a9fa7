"""Checks of theta*, the fixed point of an adaptively weighted sampler's weights: where it is, and that it is stable.

And of awsgld theorem 1: is E|theta_k - limit|^2 = O(omega_k), and |limit - theta*| = O(Var + eps + 1/m)?
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import flint
import numpy as np
from flint import arb, arb_series

from sgverify.checks.question import Question
from sgverify.checks.weights.line_terms import BoundTerm, LineTerms, certified, with_terms
from sgverify.checks.weights.weighted_sampler import WeightedSampler, text
from sgverify.claims import Claim
from sgverify.errors import SgverifyError
from sgverify.evidence import Evidence
from sgverify.exact.numbers.ball import number
from sgverify.exact.weights.fixed_point import (
    BITS,
    constant_of,
    cumulated_weights,
    jacobian,
    mean_field,
    slowest_decay,
)
from sgverify.exact.weights.line_weights import TwoRegions
from sgverify.exact.weights.piecewise import PlaneEnergies
from sgverify.rates.verdict import Judgement
from sgverify.schemes.composites.composite import log_psi, omega_of

_SLACK = 1e-12
"""The tolerance in theta: zeta and tau are floats in the run and decimals in the masses. They differ by half an ulp in an
exponent, which changes theta by about 1e-15."""
_LARGEST = 40
"""The most regions whose derivative matrix is enclosed; the eigenvalues of a larger one take more than a second."""
_EXACT_POINTS = 5

_CUMULATED = "cumulated-masses"
"""The form of a claim that prints theta*(i)^zeta Z as the cumulated mass within 1 + o(1)."""


def check_fixed_point(question: Question) -> Evidence:
    """theta* from the masses of the regions, where the mean field of the running rules must vanish, beside the claim's theta*.

    Cannot see: whether the weights of a run reach theta*.
    """
    subject = question.subject
    weighing = WeightedSampler.of(subject)
    try:
        star, masses = weighing.star, weighing.masses.masses
    except SgverifyError as error:
        return question.unanswered(str(error))
    with flint.ctx.workprec(BITS):
        field = mean_field(star, masses, weighing.zeta, weighing.rule)
        moving = [i for i, h in enumerate(field, 1) if not (h + arb(0, _SLACK)).contains(0)]
        bent = _bent_otherwise(weighing, star)
        certificate: dict[str, Any] = {
            "masses": [text(p) for p in masses],
            "masses by": weighing.masses.method,
            "error bound of a mass": weighing.masses.error_bound,
            "theta*": [text(w) for w in star],
            "h(theta*), largest": f"{max(float(h.abs_upper()) for h in field):.1e}",
        }
        if moving or bent:
            verdict = _judged(_wrong(moving, field, bent))
        elif question.claim.form == _CUMULATED:
            verdict = _printed(weighing, certificate)
        else:
            name = "the recursion's" if weighing.cumulates else "the masses'"
            verdict = Judgement(
                "conforms",
                True,
                f"the mean field vanishes at theta*; that of the rules that run, at {name} theta* of {len(star)} regions",
            )
    return question.answered(
        verdict,
        method="exact" if weighing.masses.method == "enclosure" else "quadrature",
        certificate=certificate,
    )


def check_weight_stability(question: Question) -> Evidence:
    """Whether theta* is stable: the mean field itself at zeta = 1, its derivative at theta* otherwise.

    Cannot see: how fast the weights converge and, at zeta other than 1, weights far from theta*.
    """
    subject = question.subject
    weighing = WeightedSampler.of(subject)
    try:
        star, masses = weighing.star, weighing.masses.masses
    except SgverifyError as error:
        return question.unanswered(str(error))
    if len(star) > _LARGEST:
        return question.unanswered(f"more than {_LARGEST} regions take too long; there are {len(star)}")
    certificate: dict[str, Any] = {}
    if weighing.zeta == 1:
        verdict = _straight(weighing, certificate)
    else:
        matrix = jacobian(star, masses, weighing.zeta, weighing.rule)
        slowest, stable = slowest_decay(matrix)
        middle = np.array([[float(entry.mid()) for entry in row] for row in matrix])
        # A perturbation moves the eigenvalues of a symmetric matrix by at most its norm (Weyl).
        radius = float(np.linalg.norm([[float(e.rad()) for e in row] for row in matrix]))
        slack = radius + 1e-13 * float(np.linalg.norm(middle))
        symmetric = float(np.linalg.eigvalsh((middle + middle.T) / 2)[-1])
        certificate["largest real part of an eigenvalue of dh at theta*"] = slowest
        certificate["below 0 for certain"] = stable
        certificate["largest eigenvalue of its symmetric part"] = symmetric
        verdict = _local(question.claim, (slowest, stable), symmetric, slack)
    return question.answered(
        verdict,
        method="exact" if weighing.masses.method == "enclosure" else "quadrature",
        certificate=certificate,
    )


def _printed(weighing: WeightedSampler, certificate: dict[str, Any]) -> Judgement:
    """(37) on these masses: theta*(i)^zeta Z over the cumulated mass, which is 1 + o(1)."""
    masses, star = weighing.masses.masses, weighing.star
    constant = constant_of(star, masses, weighing.zeta)
    cumulated = list(accumulate(masses))
    ratios = [w ** number(weighing.zeta) * constant / c for w, c in zip(star, cumulated, strict=True)]
    share = max((p / c for p, c in zip(masses[1:], cumulated[1:], strict=True)), key=float)
    certificate["theta*(i)^zeta Z/(p_1 + ... + p_i)"] = [text(r) for r in ratios]
    certificate["max p_i/(p_1 + ... + p_i), i >= 2"] = text(share)
    off = max((abs(r - 1) for r in ratios), key=float)
    if weighing.zeta == 1:
        return Judgement("conforms", True, "zeta = 1: theta* is the cumulated mass")
    return Judgement(
        "inconclusive",
        False,
        f"theta*(i)^zeta Z is within {text(off, 3)} of the cumulated mass; every p_i/(p_1 + ... + p_i), i >= 2, tends to 0 in the "
        f"limit of (37), and one is {text(share, 3)}",
    )


def _bent_otherwise(weighing: WeightedSampler, star: Sequence[arb]) -> str:
    """A sentence if the running multiplier differs from the derivative of u + zeta tau log Psi at theta*; "" if not.

    tau is the chain's temperature.
    """
    adaptation = weighing.adaptation
    edges, widths = adaptation.partition.edges, adaptation.partition.widths
    tau = number(Fraction(repr(weighing.subject.configuration.temperature)))
    # The identity holds for every theta: midpoints without radii make the comparison sharp.
    exactly = [weight.mid() for weight in star]
    for i, here in enumerate(exactly, start=1):
        below, width = exactly[max(i - 2, 0)], number(Fraction(repr(widths[i - 1])))
        energy = arb_series([number(Fraction(repr(edges[i - 1]))) + width / 3, 1], 2)
        psi = log_psi(here, below, energy=energy, lower=number(Fraction(repr(edges[i - 1]))), width=width)
        wanted = arb((energy + number(weighing.zeta) * tau * psi)[1])
        ran = adaptation.multiplier(here, below, arb(widths[i - 1]))
        if not abs(ran - wanted) < _SLACK * (1 + abs(wanted)):
            return (
                f"gradient times {text(ran, 4)}, required {text(wanted, 4)}; in region {i} it is multiplied by {text(ran)}, and "
                f"d(U + zeta tau log Psi)/dU is {text(wanted)}"
            )
    return ""


def _wrong(moving: list[int], field: Sequence[arb], bent: str) -> str:
    if not moving:
        return bent
    i = max(moving, key=lambda place: float(abs(field[place - 1])))
    return f"h_{i}(theta*) = {text(field[i - 1], 3)}, required 0; theta does not rest where the masses put it"


def _straight(weighing: WeightedSampler, certificate: dict[str, Any]) -> Judgement:
    """Judge h(theta) Z(theta) = theta* - theta in fractions, at some points: running rules on rounded masses."""
    generator = np.random.default_rng(0)
    masses = [Fraction(float(p.mid())) for p in weighing.masses.masses]
    total = sum(masses, Fraction(0))
    masses = [p / total for p in masses]
    star = list(accumulate(masses)) if weighing.cumulates else masses
    for _ in range(_EXACT_POINTS):
        weights = [Fraction(int(k), 97) for k in generator.integers(1, 97, len(masses))]
        z = sum((p / w for p, w in zip(masses, weights, strict=True)), Fraction(0))
        field = mean_field(weights, masses, 1, weighing.rule)
        if any(h * z != s - w for h, s, w in zip(field, star, weights, strict=True)):
            return _judged(
                "at zeta = 1 the mean field of the rules that run is not (theta* - theta)/Z(theta)"
            )
    certificate["h(theta) Z(theta) = theta* - theta"] = f"in fractions, at {_EXACT_POINTS} theta"
    certificate["phi"] = "inf 1/Z(theta), at least the least theta(i)"
    return Judgement(
        "conforms",
        True,
        "the mean field points straight to theta*; at zeta = 1 it is (theta* - theta)/Z(theta) for every theta",
    )


def _local(claim: Claim, decay: tuple[float, bool], symmetric: float, slack: float) -> Judgement:
    slowest, stable = decay
    if slowest >= 0:
        return _judged(
            f"theta* is not stable; the derivative of h has an eigenvalue of real part {slowest:.4g}"
        )
    if not stable:
        return Judgement(
            "inconclusive",
            False,
            f"a real part of {slowest:.1e} is not told from 0; by Lyapunov's equation, of an eigenvalue of dh at theta*",
        )
    if claim.corrects is not None:
        return Judgement(
            "conforms",
            True,
            f"theta* is stable; every eigenvalue of dh there has a real part of at most {slowest:.4g}",
        )
    if symmetric + slack < 0:
        return Judgement(
            "conforms",
            False,
            f"theta* is stable; near it <h, theta - theta*> <= {symmetric + slack:.4g} |theta - theta*|^2",
        )
    if symmetric - slack > 0:
        return _judged(
            f"the inequality fails however near theta*; <h, theta - theta*> is {symmetric:.4g} |theta - theta*|^2 along a "
            f"direction from theta*; theta* is stable all the same, its eigenvalues have real parts of at most {slowest:.4g}"
        )
    return Judgement(
        "inconclusive",
        False,
        f"an eigenvalue is not told from 0; of the symmetric part of dh, {symmetric:.1e} +- {slack:.1e}",
    )


def _judged(reason: str) -> Judgement:
    return Judgement("violates", False, reason)


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

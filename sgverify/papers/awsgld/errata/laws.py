"""Errata of awsgld on its invariant laws: signs, the potential of the multiplier, the piecewise approximation."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction

import flint
from flint import arb, arb_series

from sgverify.evidence.erratum import RefutingFamily
from sgverify.exact.numbers.ball import number
from sgverify.exact.weights.fixed_point import BITS, cumulated_weights, random_field
from sgverify.exact.weights.piecewise import PlaneEnergies, one_jump
from sgverify.papers.chen2015.errata.generators import compare
from sgverify.papers.formula import Examination, formula
from sgverify.schemes import dynamics, langevin
from sgverify.schemes.composites import composite as weighting

REGIONS = (8, 32, 128)
MANY = (8, 64, 512)
ZETA = 2
JUMPS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
"""Where monotone weights jump, in shares of the regions."""


@dynamics(theta="vector")
def langevin_uphill(theta, *, grad, T):  # type: ignore[no-untyped-def]
    """grad L . grad + T Laplace, as below (38)."""
    return grad(theta), T


def generator() -> Examination:
    """The generator below (38), against that of the diffusion that the SGLD step (i) discretises."""
    return compare(langevin_uphill, langevin, langevin)


def dissipativity() -> Examination:
    """(21) for U = |x|^2/2 with all weights alike, where L = U: <grad L, x> = |x|^2."""
    falls, kept = [], []
    for m in (Fraction(1, 1000), Fraction(1, 2), Fraction(1)):
        for b in (Fraction(0), Fraction(1), Fraction(10**6)):
            # <grad L, x> - b + m |x|^2 = (1 + m) |x|^2 - b at |x|^2 = b + 1.
            square = b + 1
            if not square <= b - m * square:
                falls.append((m, b))
            # The other way round |x|^2 >= m |x|^2 - b at every x, for m <= 1.
            if any(not s >= m * s - b for s in (Fraction(0), square, 1000 * square)):
                kept.append((m, b))
    return Examination(
        printed=f"|x|^2 <= b - m |x|^2 is false at |x|^2 = b + 1, for each of {len(falls)} pairs m > 0, b >= 0, and for every other"
        if falls
        else "",
        holds=f"{kept}" if kept else "",
        certificate={
            "U": "|x|^2/2, theta(i) = 1 for all i: the multiplier is 1",
            "why": "(1 + m) |x|^2 - b is above 0 from |x|^2 = b/(1 + m) on: the drift -grad L points inwards, grad L outwards",
        },
    )


def potential() -> Examination:
    """The multiplier of (19) as the derivative of u + zeta tau log Psi_theta(u), on power series of balls."""
    broken = []
    width, lower = Fraction(1, 3), Fraction(2)
    with flint.ctx.workprec(BITS):
        for here, below in ((Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 4), Fraction(9, 10))):
            for zeta, tau in ((1, Fraction(1)), (5, Fraction(20)), (3, Fraction(1, 5))):
                energy = arb_series([number(Fraction(13, 6)), 1], 2)
                psi = weighting.log_psi(
                    number(here), number(below), energy=energy, lower=number(lower), width=number(width)
                )
                slope = (energy + zeta * number(tau) * psi)[1]
                ran = weighting.multiplier(
                    number(here), number(below), zeta=zeta, tau=number(tau), width=number(width)
                )
                if not (arb(slope) - ran).contains(0):
                    broken.append(f"zeta = {zeta}, tau = {tau}")
    return Examination(
        printed="; ".join(broken),
        holds="",
        certificate={
            "so": "exp(-U/tau)/Psi^zeta is the law of the diffusion with the gradient (19), on each region and, as Psi is "
            "continuous, as a whole"
        },
        method="exact",
    )


def alternating(bins: int) -> list[Fraction]:
    """1, 1/2, 1, 1/2, ..., read from the last region: far from increasing, and in (0, 1]^m."""
    return [Fraction(1, 1 + (bins - i) % 2) for i in range(1, bins + 1)]


def straight(bins: int) -> list[Fraction]:
    """From 1/2 to 1 in equal steps."""
    return [Fraction(1, 2) + Fraction(i, 2 * bins) for i in range(1, bins + 1)]


def approximation() -> Examination:
    """Lemma 3 for weights of assumption A1 that alternate, and for monotone ones, which are all that the algorithm reaches."""
    found: dict[int, arb] = {}
    bounded: dict[str, dict[str, str]] = {}
    fails = []
    with flint.ctx.workprec(BITS):
        for bins in REGIONS:
            energies = PlaneEnergies(bins)
            found[bins] = energies.distance(alternating(bins), ZETA)
            monotone = {
                "straight": straight(bins),
                "theta*": cumulated_weights(energies.masses(), ZETA),
                **{f"a jump at {at} of the regions": one_jump(bins, at) for at in JUMPS},
            }
            for name, weights in monotone.items():
                apart, bound = energies.distance(weights, ZETA), energies.monotone_bound(weights, ZETA)
                bounded[f"m = {bins}, {name}"] = {
                    "m times the distance": _text(bins * apart),
                    "m times max p_i times the variation": _text(bins * bound),
                }
                # What is in the place of the printed one: a bound, and its order.
                if not apart <= energies.increments(weights, ZETA) <= bound or not bins * bound < 16:
                    fails.append(f"m = {bins}, {name}")
    turned = [
        f"omega = {omega}, J = {region}, from {name}"
        for name, start in {"straight": straight(8), "a jump": one_jump(8, JUMPS[1])}.items()
        for omega in (Fraction(1, 1000), Fraction(1, 2), Fraction(1))
        for region in range(1, 9)
        if _falls(
            [weighting.adapted(w, omega, h) for w, h in zip(start, random_field(start, region), strict=True)]
        )
    ]
    least = min(float(value.lower()) for value in found.values())
    stays = bool(found[REGIONS[-1]] > found[REGIONS[0]] / 2)
    return Examination(
        printed=f"theta alternating between 1/2 and 1: the laws stay {least:.3g} apart from m = {REGIONS[0]} to {REGIONS[-1]}"
        if stays
        else "",
        holds=", ".join(fails + turned),
        family=_over_1_over_m(found, "theta alternates between 1/2 and 1, u_1 and u_(m-1) fixed")
        if stays
        else None,
        certificate={
            "energies": "U = |x|^2/2 on the disc U <= 4, tau = 1, u_1 = 1/2 fixed, zeta = 2",
            "distance of the laws, theta alternating": {
                f"m = {m}": _text(value) for m, value in found.items()
            },
            "monotone weights": bounded,
            "(18) keeps a monotone theta monotone": "theta + omega theta(J) (1{i >= J} - theta) is a mean of theta and of a step "
            "that does not decrease, for omega theta(J) in [0, 1]; tried with the rules that run",
        },
        method="exact",
    )


def _falls(weights: Sequence[Fraction]) -> bool:
    return any(a > b for a, b in itertools.pairwise(weights))


def above_the_top() -> Examination:
    """Lemma 3 where U exceeds u_m, as it does in every unbounded space: the last slope of log Psi goes on there."""
    found, inside, fails = {}, {}, []
    with flint.ctx.workprec(BITS):
        for bins in MANY:
            endless, ends = PlaneEnergies(bins, beyond=True), PlaneEnergies(bins)
            found[bins] = endless.distance(straight(bins), ZETA)
            inside[bins] = ends.distance(straight(bins), ZETA)
            # What lies beyond counts at most twice, and theta <= 1 keeps the normalising constants above 1.
            mass = 1 - endless.cumulated(endless.top)
            bound = 2 * (endless.increments(straight(bins), ZETA) + 2 * mass)
            if not found[bins] <= bound:
                fails.append(f"m = {bins}")
        left = {m: value * m for m, value in found.items()}
    grows = bool(left[MANY[-1]] > 2 * left[MANY[0]])
    return Examination(
        printed=f"m times the distance grows: {', '.join(f'{_text(v)} at m = {m}' for m, v in left.items())}"
        if grows
        else "",
        holds=", ".join(fails),
        family=_over_1_over_m(found, "a straight theta, u_1 and u_m = 4 fixed") if grows else None,
        certificate={
            "energies": "U = |x|^2/2 in the whole plane, tau = 1, u_m = 4, beyond which is a mass of "
            + _text(1 - PlaneEnergies(8, beyond=True).cumulated(4)),
            "distance on the disc U <= u_m": {f"m = {m}": _text(value) for m, value in inside.items()},
            "distance in the plane": {f"m = {m}": _text(value) for m, value in found.items()},
        },
        method="exact",
    )


def averages() -> Examination:
    """Lemma 6 at theta_k = theta* for all k, k -> infinity and eps -> 0: what is left is the distance of the two laws."""
    rows, fails = {}, []
    with flint.ctx.workprec(BITS):
        for bins in REGIONS:
            energies = PlaneEnergies(bins)
            star = cumulated_weights(energies.masses(), ZETA)
            smooth, flat = energies.smooth_parts(star, ZETA), energies.flat_parts(star, ZETA)
            half = (bins + 1) // 2
            left = abs(
                sum(smooth[:half], arb(0)) / sum(smooth, arb(0))
                - sum(flat[:half], arb(0)) / sum(flat, arb(0))
            )
            rows[bins] = left
            if not bins * left < 8:
                fails.append(f"m = {bins}")
        positive = [m for m, value in rows.items() if value > 0]
    # At k = eps^-2 the printed bound is 2 eps but for omega, and what is left is that of k -> infinity and eps -> 0.
    shrinking = tuple(float(rows[REGIONS[0]]) * 10**k / 2 for k in (1, 2, 3))
    return Examination(
        printed=f"f = 1 on the lower half of the regions: {_text(rows[REGIONS[0]])} is left at m = {REGIONS[0]}, where "
        "1/(k eps) + eps + sqrt(sum omega/k) is 0"
        if positive
        else "",
        holds=", ".join(fails),
        family=RefutingFamily(
            along=f"eps -> 0, k = eps^-2, at m = {REGIONS[0]}",
            hypotheses="theta_k = theta* and omega_k = 0; what is left of k -> infinity and eps -> 0, over 1/(k eps) + eps",
            ratios=shrinking,
        )
        if positive
        else None,
        certificate={
            "what is left": {f"m = {m}": _text(value) for m, value in rows.items()},
            "m times that": {f"m = {m}": _text(m * value) for m, value in rows.items()},
            "the limit of the average": "int f varpi_Psi: awsgld/equation-19-potential",
        },
        method="exact",
    )


def _over_1_over_m(distances: Mapping[int, arb], hypotheses: str) -> RefutingFamily:
    """The distances of the laws over 1/m, as the regions become many."""
    return RefutingFamily(
        along="m -> infinity",
        hypotheses=hypotheses,
        ratios=tuple(float((m * distance).mid()) for m, distance in distances.items()),
    )


def _text(value: arb) -> str:
    return str(value.str(5, radius=False))


FORMULAS = (
    formula("awsgld/equation-21", dissipativity),
    formula("awsgld/equation-38", generator),
    formula("awsgld/equation-19-potential", potential),
    formula("awsgld/lemma-3", approximation),
    formula("awsgld/lemma-3-last-region", above_the_top),
    formula("awsgld/lemma-6", averages),
)

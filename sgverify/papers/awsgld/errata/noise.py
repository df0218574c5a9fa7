"""Errata of awsgld on noise: lemma 4 about minibatch energies, the factor N/n of (19), the kernel of (DRI1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import flint
from flint import acb, arb

from sgverify.evidence.erratum import RefutingFamily
from sgverify.exact.numbers.ball import number
from sgverify.exact.weights.fixed_point import BITS, random_field
from sgverify.exact.weights.piecewise import PlaneEnergies
from sgverify.papers.formula import Examination, formula
from sgverify.schemes.composites import composite as weighting

EDGE = Fraction(1)
"""u_1, between two regions."""
WEIGHTS = (Fraction(1, 2), Fraction(1))
SPREADS = tuple(Fraction(1, 4**k) for k in range(1, 6))
"""The noise is +s or -s, each with chance 1/2: mean 0, variance s^2."""


def field_at(energy: Fraction) -> Fraction:
    """H_1(theta, x) at an energy."""
    first: Fraction = random_field(WEIGHTS, weighting.region_of(energy, (EDGE,)))[0]
    return first


def bias_at(energy: Fraction, spread: Fraction) -> Fraction:
    """E H~_1 - H_1 at one point."""
    return (field_at(energy + spread) + field_at(energy - spread)) / 2 - field_at(energy)


def averaged_bias(spread: Fraction) -> arb:
    """int (E H~_1 - H_1) pi_tau, U = |x|^2/2 in the plane: the energies have a smooth density."""
    law = PlaneEnergies(2, first=EDGE, beyond=True)
    low, high = field_at(EDGE), field_at(EDGE + 1)
    reached = (law.cumulated(EDGE + spread) + law.cumulated(EDGE - spread)) / 2
    return number(low - high) * (reached - law.cumulated(EDGE))


def minibatch_energies() -> Examination:
    """Lemma 4 at a point where U is an edge, and averaged over the points."""
    with flint.ctx.workprec(BITS):
        at_edge = {s: bias_at(EDGE, s) for s in SPREADS}
        averaged = {s: abs(averaged_bias(s)) / number(s * s) for s in SPREADS}
        least = min(abs(value) / s**2 for s, value in at_edge.items())
        unbounded = abs(at_edge[SPREADS[-1]]) / SPREADS[-1] ** 2 > 1000 * abs(at_edge[SPREADS[0]])
        # A variance times half the slope of the density, e^-1/2, and the jump; the rest is of fourth order.
        limit = averaged[SPREADS[-1]]
        bounded = all(value < 2 * limit and limit < 2 * value for value in averaged.values())
    return Examination(
        printed=f"at U(x) = u_1, theta = (1/2, 1): |E H~_1 - H_1| = {abs(at_edge[SPREADS[-1]])} however small the noise, "
        f"{least} to {abs(at_edge[SPREADS[-1]]) / SPREADS[-1] ** 2} times Var"
        if unbounded
        else "",
        holds="" if bounded else f"averaged bias over Var: {', '.join(_text(v) for v in averaged.values())}",
        family=_as_noise_falls({s: abs(value) / s**2 for s, value in at_edge.items()}, "U(x) = u_1")
        if unbounded
        else None,
        certificate={
            "noise": "+s or -s with chance 1/2",
            "E H~_1 - H_1 at U(x) = u_1": {f"Var = {s * s}": str(v) for s, v in at_edge.items()},
            "E H~_1 - H_1 at U(x) = u_1 + 1/8": {
                f"Var = {s * s}": str(bias_at(EDGE + Fraction(1, 8), s)) for s in SPREADS
            },
            "|int (E H~_1 - H_1) pi_tau|/Var": {f"Var = {s * s}": _text(v) for s, v in averaged.items()},
        },
        method="exact",
    )


def cauchy_schwarz() -> Examination:
    """The last line of the proof: sqrt(E xi^2 Phi'^2) = O(Var), for the smooth Phi(u) = u and xi = +-s."""
    noises = {s: (s, -s) for s in SPREADS}
    means = [sum(noise) / 2 for noise in noises.values()]
    seconds = {s: sum((xi * xi for xi in noise), Fraction(0)) / 2 for s, noise in noises.items()}
    # (sqrt(E xi^2)/Var)^2.
    ratios = {s: second / second**2 for s, second in seconds.items()}
    first, last = SPREADS[0], SPREADS[-1]
    larger = ratios[last] > 100 * ratios[first]
    return Examination(
        printed=f"(sqrt(E xi^2)/Var xi)^2 = {ratios[first]} at Var = {seconds[first]}, {ratios[last]} at Var = {seconds[last]}"
        if larger
        else "",
        holds="" if not any(means) else f"E xi = {means}",
        family=_as_noise_falls({s: 1 / s for s in SPREADS}, "Phi(u) = u, sqrt(E xi^2) over Var xi")
        if larger
        else None,
        certificate={
            "E xi Phi'(U)": "0 for every noise",
            "E xi^2": {f"s = {s}": str(v) for s, v in seconds.items()},
        },
    )


def _as_noise_falls(ratios: Mapping[Fraction, Fraction], hypotheses: str) -> RefutingFamily:
    """The left sides over the variances of the noises +-s."""
    return RefutingFamily(
        along="s -> 0", hypotheses=f"noise +-s; {hypotheses}", ratios=tuple(map(float, ratios.values()))
    )


def scaled_twice() -> Examination:
    """(19) under A4: the average of the adaptive gradient over every minibatch, against that of all data."""
    data: Sequence[Fraction] = (Fraction(0), Fraction(1), Fraction(4), Fraction(7))
    size, batch, here = len(data), 2, Fraction(1, 3)
    full = sum((here - x for x in data), Fraction(0))
    draws = list(combinations(data, batch))
    estimates = [Fraction(size, batch) * sum((here - x for x in draw), Fraction(0)) for draw in draws]
    mean = sum(estimates, Fraction(0)) / len(draws)
    multiplier = Fraction(3, 2)
    printed = Fraction(size, batch) * multiplier * mean
    mended = multiplier * mean
    bare = sum((sum((here - x for x in draw), Fraction(0)) for draw in draws), Fraction(0)) / len(draws)
    ratio = printed / (multiplier * full)
    return Examination(
        printed=f"N = {size}, n = {batch}: E grad L~ = {printed}, {ratio} times grad L = {multiplier * full}"
        if printed != multiplier * full
        else "",
        holds="" if mended == multiplier * full else f"E grad L~ = {mended}, grad L = {multiplier * full}",
        certificate={
            "U": "sum_i (theta - x_i)^2/2, every minibatch of 2 of 4 data enumerated, multiplier 3/2",
            "E grad U~ - grad U": str(mean - full),
            "were grad U~ the bare sum over the minibatch, E grad U~ - grad U, which A4 has at 0": str(
                bare - full
            ),
        },
        method="exact",
    )


def kernel() -> Examination:
    """The transition density of (DRI1), integrated over y in closed form, d = 1, 2, 4."""
    printed, fails = {}, []
    with flint.ctx.workprec(BITS):
        for dim in (1, 2, 4):
            for eps in (Fraction(1, 100), Fraction(1)):
                whole = (4 * arb.pi() * number(eps)) ** number(Fraction(dim, 2))
                prefactor = 1 / (2 * ((4 * arb.pi() * number(eps)) ** number(Fraction(dim, 2))).sqrt())
                printed[f"d = {dim}, eps = {eps}"] = prefactor * whole
                for tau in (Fraction(1), Fraction(20)):
                    scale = 4 * arb.pi() * number(eps * tau)
                    # int exp(-z^2/(4 eps tau)) dz by quadrature with a bound, to the power d.
                    step = _gaussian_integral(4 * number(eps * tau)) ** dim / scale ** number(
                        Fraction(dim, 2)
                    )
                    if not (step - 1).contains(0) or step.rad() > 1e-10:
                        fails.append(f"d = {dim}, eps = {eps}, tau = {tau}: {_text(step)}")
    off = [name for name, value in printed.items() if not value.contains(1)]
    return Examination(
        printed=f"its integral over y is {'; '.join(f'{_text(printed[x])} for {x}' for x in off)}, and its variance is 2 eps "
        "for every tau"
        if off
        else "",
        holds="; ".join(fails),
        certificate={
            "integrals of the printed kernel": {name: _text(value) for name, value in printed.items()}
        },
        method="exact",
    )


def _gaussian_integral(width: arb) -> arb:
    """int exp(-z^2/width) dz over [-20, 20] roots of the width, by ball arithmetic; e^-400 is left out."""
    reach = 20 * width.sqrt()
    inside = acb.integral(lambda z, _: (-z * z / width).exp(), -reach, reach).real
    return inside + arb(0, 1e-100)


def _text(value: arb) -> str:
    return str(value.str(5, radius=False))


FORMULAS = (
    formula("awsgld/lemma-4", minibatch_energies),
    formula("awsgld/lemma-4-cauchy-schwarz", cauchy_schwarz),
    formula("awsgld/equation-19", scaled_twice),
    formula("awsgld/equation-dri1", kernel),
)

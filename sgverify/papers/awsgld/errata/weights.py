"""The formulas of awsgld about the weights theta: its mean field and the point where that vanishes, in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from sgverify.evidence.erratum import RefutingFamily
from sgverify.exact.weights.fixed_point import jacobian, mean_field, slowest_decay
from sgverify.papers.formula import Examination, formula

THIRD = Fraction(1, 3)
HALF = Fraction(1, 2)

CASES: tuple[tuple[tuple[Fraction, ...], tuple[Fraction, ...]], ...] = (
    ((THIRD, 2 * THIRD), (HALF, Fraction(1))),
    ((Fraction(1, 6), THIRD, HALF), (HALF, 2 * THIRD, Fraction(1))),
    ((Fraction(3, 10), Fraction(1, 10), Fraction(2, 5), Fraction(1, 5)), (HALF, Fraction(1, 5), Fraction(7, 8), Fraction(9, 10))),
)  # fmt: skip
"""Masses p of the regions, and weights theta."""
POWERS = (1, 2, 3)
FIRSTS = (10, 100, 1000)
"""a of the partitions that meet p_i = o(p_1 + ... + p_i) ever better: p_1 = a^2, p_i = a + i - 1."""
NEAR = Fraction(1, 100)
"""The share by which theta is below theta*."""


def staircase(first: int, bins: int) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """(p, theta*) at zeta = 2: theta ~ a, a + 1, ... for p_1 ~ a^2 and p_i ~ a + i - 1, all whole numbers."""
    weights = [first + i for i in range(bins)]
    masses = [first * first, *weights[1:]]
    return tuple(Fraction(p, sum(masses)) for p in masses), tuple(Fraction(w, weights[-1]) for w in weights)


def recursion_defect(masses: Sequence[Fraction], weights: Sequence[Fraction], zeta: int) -> Fraction:
    """max_i |theta(i) - theta(i-1) - p_i theta(i)^(1 - zeta)/Z| and |theta(m) - 1|: 0 at theta*."""
    constant = sum((p / w ** (zeta - 1) for p, w in zip(masses, weights, strict=True)), Fraction(0))
    before = (Fraction(0), *weights[:-1])
    steps = (
        abs(w - b - p / w ** (zeta - 1) / constant) for p, w, b in zip(masses, weights, before, strict=True)
    )
    return max(abs(weights[-1] - 1), *steps)


def powers_over_cumulated(
    masses: Sequence[Fraction], weights: Sequence[Fraction], zeta: int
) -> list[Fraction]:
    """theta(i)^zeta Z/(p_1 + ... + p_i), which (22) and (37) have at 1 + o(1)."""
    constant = sum((p / w ** (zeta - 1) for p, w in zip(masses, weights, strict=True)), Fraction(0))
    return [w**zeta * constant / c for w, c in zip(weights, accumulate(masses), strict=True)]


def solution() -> Examination:
    """(22) and (37) on partitions that meet the hypothesis ever better: max p_i/(p_1 + ... + p_i) over i >= 2 tends to 0."""
    rows, defects = {}, []
    gaps, ratios = [], []
    for first in FIRSTS:
        masses, weights = staircase(first, first + 1)
        cumulated = list(accumulate(masses))
        share = max(p / c for p, c in list(zip(masses, cumulated, strict=True))[1:])
        ratio = powers_over_cumulated(masses, weights, 2)
        # In place of 1: zeta - (zeta - 1) p_1/(p_1 + ... + p_i), off by no more than the hypothesis is.
        apart = max(abs(r - (2 - cumulated[0] / c)) for r, c in zip(ratio, cumulated, strict=True))
        rows[f"m = {first + 1}"] = {
            "max p_i/(p_1 + ... + p_i), i >= 2": float(share),
            "theta*(m)^2 Z/1": float(ratio[-1]),
            "off 2 - p_1/(p_1 + ... + p_i) by at most": float(apart),
        }
        gaps.append(float(share))
        ratios.append(float(ratio[-1]))
        if recursion_defect(masses, weights, 2) or apart > 2 * share:
            defects.append(f"m = {first + 1}")
        if first == 10 and any(mean_field(weights, masses, 2)):
            defects.append("the mean field does not vanish")
    last = rows["m = 1001"]["theta*(m)^2 Z/1"]
    masses = (THIRD, 2 * THIRD)
    weights = (HALF, Fraction(1))
    small = powers_over_cumulated(masses, weights, 2)
    for p, _ in CASES:
        flat = powers_over_cumulated(p, list(accumulate(p)), 1)
        if any(r != 1 for r in flat) or any(mean_field(list(accumulate(p)), p, 1)):
            defects.append("zeta = 1")
    # For a fixed number of regions the hypothesis leaves all mass in the first of them, and the printed form is right.
    few = {a: powers_over_cumulated(*staircase(a, 3), 2)[-1] for a in FIRSTS}
    if not abs(few[1000] - 1) < abs(few[100] - 1) / 5 < abs(few[10] - 1) / 25:
        defects.append("m = 3")
    printed = abs(last - 1) > 10 * rows["m = 1001"]["max p_i/(p_1 + ... + p_i), i >= 2"]
    return Examination(
        printed=f"at zeta = 2 theta*(m)^2 Z tends to {last:.4g} times the whole mass, not to 1, while every "
        "p_i/(p_1 + ... + p_i), i >= 2, tends to 0"
        if printed
        else "",
        holds=", ".join(defects),
        family=_many(gaps, ratios, printed=1) if printed else None,
        certificate={
            "p_1 = a^2, p_i = a + i - 1, theta* ~ a, a + 1, ..., 2a": rows,
            "p = (1/3, 2/3), theta* = (1/2, 1): theta*^2 Z over the cumulated mass": [str(r) for r in small],
            "the same with m = 3 throughout: theta*(m)^2 Z/1": {
                f"a = {a}": float(ratio) for a, ratio in few.items()
            },
            "zeta = 1": "theta* is the cumulated mass, exactly",
        },
    )


def _many(gaps: Sequence[float], ratios: Sequence[float], printed: float | None) -> RefutingFamily:
    """The family of the regions that become many and small beside a first one that stays."""
    return RefutingFamily(
        along="m -> infinity",
        hypotheses="p_1 = a^2, p_i = a + i - 1, m = a + 1: every p_i/(p_1 + ... + p_i), i >= 2, tends to 0",
        gaps=tuple(gaps),
        ratios=tuple(ratios),
        printed=printed,
    )


def expectation() -> Examination:
    """(26): the mean field, against the average of the random field that runs over the chances of the regions."""
    broken = []
    for masses, weights in CASES:
        for zeta in POWERS:
            z = sum((p / w**zeta for p, w in zip(masses, weights, strict=True)), Fraction(0))
            parts = [p / w ** (zeta - 1) for p, w in zip(masses, weights, strict=True)]
            printed = [(c - w * sum(parts)) / z for c, w in zip(accumulate(parts), weights, strict=True)]
            if printed != mean_field(weights, masses, zeta):
                broken.append(f"p = {', '.join(map(str, masses))}, zeta = {zeta}")
    return Examination(
        printed="; ".join(broken),
        holds="",
        certificate={"cases": f"{len(CASES)} partitions, zeta = {', '.join(map(str, POWERS))}, in fractions"},
        method="exact",
    )


def direction() -> Examination:
    """(29) without perturbations, near theta*: h(theta) proportional to theta* - theta, component by component.

    theta is theta* from the middle region on and a little below it before. Then the middle component of theta* - theta is 0, and
    that of h over the first one tends to 0 by (29) as the partitions meet lemma 5's hypothesis.
    """
    many, few, gaps = [], [], []
    for first in FIRSTS:
        masses, star = staircase(first, first + 1)
        gaps.append(float(masses[1] / (masses[0] + masses[1])))
        many.append(float(_middle_over_first(masses, star)))
        few.append(float(_middle_over_first(*staircase(first, 3))))
    masses, star = staircase(FIRSTS[0], FIRSTS[0] + 1)
    at_star = mean_field(star, masses, 2)
    slowest, stable = slowest_decay(jacobian(star, masses, 2))
    bent = [f"p = {', '.join(map(str, p))}" for p, weights in CASES if not _straight(p, weights)]
    fixed = few[1] < few[0] / 5 and few[2] < few[1] / 5
    return Examination(
        printed=f"at zeta = 2, theta(i) = theta*(i) in the middle, h_i over h_1 tends to {many[-1]:.4g}, not to 0, while every "
        "p_i/(p_1 + ... + p_i), i >= 2, tends to 0"
        if many[-1] > 10 * gaps[-1]
        else "",
        holds=""
        if not any(at_star) and not bent and stable and fixed
        else f"h(theta*) = {at_star}, at zeta = 1 {bent}, largest real part {slowest}, m = 3: {few}",
        family=_many(gaps, many, printed=0) if many[-1] > 10 * gaps[-1] else None,
        certificate={
            "theta": f"(1 - {NEAR}) theta* below the middle region, theta* from there on",
            "h_i/h_1, i the middle": {
                f"m = {first + 1}": ratio for first, ratio in zip(FIRSTS, many, strict=True)
            },
            "the same with m = 3 throughout": {
                f"a = {first}": ratio for first, ratio in zip(FIRSTS, few, strict=True)
            },
            "zeta = 1, h(theta) - (theta* - theta)/Z": "0",
            "eigenvalues of the derivative of h at theta*": f"real parts at most {slowest:.6g} at m = {len(star)}: theta* is "
            "stable at zeta = 2",
        },
    )


def _middle_over_first(masses: Sequence[Fraction], star: Sequence[Fraction]) -> Fraction:
    """h_i/h_1 at zeta = 2 for the middle region i, theta a share `NEAR` below theta* before it (awsgld (26))."""
    middle = len(star) // 2
    weights = [(1 - NEAR) * w if k < middle else w for k, w in enumerate(star)]
    parts = [p / w for p, w in zip(masses, weights, strict=True)]
    field = [sum(parts[: i + 1], Fraction(0)) - weights[i] * sum(parts, Fraction(0)) for i in (0, middle)]
    return field[1] / field[0]


def _straight(masses: Sequence[Fraction], weights: Sequence[Fraction]) -> bool:
    """Whether h(theta) = (theta* - theta)/Z at zeta = 1."""
    constant = sum((p / w for p, w in zip(masses, weights, strict=True)), Fraction(0))
    straight = [(c - w) / constant for c, w in zip(accumulate(masses), weights, strict=True)]
    return mean_field(weights, masses, 1) == straight


def whole_mass() -> Examination:
    """(43), and the relation above (41), summed over regions: sum_j theta(j)^zeta varpi_j Z = sum_j p_j."""
    broken = []
    for masses, weights in CASES:
        for zeta in POWERS:
            z = sum((p / w**zeta for p, w in zip(masses, weights, strict=True)), Fraction(0))
            values = [Fraction(3 * j - 4, j) for j in range(1, len(masses) + 1)]
            left = sum((f * p for f, p in zip(values, masses, strict=True)), Fraction(0))
            right = z * sum(
                (w**zeta * f * (p / w**zeta / z) for f, p, w in zip(values, masses, weights, strict=True)),
                Fraction(0),
            )
            if left != right:
                broken.append(f"p = {', '.join(map(str, masses))}, zeta = {zeta}")
    return Examination(
        printed="; ".join(broken),
        holds="",
        certificate={"cases": "a function of the region, in fractions"},
        method="exact",
    )


FORMULAS = (
    formula("awsgld/equation-22", solution),
    formula("awsgld/equation-26", expectation),
    formula("awsgld/equation-29", direction),
    formula("awsgld/equation-43", whole_mass),
)

"""The cause where a step has the right generator, and its expansion is wrong at h^2.

The generator is a sum of parts X_a: force, friction, motion, feedback and noise of each variable. In exp(hL) the coefficient
of h^2 is sum_ab X_a X_b / 2, and X_a X_b holds C_ab = X_a applied to the coefficients of X_b: part b acts on a state which
part a has moved, half of the way on average. A step has sum_ab gamma_ab C_ab in its place, so that gamma_ab says which share of
a's motion b sees. The defect is solved, exactly, for gamma_ab - 1/2; each mistake has its own pattern.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sgverify.advice.diagnosis.model import Cause, CauseName
from sgverify.advice.diagnosis.wrong_terms.moments import StepMoments, printed
from sgverify.advice.diagnosis.wrong_terms.noise import drift_groups
from sgverify.exact.numbers.matrix_series import rational_matrix, unit
from sgverify.exact.rings.polynomials import Polynomial, to_fraction
from sgverify.exact.series.operators import (
    Operator,
    compose_symbols,
    difference,
    symbol_of,
)
from sgverify.schemes import Scheme

HALF = Fraction(1, 2)
NOISE = "noise"


@dataclass(frozen=True)
class Part:
    """A part of the generator: a kind of drift of a variable, or its noise."""

    variable: str
    kind: str
    operator: Operator

    @property
    def text(self) -> str:
        """Such as "the friction of p"."""
        return f"the {self.kind} {'on' if self.kind == 'force' else 'of'} {self.variable}"


@dataclass(frozen=True)
class Interaction:
    """`second` sees the share `share` of the motion by `first`, where 1/2 is due."""

    first: Part
    second: Part
    share: Fraction


def wrong_second_order(moments: StepMoments) -> Cause | None:
    """The cause of a defect at h^2; None where no pattern matches."""
    defect = difference(moments.operators[4], moments.exact[2], moments.ring)
    parts = parts_of(moments)
    found = interactions(defect, parts, moments)
    if found is None:
        return _outside(defect, moments)
    return _named(found, moments)


def made_of_whole_steps(moments: StepMoments) -> bool:
    """Whether each part sees all or nothing of the others' motion, as in a composition of Euler steps: nothing is halved."""
    defect = difference(moments.operators[4], moments.exact[2], moments.ring)
    found = interactions(defect, parts_of(moments), moments)
    return found is not None and all(item.share in (0, 1) for item in found)


def parts_of(moments: StepMoments) -> list[Part]:
    """The parts of the dynamics' generator."""
    ring, size = moments.ring, len(moments.ring.coordinates)
    parts = []
    for group in drift_groups(moments):
        operator = {unit(size, k): value for k, value in group.expected.items() if value}
        if operator:
            parts.append(Part(group.variable, group.kind, operator))
    noise: dict[str, Operator] = {}
    for index, value in moments.exact[1].items():
        if sum(index) == 2:
            variable = ring.coordinates[next(k for k, n in enumerate(index) if n)][0]
            noise.setdefault(variable, {})[index] = value
    return parts + [Part(variable, NOISE, operator) for variable, operator in noise.items()]


def interactions(defect: Operator, parts: Sequence[Part], moments: StepMoments) -> list[Interaction] | None:
    """The wrong interactions that make up the defect; None where it is no combination of them."""
    ring = moments.ring
    columns: list[tuple[Part, Part, Mapping[tuple[int, ...], Fraction]]] = []
    for first in parts:
        for second in parts:
            left, right = symbol_of(first.operator, ring), symbol_of(second.operator, ring)
            acted = ring.reduce(compose_symbols(left, right, ring) - left * right)
            if acted:
                columns.append((first, second, _numbers(acted)))
    solved = _solved([column for _, _, column in columns], _numbers(symbol_of(defect, ring)))
    if solved is None:
        return None
    return [
        Interaction(first, second, HALF + share)
        for (first, second, _), share in zip(columns, solved, strict=True)
        if share
    ]


def _numbers(value: Polynomial) -> dict[tuple[int, ...], Fraction]:
    return {tuple(map(int, m)): to_fraction(c) for m, c in value.to_dict().items()}


def _solved(
    columns: Sequence[Mapping[tuple[int, ...], Fraction]], wanted: Mapping[tuple[int, ...], Fraction]
) -> list[Fraction] | None:
    """x with sum_j x_j column_j = wanted, by elimination in fractions, free unknowns 0; None where there is none."""
    keys, size = sorted({key for column in (*columns, wanted) for key in column}), len(columns)
    found = [Fraction(0)] * size
    if not keys:
        return found
    reduced, rank = rational_matrix(
        [*(column.get(key, 0) for column in columns), wanted.get(key, 0)] for key in keys
    ).rref()
    for i in range(rank):
        j = next(j for j in range(size + 1) if reduced[i, j] != 0)
        if j == size:
            return None
        found[j] = to_fraction(reduced[i, size])
    return found


def _named(found: Sequence[Interaction], moments: StepMoments) -> Cause | None:
    if not found:
        return None
    one, kinds = found[0], {(item.second.variable, item.second.kind) for item in found}
    scheme = moments.scheme
    if len(kinds) == 1 and one.second.kind == "force" and isinstance(scheme, Scheme):
        return _of_gradient(found, scheme)
    if all(_within(item) for item in found):
        return Cause("letter-not-exact", _inexact(found, moments))
    if len(found) == 1 and one.first.kind == NOISE and one.second.kind == "motion":
        own, due = _covariances(one, moments)
        return Cause(
            "noise-correlated",
            f"the noises of {one.second.variable} and {one.first.variable} have the covariance {own} h^2 where "
            f"{moments.scheme.dynamics.name} has {due} h^2",
        )
    shifted = _moved_part(found)
    if shifted is not None:
        return shifted
    if len(kinds) == 1:
        when = "before" if one.share < HALF else "after"
        return Cause(
            "old-value",
            f"{one.second.text} sees {_shares(found)} where 1/2 is due: it takes a value from {when} that motion",
        )
    return None


def _of_gradient(found: Sequence[Interaction], scheme: Scheme) -> Cause | None:
    one = found[0]
    noise = all(item.first.kind == NOISE for item in found)
    same = one.first.variable == one.second.variable and not noise
    if scheme.gradients == 1 and same and not scheme.census.hessians:
        return None
    # A point that went the other way is no old one, unless it is that of a step before, which a memory keeps.
    old = not noise and all(item.share < HALF and (item.share >= 0 or scheme.memory) for item in found)
    return Cause(
        "gradient-at-old-point" if old else "gradient-of-wrong-argument",
        f"the gradient is evaluated at {'an old' if old else 'a wrong'} point: {one.second.text} sees {_shares(found)} where 1/2 "
        "is due",
    )


def _shares(found: Sequence[Interaction]) -> str:
    """Such as "0 of the motion of theta and 0 of the noise of p"."""
    return " and ".join(f"{item.share} of {item.first.text}" for item in found)


def _within(item: Interaction) -> bool:
    """Whether both parts are friction and noise of one variable, which one letter solves exactly."""
    alike = item.first.variable == item.second.variable
    return alike and item.second.kind == "friction" and item.first.kind in ("friction", NOISE)


def _inexact(found: Sequence[Interaction], moments: StepMoments) -> str:
    """Mean and variance of friction and noise at h^2, found and due."""
    ring = moments.ring
    variable = found[0].second.variable
    k = next(k for k, (name, _) in enumerate(ring.coordinates) if name == variable)
    texts = []
    for what, own, due in (
        ("mean", moments.mean(k, 4), moments.expected_mean(k, 4)),
        ("variance", moments.covariance(k, k, 4), moments.expected_covariance(k, k, 4)),
    ):
        if own != due:
            texts.append(
                f"the {what} of its increment is {printed(_free(own, moments), ring)} at h^2 where "
                f"{printed(_free(due, moments), ring)} is due"
            )
    return f"friction and noise of {variable} are not their exact flow: {' and '.join(texts)}"


def _free(value: Polynomial, moments: StepMoments) -> Polynomial:
    """The terms without derivatives of U."""
    ring = moments.ring
    terms = {m: c for m, c in value.to_dict().items() if not any(m[j] for j in ring.jets)}
    return ring.context.from_dict(terms)


def _covariances(item: Interaction, moments: StepMoments) -> tuple[str, str]:
    ring = moments.ring
    k, m = (
        next(k for k, (name, _) in enumerate(ring.coordinates) if name == part.variable)
        for part in (item.second, item.first)
    )
    # Given the start, the covariance at h^2 comes from noise alone.
    return printed(moments.covariance(k, m, 4), ring), printed(moments.expected_covariance(k, m, 4), ring)


def _moved_part(found: Sequence[Interaction]) -> Cause | None:
    """One part that comes too early or too late beside all others: what it sees of them and what they see of it are opposite."""
    for part in {id(part): part for item in found for part in (item.first, item.second)}.values():
        if not all((item.first is part) != (item.second is part) for item in found):
            continue
        late = {item.share - HALF if item.second is part else HALF - item.share for item in found}
        both = {item.first is part for item in found}
        if len(late) == 1 and len(both) == 2:
            by = late.pop()
            return Cause(
                "word-not-symmetric",
                f"{part.text} is not placed symmetrically: it acts {abs(by)} h too {'late' if by > 0 else 'early'} beside the "
                "other parts of the step",
            )
    return None


def _outside(defect: Operator, moments: StepMoments) -> Cause | None:
    """A mean or a variance with terms that no interaction of the dynamics' parts has."""
    ring, ((index, _), *_) = moments.ring, defect.items()
    places = [k for k, n in enumerate(index) if n]
    if len({sum(other) for other in defect}) > 1 or sum(index) > 2 or len(places) > 1:
        return None
    k, is_mean = places[0], sum(index) == 1
    pair = (
        (moments.mean(k, 4), moments.expected_mean(k, 4))
        if is_mean
        else (moments.covariance(k, k, 4), moments.expected_covariance(k, k, 4))
    )
    name: CauseName = "gradient-of-wrong-argument"
    if not any(value.degrees()[j] for value in defect.values() for j in ring.jets):
        name = "friction-wrong" if is_mean else "diffusion-power-of-h"
    own, due = (printed(value, ring) for value in pair)
    what = "drift" if is_mean else "variance of the noise"
    return Cause(name, f"the {what} of {ring.coordinates[k][0]} is {own} at h^2 where {due} is due")

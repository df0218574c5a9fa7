"""Averages over minibatches of operators that were computed for fixed minibatches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import comb
from typing import Any

from sgverify.errors import NotExpandableError
from sgverify.exact.rings.context import Index, potential_label
from sgverify.exact.rings.polynomials import Polynomial
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.operators import Operator, has_moments

Family = tuple[Index, ...]
Moments = tuple[Family, ...]


def merge_minibatches(operator: Operator, ring: Ring) -> Operator:
    """The operator with all minibatches set to one: the case that the proofs of chen2015 treat."""
    if ring.minibatches == 1:
        return operator
    merged = {index: ring.merged(value) for index, value in operator.items()}
    return {index: value for index, value in merged.items() if value}


def average(operator: Operator, ring: Ring) -> dict[Moments, Operator]:
    """E over independent minibatches, U_l = U + W_l with E W_l = 0 and otherwise free moments.

    The result is sorted by the moments of the noise that multiply each part: {(): the part without noise,
    ((a, b),): the part with E[d^a W d^b W], ...}. The moments are free symbols, so what does not cancel
    here does not cancel for a generic minibatch. Raises `NotExpandableError` where a derivative of U stands under a
    root, which has no moments.
    """
    if not all(has_moments(value, ring) for value in operator.values()):
        raise NotExpandableError("the average over minibatches of a root of their gradients")
    parts: dict[Moments, Operator] = {}
    for index, value in operator.items():
        for moments, averaged in _average(value, ring).items():
            parts.setdefault(moments, {})[index] = averaged
    return parts


def print_moments(moments: Moments, dim: int) -> str:
    """'E[W'^2]' and the like; W is the noise of the potential, dV in chen2015."""
    texts = []
    for family in moments:
        names = [potential_label(index, dim).replace("U", "W") for index in family]
        factors = [
            f"({name})^{names.count(name)}" if names.count(name) > 1 else name
            for name in dict.fromkeys(names)
        ]
        texts.append(f"E[{' '.join(factors)}]")
    return " ".join(texts)


def _average(value: Polynomial, ring: Ring) -> dict[Moments, Polynomial]:
    sums: dict[Moments, dict[tuple[int, ...], Any]] = {}
    for exponents, factor in value.to_dict().items():
        for moments, chosen, weight in _choices(exponents, ring):
            kept = sums.setdefault(moments, {})
            kept[chosen] = kept.get(chosen, 0) + factor * weight
    made = {
        moments: ring.context.from_dict({k: c for k, c in kept.items() if c})
        for moments, kept in sums.items()
    }
    return {moments: polynomial for moments, polynomial in made.items() if polynomial}


def _choices(exponents: tuple[int, ...], ring: Ring) -> Iterator[tuple[Moments, tuple[int, ...], int]]:
    """Every way to read some factors U_a of a monomial as noise W_a, none or at least two per minibatch."""
    per_batch = []
    for m in range(ring.minibatches):
        present = [
            (a, exponents[ring.position("U", m, a)])
            for a in ring.derivatives
            if exponents[ring.position("U", m, a)]
        ]
        options = []
        for taken in product(*(range(e + 1) for _, e in present)):
            if sum(taken) == 1:
                continue
            weight = 1
            family: list[Index] = []
            for (a, e), t in zip(present, taken, strict=True):
                weight *= comb(e, t)
                family += [a] * t
            left = [(a, e - t) for (a, e), t in zip(present, taken, strict=True)]
            options.append((tuple(family), left, weight))
        per_batch.append(options)
    for combination in product(*per_batch):
        chosen = list(exponents)
        for m in range(ring.minibatches):
            for a in ring.derivatives:
                chosen[ring.position("U", m, a)] = 0
        weight = 1
        families: list[Family] = []
        for chosen_family, left, factor in combination:
            weight *= factor
            if chosen_family:
                families.append(chosen_family)
            for a, e in left:
                chosen[ring.position("U", 0, a)] += e
        yield tuple(sorted(families)), tuple(chosen), weight

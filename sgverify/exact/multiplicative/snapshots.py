"""Gradients with a snapshot: grad(v) = H_B (v - s) + G on the minibatch B, G the full gradient at the snapshot s.

The state is joined by s and G, which stay as they are until the snapshot is taken again: a step is then one in words
of H_B, and its averaged operators on moments are those of `transition`. Taking the snapshot sends the moments of x to
those of (x, s, G), with s the present theta and G = H theta + g, all data counted.
"""

from __future__ import annotations

from typing import Any

from flint import fmpq, fmpq_mat

from sgverify.exact.affine.carrier import Affine, Gradient, read_affine
from sgverify.exact.cumulants import MultiIndex, multi_indices
from sgverify.exact.multiplicative.letters import MinibatchLaw
from sgverify.exact.multiplicative.words import WordStep, bent, symbol
from sgverify.schemes import Scheme

SNAPSHOT, SLOPE = "the snapshot", "its gradient"
"""The names of s and G beside the state's own, which are identifiers."""

Polynomial = dict[MultiIndex, fmpq]


def read_snapshot_words(scheme: Scheme, ingredients: dict[str, Any]) -> WordStep:
    """Read one step between two snapshots; `ingredients` as for `read_words`."""
    read = read_affine(scheme, ingredients, gradient=_FromSnapshot)
    rows = {
        name: {symbol(base): polynomial[0] for base, polynomial in row.items()}
        for name, row in read.rows.items()
    }
    rows |= {name: {("state", name, ()): 1} for name in (SNAPSHOT, SLOPE)}
    return WordStep(rows, read.laws, read.gradients)


def snapshot_names(scheme: Scheme) -> tuple[str, ...]:
    """The state's names and those of s and G."""
    return (*scheme.state, SNAPSHOT, SLOPE)


def take_snapshot(law: MinibatchLaw, size: int, degree: int) -> fmpq_mat:
    """The moments of (x, s, G) to `degree` from those of x, whose `size` coordinates begin with theta."""
    dim, mean = law.dim, law.mean
    images: list[Polynomial] = [{_unit(size, i): fmpq(1)} for i in range(size)]
    images += [{_unit(size, i): fmpq(1)} for i in range(dim)]
    for i in range(dim):
        slope = {_unit(size, j): mean[law.entry(i, j)] for j in range(dim)}
        images.append({**slope, (0,) * size: mean[law.slope(i)]})
    columns = {key: k for k, key in enumerate(multi_indices(size, 0, degree))}
    known: dict[MultiIndex, Polynomial] = {(0,) * len(images): {(0,) * size: fmpq(1)}}
    rows = []
    for powers in multi_indices(len(images), 0, degree):
        if powers not in known:
            lead = next(i for i, power in enumerate(powers) if power)
            smaller = tuple(p - (i == lead) for i, p in enumerate(powers))
            known[powers] = _times(known[smaller], images[lead])
        row = [fmpq(0)] * len(columns)
        for key, value in known[powers].items():
            row[columns[key]] = value
        rows.append(row)
    return fmpq_mat(rows)


def forget_snapshot(law: MinibatchLaw, size: int, degree: int) -> fmpq_mat:
    """The moments of x among those of (x, s, G)."""
    kept = {key: k for k, key in enumerate(multi_indices(size, 0, degree))}
    whole = list(multi_indices(size + 2 * law.dim, 0, degree))
    found = fmpq_mat(len(kept), len(whole))
    for place, powers in enumerate(whole):
        if not any(powers[size:]):
            found[kept[powers[:size]], place] = fmpq(1)
    return found


def of_snapshot_alone(law: MinibatchLaw, size: int, degree: int) -> list[bool]:
    """For every moment of (x, s, G) of degree 1 to `degree`, whether x has no part in it."""
    return [not any(powers[:size]) for powers in multi_indices(size + 2 * law.dim, 1, degree)]


class _FromSnapshot(Gradient):
    """grad(v) = H_B (v - s) + G."""

    def evaluate(self, position: Affine, number: int) -> Affine:
        away = position - Affine({("state", SNAPSHOT): (1,)})
        return self.bend(away, number) + Affine({("state", SLOPE): (1,)})

    def bend(self, vector: Affine, number: int) -> Affine:
        return bent(vector, number)


def _unit(size: int, place: int) -> MultiIndex:
    return tuple(int(k == place) for k in range(size))


def _times(left: Polynomial, right: Polynomial) -> Polynomial:
    found: Polynomial = {}
    for a, x in left.items():
        for b, y in right.items():
            key = tuple(i + j for i, j in zip(a, b, strict=True))
            found[key] = found[key] + x * y if key in found else x * y
    return found

"""Gradients with a snapshot: grad(v) = H_B (v - s) + G on the minibatch B, G the full gradient at the snapshot s.

The state is extended by s and G, which are constant until the next snapshot. A step is then a sum of products of H_B, and its
averaged operators on moments are those of `transition`. Taking a snapshot maps the moments of x to those of (x, s, G),
with s the present theta and G = H theta + g the full gradient.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq, fmpq_mat

from sgverify.errors import Unreached
from sgverify.exact.affine.carrier import AffineGradient, AffineValue
from sgverify.exact.affine.model import StepSize
from sgverify.exact.minibatch.hessians import HessianProductStep, MinibatchLaw, bent, read_hessian_products
from sgverify.exact.minibatch.transition import MOST_MOMENTS, is_reached
from sgverify.exact.numbers.matrix_series import MultiIndex, multi_indices, product, unit
from sgverify.exact.recursion.hessians import HIGHEST_DEGREE, FreshHessians
from sgverify.exact.recursion.period import RepeatedPeriod, RunningSum
from sgverify.schemes import Scheme

SNAPSHOT, GRADIENT = "the snapshot", "its gradient"
"""The names of the variables s and G; no identifiers, so that they differ from all names of state variables."""

LARGEST = 8
"""The largest number of coordinates: (theta, p) in two dimensions with a snapshot and its gradient."""

Polynomial = dict[MultiIndex, fmpq]


@dataclass(frozen=True, eq=False)
class Snapshots(FreshHessians):
    """Gradients with snapshots. Position k is k steps after a snapshot; the steps of a period are held fixed as h -> 0."""

    @property
    def steps(self) -> int:
        """Steps from one snapshot to the next."""
        assert self.model.noise.refresh is not None
        return self.model.noise.refresh

    @property
    def stretch(self) -> str:
        """See `FreshHessians`."""
        return f"a period of gradient.refresh={self.steps} steps"

    def period(self, step: StepSize, asked: RunningSum) -> RepeatedPeriod:
        """See `Randomness`."""
        inner, outer = self._inner, self.model.size
        enter, leave = (arb_mat(matrix) for matrix in self._ends(asked.highest))
        return RepeatedPeriod(
            self.one_step(step, asked),
            self.steps,
            asked.for_memory_change(enter, inner, outer),
            asked.for_memory_change(leave, outer, inner),
        )

    def leading_blocks(self, steps: Any, degree: int) -> Any:
        """See `FreshHessians`; a step may contract at a fixed snapshot, and the period with its new snapshot still expand."""
        first, whole = (math.comb(n + degree - 1, degree - 1) for n in (self.model.size, self._inner))
        enter, leave = self._ends(degree)
        take = np.array([[float(arb(v).mid()) for v in row[first:]] for row in enter.tolist()[whole:]])
        drop = np.array([[float(arb(v).mid()) for v in row[whole:]] for row in leave.tolist()[first:]])
        return drop @ np.linalg.matrix_power(super().leading_blocks(steps, degree), self.steps) @ take

    def reaches(self, degree: int) -> bool:
        """See `FreshHessians`; second moments only, as no mean square error is computed."""
        return degree <= HIGHEST_DEGREE and self._inner <= LARGEST and super().reaches(degree)

    def why_no_square(self, degree: int) -> str | None:
        """See `Randomness`."""
        return "it is not reached where the noise depends on a snapshot"

    @property
    def _inner(self) -> int:
        """Coordinates of (x, s, G)."""
        return self.model.size + 2 * self.model.target.dim

    @property
    def _names(self) -> tuple[str, ...]:
        return (*self.model.scheme.state, SNAPSHOT, GRADIENT)

    def _words(self, ingredients: dict[str, Any]) -> HessianProductStep:
        return read_snapshot_products(self.model.scheme, ingredients)

    def _check_built(self, degree: int) -> None:
        if self._inner > LARGEST:
            raise Unreached(
                f"the chain has {self._inner} coordinates with its snapshot and the gradient there; at most {LARGEST} are "
                "reached"
            )
        if not is_reached(self.law, self._symbolic, degree):
            raise Unreached(
                f"one step multiplies many Hessians; with a snapshot at most {MOST_MOMENTS} of their joint moments are computed"
            )

    def _ends(self, degree: int) -> tuple[fmpq_mat, fmpq_mat]:
        size = self.model.size
        return take_snapshot(self.law, size, degree), forget_snapshot(self.law, size, degree)


def read_snapshot_products(scheme: Scheme, ingredients: dict[str, Any]) -> HessianProductStep:
    """Read one step between two snapshots; `ingredients` as for `read_hessian_products`."""
    read = read_hessian_products(scheme, ingredients, _FromSnapshot)
    held: Any = {name: {("state", name, ()): 1} for name in (SNAPSHOT, GRADIENT)}
    return replace(read, rows=read.rows | held)


def take_snapshot(law: MinibatchLaw, size: int, degree: int) -> fmpq_mat:
    """The moments of (x, s, G) to `degree` from those of x, whose `size` coordinates begin with theta."""
    dim, mean = law.dim, law.mean
    images: list[Polynomial] = [{unit(size, i): fmpq(1)} for i in range(size)]
    images += [{unit(size, i): fmpq(1)} for i in range(dim)]
    for i in range(dim):
        gradient = {unit(size, j): mean[law.entry(i, j)] for j in range(dim)}
        images.append({**gradient, (0,) * size: mean[law.gradient(i)]})
    columns = {key: k for k, key in enumerate(multi_indices(size, 0, degree))}
    known: dict[MultiIndex, Polynomial] = {(0,) * len(images): {(0,) * size: fmpq(1)}}
    rows = []
    for powers in multi_indices(len(images), 0, degree):
        if powers not in known:
            lead = next(i for i, power in enumerate(powers) if power)
            smaller = tuple(p - (i == lead) for i, p in enumerate(powers))
            known[powers] = product(known[smaller], images[lead])
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


class _FromSnapshot(AffineGradient):
    """grad(v) = H_B (v - s) + G."""

    def evaluate(self, position: AffineValue, number: int) -> AffineValue:
        away = position - AffineValue({("state", SNAPSHOT): (1,)})
        return self.bend(away, number) + AffineValue({("state", GRADIENT): (1,)})

    def bend(self, vector: AffineValue, number: int) -> AffineValue:
        return bent(vector, number)

"""The difference of two copies of a step, driven by the same draws and minibatches, affine in gradient differences.

With Delta the difference of the states and Delta g_i that of the i-th gradient of the step, at places that differ by Delta y_i,

    Delta' = A Delta + sum_i B_i Delta g_i,    Delta y_i = C_i Delta + sum_{j < i} D_ij Delta g_j.

Draws cancel. The blocks are numbers times the identity, so one reading holds in every dimension. Gradients are symbols here,
and the reading holds for every potential.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from sgverify.errors import Unreached
from sgverify.exact.affine.carrier import AffineGradient, AffineValue, Base, Polynomial, read_affine
from sgverify.exact.affine.field import Scalar
from sgverify.exact.affine.matrices import as_ball
from sgverify.exact.numbers.ball import BALLS
from sgverify.schemes import Scheme

Table = list[list[arb]]
"""Rows of balls."""


@dataclass(frozen=True)
class PairedStep:
    """One step of `scheme` in balls: rows over the columns (state.., gradients..) and over the draws.

    `step` has a row [A | B_1 .. B_k] for each state variable and `places` a row [C_i | D_i1 .. D_ik] for each gradient.
    `step_noise` and `place_noise` have the coefficients of the draws, which are all normal where `normal` says so.
    """

    names: tuple[str, ...]
    step: Table
    places: Table
    step_noise: Table
    place_noise: Table
    normal: bool

    @property
    def states(self) -> int:
        """n, the number of state variables."""
        return len(self.names)

    @property
    def gradients(self) -> int:
        """k, the number of gradients of a step."""
        return len(self.places)


def read_pair(scheme: Scheme, step: Fraction, parameters: Mapping[str, Fraction]) -> PairedStep:
    """Read one step of `scheme` with the parameters T and D, in balls at the working precision.

    Raises `Unreached` where a gradient enters a coefficient, or the step is otherwise no affine form of its gradients.
    """
    places: list[AffineValue] = []

    def symbols(each_evaluation: bool) -> AffineGradient:
        return _SymbolicGradient(places)

    given = {"h": step, **{name: parameters[name] for name in scheme.parameters}}
    numbers = {name: Scalar(BALLS, BALLS.number(value)) for name, value in given.items()}
    read = read_affine(scheme, numbers, gradient=symbols)
    columns: list[Base] = [("state", name) for name in scheme.state]
    columns += [("value", i) for i in range(len(places))]
    draws: list[Base] = [("noise", k) for k in range(read.draws)]
    rows, asked = [read.rows[name] for name in scheme.state], [place.blocks for place in places]
    if any(("ones", 0) in row for row in rows + asked):
        raise Unreached(f"`{scheme.name}` adds a constant, which no potential of a class turns with")
    return PairedStep(
        names=tuple(scheme.state),
        step=_table(rows, columns),
        places=_table(asked, columns),
        step_noise=_table(rows, draws),
        place_noise=_table(asked, draws),
        normal=all(not law.atoms and law.edge is None for law in read.laws),
    )


def floats(table: Table) -> np.ndarray:
    """The midpoints of a table, as float64."""
    return np.array([[float(entry.mid()) for entry in row] for row in table])


class _SymbolicGradient(AffineGradient):
    """The ingredient `grad`: every evaluation is a symbol ('value', i), whose place is noted."""

    def __init__(self, places: list[AffineValue]) -> None:
        super().__init__()
        self._places = places

    def evaluate(self, place: AffineValue, minibatch: int) -> AffineValue:
        self._places.append(place)
        return AffineValue({("value", len(self._places) - 1): (1,)})

    def bend(self, vector: AffineValue, minibatch: int) -> AffineValue:
        raise Unreached("a Hessian in the step, of which a class of potentials knows the size alone")


def _table(rows: list[dict[Base, Polynomial]], columns: list[Base]) -> Table:
    # A coefficient is a polynomial of degree 0: powers of a precision come from quadratic potentials alone.
    return [[arb(as_ball(_plain(row.get(column, (0,))[0]))) for column in columns] for row in rows]


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Scalar) else value

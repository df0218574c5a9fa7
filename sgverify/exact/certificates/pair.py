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

from flint import arb, arb_mat

from sgverify.errors import Unreached
from sgverify.exact.affine.carrier import VALUE, Base, GradientCall, GradientLetters, Polynomial, read_affine
from sgverify.exact.affine.field import Scalar
from sgverify.exact.affine.matrices import as_ball
from sgverify.exact.numbers.ball import BALLS
from sgverify.schemes import Scheme
from sgverify.schemes.numbers.rounded import Rounded


@dataclass(frozen=True)
class PairedStep:
    """One step in balls: n state variables, k gradients, and matrices over the columns (state.., gradients..) and over the draws.

    `step` has a row [A | B_1 .. B_k] for each state variable and `places` a row [C_i | D_i1 .. D_ik] for each gradient.
    `step_noise` and `place_noise` have the coefficients of the draws, which are all normal where `normal` says so.
    """

    step: arb_mat
    places: arb_mat
    step_noise: arb_mat
    place_noise: arb_mat
    normal: bool

    @property
    def states(self) -> int:
        """n, the number of state variables."""
        return int(self.step.nrows())

    @property
    def gradients(self) -> int:
        """k, the number of gradients of a step."""
        return int(self.places.nrows())


def read_pair(scheme: Scheme, step: Fraction | Rounded, parameters: Mapping[str, Fraction]) -> PairedStep:
    """Read one step of `scheme` with the parameters T and D, in balls at the working precision; of an interval, every step in it.

    Raises `Unreached` where a gradient enters a coefficient, or the step is otherwise no affine form of its gradients.
    """
    calls: list[GradientCall] = []
    given = {"h": step, **{name: parameters[name] for name in scheme.parameters}}
    numbers = {name: Scalar(BALLS, BALLS.number(value)) for name, value in given.items()}
    read = read_affine(scheme, numbers, gradient=lambda _: GradientLetters(False, calls))
    if any(call.vector is not None for call in calls):
        raise Unreached("a Hessian in the step, of which a class of potentials knows the size alone")
    columns: list[Base] = [("state", name) for name in scheme.state]
    columns += [(VALUE, i) for i in range(len(calls))]
    draws: list[Base] = [("noise", k) for k in range(read.draws)]
    rows, asked = [read.rows[name] for name in scheme.state], [call.place.blocks for call in calls]
    if any(("ones", 0) in row for row in rows + asked):
        raise Unreached(f"`{scheme.name}` adds a constant, which no potential of a class turns with")
    return PairedStep(
        step=_table(rows, columns),
        places=_table(asked, columns),
        step_noise=_table(rows, draws),
        place_noise=_table(asked, draws),
        normal=all(not law.atoms and law.edge is None for law in read.laws),
    )


def _table(rows: list[dict[Base, Polynomial]], columns: list[Base]) -> arb_mat:
    # A coefficient is a polynomial of degree 0: powers of a precision come from quadratic potentials alone.
    values = [row.get(column, (0,))[0] for row in rows for column in columns]
    plain = [value.value if isinstance(value, Scalar) else value for value in values]
    return arb_mat(len(rows), len(columns), [arb(as_ball(value)) for value in plain])

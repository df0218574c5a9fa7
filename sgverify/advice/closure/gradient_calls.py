"""One step as an affine map of its state, its draws and the values of its gradients, whatever the potential.

A definition adds, scales and asks for gradients. Where it does nothing else, every place q_k at which it asks for the k-th gradient
and its new state X' are sums of the state, the draws xi_j and the values G_l of gradients, with numbers as coefficients:

    q_k = sum_i P_ki X_i + sum_j P_kj xi_j + sum_(l < k) P_kl G_l,        X'_i = the same over all draws and gradients.

`sgverify.exact.affine.carrier` reads the same for a linear gradient, and puts P (q - mu) for each G_l.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from sgverify.exact.affine.carrier import VALUE, Base, GradientCall, GradientLetters, read_affine
from sgverify.exact.affine.field import Scalar
from sgverify.exact.affine.matrices import as_ball
from sgverify.exact.numbers import ball
from sgverify.exact.numbers.ball import BALLS
from sgverify.schemes import exact
from sgverify.subject.subject import Subject

_BITS = 128


@dataclass(frozen=True, eq=False)
class PlacedGradient:
    """One evaluation: at which place, on which minibatch. Shape (w,).

    With a `vector`, shape (w,), its value is the Hessian at the place times that vector, else the gradient there.
    """

    place: np.ndarray
    minibatch: int
    vector: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class StepInGradients:
    """The coefficients of one step over its w letters: states, draws, values of the calls, and the vector of ones, in this order.

    `state` has a row for each variable of the state. Shape (n, w).
    """

    state: np.ndarray
    calls: tuple[PlacedGradient, ...]
    draws: int


def step_in_gradients(subject: Subject, step: float) -> StepInGradients:
    """Read one step of the subject's scheme at this step size. Raises `Unreached` where it is not affine."""
    found: list[GradientCall] = []
    scheme = subject.scheme
    with flint.ctx.workprec(_BITS):
        given = {**subject.model_parameters, "h": exact(step)}
        wanted = {"h", *scheme.parameters}
        read = read_affine(
            scheme,
            {name: Scalar(BALLS, ball.number(value)) for name, value in given.items() if name in wanted},
            each_evaluation=subject.configuration.gradient.estimator.each_evaluation,
            gradient=lambda each_evaluation: GradientLetters(each_evaluation, found),
        )
        letters: list[Base] = [
            *(("state", name) for name in scheme.state),
            *(("noise", j) for j in range(read.draws)),
            *((VALUE, k) for k in range(len(found))),
            ("ones", 0),
        ]
        calls = tuple(
            PlacedGradient(
                _row(call.place.blocks, letters),
                call.minibatch,
                None if call.vector is None else _row(call.vector.blocks, letters),
            )
            for call in found
        )
        state = np.array([_row(read.rows[name], letters) for name in scheme.state])
    return StepInGradients(state, calls, read.draws)


def _row(blocks: Mapping[Base, Sequence[Any]], letters: Sequence[Base]) -> np.ndarray:
    """The coefficients of a vector, each a polynomial of degree 0 in P. Shape (w,)."""
    row = np.zeros(len(letters))
    for base, (coefficient,) in blocks.items():
        value = coefficient.value if isinstance(coefficient, Scalar) else coefficient
        row[letters.index(base)] = float(as_ball(value))
    return row

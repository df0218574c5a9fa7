"""The affine reading of one injected step: M X_0 + c + sum_k B_k (noise)_k."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flint import arb_mat

from sgverify.exact import ball
from sgverify.exact.affine.algebra import as_ball, longest, powers_of, stacked
from sgverify.exact.affine.carrier import AffineStep, Base, read_affine
from sgverify.exact.affine.field import BALLS, Scalar
from sgverify.schemes import exact
from sgverify.testing.case import Case


def affine_step(case: Case) -> dict[str, Sequence[Any]]:
    """The state after the step, in balls."""
    scheme, target = case.scheme, case.target
    given = {name: Scalar(BALLS, ball.number(value)) for name, value in case.parameters.items()}
    given["h"] = Scalar(BALLS, ball.number(exact(case.step)))
    read = read_affine(scheme, given, each_evaluation=case.gradient.estimator.each_evaluation)
    values: dict[Base, list[Any]] = {
        ("state", name): [Fraction(x) for x in case.state[name]] for name in scheme.state
    }
    values["mean", 0], values["ones", 0] = list(target.mean), [1] * target.dim
    values |= {("noise", k): [Fraction(x) for x in draw] for k, draw in enumerate(case.draws)}
    values |= {("gradient", k): list(case.noise_of(k, k)) for k in range(read.gradients)}
    return _applied(read, values, ball.matrix(target.precision))


def _applied(read: AffineStep, values: dict[Base, list[Any]], precision: arb_mat) -> dict[str, Sequence[Any]]:
    names, dim = list(read.rows), precision.nrows()
    powers = powers_of(precision, ball.identity(dim), longest(read))
    total = arb_mat(dim * len(names), 1)
    for base, vector in values.items():
        total = total + stacked(read, names, [base], powers, as_ball, arb_mat) * ball.column(vector)
    entries = total.entries()
    return {name: entries[i * dim : (i + 1) * dim] for i, name in enumerate(names)}


__all__ = ["affine_step"]

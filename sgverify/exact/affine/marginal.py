"""The model of those coordinates on which the average of a test function depends.

Where the precision of a target does not couple two groups of coordinates, no block of a step does, whatever the noise
couples: the coordinates of one group are a chain of their own, and the averages of a test function of these alone are those
along that chain.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from sgverify.configuration import GradientTable
from sgverify.exact.affine.model import UNCOUPLED, Model
from sgverify.exact.affine.noise import gradient_noise
from sgverify.exact.chain.chain import components
from sgverify.exact.numbers import ball
from sgverify.targets import Observable, Target
from sgverify.targets.derived import MarginalTarget


def marginal(model: Model, table: GradientTable) -> Model:
    """The model of the coordinates that matter to the test function, the gradient's noise as `table` asks for it.

    The model itself where it has few coordinates, where all matter, or where minibatches have Hessians of their own.
    """
    if model.size <= UNCOUPLED or model.noise.multiplicative or not model.target.common_curvature:
        return model
    places = _needed(model)
    if len(places) == model.target.dim:
        return model
    target = MarginalTarget.of(model.target, places)
    judged = model.judged
    return replace(
        model,
        target=target,
        judged=target if judged is None or judged is model.target else MarginalTarget.of(judged, places),
        observable=_of_places(model.observable, places),
        noise=gradient_noise(_covariance_of_places(table, places), target),
    )


def _needed(model: Model) -> list[int]:
    """The coordinates of the test function, and those that a precision couples to them; one at least."""
    dim = model.target.dim
    seen = {
        place % dim for exponents in model.observable.terms for place, power in enumerate(exponents) if power
    } or {0}
    couplings = [ball.matrix(target.precision) for target in _targets(model)]
    groups = components(dim, couplings)
    return sorted(place for group in groups if seen & set(group) for place in group)


def _targets(model: Model) -> list[Target]:
    return [model.target] if model.judged is None else [model.target, model.judged]


def _of_places(observable: Observable, places: list[int]) -> Observable:
    dim = observable.dim
    kept = [k * dim + place for k in range(len(observable.state)) for place in places]
    terms: dict[Any, Fraction] = {
        tuple(exponents[k] for k in kept): c for exponents, c in observable.terms.items()
    }
    return Observable(len(places), observable.state, terms)


def _covariance_of_places(table: GradientTable, places: list[int]) -> GradientTable:
    """The table with the covariance of these coordinates, where it has one by coordinates."""
    covariance = table.covariance if table.estimator.each_evaluation else None
    if not isinstance(covariance, list):
        return table
    rows: list[Any] = [
        [covariance[i][j] for j in places] if isinstance(covariance[i], list) else covariance[i]
        for i in places
    ]
    return table.model_copy(update={"covariance": rows})

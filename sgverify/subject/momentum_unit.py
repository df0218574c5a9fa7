"""In which unit does a kinetic step measure its momentum? In one with p of variance 1 at every T it samples exp(-U/T) too.

Its dynamics is dtheta = q dt, dq = -(grad U/T + D q) dt + sqrt(2 D) dW. With q = p/sqrt(T), a unit of time of 1/sqrt(T) and the
friction D/sqrt(T) it is the kinetic one, whose p has variance T, and the step is read so.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from sgverify.errors import SgverifyError
from sgverify.schemes import Scheme, TorchStep, kinetic
from sgverify.schemes.definition.binding import FullGradientIngredient
from sgverify.schemes.definition.mathematics import sqrt
from sgverify.schemes.scheme import make_scheme

TOLD = "the momentum p*sqrt(T), for its p has variance 1 at every T"

H = 2.0**-20
"""A step so small that its square is no term of a move."""

SETTINGS = ((0.5625, 1.375, 0.75, -1.25), (2.9, 0.6875, -0.4375, 0.8125))
"""Generic numbers: T, D, theta and p."""

SLOPE = 1.1875
"""The gradient is this times theta."""

WITHIN = 2.0**-12
"""The relative error of the terms of first order: far above h times the next ones, and above rounding over h, 1e-10."""

Step = TypeVar("Step", Scheme, TorchStep)


def in_own_unit(step: Step) -> Step:
    """The step itself, or with its momentum in the unit of the dynamics where it measures it in the other one."""
    if step.dynamics is not kinetic or step.memory or not {"T", "grad"} <= set(step.declaration.ingredients):
        return step
    if isinstance(step, Scheme):
        if step.word is not None or not _unit(lambda *at: _moved_definition(step, *at)):
            return step
        made = make_scheme(_scaled(step.function, sqrt), kinetic, order=step.order)
        told = f"{step.summary or step.name}; with {TOLD}"
        return replace(made, invariant_order=step.invariant_order, reference=step.reference, summary=told)
    if step.as_it_is is not None or step.own_loss is not None or step.generator:
        return step
    if not _unit(lambda *at: _moved_code(step, *at)):
        return step
    conventions = "; ".join(filter(None, (step.conventions, TOLD)))
    return replace(step, function=_scaled(step.function, math.sqrt), conventions=conventions)


def _scaled(function: Callable[..., Any], root_of: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def scaled(theta: Any, p: Any, *, h: Any, T: Any, **given: Any) -> Any:
        root = root_of(T)
        if "D" in given:
            given["D"] = given["D"] / root
        theta, p = function(theta, p / root, h=h * root, T=T, **given)
        return theta, p * root

    scaled.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return scaled


Moved = tuple[float, float, float]
"""The moves of theta and p without draws, and the variance of p that the draws add, each over h."""


def _unit(moved: Callable[..., Moved]) -> bool:
    """Are all terms of first order those of a momentum of variance 1, at every setting?"""
    try:
        for T, D, theta, p in SETTINGS:
            due = p, -SLOPE * theta / T - D * p, 2 * D
            found = moved(T, D, theta, p)
            if not all(math.isclose(a, b, rel_tol=WITHIN) for a, b in zip(found, due, strict=True)):
                return False
    except (SgverifyError, ArithmeticError, AttributeError, TypeError, ValueError):
        # It takes other values than numbers, or draws of another law.
        return False
    return True


def _over_h(theta: float, p: float, still: tuple[float, float], kicked: list[tuple[float, float]]) -> Moved:
    return (
        (still[0] - theta) / H,
        (still[1] - p) / H,
        sum((moved[1] - still[1]) ** 2 for moved in kicked) / H,
    )


def _moved_definition(step: Scheme, T: float, D: float, theta: float, p: float) -> Moved:
    def after(draws: list[float]) -> tuple[float, float]:
        left = iter(draws)
        found = step.step(
            (theta, p),
            h=H,
            T=T,
            D=D,
            dim=1,
            grad=FullGradientIngredient(lambda place: SLOPE * place),
            noise=lambda: next(left),
        )
        return float(found[0]), float(found[1])

    rows = [[float(i == k) for i in range(step.draws)] for k in range(step.draws)]
    return _over_h(theta, p, after([0.0] * step.draws), [after(row) for row in rows])


def _moved_code(step: TorchStep, T: float, D: float, theta: float, p: float) -> Moved:
    # Imported here: a definition needs no torch.
    import torch

    from sgverify.samplers.intercepted import BlackBox
    from sgverify.samplers.intercepted.dtypes import default_dtype

    given = {name: value for name, value in (("T", T), ("D", D)) if name in step.parameters}
    with default_dtype(torch.float64):
        box = BlackBox(step, lambda place, minibatch: SLOPE * place, 1, given)
        one = torch.tensor([theta, p], dtype=torch.float64)
        state = step.tensors(one[None] if step.chains else one, 1)
        count = box.census(state, H)

        def after(draws: Any) -> tuple[float, float]:
            found, _ = box.run(state, draws[None] if step.chains else draws, H)
            return float(found[0].double()), float(found[1].double())

        rows = torch.eye(count, dtype=torch.float64)
        return _over_h(theta, p, after(torch.zeros(count, dtype=torch.float64)), [after(row) for row in rows])


__all__ = ["TOLD", "in_own_unit"]

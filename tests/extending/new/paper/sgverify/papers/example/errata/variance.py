"""The variance of the invariant law of Euler's method on U = theta^2/2, from the definition of the scheme."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sgverify.papers.formula import Examination, formula
from sgverify.schemes import find_scheme
from sgverify.schemes.definition.binding import Carrier, GradientIngredient, bind

STEP = Fraction(1, 8)
"""A step at which sqrt(2 h) is rational."""


class Identity(GradientIngredient):
    """grad U = theta."""

    def evaluate(self, place: Any, minibatch: int) -> Any:
        """See `GradientIngredient.evaluate`."""
        return place


def variance() -> Examination:
    """The fixed point v = a^2 v + b^2 of one step theta -> a theta + b z at h = 1/8."""
    bound = bind(find_scheme("sgld-euler"), Carrier(), {"T": Fraction(1)}, dim=1)

    def step(theta: int, draw: int) -> Fraction:
        (moved,) = bound.step((Fraction(theta),), h=STEP, grad=Identity(), draw=lambda law: Fraction(draw))
        return Fraction(str(moved))

    found = step(0, 1) ** 2 / (1 - step(1, 0) ** 2)
    printed, holds = 1 / (1 - STEP), 1 / (1 - STEP / 2)
    return Examination(
        printed=f"{printed} at h = {STEP}, where the variance is {found}" if printed != found else "",
        holds=f"{holds} at h = {STEP}" if holds != found else "",
        certificate={"h": str(STEP), "variance": str(found)},
    )


FORMULAS = (formula("example/variance", variance),)

"""Check: at the minimum of U, without momentum and without noise, a step stays where it is."""

from __future__ import annotations

from typing import Any

from sgverify.checks.question import Question
from sgverify.evidence import Evidence
from sgverify.rates.verdict import Judgement
from sgverify.schemes.definition.binding import Carrier, GradientIngredient, bind, parameters_of

MINIMUM = 1.0
"""Of U = (theta - MINIMUM)^2/2. Not 0, where a step that shrinks theta would stay too."""

STEP = 0.125


class CentredSlope(GradientIngredient):
    """grad U = theta - MINIMUM."""

    def evaluate(self, place: Any, minibatch: int) -> Any:
        """See `GradientIngredient.evaluate`."""
        return place - MINIMUM


def check_rest(question: Question) -> Evidence:
    """A step from the minimum of U = (theta - 1)^2/2, with momentum and draws at 0, returns the same state.

    No tolerance: whatever is added to the state is a multiple of a gradient, a momentum or a draw, all of them exactly 0.

    Cannot see: anything that vanishes with them, such as a wrong factor of the noise.
    """
    subject = question.subject
    start = (MINIMUM, 0.0)[: len(subject.scheme.state)]
    bound = bind(subject.scheme, Carrier(), parameters_of(subject.configuration), dim=1)
    state = bound.step(start, h=STEP, grad=CentredSlope(), draw=lambda law: 0.0)
    moved = state != start
    judgement = Judgement(
        "violates" if moved else "conforms", False, f"from {start} a step leads to {tuple(map(float, state))}"
    )
    return question.evidence(judgement=judgement)

"""What grids answer about an invariant law: estimates, each with an estimate of its error, and no balls."""

from __future__ import annotations

from sgverify.exact.answers.questions import Answers, Question
from sgverify.exact.transfer.result import GridBias, LeadingBias


class GridAnswers(Answers[float, GridBias, LeadingBias]):
    """pi_h(phi) - pi(phi) at a step size, and its expansion up to the first coefficient that is told from 0."""

    def why_not(self, question: Question) -> str | None:
        """See `Answers`."""
        return "the grids answer for the invariant law alone"

"""Plans: the scheme, step size, gradient estimator and number of steps that reach a given error at the least cost.

`model` is the answer and its text, `costs` the steps of a chain, the schemes, frictions and estimators compared; `ranking` compares
(`advise`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.advice.plans.model import Advice, Plan, TriedStep
    from sgverify.advice.plans.ranking import advise

__all__ = ["Advice", "Plan", "TriedStep", "advise"]

__getattr__, __dir__ = lazily(__name__)

"""Which scheme, which step size, which gradient estimator, and how many steps, for a given error?

`model` is the answer and its text, `candidates` are the schemes, frictions and estimators compared, `costs` the steps of a chain,
`other_modes` seeks what no Gaussian describes, `ranking` compares (`advise`), `picture` draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.advice.plans.model import Advice, Plan, TriedStep
    from sgverify.advice.plans.ranking import advise

__all__ = ["Advice", "Plan", "TriedStep", "advise"]

__getattr__, __dir__ = lazily(__name__)

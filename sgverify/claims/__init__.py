"""Claims of papers as data: the statement, its source, its hypotheses and its rate, with a loader of their files (cards).

`claim` is a card with its hypotheses and the exponent that it predicts, `loading` reads the cards of `papers/`.
"""

from sgverify.claims.claim import (
    FACTS,
    Claim,
    ExponentExpression,
    Predicate,
    Prediction,
    PredictionRule,
    Publication,
    Source,
)
from sgverify.claims.loading import claim_for, claims, claims_for, find_claim, read_card

__all__ = [
    "FACTS",
    "Claim",
    "ExponentExpression",
    "Predicate",
    "Prediction",
    "PredictionRule",
    "Publication",
    "Source",
    "claim_for",
    "claims",
    "claims_for",
    "find_claim",
    "read_card",
]

"""Claims of papers as data: the statement, its source, its hypotheses and its rate, with a loader of their files (cards).

`claim` is a card, `publication` what it is taken from, `predicate` a hypothesis on facts, `expression` a predicted exponent,
`loading` reads the cards of `papers/`.
"""

from sgverify.claims.claim import Claim, Prediction, PredictionRule, Source
from sgverify.claims.expression import ExponentExpression
from sgverify.claims.loading import claim_for, claims, claims_for, find_claim, read_card
from sgverify.claims.predicate import FACTS, Predicate
from sgverify.claims.publication import Publication

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

"""The differences between two sets of answers, matched by what was asked, with numbers compared within their stated errors.

`places` reads the answers of files, folders and entries of a store, `comparing` matches them and compares each pair, `values` says
when two numbers, formulas or tables differ, and `model` has the differences, as a document and as lines.
"""

from sgverify.evidence.differences.comparing import difference
from sgverify.evidence.differences.model import DIFFERENCE, AnswersDifference, told
from sgverify.evidence.differences.places import AnswersAt, read_answers, stored_answers

__all__ = [
    "DIFFERENCE",
    "AnswersAt",
    "AnswersDifference",
    "difference",
    "read_answers",
    "stored_answers",
    "told",
]

"""What differs between two sets of answers? They are matched by what was asked, and numbers compared within their stated errors.

`model` has the differences and their document, `places` reads files, folders and entries of a store, `matching` matches answers
and orders the differences, `fields` compares two answers to one question, `certificates` compares their certificates, `numbers`
says when two numbers differ, and `wording` tells the differences in lines.
"""

from sgverify.evidence.differences.matching import difference
from sgverify.evidence.differences.model import DIFFERENCE, AnswersDifference
from sgverify.evidence.differences.places import AnswersAt, read_answers, stored_answers
from sgverify.evidence.differences.wording import told

__all__ = [
    "DIFFERENCE",
    "AnswersAt",
    "AnswersDifference",
    "difference",
    "read_answers",
    "stored_answers",
    "told",
]

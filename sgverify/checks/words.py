"""Checks: what the symmetric words of one alphabet share, and what they do not."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from sgverify.checks.conjugate_words import OWN_GRADIENT, classes_of
from sgverify.checks.question import Question
from sgverify.errors import NotExpandableError
from sgverify.evidence import Evidence
from sgverify.exact.series import local_order
from sgverify.rates import Judgement
from sgverify.schemes import Alphabet, Scheme

DIMENSION = 1
"""One dimension tells words apart: operators that differ there differ in every dimension."""


def check_order_equivalence(question: Question) -> Evidence:
    """All symmetric words have one local order, chen2015 section 4."""
    return _check(question, of_errors=False)


def check_constant_equivalence(question: Question) -> Evidence:
    """All symmetric words have one leading error, as "equivalent" in chen2015 section 4 would have it."""
    return _check(question, of_errors=True)


def symmetric_words(alphabet: Alphabet) -> list[Scheme]:
    """The shortest palindromes over all letters: one letter in the middle, the others mirrored around it."""
    words = [alphabet.word("".join((*order, *order[-2::-1]))) for order in permutations(alphabet.letters)]
    return sorted(words, key=lambda scheme: scheme.name)


def _check(question: Question, *, of_errors: bool) -> Evidence:
    subject = question.subject
    word = subject.scheme.word
    if word is None:
        return question.unanswered(f"{subject.reference} is not a splitting word", "not-applicable")
    try:
        mine = local_order(subject.scheme, DIMENSION)
        others = {
            scheme.word.text: local_order(scheme, DIMENSION)
            for scheme in symmetric_words(word.alphabet)
            if scheme.word
        }
    except NotExpandableError as error:
        return question.unanswered(f"a word has no power series: it uses {error}")
    given = [scheme.word for scheme in symmetric_words(word.alphabet) if scheme.word]
    conjugate = {"full gradients": classes_of(given)} | {
        name: classes_of(given, kind)
        for name, kind in (("fresh minibatches", "iid"), ("fresh gradient noise", OWN_GRADIENT))
    }
    averaged = {order.averaged.text if order.averaged else "0" for order in others.values()}
    orders = {text: order.order for text, order in others.items()}
    defects = {
        text: order.given_minibatch.text if order.given_minibatch else "0" for text, order in others.items()
    }
    own = mine.given_minibatch.text if mine.given_minibatch else "0"
    if of_errors:
        different = sorted(text for text, defect in defects.items() if defect != own)
        found = mine.order if different else mine.order + 1
        says = "one leading error"
    else:
        different = sorted(text for text, order in orders.items() if order != mine.order)
        found = min((*orders.values(), mine.order))
        says = f"order {mine.order}"
    if different:
        judgement = Judgement(
            "violates",
            False,
            f"{', '.join(different)} and {word.text} do not share {says}: their steps differ at h^{found + 1}",
        )
    else:
        others_of_it = ", ".join(text for text in orders if text != word.text)
        judgement = Judgement("conforms", True, f"{others_of_it} and {word.text} share {says}")
    judgement = replace(
        judgement, reason=f"{judgement.reason}; {_classes_text(conjugate, len(averaged) == 1)}"
    )
    return question.answered(
        method="proof",
        judgement=judgement,
        found=found,
        certificate={
            "orders": orders,
            "conjugate": conjugate,
            "leading_defects": {**defects, word.text: own},
            "proved_in_dimension": DIMENSION,
        },
    )


def _classes_text(conjugate: dict[str, list[list[str]]], one_averaged_error: bool) -> str:
    """Which words are one chain begun elsewhere in its step, and what fresh minibatches leave of it."""
    full, fresh = conjugate["full gradients"], conjugate["fresh minibatches"]
    text = f"with full gradients they are {_counted(full)} by a cut elsewhere in the step: {_listed(full)}"
    if len(fresh) < sum(map(len, fresh)):
        text += f"; with a fresh minibatch for each step {_counted(fresh)}: {_listed(fresh)}"
    else:
        text += "; with a fresh minibatch for each step no cut makes one of another"
    return text + (
        ", and all share one leading error averaged over minibatches" if one_averaged_error else ""
    )


def _counted(classes: list[list[str]]) -> str:
    return f"{len(classes)} class{'es' * (len(classes) > 1)}"


def _listed(classes: list[list[str]]) -> str:
    return ", ".join(" ~ ".join(group) for group in classes)

"""Splittings: the mean flow of a word, and words that are conjugate to others or symmetric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import permutations

from sgverify.checks.question import Question
from sgverify.errors import NotExpandableError
from sgverify.evidence import Evidence
from sgverify.exact.series.invariant_order import leaves_density
from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.orders import LocalOrder
from sgverify.exact.splittings.conjugacy import (
    Conjugacy,
    EffectiveOrder,
    conjugacy,
    conjugacy_with_minibatches,
    effective_order,
    product_text,
)
from sgverify.exact.splittings.mean_flow import (
    FormulaComparison,
    compare,
    corrected,
    induction_defect,
    printed,
    text_of,
)
from sgverify.exact.splittings.splitting import Splitting
from sgverify.rates.verdict import Judgement
from sgverify.schemes import Alphabet, Scheme
from sgverify.schemes.splittings import Word
from sgverify.subject.caching import Same, cached_by
from sgverify.subject.subject import PROOF_DIMENSION, Subject

# The single flow that equals the product of the flows of several minibatches, chen2015 Theorem 14.


FORMULAS = {"first-and-last": printed, "every-minibatch": corrected}
"""The term of order h by the `form` of a claim: commutators of the first and the last minibatch, or of every one."""


def check_mean_flow(question: Question) -> Evidence:
    """The logarithm of a product of minibatch flows, over its time T, through order h, in the claim's order of the steps.

    The remainder is O(h^2) at a fixed number of minibatches, and O(T^2) uniformly in that number.

    Cannot see: anything about a scheme: the claim speaks of exact flows, so that every scheme gets the same answer.
    Terms beyond h^2 of the logarithm.
    """
    subject = question.subject
    formula = FORMULAS[question.claim.form]
    compared = compare(formula, subject.scheme.dynamics, PROOF_DIMENSION)
    induction = induction_defect() if formula is corrected else {}
    found = Fraction(1) if compared.apart or induction else Fraction(2)
    certificate = {
        "h^2 of the logarithm": {str(m): text_of(found) for m, found in compared.truth.items()},
        "[dV_i, dV_j] = 0": compared.commuting,
        "formula minus logarithm": {str(m): text_of(left) for m, left in compared.apart.items()},
        "proved_in_dimension": PROOF_DIMENSION,
    }
    if formula is corrected:
        certificate["induction over the number of minibatches"] = induction or "complete"
    return question.answered(
        method="proof",
        judgement=_judgement(compared, bool(induction)),
        found=found,
        certificate=certificate,
    )


def _judgement(compared: FormulaComparison, gap: bool) -> Judgement:
    truth, apart = compared.truth, compared.apart
    if not apart and gap:
        return Judgement(
            "inconclusive",
            False,
            f"the formula holds for up to {max(truth)} minibatches; the induction to any number is not complete",
        )
    if not apart:
        return Judgement(
            "conforms",
            True,
            f"the formula is the logarithm of the product of {min(truth)} to {max(truth)} minibatch flows through h^2, and by "
            "induction of any number",
        )
    m = min(apart)
    return Judgement(
        "violates",
        False,
        f"the formula is not the logarithm of the product of minibatch flows at h^2: for {m} minibatches it is off by "
        f"{text_of(apart[m])}, and the logarithm has {text_of(truth[m])}; computed for {', '.join(map(str, apart))} minibatches",
    )


# The order of a splitting up to conjugacy, and the symmetric splittings of one alphabet, which share order and leading error.
#
# Two words uv and vu are conjugate: their chains differ only in the place at which a step begins.


OWN_GRADIENT = "additive"
"""The kind of gradient with new noise at every evaluation; all other kinds share one minibatch among a step's evaluations."""


def order_up_to_conjugacy(subject: Subject) -> EffectiveOrder | None:
    """The order of the subject's splitting up to conjugacy; None if its letters are not proved to be flows."""
    word, alphabet = subject.scheme.word, subject.alphabet
    if word is None or alphabet is None or not alphabet.proved:
        return None
    return effective_order(word.merged, word.shares)


def in_words(subject: Subject) -> str:
    """A clause about the order of the splitting up to conjugacy, if this is higher than its order; else ""."""
    found = order_up_to_conjugacy(subject)
    if found is None or not found.raised:
        return ""
    says = f"; order {found.order} up to conjugacy, with full gradients"
    if found.conjugacy is not None:
        u, other = product_text(found.conjugacy.u), product_text(found.conjugacy.other)
        says += f": the splitting is u v with u = {u}, and v u is {other}"
    return f"{says}; {_averages(subject, found)}"


def classes_of(words: Sequence[Word], gradient: str = "full") -> list[list[str]]:
    """The texts of the words, grouped into classes of conjugate words under gradients of the kind `gradient`."""
    found: list[list[Word]] = []
    for word in words:
        for group in found:
            if conjugate(group[0], word, gradient) is not None:
                group.append(word)
                break
        else:
            found.append([word])
    return [[word.text for word in group] for group in found]


def conjugate(word: Word, other: Word, gradient: str = "full") -> Conjugacy | None:
    """u and v with word = u v and other = v u, valid under the kind of gradients; None if there is no such cut."""
    one, two, asking = splitting_of(word), splitting_of(other), asking_for_gradients(word)
    if gradient == "full":
        return conjugacy(one, two)
    if gradient == OWN_GRADIENT:
        return conjugacy(one, two, whole=asking)
    return conjugacy_with_minibatches(one, two, asking)


def asking_for_gradients(word: Word) -> str:
    """The letters of the word whose flow uses the gradient of the minibatch."""
    return "".join(
        symbol for symbol, letter in word.alphabet.letters.items() if "grad" in letter.declaration.ingredients
    )


def splitting_of(word: Word) -> Splitting:
    """The word with its shares, in the form of the free product's engine."""
    return Splitting(word.merged, word.shares)


def _averages(subject: Subject, found: EffectiveOrder) -> str:
    """A sentence about averages of test functions: which ones inherit the order 2 up to conjugacy, and which do not."""
    assert found.shifts is not None and subject.alphabet is not None
    says = ""
    if found.conjugacy is not None:
        still = _left_alone(subject, [letter for letter, _ in found.conjugacy.u])
        says = f"averages read after a further {product_text(found.conjugacy.u)} are those of v u" + (
            f", and functions of {' and '.join(still)} alone are read as they are; " if still else "; "
        )
    moving = {letter: share for letter, share in found.shifts.items() if share != 0}
    if not moving:
        return f"{says}averages of the chain itself keep the order {found.own.order}"
    combined = " + ".join(f"({share}) {letter}" for letter, share in moving.items())
    if leaves_density(subject.alphabet, moving, subject.scheme.dynamics):
        return f"{says}averages of the chain itself are second order too, as Y = {combined} leaves the density invariant"
    still = _left_alone(subject, list(moving))
    rest = f": 0 for functions of {' and '.join(still)} alone, not in general" if still else ""
    return f"{says}averages of f in the chain itself are off by h E[Y f] + O(h^2), Y = {combined}{rest}"


def _left_alone(subject: Subject, letters: Sequence[str]) -> list[str]:
    """The state variables that none of these letters changes."""
    assert subject.alphabet is not None
    ring = subject.alphabet.ring
    moved = {
        ring.coordinates[k][0]
        for letter in letters
        for index in subject.alphabet.operators[letter]
        for k, times in enumerate(index)
        if times
    }
    return [name for name in subject.scheme.dynamics.state if name not in moved]


DIMENSION = 1
"""The dimension in which words are compared: operators that differ in one dimension differ in every dimension."""


def check_order_equivalence(question: Question) -> Evidence:
    """All symmetric words have one local order, chen2015 section 4.

    Cannot see: different leading errors of one order, and words that agree in dimension 1, where they are compared, and
    differ in a higher one.
    """
    return _check(question, of_errors=False)


def check_constant_equivalence(question: Question) -> Evidence:
    """All symmetric words have one leading error, as chen2015 section 4 calls them "equivalent".

    Cannot see: errors beyond the leading one, and words that agree in dimension 1, where they are compared, and differ
    in a higher one.
    """
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
        mine, others, conjugate = _compared_words(subject)
    except NotExpandableError as error:
        return question.unanswered(error.told("a word", ": "))
    averaged = {order.averaged.text if order.averaged else "0" for order in others.values()}
    orders = {text: order.order for text, order in others.items()}
    defects = {
        text: order.given_minibatch.text if order.given_minibatch else "0" for text, order in others.items()
    }
    own = mine.given_minibatch.text if mine.given_minibatch else "0"
    if of_errors:
        different = sorted(text for text, defect in defects.items() if defect != own)
        found = mine.order if different else mine.order + 1
        says = "leading error"
    else:
        different = sorted(text for text, order in orders.items() if order != mine.order)
        found = min((*orders.values(), mine.order))
        says = "order"
    if different:
        judgement = Judgement(
            "violates",
            False,
            f"{word.text} has another {says} than {', '.join(different)}: their steps differ at h^{found + 1}",
        )
    else:
        others_of_it = ", ".join(text for text in orders if text != word.text)
        shared = "one leading error" if of_errors else f"order {mine.order}"
        judgement = Judgement("conforms", True, f"{word.text} has {shared} with {others_of_it}")
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


@cached_by(lambda subject: Same(subject.scheme))
def _compared_words(
    subject: Subject,
) -> tuple[LocalOrder, dict[str, LocalOrder], dict[str, list[list[str]]]]:
    """The orders of the subject's own word and of all symmetric ones, and the classes of conjugate words by gradients."""
    assert subject.scheme.word is not None
    schemes = symmetric_words(subject.scheme.word.alphabet)
    given = [scheme.word for scheme in schemes if scheme.word]
    orders = {word.text: local_order(scheme, DIMENSION) for word, scheme in zip(given, schemes, strict=True)}
    kinds = {"full gradients": "full", "fresh minibatches": "iid", "fresh gradient noise": OWN_GRADIENT}
    conjugate = {name: classes_of(given, kind) for name, kind in kinds.items()}
    return local_order(subject.scheme, DIMENSION), orders, conjugate


def _classes_text(conjugate: dict[str, list[list[str]]], one_averaged_error: bool) -> str:
    """A sentence about the classes of conjugate splittings, under full gradients and under fresh minibatches."""
    full, fresh = conjugate["full gradients"], conjugate["fresh minibatches"]
    text = f"conjugate with full gradients (the step cut elsewhere), {_counted(full)}: {_listed(full)}"
    if len(fresh) < sum(map(len, fresh)):
        text += f"; conjugate with a fresh minibatch at each step, {_counted(fresh)}: {_listed(fresh)}"
    else:
        text += "; none are conjugate with a fresh minibatch at each step"
    return text + ("; averaged over minibatches all have one leading error" if one_averaged_error else "")


def _counted(classes: list[list[str]]) -> str:
    return f"{len(classes)} class{'es' * (len(classes) > 1)}"


def _listed(classes: list[list[str]]) -> str:
    return ", ".join(" ~ ".join(group) for group in classes)

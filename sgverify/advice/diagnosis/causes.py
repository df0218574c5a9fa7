"""The named cause of a failure: what the first wrong power of a step's expansion, or a check's numbers, say is wrong.

Nothing is looked up by the name of a scheme: a cause is named where the exact difference between step and dynamics has the
form that this cause gives it, and the sentence carries the factor, the power or the term. Where nothing matches, the answer
is `not-named` with the leading wrong term.
"""

from __future__ import annotations

from collections.abc import Sequence

from sgverify.advice.diagnosis.model import Cause
from sgverify.advice.diagnosis.wrong_terms.consistency import wrong_generator
from sgverify.advice.diagnosis.wrong_terms.draws import (
    uses_of_one_draw,
    without_series,
    wrong_law,
    wrong_word,
)
from sgverify.advice.diagnosis.wrong_terms.moments import moments_of
from sgverify.advice.diagnosis.wrong_terms.second_order import made_of_whole_steps, wrong_second_order
from sgverify.errors import NotExpandableError
from sgverify.evidence import Evidence
from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.orders import LocalOrder
from sgverify.schemes.torch_step import TorchStep
from sgverify.subject.subject import Subject

THROUGH = 4
"""The power of sqrt(h) through which moments are read: h^2, where noise that is multiplied by h has its variance."""


UNEXPLAINED = ("depends on the state", "of langevin")
"""The ends of sentences about a drift or a noise that is no multiple of the one that is due."""


def named_cause(subject: Subject, evidence: Sequence[Evidence]) -> Cause:
    """The cause of the failures in `evidence`."""
    found = _measured(subject) if subject.black_box else _proved(subject)
    return found or leading_cause(subject, evidence)


def leading_cause(subject: Subject, evidence: Sequence[Evidence]) -> Cause:
    """No named cause, with the leading wrong term as far as it is known."""
    return Cause("not-named", _leading(subject, evidence))


def _proved(subject: Subject) -> Cause | None:
    """The cause from the exact expansion, or from measured terms where there is none."""
    try:
        found = _of_definition(subject)
    except NotExpandableError:
        found = None
    if found is None and isinstance(subject.order, NotExpandableError):
        return _measured(subject)
    return found


def _measured(subject: Subject) -> Cause | None:
    """The cause from measured terms of torch code, or of a definition that is run as torch code."""
    # torch is loaded where a step runs.
    from sgverify.advice.diagnosis.measured_terms.black_box import black_box_cause
    from sgverify.advice.diagnosis.measured_terms.response import response_cause
    from sgverify.checks.order.definition_as_code import as_torch_step, measurable

    if isinstance(subject.scheme, TorchStep):
        apart = subject.scheme.memory or subject.scheme.own_loss is not None
        found = None if apart else black_box_cause(subject.scheme)
        if found is None or found.sentence.endswith(UNEXPLAINED):
            found = response_cause(subject.scheme) or found
        reuses = subject.scheme.reuses
        if found is not None and reuses is not None and "noise" in found.sentence and reuses():
            return Cause("noise-reused", f"one key serves several draws of a step: {found.sentence}")
        return found
    return black_box_cause(as_torch_step(subject.scheme)) if measurable(subject.scheme) else None


def required_order(subject: Subject) -> int:
    """The order that a definition is held to: the one that it claims, and at least 1."""
    return max(1, subject.scheme.order or 1)


def _of_definition(subject: Subject) -> Cause | None:
    """The cause of a wrong definition; None where it is right, or nothing matches."""
    order, required = subject.order, required_order(subject)
    if isinstance(order, NotExpandableError):
        return without_series(subject.scheme, order)
    if order.order >= required:
        return None
    word, alphabet = subject.scheme.word, subject.alphabet
    if word is not None and alphabet is not None:
        found = wrong_word(word, alphabet, order.order, required)
        if found is not None:
            return found
    if order.order < 1:
        return _inconsistent(subject, order)
    if order.order == 1:
        for dim in _dimensions(subject, order):
            for moments in moments_of(subject.scheme, dim, THROUGH):
                found = wrong_second_order(moments)
                if found is not None:
                    return found
            law = wrong_law(subject.scheme, order.dim, order.order)
            if law is not None:
                return law
            if all(made_of_whole_steps(moments) for moments in moments_of(subject.scheme, dim, THROUGH)):
                return _of_claim(order, required)
        return None
    return _of_claim(order, required)


def _of_claim(order: LocalOrder, required: int) -> Cause | None:
    """A claim beyond the order of a step of which every term through h^order is right."""
    if order.given_minibatch is None:
        return None
    return Cause(
        "claimed-order",
        f"the step is of order {order.order}, every term through h^{order.order} is right, and {required} is claimed: it differs "
        f"at {order.given_minibatch.text}",
    )


def _inconsistent(subject: Subject, order: LocalOrder) -> Cause | None:
    """The cause where the step has another generator than its dynamics."""
    for dim in _dimensions(subject, order):
        for moments in moments_of(subject.scheme, dim, THROUGH):
            found = wrong_generator(moments)
            if found is None:
                continue
            if found.name == "diffusion-scaled":
                times = uses_of_one_draw(subject.scheme, dim)
                if times:
                    return Cause(
                        "noise-shared",
                        f"{found.sentence}; one draw is used {times} times, where draws of their own are right",
                    )
            return found
    return None


def _dimensions(subject: Subject, order: LocalOrder) -> list[int]:
    """One dimension, where texts are short, if the order is as low there; else the dimension of the proof."""
    try:
        alone = local_order(subject.scheme, 1, 2, at=subject.model_parameters)
    except NotExpandableError:
        return [order.dim]
    return [1, order.dim] if alone.order == order.order else [order.dim]


def _leading(subject: Subject, evidence: Sequence[Evidence]) -> str:
    """The leading wrong term as text, else the first failing answer."""
    order = subject.order
    if not isinstance(order, NotExpandableError):
        defect = order.given_minibatch
        if defect is not None and order.order < required_order(subject):
            return f"the step and its dynamics differ at {defect.text}"
    failing = next((item for item in evidence if item.verdict == "violates" and not item.refuted), None)
    return failing.reason if failing is not None else "nothing fails"

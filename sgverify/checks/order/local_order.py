"""The proved local order of a definition, and the terms that minibatches add to it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from sgverify.checks.concluding import proof_scope
from sgverify.checks.order.configured_steps import order_reach
from sgverify.checks.order.splittings import in_words
from sgverify.checks.question import STATED, Question, whole
from sgverify.errors import NotExpandableError, SgverifyError
from sgverify.evidence import Evidence, Verdict
from sgverify.exact.readings.formula import formula
from sgverify.exact.series.dimensions import Proved
from sgverify.exact.series.noise_terms import noise_terms
from sgverify.exact.series.orders import LocalOrder
from sgverify.exact.series.pace import pace_of, step_text
from sgverify.exact.splittings.bch import bch
from sgverify.rates.verdict import Judgement
from sgverify.schemes.splittings import Word
from sgverify.subject.subject import Subject

# The terms that gradient noise adds to the averaged step.
#
# The terms appear in the certificate of a local order, each by its name and its value.


def noise_certificate(subject: Subject) -> dict[str, Any]:
    """The certificate's part about gradient noise: its terms in a proved local order, or the fact that there is no noise."""
    order, noise = subject.order, subject.noise
    said = {}
    cancelled = subject.configuration.gradient.estimator.cancelled
    if cancelled and subject.target.common_curvature and noise.minibatch is None:
        said["gradient_noise"] = (
            f"none: every datum has the same Hessian, so the minibatch cancels from {cancelled} are full gradients here"
        )
    if isinstance(order, NotExpandableError):
        return said
    return {
        **said,
        "local_order_given_minibatch": whole(order.order),
        "local_order_averaged": whole(order.averaged_order),
    }


NAMES = {
    "g": "the minibatch's gradient less the full one, its derivatives g', g'', ...",
    "V": "E g^2",
}


def averaged_noise(subject: Subject) -> dict[str, Any]:
    """The certificate's part about the average over minibatches, in one dimension, or why the step cannot be read there.

    `leading`: the terms of the lowest power of h that contain moments of the noise. `first`: the powers of h at which E g^3
    and E g^4 first enter.
    """
    try:
        terms = noise_terms(subject.scheme)
    except NotExpandableError as error:
        return {"reason": f"the step has no power series in one dimension: it uses {error}"}
    lowest = min((term.power for term in terms), default=None)
    entering = {k: [term.text for term in terms if term.orders == (k,)] for k in (3, 4)}
    return {
        "names": NAMES,
        "leading": [term.text for term in terms if term.power == lowest],
        "first": {f"E g^{k}": texts[0] for k, texts in entering.items() if texts},
    }


# The check of the local order of one step, proved for every smooth potential.


def check_local_order(question: Question) -> Evidence:
    """P_h f = exp(hL) f + O(h^(K+1)), chen2015 Definition 1, by generator expansion.

    A step that is written with h/2 in place of h, as in Welling and Teh 2011, is one of size h/2, and the answer says so.

    The verdict is about the order with the minibatch held fixed, the one that the paper proves; the certificate also holds the
    order averaged over random minibatches. Torch code, and a definition without a power series, have no generator expansion:
    their order is measured.

    Cannot see: the size of the error at a step size in use, and whether the running code is the definition. What random
    minibatches add stands in the certificate, not in the verdict. Of torch code: settings that were not tried.
    """
    subject = question.subject
    proved = subject.proved_order
    if isinstance(proved, NotExpandableError):
        return _without_series(question, proved)
    prediction = question.prediction
    judgement = _judge(
        proved,
        prediction.exponent,
        base=subject.proof_dimension,
        stated=question.claim.id == STATED,
        claimed=subject.scheme.order,
        pace=pace_of(subject.scheme),
    )
    judgement = replace(judgement, reason=judgement.reason + in_words(subject))
    return question.answered(
        method="proof",
        judgement=judgement,
        found=proved.order.order,
        certificate=_certificate(subject, proved),
        scope=proof_scope(proved.dimensions, order_reach(subject, proved.order)),
    )


def _without_series(question: Question, why: NotExpandableError) -> Evidence:
    """Evidence for a scheme without a power series: its local order measured by quadrature at a generic state."""
    from sgverify.checks.rates.gradient_bias import order_of_memory

    subject = question.subject
    reason = why.told()
    if question.claim.id == STATED:
        found = order_of_memory(question)
        if isinstance(found, Evidence):
            return replace(found, certificate={**found.certificate, "no_proof": reason})
        if found is not None:
            reason = f"{found}; {reason}"
        from sgverify.checks.order.black_box import ONE_STATE, black_box_order
        from sgverify.checks.order.definition_as_code import as_torch_subject, measurable

        if measurable(subject.scheme):
            measured = black_box_order(replace(question, subject=as_torch_subject(subject)))
            if measured.verdict in ("conforms", "violates") or measured.scope.states != ONE_STATE:
                return replace(measured, certificate={**measured.certificate, "no_proof": reason})
    return question.unanswered(reason)


def _judge(
    proved: Proved, predicted: Fraction, *, base: int, stated: bool, claimed: int | None, pace: Fraction
) -> Judgement:
    order = proved.order
    found = order.order
    at_least = "at least " if order.given_minibatch is None else ""
    # With a memory, the error of one step does not determine that of an average: it may cancel, or double, in the next step.
    kind = "weak order at finite times" if order.steps > 1 else "local order"
    over = " with an equilibrated memory" if order.steps > 1 else ""
    over += f" as a step of size {step_text(pace)}" if pace != 1 else ""
    if order.averaged_order == found:
        what, averaged = f"{kind} {at_least}{found}{over} (minibatch held fixed or averaged)", ""
    else:
        what = f"{kind} {at_least}{found}{over} with the minibatch held fixed"
        averaged = f"; order {order.averaged_order} averaged over random minibatches"
    wanted = f"required >= {predicted}"
    if stated:
        wanted += " (stated by the scheme)" if claimed else " (the least of an integrator)"
    if found < predicted and order.given_minibatch is None:
        return Judgement(
            "inconclusive",
            False,
            f"powers beyond h^{order.examined + 1} were not examined; {what}{averaged}; {wanted}",
        )
    if found < predicted:
        return Judgement(
            "violates",
            False,
            f"{what}, {wanted}: {_where(order)}{averaged}{_supposed(order)}{_where_wrong(proved, base)}",
        )
    sharp = found == predicted and order.given_minibatch is not None
    # A stated order holds for every temperature and friction; a defect in another region is not about the configured values.
    everywhere = all(other.order >= predicted for other in order.elsewhere)
    verdict: Verdict = "conforms" if everywhere else "inconclusive"
    return Judgement(
        verdict,
        sharp and everywhere,
        f"{what}{averaged}; {wanted}{_supposed(order)}; proved {proved}"
        + (f", as {proved.why_not}" if proved.why_not else ""),
    )


def _supposed(order: LocalOrder) -> str:
    """The assumptions of the proof of an order, for the end of a sentence."""
    found = ""
    if order.where:
        others = "; ".join(f"order {other.order} where {other.where}" for other in order.elsewhere)
        found += f"; it holds where {order.where}, as configured; {others}"
    if order.exceptions:
        found += f"; it holds where {' and '.join(order.exceptions)}"
    if order.limits:
        found += f"; it holds as h -> 0: {', '.join(order.limits)}"
    return found


def _where(order: LocalOrder) -> str:
    """A clause about the defect that limits the order: its power of h, and its place."""
    given = order.given_minibatch
    if order.start is not None and (given is None or order.start.power < given.order):
        return (
            f"the start of the memory leaves an error of order h^{order.start.power} in every later average"
        )
    assert given is not None
    place = f" where {given.where}" if given.where else ""
    return f"P_h and exp(hL) differ at h^{given.power}{place}"


def _where_wrong(proved: Proved, base: int) -> str:
    """A clause with the dimension in which a defect was found, if other dimensions do not have it; else "".

    Others are examined up to the order found in the dimension `base`, so that a defect found in `base` may be in all.
    """
    if proved.dim == base:
        return ""
    return f"; in dimension {proved.dim}, and not in dimension {base}"


def _certificate(subject: Subject, proved: Proved) -> dict[str, Any]:
    order = proved.order
    certificate: dict[str, Any] = {
        "given_minibatch": whole(order.order),
        "averaged": whole(order.averaged_order),
        "defect_given_minibatch": order.given_minibatch.text if order.given_minibatch else "none found",
        "defect_averaged": order.averaged.text if order.averaged else "none found",
        "proved_in_dimension": proved.dim,
        "holds": str(proved),
        "proved_for": "every smooth potential, every temperature and friction"
        + (", every smooth metric" if subject.scheme.dynamics.riemannian else ""),
    }
    if order.where or order.conditions:
        certificate["supposed"] = {
            "region": order.where,
            "elsewhere": {other.where: whole(other.order) for other in order.elsewhere},
            "conditions": [f"{condition.kind}: {condition.text}" for condition in order.conditions],
        }
    if order.steps > 1:
        certificate["kind"] = "weak-finite-time"
        certificate["left_by_the_start_of_the_memory"] = order.start.text if order.start else "nothing"
    if (pace := pace_of(subject.scheme)) != 1:
        certificate["step"] = step_text(pace)
    certificate["averaged_over_minibatches"] = averaged_noise(subject)
    certificate["formula"] = formula(subject.scheme)
    word = subject.scheme.word
    if word is not None and subject.alphabet is not None:
        certificate["alphabet"] = {
            "proved": subject.alphabet.proved,
            "through": f"t^{subject.alphabet.degree}",
            "generators": subject.alphabet.generators,
            "faults": list(subject.alphabet.faults),
        }
        certificate["bch"] = _bch(word, subject.alphabet.proved)
    return certificate


def _bch(word: Word, proved: bool) -> dict[str, Any]:
    if not proved and word.merged != word.text:
        return {"reason": f"a letter of {word.text} refines another, and is no flow that BCH reads"}
    try:
        result = bch(word.merged, word.shares)
    except SgverifyError as error:
        return {"reason": str(error)}
    return {
        "order": result.order,
        "leading": [str(term) for term in result.leading],
        "is_a_proof": proved,
        "reason": result.reason,
    }

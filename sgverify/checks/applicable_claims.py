"""The claims that apply to a scheme, and the printed claims that fail by an error of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from sgverify.checks.facts import OF_THE_SCHEME
from sgverify.checks.float_rounding import up_to_rounding
from sgverify.checks.progress import Interrupted, in_time, isolated, keep_evidence, listening, raised_on
from sgverify.checks.question import STATED, Question
from sgverify.checks.readings import (
    escape_of,
    followed,
    measured_beyond_noise,
    noise_enters_as_drift,
    told_of_orbits,
)
from sgverify.checks.registry import CHECKS
from sgverify.claims import Claim, claims
from sgverify.errors import NotExpandableError, UnknownNameError, UserError
from sgverify.evidence import Evidence
from sgverify.exact.series.noise_terms import noise_defect
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject
from sgverify.user_code import own_code

Progress = Callable[[str, float, int], None]
"""Told what is at work, how many checks are done, the one at work by its share, and how many there are."""


@own_code()
def judge(subject: Subject, selected: Sequence[str] = (), progress: Progress | None = None) -> list[Evidence]:
    """One piece of evidence for each applicable pair of check and claim.

    `selected` holds ids of checks or claims; a selected pair that does not apply is reported as not applicable.
    Evidence on a printed claim that fails by the paper's own error carries `refuted`; the corrected claim then judges
    the scheme. An unforeseen exception in one check becomes one inconclusive piece of evidence. `Interrupted` (Ctrl-C)
    and `UserError` end the work; both carry the evidence found until then as their `evidence`.
    """
    unmet = [answer for part in subject.parts if (answer := not_validated(part)) is not None]
    return unmet or settle(stable_questions(subject, selected), selected, progress)


def stable_questions(subject: Subject, selected: Sequence[str] = ()) -> list[Question]:
    """`questions_of` a subject; raises `UserError` where no step size makes the scheme stable."""
    questions = questions_of(subject, selected)
    _meet_mistakes(questions)
    return questions


def settle(
    questions: Sequence[Question],
    selected: Sequence[str] = (),
    progress: Progress | None = None,
    *,
    told: Callable[[list[Evidence]], None] | None = None,
    excused: Callable[[Question, UserError], bool] | None = None,
) -> list[Evidence]:
    """The evidence for each question, one after the other; `told` gets that of each question as soon as it is found.

    `Interrupted` (Ctrl-C) and `UserError` end the work; both carry the evidence found until then. A question whose `UserError` is
    `excused` has no evidence.
    """
    found: list[Evidence] = []
    try:
        for number, question in enumerate(questions):
            id = question.claim.id
            if progress:
                progress(id, number, len(questions))
            try:
                with listening(progress and partial(_tell, progress, id, number, len(questions))):
                    answers = in_time(
                        question, partial(judge_question, question, corrected=id not in selected)
                    )
            except UserError as error:
                if excused is None or not excused(question, error):
                    raise
                continue
            found += answers
            if told:
                told(answers)
        if progress:
            progress("", len(questions), len(questions))
    except KeyboardInterrupt:
        raise Interrupted(found) from None
    except Exception as error:
        keep_evidence(error, found)
        raise
    return found


@own_code()
def questions_of(
    subject: Subject, selected: Sequence[str] = (), *, any_configuration: bool = False
) -> list[Question]:
    """The questions that `judge` asks, without an answer to any of them.

    A check of a composite's rule is asked of the composite, every other check of its scheme. With `any_configuration`, all
    questions that may apply to the scheme under some configuration: those of which no hypothesis on the scheme alone fails.
    Raises `UserError` where a hypothesis cannot be decided, for instance for an unstable step size.
    """
    asked = _selection(selected)
    applies = _may_apply_somewhere if any_configuration else _may_apply
    parts = subject.parts
    questions = [question for part in parts for question in _questions(part, asked, applies)]
    return [
        item for item in questions if len(parts) == 1 or item.check.composite == bool(item.subject.composite)
    ]


def not_validated(subject: Subject) -> Evidence | None:
    """Inconclusive evidence if validating the configuration raised an unforeseen exception, else None; raises `UserError`."""
    card = claims()[STATED]
    return isolated(Question(subject, card, card.quantities[0]), subject.validate)


def _meet_mistakes(questions: Sequence[Question]) -> None:
    """Raise `UserError` before any computation if no step size makes the scheme stable, unless every check is a proof."""
    parts = [question.subject for question in questions if not question.check.stepless]
    for part in {id(part): part for part in parts}.values():
        try:
            if part.affine:
                _ = part.step
        except UserError:
            raise
        except Exception:
            # Each check meets the same exception and reports it in its own evidence.
            if raised_on():
                raise


def _tell(progress: Progress, text: str, number: int, total: int, share: float) -> None:
    progress(text, number + share, total)


def pairs_of(subject: Subject) -> list[tuple[Claim, str]]:
    """The pairs (claim, quantity) that apply to the subject when the user selects no check."""
    return [(question.claim, question.quantity) for question in _questions(subject, frozenset(), _may_apply)]


def judge_pair(subject: Subject, claim: Claim, quantity: str, *, corrected: bool = True) -> list[Evidence]:
    """`judge_question` on one quantity of a claim."""
    return judge_question(Question(subject, claim, quantity), corrected=corrected)


def judge_question(question: Question, *, corrected: bool = True) -> list[Evidence]:
    """The evidence for one claim; if that fails by the paper's own error, also the evidence for its corrected claim.

    An unforeseen exception becomes one inconclusive piece of evidence.
    """
    found = isolated(question, lambda: _answered(question))
    if isinstance(found, Evidence):
        return [found]
    printed, judged = found
    return [printed, judged] if corrected and judged is not None else [printed]


def answer(question: Question) -> Evidence:
    """One piece of evidence, computed even if the claim's hypotheses fail.

    If the printed claim fails by the paper's own error, the evidence is that for the corrected claim, and its reason says so.
    """
    return isolated(question, lambda: _answer(question))


def _answer(question: Question) -> Evidence:
    printed, judged = _answered(question, ask=False)
    if judged is None:
        return printed
    certificate = {
        "claim": printed.claim,
        "refuted": printed.refuted,
        "verdict": printed.verdict,
        "predicted": printed.predicted.exponent,
        "reason": printed.reason,
    }
    return replace(
        judged,
        reason=f"{judged.reason}; {printed.claim} as printed {'is refuted' if printed.refuted else 'does not apply'} here: "
        f"{printed.reason}",
        certificate={**judged.certificate, "printed": certificate},
        seconds=printed.seconds + judged.seconds,
    )


def _answered(question: Question, *, ask: bool = True) -> tuple[Evidence, Evidence | None]:
    """The evidence on a claim, and that on its corrected claim if the printed one fails by the paper's own error (`refuted`).

    A claim about a limit is not refuted by one setting: it does not apply where it is off, and the corrected claim judges.
    """
    claim = question.claim
    evidence = run_check(question, ask=ask)
    # A proved rate is a bound: where it is slower than the printed one by an error of the paper's own, no setting fails.
    bound = "order_of_averages" in evidence.certificate and _error_of_the_paper(question, evidence)
    limited = evidence.verdict == "inconclusive" and (claim.in_the_limit or bound)
    off = limited or evidence.verdict == "violates"
    if not off or claim.corrected is None:
        return evidence, None
    card = claims()[claim.corrected]
    if question.quantity not in card.quantities:
        # The correction drops this part of the claim. The erratum's own check shows that the part fails.
        return _refuted(evidence, claim), None
    judged = run_check(replace(question, claim=card), ask=ask)
    # The corrected claim may be undecided, for instance by too few samples; the scheme is then undecided as well.
    if judged.verdict not in ("conforms", "inconclusive") or evidence.verdict == judged.verdict:
        return evidence, None
    if claim.in_the_limit or bound:
        limit = claim.in_the_limit or claim.weighs
        reason = f"the claim speaks of a limit, not of a setting; {limit}; here {evidence.reason}"
        return replace(evidence, verdict="not-applicable", sharp=False, reason=reason), judged
    if not _error_of_the_paper(question, evidence):
        return evidence, None
    return _refuted(evidence, claim), judged


def _refuted(evidence: Evidence, claim: Claim) -> Evidence:
    """The violation marked as a refutation of the printed claim; the reason adds the consequences (`claim.weighs`)."""
    return replace(evidence, refuted=True, reason=f"{evidence.reason} ({claim.weighs})")


def run_check(question: Question, *, ask: bool = True) -> Evidence:
    """Run one check, timed; a claim whose hypotheses fail is not applicable (unless `ask` is off)."""
    started = time.perf_counter()
    evidence = isolated(question, lambda: _run_check(question, ask=ask))
    return replace(evidence, seconds=round(time.perf_counter() - started, 6))


def _run_check(question: Question, *, ask: bool) -> Evidence:
    subject, claim = question.subject, question.claim
    applies, reason = question.applicability if ask else (True, "")
    ergodic = bool({"scheme.ergodic", "scheme.escapes"} & claim.needs) and not claim.escaping
    escaping = ergodic and escape_of(subject)
    if not applies and "scheme.ergodic" in claim.needs and subject.affine:
        # A chain without an invariant law is refused with its spectral radius, never passed over.
        _ = subject.step_sizes.default
    if escaping:
        # Even if `ask` is off: a rate computed from an escaping chain is not a rate of an ergodic chain.
        applies, reason = False, f"{claim.id} assumes an ergodic chain; {escaping}"
    evidence = (
        question.check.judge(black_box=question.subject.black_box)(question)
        if applies
        else question.unanswered(reason, "not-applicable")
    )
    if ergodic and evidence.verdict == "conforms":
        evidence = replace(evidence, reason=f"{evidence.reason}{told_of_orbits(followed(subject))}")
    evidence = up_to_rounding(question, evidence)
    return evidence if ask else _outside(question, evidence)


def _outside(question: Question, evidence: Evidence) -> Evidence:
    """Turn evidence into "not-applicable" if the claim assumes unbiased gradients and the configured ones are biased."""
    claim, facts = question.claim, question.facts
    biased = [p for p in claim.hypotheses if p.fact == "gradient.unbiased" and not p.holds(facts)]
    if not biased or evidence.verdict == "inconclusive":
        return evidence
    reason = f"{claim.id} does not apply: it needs that {biased[0]}; {evidence.reason}"
    return replace(evidence, verdict="not-applicable", sharp=False, reason=reason)


def _error_of_the_paper(question: Question, evidence: Evidence) -> bool:
    """Does the claim fail by an error of its own, and not by one of the scheme? True in three cases.

    1. The check uses nothing of the scheme beyond the claim's hypotheses.
    2. The exponents agree and only a logarithm separates the rates: the claim's own arithmetic, sum h_l^(K+1) ~ log L,
       fails.
    3. Gradient noise is fresh at every step: the averaged step then differs from exp(hL) at h^2 by an operator that
       depends on the noise alone, and the computed defect of this scheme equals that operator.

    Another scheme of the same order may pass, where the coefficient of the term that the claim loses is 0.
    """
    if question.check.universal:
        return True
    if evidence.found.exponent is not None and evidence.found.exponent == evidence.predicted.exponent:
        logarithm = evidence.certificate.get("logarithm", {})
        return bool(logarithm) and logarithm["found"] > logarithm["predicted"]
    return bool(question.facts["gradient.noisy"]) and universal_defect(question.subject)


@cached_per_subject
def universal_defect(subject: Subject) -> bool:
    """Does the averaged defect equal, as an operator, the h^2 term that gradient noise causes for these dynamics?

    A step with several minibatches (for instance one kept in memory from the previous step), or with new noise at every
    gradient evaluation (`additive`), distributes its noise differently. For such a step it is enough that every term of
    the defect contains a moment of the gradient noise. Of torch code it is asked how the noise enters one step; where that, or a
    proof, cannot be read, a measured order of 2 says as much.
    """
    if subject.black_box:
        return noise_enters_as_drift(subject) or measured_beyond_noise(subject)
    order, scheme = subject.order, subject.scheme
    if isinstance(order, NotExpandableError):
        return measured_beyond_noise(subject)
    if order.averaged is None or order.order < 2:
        return False
    evaluations_differ = subject.noise.each_evaluation and scheme.gradients > 1
    if scheme.minibatches + scheme.starts.minibatches > 1 or evaluations_differ:
        return order.averaged.noise_alone
    shared = noise_defect(scheme.dynamics, subject.proof_dimension)
    return shared is not None and order.averaged.power == shared.power and order.averaged.text == shared.text


def _questions(
    subject: Subject, asked: frozenset[str], applies: Callable[[Question], bool]
) -> list[Question]:
    """The applicable questions, the scheme's stated order first; selected questions appear even if they do not apply."""
    ordered = sorted(claims().values(), key=lambda claim: claim.id != STATED)
    # What no check decides is a claim of another distribution whose check is missing or broken; the whole answer names it.
    decided = {*CHECKS}
    every = [
        Question(subject, claim, quantity)
        for claim in ordered
        for quantity in claim.quantities
        if quantity in decided
    ]

    def held_to(question: Question) -> bool:
        # Under another configuration, another claim may take the place of the stated order, or none.
        if question.claim.id == STATED and applies is _may_apply and _another_asks_what_is_stated(every):
            return False
        return question.claim.corrects is None and applies(question)

    # A hypothesis may take a proof of the order to decide: only what may be asked is decided.
    wanted = [question for question in every if not asked or question.quantity in asked]
    spoken = [question for question in wanted if held_to(question)]
    if not asked:
        return [question for question in spoken if not question.claim.on_request]
    # A selected check without any applicable claim is reported: each of its claims answers "not applicable".
    silent = asked - {question.quantity for question in spoken}
    return [
        question
        for question in every
        if question.claim.id in asked
        or (question.quantity in silent and question.claim.corrects is None)
        or (question.quantity in asked and question in spoken)
    ]


def _may_apply(question: Question) -> bool:
    """Does the claim apply?"""
    return _true_or_unknown(lambda: question.applicability[0])


def _may_apply_somewhere(question: Question) -> bool:
    """Does no hypothesis on the scheme alone fail? Other hypotheses may hold under some configuration."""
    return _true_or_unknown(
        lambda: (
            question.why_never_asked is None
            and question.claim.may_speak_of(question.quantity, question.facts, OF_THE_SCHEME)
        )
    )


def _true_or_unknown(asked: Callable[[], bool]) -> bool:
    """The answer; also true after an unforeseen exception, so that the check meets and reports the exception."""
    try:
        return asked()
    except UserError:
        raise
    except Exception:
        if raised_on():
            raise
        return True


def _another_asks_what_is_stated(questions: Sequence[Question]) -> bool:
    """Does a claim of a paper ask for at least the local order that the scheme states?"""
    return any(
        item.quantity == "local-order" and item.quantity in item.claim.rate_of and _asks_what_is_stated(item)
        for item in questions
    )


def _asks_what_is_stated(question: Question) -> bool:
    """Does a claim about the local order apply, with a predicted order of at least the order that the scheme states?"""
    if not _may_apply(question):
        return False
    try:
        asked = question.prediction.exponent
    except UserError:
        raise
    except Exception:
        if raised_on():
            raise
        return False
    return question.subject.scheme.order is None or asked >= question.subject.scheme.order


def _selection(selected: Sequence[str]) -> frozenset[str]:
    known = claims()
    for name in selected:
        if name not in known and name not in CHECKS:
            raise UnknownNameError("check or claim", name, [*known, *CHECKS])
        for quantity in known[name].quantities if name in known else (name,):
            if quantity in CHECKS:
                # A check of another distribution that was asked for, and cannot be loaded, is a mistake and no answer.
                _ = CHECKS[quantity]
    return frozenset(selected)

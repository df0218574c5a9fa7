"""Which claims a scheme is held to, and what becomes of a printed claim that no scheme can fulfil."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from sgverify.checks.composite_subject import CompositeSubject
from sgverify.checks.facts import facts_of
from sgverify.checks.finite_time import alpha_of, why_no_rate
from sgverify.checks.float_rounding import up_to_rounding
from sgverify.checks.isolation import isolated, raised_on
from sgverify.checks.local_order import STATED
from sgverify.checks.making import unsettled
from sgverify.checks.orbits import told_of_orbits
from sgverify.checks.progress import Interrupted, listening, settled_before
from sgverify.checks.registry import CHECKS
from sgverify.checks.subject import Subject
from sgverify.checks.universal import universal_defect
from sgverify.claims import Claim, claims
from sgverify.errors import ConfigurationError, UnknownNameError, UserError
from sgverify.evidence import Evidence
from sgverify.schemes.loading import scheme_reference
from sgverify.schemes.own_code import own_code
from sgverify.schemes.torch_step import TorchStep

LENGTH_QUANTITIES = ("bias", "mse", "consistency")
"""The quantities that are followed along a schedule, so that a claim about them brings its own."""

ORDER_CLAIMS = ("chen2015/lemma-8", "chen2015/lemma-12")

STEPLESS = (
    *("local-order", "stationarity", "order-equivalence", "constant-equivalence", "mean-flow"),
    *(
        "poisson-bound",
        "step-conditions",
        "bounded-derivatives",
        "backward-equation",
        "lipschitz-gradient",
        "dissipativity",
        "noise-growth",
    ),
)
"""The quantities that are proved, for every step size or as it goes to 0, and those that meet an unstable step themselves."""

Progress = Callable[[str, float, int], None]
"""Told what is at work, how many checks are done, the one at work by its share, and how many there are."""


@own_code()
def judge(subject: Subject, selected: Sequence[str] = (), progress: Progress | None = None) -> list[Evidence]:
    """One piece of evidence for each applicable pair of check and claim.

    `selected` holds ids of checks or claims; a selected pair that does not apply is reported as such. A printed
    claim that is refuted for every scheme of its order carries `refuted`, and its corrected card judges the scheme.
    An exception that nobody foresaw in one of them is one inconclusive answer. What ends the work, `Interrupted` on Ctrl-C
    and `UserError`, carries what was settled before as its `evidence`.
    """
    asked = _selection(selected)
    parts = subject.parts
    unmet = [answer for part in parts if (answer := not_validated(part)) is not None]
    if unmet:
        return unmet
    found: list[Evidence] = []
    try:
        pairs = [(part, *pair) for part in parts for pair in _pairs(part, asked)]
        if len(parts) > 1:
            pairs = [(part, claim, quantity) for part, claim, quantity in pairs if _answers(part, quantity)]
        _meet_mistakes(pairs)
        for number, (part, claim, quantity) in enumerate(pairs):
            if progress:
                progress(claim.id, number, len(pairs))
            with listening(progress and partial(_tell, progress, claim.id, number, len(pairs))):
                found += judge_pair(part, claim, quantity, corrected=not asked or claim.id not in asked)
        if progress:
            progress("", len(pairs), len(pairs))
    except KeyboardInterrupt:
        raise Interrupted(found) from None
    except Exception as error:
        settled_before(error, found)
        raise
    return found


def not_validated(subject: Subject) -> Evidence | None:
    """The one answer where an exception that nobody foresaw ends the look at a configuration; `UserError` is raised."""
    return isolated(subject, claims()[STATED], "local-order", subject.validate)


def _meet_mistakes(pairs: Sequence[tuple[Subject, Claim, str]]) -> None:
    """Raise `UserError` for a scheme that no step size makes stable before anything is computed, unless all is proved."""
    for part in {id(part): part for part, _, quantity in pairs if quantity not in STEPLESS}.values():
        try:
            if part.affine:
                _ = part.step
        except UserError:
            raise
        except Exception:
            # The checks meet it, and each says so.
            if raised_on():
                raise


def _tell(progress: Progress, text: str, number: int, total: int, share: float) -> None:
    progress(text, number + share, total)


def pairs_of(subject: Subject) -> list[tuple[Claim, str]]:
    """The pairs of claim and check that the subject is held to where nothing is selected."""
    return list(_pairs(subject, frozenset()))


def judge_pair(subject: Subject, claim: Claim, quantity: str, *, corrected: bool = True) -> list[Evidence]:
    """The evidence for one claim; where it falls for every scheme, followed by that for its corrected card.

    An exception that nobody foresaw is one inconclusive piece of evidence.
    """
    found = isolated(
        subject, claim, quantity, lambda: _judge_pair(subject, claim, quantity, corrected=corrected)
    )
    return [found] if isinstance(found, Evidence) else found


def answer(subject: Subject, claim: Claim, quantity: str) -> Evidence:
    """One piece of evidence, whether the claim's hypotheses hold or not: where the printed claim falls for every scheme it
    speaks of, that for its corrected card, which says so.
    """
    return isolated(subject, claim, quantity, lambda: _answer(subject, claim, quantity))


def _answer(subject: Subject, claim: Claim, quantity: str) -> Evidence:
    printed, judged = _settled(subject, claim, quantity, ask=False)
    if judged is None:
        return printed
    certificate = {
        "claim": printed.claim,
        "refuted": True,
        "verdict": printed.verdict,
        "predicted": printed.predicted.exponent,
        "reason": printed.reason,
    }
    return replace(
        judged,
        reason=f"{judged.reason}; {printed.claim} as printed is refuted here: {printed.reason}",
        certificate={**judged.certificate, "printed": certificate},
        seconds=printed.seconds + judged.seconds,
    )


def _judge_pair(subject: Subject, claim: Claim, quantity: str, *, corrected: bool) -> list[Evidence]:
    printed, judged = _settled(subject, claim, quantity)
    return [printed, judged] if corrected and judged is not None else [printed]


def _settled(
    subject: Subject, claim: Claim, quantity: str, *, ask: bool = True
) -> tuple[Evidence, Evidence | None]:
    """The evidence on a claim, `refuted` where it falls for every scheme it speaks of, and then that on its corrected card."""
    evidence = run_check(subject, claim, quantity, ask=ask)
    if evidence.verdict != "violates" or claim.corrected is None:
        return evidence, None
    card = claims()[claim.corrected]
    if quantity not in card.quantities:
        # Nothing is left of this part of the claim; that it fails for all is what its own check shows.
        return _refuted(evidence, claim), None
    judged = run_check(subject, card, quantity, ask=ask)
    # What holds in its place may be left open, by too few samples say: that is then what is open about the scheme.
    if judged.verdict not in ("conforms", "inconclusive") or not _falls_for_all(subject, evidence):
        return evidence, None
    return _refuted(evidence, claim), judged


def _refuted(evidence: Evidence, claim: Claim) -> Evidence:
    """The violation as one of the printed claim, with what that weighs."""
    return replace(evidence, refuted=True, reason=f"{evidence.reason} ({claim.weighs})")


def run_check(subject: Subject, claim: Claim, quantity: str, *, ask: bool = True) -> Evidence:
    """Run one check, timed; a claim whose hypotheses fail is not applicable (unless `ask` is off)."""
    started = time.perf_counter()
    subject = _on_schedule(subject, claim, quantity)
    evidence = isolated(subject, claim, quantity, lambda: _run_check(subject, claim, quantity, ask=ask))
    return replace(evidence, seconds=round(time.perf_counter() - started, 6))


def _run_check(subject: Subject, claim: Claim, quantity: str, *, ask: bool) -> Evidence:
    applies, reason = _applies(subject, claim, quantity) if ask else (True, "")
    ergodic = bool({"scheme.ergodic", "scheme.escapes"} & claim.needs) and not claim.escaping
    escaping = ergodic and subject.escape
    if not applies and "scheme.ergodic" in claim.needs and subject.affine:
        # A chain without an invariant law is refused with its spectral radius, never passed over.
        _ = subject.step_sizes.default
    if escaping:
        # Whether it was asked or not: what is found of a chain that escapes is no rate of an ergodic one.
        applies, reason = False, f"{claim.id} asks for an ergodic chain. {escaping}."
    evidence = (
        CHECKS[quantity].function(subject, claim)
        if applies
        else unsettled(subject, claim, quantity, reason, "not-applicable")
    )
    if ergodic and evidence.verdict == "conforms":
        evidence = replace(evidence, reason=f"{evidence.reason}{told_of_orbits(subject.orbits)}")
    evidence = up_to_rounding(subject, evidence)
    return evidence if ask else _outside(subject, claim, evidence)


def _outside(subject: Subject, claim: Claim, evidence: Evidence) -> Evidence:
    """What was found where the claim asks for unbiased gradients and there are none: it settles nothing about the claim."""
    facts = facts_of(subject, subject.configuration.schedule.kind, None)
    biased = [p for p in claim.hypotheses if p.fact == "gradient.unbiased" and not p.holds(facts)]
    if not biased or evidence.verdict == "inconclusive":
        return evidence
    reason = f"{claim.id} does not speak of this case: it needs that {biased[0]}; {evidence.reason}"
    return replace(evidence, verdict="not-applicable", sharp=False, reason=reason)


def _falls_for_all(subject: Subject, evidence: Evidence) -> bool:
    """Whether the violation is one that every scheme of this order shares.

    Either the check asks of a scheme nothing but the claim's hypotheses. Or the exponents agree and only a logarithm
    separates them: then it is the claim's own arithmetic, sum h_l^(K+1) ~ log L, that fails. Or fresh gradient noise is
    at work: then the averaged step differs from exp(hL) at h^2 by an operator that the noise alone determines, and
    that this scheme's defect is that operator is computed.
    """
    if CHECKS[evidence.check].universal:
        return True
    if evidence.found.exponent is not None and evidence.found.exponent == evidence.predicted.exponent:
        logarithm = evidence.certificate.get("logarithm", {})
        return bool(logarithm) and logarithm["found"] > logarithm["predicted"]
    return bool(facts_of(subject, "fixed", None)["gradient.noisy"]) and universal_defect(subject)


def _on_schedule(subject: Subject, claim: Claim, quantity: str) -> Subject:
    """The subject on the claim's own schedule, unless the configuration chose one."""
    if quantity not in LENGTH_QUANTITIES or claim.schedule is None or subject.schedule_chosen:
        return subject
    return subject.with_schedule(claim.schedule)


def _applies(subject: Subject, claim: Claim, quantity: str) -> tuple[bool, str]:
    dynamics = subject.scheme.dynamics
    if dynamics.positive and quantity not in ("stationarity", "local-order"):
        return (
            False,
            f"`{dynamics.name}` lives on theta > 0; the states and targets that {quantity} takes are not",
        )
    if isinstance(subject.scheme, TorchStep) and not CHECKS[quantity].black_box:
        return False, why_no_definition(subject, quantity)
    if CHECKS[quantity].composite and not isinstance(subject, CompositeSubject):
        return False, f"{quantity} reads the rule of a composite, and scheme={subject.reference!r} is none"
    if isinstance(subject, CompositeSubject) and not CHECKS[quantity].composite:
        return (
            False,
            f"{quantity} is asked of the scheme of a composite; verify {scheme_reference(subject.composite)}",
        )
    c = subject.configuration
    if quantity in LENGTH_QUANTITIES and (c.burn_in or c.thinning > 1):
        return False, (
            f"{claim.id} speaks of the average over every l = 1..L, and burn_in={c.burn_in} with thinning={c.thinning} leaves "
            "states out"
        )
    if quantity in LENGTH_QUANTITIES and why_no_rate(subject):
        return False, str(why_no_rate(subject))
    schedule = c.schedule.kind
    facts = facts_of(subject, schedule, None)
    if claim.schedule in ("horizon", "power"):
        if claim.schedule != schedule:
            return (
                False,
                f"{claim.id} speaks of the {claim.schedule} schedule, and schedule.kind={schedule!r} was chosen",
            )
        if not claim.speaks_of(quantity, facts):
            return False, f"{claim.id} predicts nothing for {quantity} of this scheme"
        try:
            facts["schedule.alpha"] = alpha_of(subject, claim, quantity)
        except ConfigurationError as error:
            return False, str(error)
    applies, reason = claim.applies(facts)
    if applies and not claim.speaks_of(quantity, facts):
        return False, f"{claim.id} predicts nothing for {quantity} of this scheme"
    return applies, reason


def why_no_definition(subject: Subject, quantity: str) -> str:
    """Why a check is not run on torch code."""
    able = ", ".join(name for name, check in CHECKS.items() if check.black_box)
    return f"{quantity} is read off a definition, and scheme={subject.reference!r} is torch code; of that are read {able}"


def _pairs(subject: Subject, asked: frozenset[str]) -> Iterator[tuple[Claim, str]]:
    ordered = sorted(claims().values(), key=lambda claim: claim.id != STATED)
    has_order_claim = any(_asks_what_is_stated(subject, claims()[id]) for id in ORDER_CLAIMS)

    def held_to(claim: Claim, quantity: str) -> bool:
        if claim.id == STATED and has_order_claim:
            return False
        return claim.corrects is None and _may_apply(_on_schedule(subject, claim, quantity), claim, quantity)

    spoken = [
        (claim, quantity) for claim in ordered for quantity in claim.quantities if held_to(claim, quantity)
    ]
    # A check that no claim speaks to is not passed over in silence: its claims say that they do not apply.
    silent = asked - {quantity for _, quantity in spoken}
    for claim in ordered:
        for quantity in claim.quantities:
            if asked:
                wanted = quantity in silent and claim.corrects is None
                if claim.id in asked or wanted or (quantity in asked and (claim, quantity) in spoken):
                    yield claim, quantity
            elif (claim, quantity) in spoken and not claim.on_request:
                yield claim, quantity


def _answers(part: Subject, quantity: str) -> bool:
    """Whether this part of a composite is the one that a check is asked of."""
    return CHECKS[quantity].composite == isinstance(part, CompositeSubject)


def _may_apply(subject: Subject, claim: Claim, quantity: str) -> bool:
    """Whether a pair applies, or nobody knows: an exception that nobody foresaw is then met by the check, and is its answer."""
    try:
        return _applies(subject, claim, quantity)[0]
    except UserError:
        raise
    except Exception:
        if raised_on():
            raise
        return True


def _asks_what_is_stated(subject: Subject, claim: Claim) -> bool:
    """Whether a claim about local orders applies and asks for all that the scheme itself states."""
    if not _may_apply(subject, claim, "local-order"):
        return False
    try:
        asked = claim.predict("local-order", facts_of(subject, "fixed", None)).exponent
    except UserError:
        raise
    except Exception:
        if raised_on():
            raise
        return False
    return subject.scheme.order is None or asked >= subject.scheme.order


def _selection(selected: Sequence[str]) -> frozenset[str]:
    known = claims()
    for name in selected:
        if name not in known and name not in CHECKS:
            raise UnknownNameError("check or claim", name, [*known, *CHECKS])
    return frozenset(selected)

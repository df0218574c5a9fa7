"""Does an edit mend a scheme? Its local order is proved, and the exact checks that failed are asked again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sgverify.checks.applicable_claims import judge_pair
from sgverify.checks.question import STATED
from sgverify.claims import find_claim
from sgverify.errors import NotExpandableError, TooLargeError, UserError
from sgverify.evidence import Evidence
from sgverify.exact.rings.polynomials import check_time
from sgverify.exact.series.dimensions import Proved, prove_order
from sgverify.exact.series.local_order import compare_through
from sgverify.schemes import Scheme
from sgverify.subject.subject import Subject

SURE = ("proof", "exact", "quadrature")
"""The methods without samples."""

ALWAYS = (
    (STATED, "local-order"),
    ("chen2015/theorem-4", "stationary-bias"),
    ("chen2015/theorem-4", "covariance"),
)
"""What is asked of every edited scheme, whatever failed before."""

FEW_LENGTHS = [10, 100, 1000]
"""The lengths at which the questions of rates in L are illustrated."""


@dataclass(frozen=True)
class Passed:
    """What holds of an edited scheme: the proved local order, and how many exact checks conform; `every`: all that were asked."""

    order: Fraction
    at_least: bool
    conforming: int
    every: bool

    def __str__(self) -> str:
        order = f"order {'at least ' * self.at_least}{self.order}"
        return (
            f"{order} and everything conform"
            if self.every
            else f"{order}, and {self.conforming} exact checks conform"
        )


def failures(evidence: Sequence[Evidence]) -> list[Evidence]:
    """What failed; a printed claim that is refuted speaks against the paper, and not against the scheme."""
    return [item for item in evidence if item.outcome == "fail"]


def moves_early(subject: Subject) -> bool:
    """Whether the step moves below h^(1/2), or has no power series: then a term stands without its step size."""
    order = subject.order
    if isinstance(order, NotExpandableError):
        return not isinstance(order, TooLargeError)
    return order.given_minibatch is not None and order.given_minibatch.power < Fraction(1, 2)


def wrong_dimension(subject: Subject) -> int:
    """The dimension of proofs, or the one from which on the step is wrong where the proof found that."""
    order = subject.order
    return subject.proof_dimension if isinstance(order, NotExpandableError) else order.dim


def may_have_order(subject: Subject, scheme: Scheme, order: int) -> bool:
    """Whether the dimension in which the step is wrong has no difference through this order: a first part of `proved`."""
    try:
        found = compare_through(scheme, wrong_dimension(subject), order, at=subject.model_parameters)
    except (NotExpandableError, ArithmeticError, ValueError):
        return False
    given, start = found.given_minibatch, found.start
    return (given is None or given.power > order) and (start is None or start.power >= order)


def proved(subject: Subject, scheme: Scheme, order: int) -> Proved | None:
    """The proof that the scheme has at least this order, in every dimension that the subject asks for; None where it has not."""
    try:
        found = prove_order(scheme, subject.proof_dimension, subject.target.dim, at=subject.model_parameters)
    except (NotExpandableError, ArithmeticError, ValueError):
        return None
    everywhere = all(other.order >= order for other in found.order.elsewhere)
    reached = found.order.order >= order and everywhere and found.reaches(subject.target.dim)
    return found if reached and (found.every or found.why_not is None) else None


def passes(subject: Subject, scheme: Scheme, proof: Proved, failed: Sequence[Evidence]) -> Passed | None:
    """What holds of the edited scheme where every check that failed without samples passes now; else None."""
    configuration = subject.configuration
    if configuration.sweep.lengths is None:
        # Verdicts of the exact engines come from expansions; the points that illustrate them cost most of the time.
        sweep = configuration.sweep.model_copy(update={"lengths": FEW_LENGTHS})
        configuration = configuration.model_copy(update={"sweep": sweep})
    edited = Subject(scheme, configuration, subject.reference, method="exact")
    # It is the proof that the edited subject would compute again.
    edited.__dict__["proved_order"] = proof
    conforming, every = 0, True
    seconds = {(item.claim, item.check): item.seconds for item in failed if item.method in SURE}
    asked = {**dict.fromkeys(ALWAYS, 0.0), **seconds}
    try:
        for claim, check in sorted(asked, key=asked.__getitem__):
            check_time()
            found = judge_pair(edited, find_claim(claim), check)
            outcomes = {item.outcome for item in found}
            if "fail" in outcomes:
                return None
            if (claim, check) in seconds and "pass" not in outcomes:
                # What failed has to pass; left undecided it would be no mend that is known.
                return None
            conforming += "pass" in outcomes
            every = every and outcomes <= {"pass", "refuted", "not-applicable"}
    except UserError:
        # No step is stable, or the configured one is not: the edited scheme cannot be run as the user runs it.
        return None
    if not conforming:
        return None
    return Passed(proof.order.order, proof.order.given_minibatch is None, conforming, every)

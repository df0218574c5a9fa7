"""Check: does a scheme's invariant law have the order that its definition states?"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sgverify.checks.concluding import proof_scope
from sgverify.checks.question import Question, whole
from sgverify.checks.readings import why_no_law
from sgverify.errors import NotExpandableError
from sgverify.evidence import Evidence, Extent, tried
from sgverify.exact.answers.invariant import InvariantLaw
from sgverify.exact.chain.ergodic import WASSERSTEIN
from sgverify.exact.readings.formula import formula
from sgverify.exact.series.invariant_order import HIGHEST, InvariantOrder, prove_invariant_order
from sgverify.rates.verdict import Judgement
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject


@dataclass(frozen=True)
class InvariantProof:
    """The least order over all dimensions, those in which it holds, and the one that has it."""

    found: InvariantOrder
    dimensions: Extent
    dim: int


@cached_per_subject
def invariant_proof(subject: Subject) -> InvariantProof | NotExpandableError:
    """The order of the invariant law for every smooth potential; the error where the step has no expansion."""
    claimed = max(subject.scheme.invariant_order or 0, subject.scheme.order or 0)
    highest = max(2, min(HIGHEST, claimed))
    try:
        return InvariantProof(
            *prove_invariant_order(subject.scheme, subject.proof_dimension, subject.target.dim, highest)
        )
    except NotExpandableError as error:
        return error


def check_invariant_order(question: Question) -> Evidence:
    """E f under the invariant law of the scheme = E f under rho + O(h^r), for every smooth f.

    Proved for every smooth potential if the step has a power series in sqrt(h). Otherwise the means and covariances of the
    invariant law are computed on the configured Gaussian target.

    Cannot see: what minibatches add, since the proof is about full gradients; the size of the error at a step size in
    use; and how slowly a chain forgets its start.
    """
    subject = question.subject
    proof = invariant_proof(subject)
    if isinstance(proof, NotExpandableError):
        return _on_the_target(question, proof.told(between=": "))
    found, dimensions, dim = proof.found, proof.dimensions, proof.dim
    return question.answered(
        method="proof",
        judgement=_judge(found, dimensions, dim, question.prediction.exponent),
        found=found.order,
        certificate=_certificate(subject, found, dimensions, dim),
        scope=proof_scope(dimensions, gradients=tried("full")),
    )


def _judge(found: InvariantOrder, dimensions: Extent, dim: int, wanted: Fraction) -> Judgement:
    if found.order < wanted and found.power is not None:
        return Judgement(
            "violates",
            False,
            f"order {found.order} of the invariant law, required >= {wanted}: E f(X_1) - E f(X_0) is of order h^{found.power} "
            f"for X_0 from the density of the dynamics, in dimension {dim}, as h -> 0",
        )
    if not found.mixes:
        return Judgement(
            "inconclusive",
            False,
            "a step leaves the density of the dynamics invariant to this order, but it is not seen to forget its start on every "
            f"Gaussian, in dimension {dim}; a chain that never moves leaves every law invariant",
        )
    if found.order < wanted:
        return Judgement(
            "inconclusive",
            False,
            f"order at least {found.order} of the invariant law; required >= {wanted} was not examined",
        )
    other = f"; its generator differs from that of the dynamics: {found.generator}" if found.own else ""
    return Judgement(
        "conforms",
        found.power is not None and found.order == wanted,
        f"order {found.order} of the invariant law, required >= {wanted} (stated by the scheme); for every smooth potential, in "
        f"{dimensions.told or 'every dimension'}, as h -> 0{other}",
    )


def _certificate(subject: Subject, found: InvariantOrder, dimensions: Extent, dim: int) -> dict[str, Any]:
    return {
        "kind": "invariant",
        "order": whole(found.order),
        "left": f"h^{found.power} ( {found.left} ) rho" if found.left else "nothing",
        "generator": found.generator,
        "another_generator_than_the_dynamics": found.own,
        "forgets_its_start": found.mixes,
        "holds": f"in {dimensions.told or 'every dimension'}",
        "proved_in_dimension": dim,
        "proved_for": "every smooth potential, every temperature and friction, full gradients",
        "formula": formula(subject.scheme),
    }


def _on_the_target(question: Question, why: str) -> Evidence:
    """Evidence from means and covariances of the invariant law on the configured Gaussian target."""
    subject = question.subject
    wanted = question.prediction.exponent
    unknown = why_no_law(subject)
    if unknown is not None:
        return question.unanswered(f"{why}; {unknown}")
    try:
        law = InvariantLaw(subject.model)
        leading = law.leading(WASSERSTEIN, law.whole)
    except NotExpandableError as error:
        return question.unanswered(f"{why}; no expansion at h = 0: {error}")
    on = "on this Gaussian target (mean and covariance)"
    if leading.order is None:
        judgement = Judgement("conforms", False, f"the invariant law has no error as h -> 0 {on}; {why}")
    elif leading.order < wanted:
        judgement = Judgement(
            "violates",
            False,
            f"order {leading.order} of the invariant law, required >= {wanted}, {on}; {why}",
        )
    else:
        judgement = Judgement(
            "conforms",
            leading.order == wanted,
            f"order {leading.order} of the invariant law {on}; {why}",
        )
    return question.answered(
        judgement,
        found=None if leading.order is None else Fraction(leading.order),
        certificate={"kind": "invariant", "coefficient": leading.coefficient, "no_proof": why},
    )

"""Whether what a scheme's averaged step gets wrong is what gradient noise makes of *every* scheme."""

from __future__ import annotations

from sgverify.checks.subject import Subject
from sgverify.errors import NotExpandableError
from sgverify.exact.series.noise_terms import noise_defect


def universal_defect(subject: Subject) -> bool:
    """Whether the averaged defect is the one that the dynamics' own noise leaves, operator for operator.

    A step that uses several minibatches, one of them kept in memory from the step before for instance, or draws noise for
    every evaluation (`additive`), shares its noise differently among them; there it is enough that the defect carries
    moments of the noise and nothing else.
    """
    order, scheme = subject.order, subject.scheme
    if isinstance(order, NotExpandableError) or order.averaged is None or order.order < 2:
        return False
    evaluations_differ = subject.noise.each_evaluation and scheme.gradients > 1
    if scheme.minibatches + scheme.starts.minibatches > 1 or evaluations_differ:
        return order.averaged.noise_alone
    shared = noise_defect(scheme.dynamics, subject.proof_dimension)
    return shared is not None and order.averaged.power == shared.power and order.averaged.text == shared.text

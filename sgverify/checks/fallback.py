"""What becomes of a question that no exact rung answers, or that is asked of samples: chains are run."""

from __future__ import annotations

from dataclasses import replace

from sgverify.checks.question import Question
from sgverify.errors import ConfigurationError
from sgverify.evidence import Evidence


def sampled(question: Question, why: str = "") -> Evidence:
    """Evidence from samples; where only the exact rung was asked, its reason `why` for having no answer."""
    subject = question.subject
    if subject.method == "exact":
        return question.unsettled(why)
    try:
        average = subject.reference_average
    except ConfigurationError as error:
        return question.unsettled(str(error), method="monte-carlo")
    evidence = question.check.sample(question)
    reference = {"value": float(average), "error_bound": average.error_bound, "method": average.method}
    certificate = {**evidence.certificate, "reference_average": reference, "why_sampled": why or "asked for"}
    return replace(evidence, certificate=certificate)

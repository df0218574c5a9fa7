"""The diagnosis of a failing scheme: its cause, and the edit of its own source that mends it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from sgverify.advice.diagnosis.causes import leading_cause, named_cause
from sgverify.advice.diagnosis.declared import lower_claim
from sgverify.advice.diagnosis.model import Diagnosis
from sgverify.advice.diagnosis.search import search, shown
from sgverify.advice.diagnosis.trial import SURE, failures
from sgverify.advice.diagnosis.wrong_terms.unexpandable import is_kept_for_ever
from sgverify.checks.subject.subject import Subject
from sgverify.evidence import Evidence
from sgverify.exact.rings.time_limit import OutOfTimeError, limited
from sgverify.user_code import own_code

BUDGET = 2.0
"""The processor time of a diagnosis, in seconds."""


@own_code()
def diagnose(subject: Subject, evidence: Sequence[Evidence], *, seconds: float = BUDGET) -> Diagnosis | None:
    """Why does the scheme fail, and which edit of its own source mends it? None where nothing in its definition fails.

    `evidence` is what `judge` found of the subject. Only what failed without samples is diagnosed: an exact law or a proved
    order that is wrong. A memory that is never renewed is diagnosed without evidence, as no check runs such a step. All of it
    ends after `seconds` of processor time, and the diagnosis says so. Raises what the configuration raises (`UserError`), and
    nothing else: an edited text that cannot be read, run or proved is no mend.
    """
    started = time.process_time()
    part = next((part for part in subject.parts if part.composite is None), None)
    if part is None:
        return None
    failed = [
        item
        for item in failures(evidence)
        if item.method in SURE and item.scheme in (part.reference, subject.reference)
    ]
    if not failed and (part.black_box or not is_kept_for_ever(part.scheme)):
        return None
    cause, edit, mended, tried, stopped = leading_cause(part, failed), None, None, 0, False
    with limited(seconds):
        try:
            cause = named_cause(part, failed)
            if not part.black_box:
                found = search(part, failed, cause)
                tried, stopped = found.tried, found.stopped
                if found.mend is not None:
                    edit, mended = shown(found.mend), found.mend.scheme
                elif cause.name == "claimed-order" or not stopped:
                    edit, mended = lower_claim(part, failed) or (None, None)
        except OutOfTimeError:
            stopped = True
    return Diagnosis(cause, edit, time.process_time() - started, tried, stopped, mended)

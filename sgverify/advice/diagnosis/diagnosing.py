"""The diagnosis of a failing scheme: its cause, and the edit of its own source that mends it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from sgverify.advice.diagnosis.causes import named_cause
from sgverify.advice.diagnosis.declared import lower_claim
from sgverify.advice.diagnosis.model import Diagnosis
from sgverify.advice.diagnosis.search import SearchResult, search, shown
from sgverify.advice.diagnosis.trial import SURE, OutOfTimeError, failures
from sgverify.checks.subject.subject import Subject
from sgverify.evidence import Evidence
from sgverify.user_code import own_code

BUDGET = 2.0
"""The processor time of a search, in seconds."""


@own_code()
def diagnose(subject: Subject, evidence: Sequence[Evidence], *, seconds: float = BUDGET) -> Diagnosis | None:
    """Why does the scheme fail, and which edit of its own source mends it? None where nothing in its definition fails.

    `evidence` is what `judge` found of the subject. Only what failed without samples is diagnosed: an exact law or a proved
    order that is wrong. The search for an edit ends after `seconds` of processor time, and the diagnosis says so.
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
    if not failed:
        return None
    found = SearchResult(None, 0, 0, False) if part.black_box else search(part, failed, seconds)
    edit = shown(found.mend) if found.mend is not None else None
    cause = named_cause(part, failed, edit)
    if edit is None and not part.black_box and (cause.name == "claimed-order" or not found.stopped):

        def in_time() -> None:
            if time.process_time() - started > seconds:
                raise OutOfTimeError

        edit = lower_claim(part, failed, in_time)
    return Diagnosis(
        cause,
        edit,
        time.process_time() - started,
        found.alternatives,
        found.tried,
        found.stopped,
    )

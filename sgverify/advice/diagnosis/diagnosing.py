"""The cause of failures of somebody's own code and of composites, from the check that saw it and the numbers that it measured.

The diagnosis of a failing scheme: its cause, and the edit of its own source that mends it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from sgverify.advice.diagnosis.causes import UNEXPLAINED, leading_cause, named_cause, required_order
from sgverify.advice.diagnosis.code_edits.search import mended_code
from sgverify.advice.diagnosis.coefficients import due_coefficient
from sgverify.advice.diagnosis.model import Cause, CauseName, Diagnosis, Edit
from sgverify.advice.diagnosis.own_words import cause_of_loss, cause_of_run, in_own_words, of_edit
from sgverify.advice.diagnosis.search import MendSearch, shown
from sgverify.advice.diagnosis.trial import SURE, failures, lower_claim
from sgverify.advice.diagnosis.wrong_terms.draws import kept_for_ever
from sgverify.evidence import Evidence
from sgverify.exact.rings.polynomials import OutOfTimeError, limited
from sgverify.exact.series.orders import LocalOrder
from sgverify.schemes import Scheme
from sgverify.schemes.torch_step import TorchStep
from sgverify.subject.composite import TorchSubject
from sgverify.subject.subject import Subject
from sgverify.user_code import own_code

CAUSES_SEEN: dict[str, CauseName] = {
    "dtype": "precision",
    "swap-bound": "swap-rule",
    "energy-variance": "swap-rule",
    "best-coefficient": "swap-rule",
    "fixed-point": "weights-wrong",
    "swap-balance": "swap-rule",
    "swap-rate": "swap-rule",
    "pure-step": "state-kept",
    "own-gradient": "gradient-biased",
}
"""The cause of a failure of each check; where several fail, the first in this order."""


def cause_in_running_code(subject: Subject, evidence: Sequence[Evidence]) -> Cause | None:
    """The cause of what fails in the code; None where no check of it fails."""
    failed = {item.check: item for item in reversed(evidence) if item.outcome == "fail"}
    for check, cause in CAUSES_SEEN.items():
        if check in failed:
            # The first clause of the reason: what was compared, with the number found and the number required.
            return Cause(cause, failed[check].reason.partition("; ")[0])
    return None


BUDGET = 2.0
"""The processor time of a diagnosis, in seconds."""

CODE_BUDGET = 12.0
"""The same for torch code, which is run and not read."""


@own_code()
def diagnose(
    subject: Subject, evidence: Sequence[Evidence], *, seconds: float | None = None
) -> Diagnosis | None:
    """Why does the scheme fail, and which edit of its own source mends it? None where nothing fails that can be diagnosed.

    `evidence` is what `judge` found of the subject. A definition is diagnosed where it failed without samples, by an exact law or
    a proved order that is wrong; a memory that is never renewed is diagnosed without evidence, as no check runs such a step. Where
    the definition has its order, what fails of the running code has a cause and no edit. All of it ends after `seconds` of
    processor time, and the diagnosis says so. Raises what the configuration raises (`UserError`), and nothing else: an edited
    text that cannot be read, run or proved is no mend.
    """
    started = time.process_time()
    part = next((part for part in subject.parts if part.composite is None), None)
    if part is None:
        return None
    every = [item for item in failures(evidence) if item.scheme in (part.reference, subject.reference)]
    failed = [item for item in every if part.black_box or item.method in SURE]
    kept = not part.black_box and bool(kept_for_ever(part.scheme))
    cause, stopped = leading_cause(part, failed), False
    search: MendSearch | None = None
    edit: Edit | None = None
    mended: Scheme | TorchStep | None = None
    usual = CODE_BUDGET if part.black_box else BUDGET
    limit = usual if seconds is None else seconds
    with limited(limit):
        try:
            right = part.black_box or _has_its_order(part)
            in_code = cause_in_running_code(part, every) if right else None
            if in_code is None and not failed and not kept:
                return None
            cause = in_code or named_cause(part, failed)
            of_step = [item for item in every if "faults_beside_the_step" not in item.certificate]
            if part.black_box and in_code is not None and of_step:
                # Its terms say more than that two runs differ; where they name nothing, what failed of the code does.
                measured = named_cause(part, failed)
                unexplained = measured.name == "not-named" or measured.sentence.endswith(UNEXPLAINED)
                cause = in_code if unexplained else measured
            if isinstance(part, TorchSubject):
                cause = _in_run_or_loss(part, cause, every)
                found = mended_code(part, every, cause)
                if found is not None:
                    edit, mended = found.shown, found.step if found.shown else None
                    cause = of_edit(found.edit, cause, every, part.scheme)
            elif in_code is None and not part.black_box and not (right and _of_code_alone(every)):
                solved = due_coefficient(part, failed) if right else None
                search = MendSearch(part, failed, cause)
                if solved is not None:
                    cause, search.mend = solved
                else:
                    search.run()
                if search.mend is not None:
                    edit, mended = shown(search.mend), search.mend.scheme
                elif cause.name == "claimed-order" or not search.stopped:
                    edit, mended = lower_claim(part, failed) or (None, None)
        except OutOfTimeError:
            stopped = True
    seconds = time.process_time() - started
    if search is None:
        return Diagnosis(cause, edit, seconds, 0, stopped, mended)
    return Diagnosis(cause, edit, seconds, search.tried, stopped or search.stopped, mended)


def _in_run_or_loss(part: TorchSubject, cause: Cause, failed: Sequence[Evidence]) -> Cause:
    """The cause of torch code in its own names: what its loss, one step or else its run shows."""
    checks = {item.check: item for item in reversed(failed)}
    if "own-loss" in checks:
        cause = cause_of_loss(checks["own-loss"])
    elif "long-run" in checks and cause.name == "not-named":
        cause = cause_of_run(checks["long-run"])
    return in_own_words(cause, part.scheme)


def _of_code_alone(failed: Sequence[Evidence]) -> bool:
    """Whether only checks of code failed: no edit of the definition mends them."""
    return bool(failed) and all(item.check in CAUSES_SEEN for item in failed)


def _has_its_order(part: Subject) -> bool:
    """Whether the definition is proved to have the order that it is held to."""
    order = part.order
    return isinstance(order, LocalOrder) and order.order >= required_order(part)

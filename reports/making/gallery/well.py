"""A scheme's bias on a double well, from transfer operators on grids: order, constant, and the largest step for an error."""

from __future__ import annotations

import math
from typing import Any

from reports.making.gallery.settings import PHI, TOLERANCE, well
from sgverify.advice.size.finding import smallest_crossings
from sgverify.checks.rates.engines import transfer_answers
from sgverify.checks.rates.leading_bias import leading_bias
from sgverify.errors import Unreached, UserError

FARTHEST = 8.0
"""Steps are sought up to this many default steps: grids of much larger steps take minutes."""


def measured(scheme: str) -> dict[str, Any]:
    """One row; `why` alone where no grid reaches the scheme."""
    subject = well(scheme)
    calls = subject.scheme.census.gradients
    row: dict[str, Any] = {"scheme": scheme, "phi": PHI, "gradients_per_step": calls}
    try:
        answers = transfer_answers(subject)
        expansion = leading_bias(subject, answers, [subject.step])
    except (Unreached, UserError) as error:
        return {**row, "why": str(error)}
    truth = float(subject.reference_average.value)
    leading = expansion.leading
    row |= {
        "truth": truth,
        "bias_order": None if leading is None else float(leading.order),
        "bias_constant": None if leading is None else leading.value,
        "error_bound": None if leading is None else leading.error_bound,
        "proved_order": float(expansion.proved_order),
    }
    if leading is None:
        return row
    usual = answers.stationary_bias(subject.step)
    if usual.value is None:
        return {**row, "step": None, "why_no_step": f"h = {subject.step:.3g}: {usual.note}"}
    (level,) = smallest_crossings(
        lambda h: _share(answers.stationary_bias(h).value, truth),
        (TOLERANCE,),
        subject.step,
        FARTHEST * subject.step,
        factor=2.0,
        tolerance=1e-2,
    )
    searched = FARTHEST * subject.step
    found = level.step if level.step is not None and not level.stability else None
    return {
        **row,
        "step": found,
        "searched_to": searched,
        "gradients_per_time": None if found is None else calls / found,
    }


def _share(bias: float | None, truth: float) -> float:
    """|bias| as a share of the true average; infinite where the chain has no law."""
    return math.inf if bias is None else abs(bias) / truth

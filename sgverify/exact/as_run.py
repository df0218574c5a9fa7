"""Exact values at a step size with bounds that hold for the float as well that a program runs with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sgverify.exact.affine.model import StepSize, fixed_step
from sgverify.exact.ball import Certified
from sgverify.schemes import exact


def as_run(evaluate: Callable[[StepSize], Certified], step: float, size: StepSize | None = None) -> Certified:
    """The value at `size`, by default the decimal that `step` prints as, with a bound that holds at the double `step` too.

    The two are up to half an ulp of h apart, which moves the value by more than the error of either. The value at the double is
    computed as well, and the bound reaches to it: |v - v'| + its own. No derivative is bounded, and none has to be.
    """
    found = evaluate(fixed_step(step) if size is None else size)
    if size is None and Fraction(step) == exact(step):
        return found
    run = evaluate(fixed_step(Fraction(step)))
    # The difference of floats so near each other is exact; the sum is rounded, and so taken one up.
    apart = abs(run.value - found.value)
    reach = math.nextafter(apart + run.error_bound, math.inf) if apart else run.error_bound
    return replace(found, error_bound=max(found.error_bound, reach))

"""The fixed step size that a run takes where its configuration gives none.

The proposed one, at which no standard deviation of the draws is off by more than `SMALL`. The default step, half the stability
limit or a share of the time scale, says nothing of widths: minibatches can make the draws at it many times as wide as the target.
It is taken where it keeps the widths as well, or where nothing can be proposed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from sgverify.advice.step_bias import SMALL, StepBias, step_bias_below
from sgverify.subject.subject import Subject


@dataclass(frozen=True)
class StepChoice:
    """The fixed step size of a run, and whose choice it is.

    `line` says in one line what was taken instead of the default, or that nothing could be proposed; None where the step is given,
    or the default keeps the widths.
    """

    step: float
    origin: Literal["given", "proposed", "default"]
    line: str | None = None

    @property
    def text(self) -> str:
        """The step size in few words."""
        whose = {"given": "", "proposed": " (proposed)", "default": " (the default)"}
        return f"step {self.step:g}{whose[self.origin]}"


def choose_step(subject: Subject) -> StepChoice:
    """The step of a run on a fixed schedule; a given step is taken as it is."""
    given = subject.configuration.schedule.step
    if given is not None:
        return StepChoice(given, "given")
    step = subject.step
    bias = step_bias_below(subject, step)
    if bias is None:
        why = "how wide a step makes the draws is not known here before they are drawn"
    elif bias.better is not None:
        return StepChoice(bias.better, "proposed", _proposed(subject, step, bias))
    elif bias.distrust is not None:
        why = f"a Gaussian approximation of the draws' width is not to be trusted here, {bias.distrust}"
    elif abs(math.log1p(bias.share)) > math.log1p(SMALL):
        why = f"no smaller step was found that keeps the spread within {SMALL:.0%}"
    elif bias.step < step:
        return StepChoice(bias.step, "proposed", _proposed(subject, step, bias))
    else:
        return StepChoice(step, "default")
    return StepChoice(step, "default", f"note: step {step:g} is the default, and none is proposed: {why}")


def _proposed(subject: Subject, default: float, bias: StepBias) -> str:
    if bias.step < default or bias.distrust is not None:
        wide = "no Gaussian approximation holds"
    else:
        wide = (
            f"draws are {bias.found / bias.true:.3g} times as wide as exp(-U/T) in theta[{bias.coordinate}]"
        )
    alone = ", without swaps" if subject.composite is not None else ""
    line = (
        f"note: no schedule.step is given: {bias.better or bias.step:g} is taken, which keeps every standard deviation within "
        f"{SMALL:.0%} ({bias.how}{alone}); at the default {default:g} {wide}"
    )
    steps = subject.configuration.steps
    if bias.forgetting is not None and bias.forgetting > steps:
        slow = float(f"{bias.forgetting:.2g}")
        line += f"; the chain forgets its start in about {slow:,.0f} steps, and steps={steps:,} are fewer"
    return line


__all__ = ["StepChoice", "choose_step"]

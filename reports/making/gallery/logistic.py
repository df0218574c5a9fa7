"""What a scheme costs on a logistic posterior, by `sgverify.advise`: a Gaussian approximation at the mode, no chain is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sgverify
from reports.making.gallery.settings import DRAWN, LOGISTIC, LOGISTIC_ERROR


def measured(gradient: Mapping[str, Any], schemes: tuple[str, ...] = DRAWN) -> dict[str, Any]:
    """The plans of these schemes with one gradient estimator, the cheapest first; `distrust` says why they are guesses."""
    advice = sgverify.advise(dict(LOGISTIC), schemes, error=LOGISTIC_ERROR, gradient=dict(gradient))
    plans = [
        {
            "scheme": plan.scheme,
            "friction": plan.friction,
            "gradients_per_step": plan.gradients_per_step,
            "step": plan.step,
            "largest_step": plan.largest_step,
            "bias": plan.bias,
            "steps": plan.chains * (plan.steps - plan.burn_in),
            "gradients": plan.gradients,
            "method": plan.method,
        }
        for plan in advice.plans
    ]
    return {"distrust": advice.distrust, "left_out": list(advice.left_out), "plans": plans}

"""From expansions, from values or from sampled points, to an exponent and a verdict.

Exact: `powers` finds those of h from values at falling steps, `verdict` compares found and predicted rates. Sampled: `sample`
(points with errors), `fit` (least squares, and a regression that describes the points), `decision` (is a forbidden order part of
the error, and how many chains tell?), `length` (rates in L).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.rates.decision import Decision, ErrorTerm, Ratio, decide_order, decide_terms, fieller
    from sgverify.rates.fit import Fit, Regression, fit_terms, regress, regress_exact
    from sgverify.rates.length import decide_length, decide_length_mse
    from sgverify.rates.sample import LevelShare, Sample, chance_of_any
    from sgverify.rates.verdict import (
        Judgement,
        Rate,
        decreasing_bias,
        decreasing_mse,
        horizon_bias,
        horizon_mse,
        judge_length_rate,
        judge_step_rate,
        leading_power,
        length_rate,
    )

__all__ = [
    "Decision",
    "ErrorTerm",
    "Fit",
    "Judgement",
    "LevelShare",
    "Rate",
    "Ratio",
    "Regression",
    "Sample",
    "chance_of_any",
    "decide_length",
    "decide_length_mse",
    "decide_order",
    "decide_terms",
    "decreasing_bias",
    "decreasing_mse",
    "fieller",
    "fit_terms",
    "horizon_bias",
    "horizon_mse",
    "judge_length_rate",
    "judge_step_rate",
    "leading_power",
    "length_rate",
    "regress",
    "regress_exact",
]

__getattr__, __dir__ = lazily(__name__)

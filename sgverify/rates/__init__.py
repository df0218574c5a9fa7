"""From expansions to an exponent and a verdict."""

from sgverify.rates.asymptotics import (
    Rate,
    decreasing_bias,
    decreasing_mse,
    horizon_bias,
    horizon_mse,
    leading_power,
)
from sgverify.rates.verdict import Judgement, judge_length_rate, judge_step_rate

__all__ = [
    "Judgement",
    "Rate",
    "decreasing_bias",
    "decreasing_mse",
    "horizon_bias",
    "horizon_mse",
    "judge_length_rate",
    "judge_step_rate",
    "leading_power",
]

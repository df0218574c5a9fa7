"""Bias and long-run variance of the average of theta^2 over one scheme's chain on the Gaussian posterior, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sgverify.checks.rates.engines import exact_answers
from sgverify.errors import InstabilityError
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import ExactAnswers
from sgverify.exact.chain.mse import long_run_variance
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.subject.subject import Subject

SCALES = 10.0
"""Steps are sought up to this many of the target's time scales where the stability limit is beyond."""

LOST = (InstabilityError, PrecisionLostError)


@dataclass(frozen=True)
class Average:
    """The average of phi over one scheme's chain: its bias and its long-run variance at any step size."""

    subject: Subject

    @cached_property
    def answers(self) -> ExactAnswers:
        """The engine. Raises `Unreached` where no exact law is known."""
        return exact_answers(self.subject)

    @property
    def truth(self) -> float:
        """The average under exp(-U/T)."""
        return float(self.subject.truth)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The steps between which the best one is sought."""
        precision = float(self.subject.target.precision[0][0])
        scale = precision**-0.5 if "p" in self.subject.scheme.dynamics.state else 1 / precision
        top = min(float(self.subject.step_sizes.limit) * (1 - 1e-3), SCALES * scale)
        return 1e-6 * scale, top

    def at(self, step: float) -> tuple[float, float]:
        """b(h) and v(h); infinite where balls cannot tell the chain from an unstable one."""
        size = fixed_step(float(f"{step:.6g}"))
        try:
            bias = self.answers.stationary_bias(size)
            variance = long_run_variance(self.subject.model.problem_at(size))
        except LOST:
            return np.inf, np.inf
        # A bias of 0 is a ball around it.
        small = abs(bias.value) <= max(bias.error_bound, 1e-14 * self.truth)
        return (0.0 if small else float(bias.value)), float(variance.value)

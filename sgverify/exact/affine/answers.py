"""What the exact engines answer about a model, each question sent to the engine that reaches it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint
from flint import arb, fmpq, fmpq_mat

from sgverify.exact import ball
from sgverify.exact.affine.model import Model, StepSize
from sgverify.exact.ball import Certified
from sgverify.exact.chain import Quadratic
from sgverify.exact.ergodic import ergodic_bias, stationary_bias
from sgverify.exact.expansion import AffineSeries, Expansion, asymptotic_variance, expand, expand_transient
from sgverify.exact.mse import mean_square_error

ORDERS = 5
"""Coefficients of the expansion at h = 0 that are computed: b_0, ..., b_4."""

EXPANSION_BITS = 256


@dataclass(frozen=True)
class Coefficients:
    """Expansion coefficients as floats, with the exact text of each and whether the zeros are proved."""

    values: tuple[float, ...]
    texts: tuple[str, ...]
    exact: bool

    @classmethod
    def of(cls, expansion: Expansion) -> Coefficients:
        """Floats for the rates, text for the certificate; a ball that holds 0 counts as zero."""
        values, texts = [], []
        for c in expansion.coefficients:
            zero = c == 0 if isinstance(c, fmpq) else bool(c.contains(0))
            values.append(0.0 if zero else _float(c))
            texts.append("0" if zero else _text(c))
        return cls(tuple(values), tuple(texts), expansion.exact)


@dataclass(frozen=True)
class Answers:
    """Exact answers about one model, with its expansions computed once."""

    model: Model

    @property
    def unreached(self) -> str | None:
        """Why no engine reaches this model; None where one does."""
        if self.model.observable.degree > 2:
            return f"the test function {self.model.observable} has degree {self.model.observable.degree}, above 2"
        return None

    @property
    def has_mean_square_error(self) -> bool:
        """Whether the mean square error is reached too."""
        return self.model.size <= 10 and not self.model.noise.exchangeable

    def stationary_bias(self, step: StepSize) -> Certified:
        """phi_h - phi_bar at this step size."""
        return stationary_bias(self.model.problem_at(step))

    def bias(self, step: StepSize, length: int) -> Certified:
        """E phi_hat - phi_bar for the average over `length` steps."""
        return ergodic_bias(self.model.problem_at(step), length)

    def mean_square_error(self, step: StepSize, length: int) -> Certified:
        """E (phi_hat - phi_bar)^2 for the average over `length` steps."""
        return mean_square_error(self.model.problem_at(step), length)

    @cached_property
    def series(self) -> AffineSeries:
        """M(h), c(h), Q(h) expanded at h = 0."""
        with flint.ctx.workprec(EXPANSION_BITS):
            return self.model.series(ORDERS)

    @cached_property
    def expansion(self) -> Coefficients:
        """b_0, b_1, ...: the stationary bias in powers of h."""
        with flint.ctx.workprec(EXPANSION_BITS):
            return Coefficients.of(expand(self.series, self._observable, _fmpq(self.model.truth)))

    @cached_property
    def transient(self) -> Coefficients:
        """tau_0, tau_1, ...: h times the sum of all transient biases, in powers of h."""
        with flint.ctx.workprec(EXPANSION_BITS):
            mean, spread = self.model.start_law()
            return Coefficients.of(expand_transient(self.series, self._observable, mean, spread))

    @cached_property
    def variance(self) -> float:
        """sigma_0^2: the asymptotic variance of the time average, L h Var(phi_hat) as h -> 0."""
        with flint.ctx.workprec(EXPANSION_BITS):
            return _float(asymptotic_variance(self.series, self._observable))

    @property
    def _observable(self) -> Quadratic:
        c, b, a = self.model.observable.quadratic_form()
        pad = self.model.size - len(b)
        linear = fmpq_mat(self.model.size, 1, [_fmpq(v) for v in [*b, *([Fraction(0)] * pad)]])
        rows: list[Sequence[Any]] = [[_fmpq(v) for v in (*row, *([Fraction(0)] * pad))] for row in a]
        rows += [[fmpq(0)] * self.model.size for _ in range(pad)]
        return Quadratic(_fmpq(c), linear, fmpq_mat(rows))


def _fmpq(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def _float(value: Any) -> float:
    return float(ball.number(value).mid()) if isinstance(value, fmpq) else float(value.mid())


def _text(value: Any) -> str:
    """A fraction in full where it is short, else its decimal value."""
    if isinstance(value, fmpq):
        text = str(value)
        return text if len(text) <= 40 else f"{float(arb(value).mid())!r} (exact fraction of {len(text)} characters)"
    return value.str(15)


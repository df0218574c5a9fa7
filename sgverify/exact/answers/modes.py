"""Exact answers about chains of many coordinates, in the eigenvectors of the precision where these decouple them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import flint
from flint import arb

from sgverify.errors import Unreached
from sgverify.exact.affine.model import StepSize
from sgverify.exact.answers.quadratic import QuadraticAnswers
from sgverify.exact.answers.questions import Coefficients
from sgverify.exact.chain.expansion import EXPANSION_BITS
from sgverify.exact.modes.expansion import ModeExpansion, common_noise
from sgverify.exact.modes.normal_modes import NormalModes, Turned, stationary_average
from sgverify.exact.numbers import ball
from sgverify.exact.numbers.ball import Certified, PrecisionLostError, refine


@dataclass(frozen=True)
class ModeAnswers(QuadraticAnswers):
    """The answers of `QuadraticAnswers`: the stationary bias mode by mode, its expansion by functions of the precision."""

    _turned: dict[int, Turned] = field(default_factory=dict, repr=False, compare=False)

    def stationary_bias(self, step: StepSize, position: int | None = None) -> Certified:
        """See `Answers`."""
        try:
            return refine(lambda bits: self._in_modes(bits, step()))
        except PrecisionLostError:
            # Eigenvalues so near one another that their eigenvectors are not found: the chain as a whole remains.
            return super().stationary_bias(step, position)

    def _in_modes(self, bits: int, step: arb) -> arb:
        if bits not in self._turned:
            self._turned[bits] = Turned.of(self.model)
        return stationary_average(NormalModes(self._turned[bits], step)) - ball.number(self.truth)

    def expansion_at(self, position: int | None) -> Coefficients:
        """See `Answers`."""
        with flint.ctx.workprec(EXPANSION_BITS):
            expansion = self._of_functions
        return super().expansion_at(position) if expansion is None else expansion

    @cached_property
    def _of_functions(self) -> Coefficients | None:
        """The expansion in fractions; None for a memory, an irrational step, or noise that is not the same in all directions."""
        if self.model.scheme.memory or common_noise(self.model) is None:
            return None
        try:
            return Coefficients.of(ModeExpansion(self.model).bias)
        except Unreached:
            return None

    @property
    def arithmetic(self) -> str | None:
        """See `Answers`."""
        where = (
            "values at a step size: balls of at least 192 bits in the eigenvectors of the precision, with a proved bound of "
            "what these leave coupled"
        )
        return (
            where
            if self._of_functions is None
            else f"{where}; coefficients: rational functions of the precision, in fractions"
        )

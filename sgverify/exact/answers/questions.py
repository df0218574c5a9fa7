"""What an exact engine is asked about a chain, a test function and its true average; and how it says that it does not know.

Expansion coefficients as a verdict and a certificate need them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NoReturn

from flint import arb, arb_mat, fmpq

from sgverify.errors import ConfigurationError, Unreached
from sgverify.exact.affine.model import StepSize
from sgverify.exact.chain.block_recursion import Array
from sgverify.exact.chain.ergodic import Moments
from sgverify.exact.chain.expansion import ORDERS, Expansion, powers_at_zero
from sgverify.exact.numbers import ball
from sgverify.exact.numbers.ball import Certified


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
            values.append(0.0 if zero else to_float(c))
            texts.append("0" if zero else _text(c))
        return cls(tuple(values), tuple(texts), expansion.exact)

    @classmethod
    def at_zero(cls, value: Callable[[arb], arb]) -> Coefficients:
        """The coefficients of a function of h by its enclosed values at tiny step sizes."""
        return cls.of(Expansion(tuple(powers_at_zero(lambda h: [value(h)], ORDERS)[0])))


def to_float(value: Any) -> float:
    """The nearest float of a fraction, the midpoint of a ball; a ball that holds 0 counts as 0."""
    if isinstance(value, fmpq):
        return float(ball.number(value).mid())
    return 0.0 if value.contains(0) else float(value.mid())


def _text(value: Any) -> str:
    """A fraction in full where it is short, else its decimal value."""
    if isinstance(value, fmpq):
        text = str(value)
        return (
            text
            if len(text) <= 40
            else f"{float(arb(value).mid())!r} (exact fraction of {len(text)} characters)"
        )
    return value.str(15)


Question = Literal["truth", "bias", "mean square error", "weighted average", "moments", "transient"]
"""The questions that some engines do not answer; all answer stationary bias and expansion."""


class ExactAnswers(ABC):
    """The answers of one engine, every number enclosed in a ball. phi_h is the average of phi in the invariant law at the step h.

    Where the law depends on the place in a period of `steps` steps, a
    `position` is a number of steps into it, 1 to `steps`; None is the average over the period, the limit of ergodic averages.
    """

    @property
    def steps(self) -> int | None:
        """Steps in a period; None where all steps have one law."""
        return None

    @property
    def truth(self) -> Fraction | float:
        """phi_bar, the average of phi under the posterior."""
        self._refuse("truth")

    def why_not(self, question: Question) -> str | None:
        """The reason why `question` is not answered, for the middle of a sentence; None where it is answered."""
        return None

    def longest_schedule(self) -> int:
        """The number of different steps up to which weighted averages are computed in some seconds."""
        return 10**6

    @abstractmethod
    def stationary_bias(self, step: StepSize, position: int | None = None) -> Certified:
        """phi_h - phi_bar. Raises `InstabilityError` where the chain has no invariant law."""

    def bias(self, step: StepSize, length: int) -> Certified:
        """E phi_hat - phi_bar for the average over `length` steps."""
        self._refuse("bias")

    def mean_square_error(self, step: StepSize, length: int) -> Certified:
        """E (phi_hat - phi_bar)^2 for the average over `length` steps."""
        self._refuse("mean square error")

    def weighted_bias(self, steps: Array, weights: Array | None = None) -> Certified:
        """E phi_tilde - phi_bar for sum w_l phi(X_l) / sum w_l at the step sizes h_l, w_l = h_l where it is left open."""
        self._refuse("weighted average")

    def weighted_mean_square_error(self, steps: Array, weights: Array | None = None) -> Certified:
        """E (phi_tilde - phi_bar)^2 for the same average."""
        self._refuse("weighted average")

    def moments(self, step: StepSize, position: int | None = None) -> Moments:
        """Mean and covariance of the invariant law, as balls at the working precision."""
        self._refuse("moments")

    def moment_series(self, position: int | None = None) -> list[Moments]:
        """Coefficients of h^0, h^1, ... of mean and covariance; fractions where they are rational."""
        self._refuse("moments")

    @property
    @abstractmethod
    def expansion(self) -> Coefficients:
        """b_0, b_1, ...: the stationary bias in powers of h, the steps of a period held fixed."""

    def expansion_at(self, position: int | None) -> Coefficients:
        """The expansion at a position of the period."""
        return self.expansion

    @property
    def transient(self) -> Coefficients:
        """tau_0, tau_1, ...: h times the sum of all transient biases, over whole periods, in powers of h."""
        self._refuse("transient")

    @property
    def variance(self) -> float | None:
        """sigma_0^2, the limit of L h Var(phi_hat) as h -> 0; None where it is not computed."""
        return None

    def _moments_at_zero(self, size: int, position: int | None) -> list[Moments]:
        """Mean and covariance of the first coordinates in powers of h, by their values at tiny step sizes."""

        def entries(h: arb) -> list[arb]:
            law = self.moments(lambda: h, position).of(range(size))
            return [*law.mean.entries(), *law.covariance.entries()]

        by_power = zip(*powers_at_zero(entries, ORDERS), strict=True)
        return [Moments(arb_mat(size, 1, c[:size]), arb_mat(size, size, c[size:])) for c in by_power]

    def _refuse(self, question: Question) -> NoReturn:
        raise Unreached(f"{question}: {self.why_not(question) or 'not computed'}")


def checked_position(position: int | None, steps: int | None) -> int | None:
    """The position; raises `ConfigurationError` where a period of `steps` steps has none of this number."""
    last = steps or 1
    whole = isinstance(position, int) and not isinstance(position, bool)
    if position is not None and not (whole and 1 <= position <= last):
        raise ConfigurationError(
            f"position={position!r}: a position in this epoch is an integer from 1 to {last}"
        )
    return position

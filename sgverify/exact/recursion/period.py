"""One period of a kind of randomness as operators on moments: after k steps, and summed over the steps 1 to k.

Operators act on the monomials of the state, the constant first. They know +, a product and a product with a fraction:
matrices of balls, or series of matrices (`MatrixSeries`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from flint import arb, arb_mat

from sgverify.exact.affine.matrices import alike
from sgverify.exact.ball import identity
from sgverify.exact.expansion import steady_means
from sgverify.exact.lyapunov import Contraction
from sgverify.exact.matrix_series import MatrixSeries


class Period(Protocol):
    """The mean operators of one period of `steps` steps."""

    @property
    def steps(self) -> int:
        """How many steps make a period."""

    def after(self, position: int) -> Any:
        """The operator after that many steps, 1 to `steps`."""

    def total(self, position: int) -> Any:
        """The sum of the operators after 1, ..., `position` steps."""


@dataclass(frozen=True)
class ListedPeriod:
    """The operators after 1, ..., s steps, one by one."""

    operators: Sequence[Any]

    @property
    def steps(self) -> int:
        """See `Period`."""
        return len(self.operators)

    def after(self, position: int) -> Any:
        """See `Period`."""
        return self.operators[position - 1]

    def total(self, position: int) -> Any:
        """See `Period`."""
        return sum(self.operators[1:position], self.operators[0])


@dataclass(frozen=True)
class RepeatedPeriod:
    """`leave` T^k `enter`: what is done once at the start of a period, the same step k times, and what is looked at.

    Nothing where they are None. The cost grows with the logarithm of the number of steps.
    """

    step: Any
    steps: int = 1
    enter: Any = None
    leave: Any = None
    _known: dict[int, tuple[Any, Any]] = field(default_factory=dict, repr=False)

    def after(self, position: int) -> Any:
        """See `Period`."""
        return self._seen(self._powers(position)[0])

    def total(self, position: int) -> Any:
        """See `Period`."""
        return self._seen(self._powers(position)[1])

    def _seen(self, operator: Any) -> Any:
        return operator if self.enter is None else self.leave * operator * self.enter

    def _powers(self, count: int) -> tuple[Any, Any]:
        """T^count and T + ... + T^count, by doubling."""
        if count not in self._known:
            power, total = self.step, self.step
            for bit in bin(count)[3:]:
                power, total = power * power, total + power * total
                if bit == "1":
                    power, total = power * self.step, total + power * self.step
            self._known[count] = power, total
        return self._known[count]


@dataclass(frozen=True)
class Powers:
    """The powers of an operator, applied to columns: its squares are kept for the next length."""

    operator: arb_mat

    @cached_property
    def _squares(self) -> list[arb_mat]:
        return [self.operator]

    def applied(self, count: int, column: arb_mat) -> arb_mat:
        """The operator, `count` times."""
        while len(self._squares) < count.bit_length():
            self._squares.append(self._squares[-1] * self._squares[-1])
        for place in range(count.bit_length()):
            if count >> place & 1:
                column = self._squares[place] * column
        return column


def stationary_moments(operator: arb_mat) -> arb_mat:
    """The moments that an operator leaves as they are, a column with 1 first.

    Raises `InstabilityError` where it does not contract those of degree 1 and up.
    """
    map_ = inner_block(operator)
    Contraction.of(map_)
    found = (identity(map_.nrows()) - map_).solve(shift_of(operator))
    return arb_mat([[arb(1)], *found.tolist()])


def stationary_series(operator: MatrixSeries) -> list[Any]:
    """The same in powers of h, for an operator that is the identity at h = 0."""
    terms = alike(list(operator.terms[1:]))
    means = steady_means([inner_block(term) for term in terms], [shift_of(term) for term in terms])
    return [type(mean)([[int(k == 0)], *mean.tolist()]) for k, mean in enumerate(means)]


def inner_block(operator: Any) -> Any:
    """What an operator does to the moments of degree 1 and up."""
    return type(operator)([row[1:] for row in operator.tolist()[1:]])


def shift_of(operator: Any) -> Any:
    """What an operator adds to them."""
    return type(operator)([row[:1] for row in operator.tolist()[1:]])


def summed(operators: Sequence[Any]) -> Any:
    """The sum of operators of one kind, of which there is at least one."""
    return sum(operators[1:], operators[0])

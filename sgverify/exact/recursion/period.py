"""One period of a kind of randomness as operators on moments: after k steps, and summed over the steps 1 to k.

Operators act on the monomials of the state, the constant first. They know +, a product and a product with a fraction:
matrices of balls.

The sum of a test function along a chain, as one more coordinate: S_l = sum_{i=1..l} f(X_i), S' = S + f(x').

For a polynomial f of degree k the moments E S^j x^a with j <= r and |a| <= (r - j) k move among themselves,

    E[S'^j x'^a | x, S] = sum_i binom(j, i) S^i E[f(x')^(j-i) x'^a | x],

by the operator of the state alone: no more is asked of a kind of randomness. At r = 1 and f = phi - phi_bar, E S_L / L is the
bias of the average over L steps; at r = 2, E S_L^2 / L^2 is its mean square error, at any L a power of one matrix.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from flint import arb, arb_mat

from sgverify.errors import InstabilityError, MomentsDivergeError
from sgverify.exact.chain.lyapunov import require_contraction
from sgverify.exact.numbers.ball import identity
from sgverify.exact.numbers.matrix_series import MultiIndex, multi_indices, product


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
    """The operator `leave` T^k `enter`: `enter` acts once at the start of a period, T at each of k steps, `leave` at the end.

    None stands for the identity. The cost grows with the logarithm of the number of steps.
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
    """The powers of an operator, applied to columns; its repeated squares are cached."""

    operator: arb_mat

    @cached_property
    def _squares(self) -> list[arb_mat]:
        return [self.operator]

    def applied(self, count: int, column: arb_mat) -> arb_mat:
        """The operator applied `count` times to a column."""
        while len(self._squares) < count.bit_length():
            self._squares.append(self._squares[-1] * self._squares[-1])
        for place in range(count.bit_length()):
            if count >> place & 1:
                column = self._squares[place] * column
        return column


def stationary_moments(operator: arb_mat) -> arb_mat:
    """The moments that an operator leaves invariant, as a column with 1 first.

    Raises `InstabilityError` where it does not contract the moments of degree 1 and up.
    """
    map_ = inner_block(operator)
    require_contraction(map_)
    found = (identity(map_.nrows()) - map_).solve(shift_of(operator))
    return arb_mat([[arb(1)], *found.tolist()])


def inner_block(operator: Any) -> Any:
    """The block of an operator that acts on the moments of degree 1 and up."""
    return type(operator)([row[1:] for row in operator.tolist()[1:]])


def shift_of(operator: Any) -> Any:
    """The constants that an operator adds to the moments of degree 1 and up."""
    return type(operator)([row[:1] for row in operator.tolist()[1:]])


def summed(operators: Sequence[Any]) -> Any:
    """The sum of operators of one kind, of which there is at least one."""
    return sum(operators[1:], operators[0])


@dataclass(frozen=True)
class RunningSum:
    """The moments of S = sum f(X_l) to `order`, with the moments of the state that they need, to degree max(1, r) k.

    `size` and `degree` are those of f, `summand` its coefficients by the powers of x. Order 0: the state alone.
    """

    size: int
    degree: int
    summand: Mapping[MultiIndex, arb] = field(default_factory=dict)
    order: int = 0

    @property
    def highest(self) -> int:
        """The degree of the moments of the state."""
        return max(1, self.order) * self.degree

    def joined(self, step: arb_mat, size: int) -> arb_mat:
        """The operator of one step on these joint moments, from the one on moments of a state of `size` coordinates.

        The coordinates of a memory, on which f does not depend, come last.
        """
        if not self.order:
            return step
        pad = (0,) * (size - self.size)
        summand = {(*powers, *pad): c for powers, c in self.summand.items()}
        powers: list[Mapping[MultiIndex, Any]] = [{(0,) * size: arb(1)}]
        for _ in range(self.order):
            powers.append(product(powers[-1], summand))
        columns = [multi_indices(size, 0, self._degree_beside(i)) for i in range(self.order + 1)]
        rows: list[list[Any]] = []
        for j, monomials in enumerate(columns):
            blocks = []
            for i in range(j + 1):
                place = {key: k for k, key in enumerate(columns[i])}
                picked = [[arb(0)] * len(place) for _ in monomials]
                for row, key in zip(picked, monomials, strict=True):
                    for other, c in product(powers[j - i], {key: arb(math.comb(j, i))}).items():
                        row[place[other]] += c
                blocks.append((arb_mat(picked) * leading(step, len(place), len(place))).tolist())
            rest = [arb(0)] * sum(map(len, columns[j + 1 :]))
            rows += [[x for part in parts for x in part] + rest for parts in zip(*blocks, strict=True)]
        return arb_mat(rows)

    def for_memory_change(self, ends: arb_mat, after: int, before: int) -> arb_mat:
        """The operator that adds or drops a memory: `ends` takes the moments of `before` coordinates to those of `after`."""
        blocks = [
            leading(ends, _count(after, degree), _count(before, degree)).tolist()
            for degree in map(self._degree_beside, range(self.order + 1))
        ]
        width, done, rows = sum(len(block[0]) for block in blocks), 0, []
        for block in blocks:
            wide = len(block[0])
            rows += [[arb(0)] * done + row + [arb(0)] * (width - done - wide) for row in block]
            done += wide
        return arb_mat(rows)

    def moment(self, powers: Powers, period: Period, start: arb_mat, length: int) -> arb:
        """E (S_L / L)^order; `start` holds the moments of X_0, `powers` are those of one whole period."""
        periods, rest = divmod(length, period.steps)
        others = powers.operator.nrows() - start.nrows()
        column = powers.applied(periods, arb_mat([*start.tolist(), *([[arb(0)]] * others)]))
        if rest:
            column = period.after(rest) * column
        return column[column.nrows() - 1, 0] / length**self.order

    def require_contraction(self, whole: arb_mat) -> None:
        """Raise `InstabilityError` where a period expands the mean of the state.

        `MomentsDivergeError` where it contracts the mean, and expands the moments of the highest degree that are needed.
        """
        require_contraction(self._block(whole, 1))
        try:
            require_contraction(self._block(whole, self.highest))
        except InstabilityError as error:
            if self.order < 2:
                raise
            raise MomentsDivergeError(
                f"moments of degree {self.highest}: one step does not contract them on this target with these "
                f"minibatches, so that no mean square error settles ({error})"
            ) from error

    def _block(self, whole: arb_mat, degree: int) -> arb_mat:
        """The block of a period's operator on the monomials of exactly this degree."""
        first, last = _count(self.size, degree - 1), _count(self.size, degree)
        return arb_mat([row[first:last] for row in whole.tolist()[first:last]])

    def _degree_beside(self, power: int) -> int:
        """The degree of the moments of x that multiply S^power."""
        return self.highest - power * self.degree


def leading(matrix: arb_mat, rows: int, columns: int) -> arb_mat:
    """The upper left corner."""
    return arb_mat([row[:columns] for row in matrix.tolist()[:rows]])


def _count(size: int, degree: int) -> int:
    """Monomials of degree 0 to `degree`."""
    return math.comb(size + degree, degree)

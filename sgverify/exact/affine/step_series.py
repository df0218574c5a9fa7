"""One step of a model as a power series in h: the input of the expansions at h = 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import fmpq_mat

from sgverify.errors import NotExpandableError
from sgverify.exact.affine.carrier import AffineStep, Base, read_affine
from sgverify.exact.affine.field import coefficient, constant, number_ring, step_size
from sgverify.exact.affine.matrices import (
    added,
    alike,
    longest,
    minus_identity,
    nonzero,
    powers_of,
    product,
    rational_or_balls,
    scaled,
    stacked,
)
from sgverify.exact.affine.model import Model
from sgverify.exact.chain.expansion import AffineSeries
from sgverify.exact.numbers.matrix_series import (
    ones_column,
    rational_column,
    rational_matrix,
    unit_matrix,
)
from sgverify.exact.rings.power_series import TruncatedSeries
from sgverify.exact.rings.ring import Ring
from sgverify.schemes import exact


@dataclass(frozen=True)
class StepSeries:
    """M(h), c(h), Q(h) and the gradients' blocks B_g(h) to `orders` powers of h, in fractions where they are.

    A block is a polynomial in the precision P whose coefficients are series in s = sqrt(h) over
    Q(sqrt 2, sqrt 3, ...). Raises `NotExpandableError` where the step does not tend to the identity or has odd
    powers of s.
    """

    model: Model
    orders: int

    @cached_property
    def affine(self) -> AffineSeries:
        """M, c and Q; Q is the covariance of drawn noise and of gradient noise independent from step to step."""
        target = self.model.target
        mean, ones = rational_column(target.mean), ones_column(target.dim)
        states: list[Base] = [("state", name) for name in self._names]
        maps, shifts, covariances = [], [], []
        for power in range(2 * self.orders + 1):
            m = self.blocks(states, power)
            c = product(self.blocks([("mean", 0)], power), mean)
            c = added(c, product(self.blocks([("ones", 0)], power), ones))
            q = self.covariance(power)
            if power % 2:
                self._refuse(power, m, c, q)
            elif power:
                maps.append(m)
                shifts.append(c)
                covariances.append(q)
            elif nonzero(minus_identity(m)) or nonzero(c) or nonzero(q):
                raise NotExpandableError(
                    f"`{self.model.scheme.name}` does not tend to the identity as h -> 0"
                )
        return AffineSeries(map=alike(maps), shift=alike(shifts), covariance=alike(covariances))

    @cached_property
    def gradients(self) -> list[list[Any]]:
        """For each gradient noise in order of use, the coefficients of h^1, h^2, ... of B_g (n x d)."""
        found = []
        for k in range(self._step.gradients):
            powers = [self.blocks([("gradient", k)], power) for power in range(2 * self.orders + 1)]
            self._refuse(0, powers[0])
            for power, block in enumerate(powers):
                if power % 2:
                    self._refuse(power, block)
            found.append(alike(powers[2::2]))
        return found

    @cached_property
    def _ring(self) -> Ring:
        return number_ring(2 * self.orders + 4)

    @cached_property
    def _step(self) -> AffineStep:
        parameters = self.model.parameters
        given: dict[str, Any] = {
            name: constant(self._ring, parameters[name]) for name in self.model.scheme.parameters
        }
        given["h"] = step_size(self._ring)
        return read_affine(self.model.scheme, given, each_evaluation=self.model.noise.each_evaluation)

    @cached_property
    def _powers(self) -> list[fmpq_mat]:
        target = self.model.target
        return powers_of(rational_matrix(target.precision), unit_matrix(target.dim), self.highest + 1)

    @property
    def highest(self) -> int:
        """The largest power of P that the step, or the covariance of its noise, asks for."""
        return 2 * longest(self._step) - 2

    @property
    def _names(self) -> list[str]:
        return list(self.model.scheme.state)

    def blocks(self, columns: list[Base], power: int, powers: Sequence[Any] | None = None) -> Any:
        """The coefficient of s^power of the blocks of these bases, side by side; `powers` stand for I, P, P^2, ..."""
        return rational_or_balls(
            stacked(
                self._step,
                self._names,
                columns,
                self._powers if powers is None else powers,
                lambda c: coefficient(self._ring, c, power),
                list,
            )
        )

    def covariance(self, power: int, powers: Sequence[Any] | None = None) -> Any:
        """The coefficient of s^power of the noise's covariance; `powers` as in `blocks`."""
        own = self.model.noise.covariance if self.model.noise.noisy else None
        powers = self._powers if powers is None else powers
        dim, names, rows = powers[0].nrows(), self._names, self._step.rows
        size = dim * len(names)
        sources: list[tuple[Base, Any]] = [(("noise", k), None) for k in range(self._step.draws)]
        if own is not None:
            sources += [(("gradient", k), own) for k in range(self._step.gradients)]
        entries: list[list[Any]] = [[0] * size for _ in range(size)]
        for r, left in enumerate(names):
            for c, right in enumerate(names):
                found = None
                for base, middle in sources:
                    for i, a in enumerate(rows[left].get(base, ())):
                        for k, b in enumerate(rows[right].get(base, ())):
                            factor = coefficient(self._ring, self._product(a, b), power)
                            if factor != 0:
                                between = powers[i + k] if middle is None else powers[i] * middle * powers[k]
                                found = added(found, scaled(between, factor))
                if found is not None:
                    for i in range(dim):
                        for k in range(dim):
                            entries[r * dim + i][c * dim + k] = found[i, k]
        return rational_or_balls(entries)

    @staticmethod
    def _product(left: Any, right: Any) -> Any:
        if isinstance(left, TruncatedSeries) or isinstance(right, TruncatedSeries):
            return left * right
        return exact(left) * exact(right)

    def _refuse(self, power: int, *matrices: Any) -> None:
        if any(nonzero(matrix) for matrix in matrices):
            raise NotExpandableError(f"`{self.model.scheme.name}` has the power s^{power} of s = sqrt(h)")

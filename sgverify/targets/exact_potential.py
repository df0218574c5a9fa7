"""A potential that is a polynomial in theta: its exact coefficients, and each datum's share in them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq

from sgverify.targets.form import Form, Monomial, Quadratic, as_fmpq, as_fraction, quadratic_of, read_form
from sgverify.targets.potential import PairPotential, Potential, Vector
from sgverify.targets.power_sums import PolynomialVectors, PowerSums

_ZERO = fmpq(0)


@dataclass(frozen=True, eq=False)
class ExactPotential:
    """The exact coefficients of U(theta) = prior(theta) + sum_i likelihood(theta, x_i).

    Each property raises `DefinitionError` where the potential is no polynomial of the degree that the property needs.
    """

    dim: int
    prior: Potential
    likelihood: PairPotential | None
    data: np.ndarray | None

    @cached_property
    def quadratic(self) -> Quadratic:
        """U as an exact quadratic function; the data enter through their number and the sums of their products."""
        form = dict(read_form(self.prior, self.dim))
        if self.data is not None:
            self._sums.prepare(
                z for of_theta, of_data in self._likelihood.items() if any(of_theta) for z in of_data
            )
            for of_theta, of_data in self._likelihood.items():
                # What does not depend on theta changes no average.
                if any(of_theta):
                    total = sum((c * as_fmpq(self.power_sum(z)) for z, c in of_data.items()), _ZERO)
                    form[of_theta] = form.get(of_theta, _ZERO) + total
        return quadratic_of(form, self.dim)

    @property
    def common_curvature(self) -> bool:
        """Whether the second derivatives of the likelihood are the same for all data."""
        return all(set(of_data) == {(0,) * self._width} for _, of_data in self._of_degree(2))

    @cached_property
    def independent(self) -> bool:
        """Whether U has no likelihood, and its prior no products of different coordinates."""
        form = read_form(self.prior, self.dim)
        return all(sum(1 for power in monomial if power) <= 1 for monomial in form)

    @property
    def lines(self) -> tuple[tuple[Fraction, ...], ...]:
        """For each coordinate the coefficients of its powers 0, 1, ..., of a potential that is `independent`."""
        form = read_form(self.prior, self.dim)
        found = []
        for place in range(self.dim):
            own = {monomial[place]: c for monomial, c in form.items() if monomial[place]}
            found.append(tuple(as_fraction(own.get(k, _ZERO)) for k in range(max(own, default=0) + 1)))
        return tuple(found)

    def power_sum(self, exponents: Monomial) -> Fraction:
        """sum_i prod_j x_ij^a_j, exactly, for the exponents a: all that a polynomial potential asks of the data."""
        return self._sums[exponents]

    @cached_property
    def data_vectors(self) -> PolynomialVectors:
        """(H_i, g_i) with N grad likelihood(theta, x_i) = H_i theta + g_i, for a quadratic potential, as polynomials in x_i.

        The upper triangle of H_i row by row, then g_i. Shape (N, d (d + 3) / 2).
        """
        size, d = fmpq(len(self._sums.data)), self.dim
        linear = {place: form for (place,), form in self._of_degree(1)}
        curved = {(j, k): form for (j, k), form in self._of_degree(2)}
        forms = [
            {z: c * size * (2 if j == k else 1) for z, c in curved.get((j, k), {}).items()}
            for j in range(d)
            for k in range(j, d)
        ]
        forms += [{z: c * size for z, c in linear.get(place, {}).items()} for place in range(d)]
        return PolynomialVectors(self._sums, forms)

    @cached_property
    def data_gradients(self) -> list[tuple[Fraction, ...]]:
        """N grad likelihood(theta, x_i) less its average, for data that share their second derivatives. Shape (N, d)."""
        vectors = self.data_vectors.last(self.dim)
        units = [tuple(int(k == j) for k in range(self.dim)) for j in range(self.dim)]
        totals = vectors.power_sums(units)
        means = [as_fraction(totals[unit]) / len(vectors) for unit in units]
        return [
            tuple(entry - mean for entry, mean in zip(vector, means, strict=True))
            for vector in map(vectors.__getitem__, range(len(vectors)))
        ]

    @cached_property
    def _likelihood(self) -> dict[Monomial, Form]:
        """The likelihood of one datum: for each monomial in theta its coefficient, a polynomial in the datum."""
        likelihood, d = self.likelihood, self.dim
        assert likelihood is not None

        def of_pair(pair: Vector) -> Any:
            return likelihood(pair[:d], pair[d:])

        found: dict[Monomial, Form] = {}
        for monomial, coefficient in read_form(of_pair, d + self._width).items():
            found.setdefault(monomial[:d], {})[monomial[d:]] = coefficient
        return found

    @property
    def _width(self) -> int:
        assert self.data is not None
        return int(self.data.shape[1])

    @cached_property
    def _sums(self) -> PowerSums:
        assert self.data is not None
        return PowerSums(self.data)

    def _of_degree(self, degree: int) -> list[tuple[list[int], Form]]:
        """The terms of one degree in theta of the likelihood: the coordinates of their factors, and their coefficients."""
        return [
            ([place for place, power in enumerate(monomial) for _ in range(power)], form)
            for monomial, form in self._likelihood.items()
            if sum(monomial) == degree
        ]

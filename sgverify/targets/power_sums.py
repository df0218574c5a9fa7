"""Exact sums of products of data, sum_i prod_j x_ij^a_j, in memory that does not grow with the number of data.

Every float64 is a whole number times a power of two, so data over their common scale are whole numbers, of any length, and no
rounding occurs anywhere. Pieces of the data are taken one after another. A vector whose entries are polynomials in a datum has
joint power sums that are combinations of those of the data, whatever its coefficients are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import Ordering, fmpq, fmpq_mpoly_ctx

from sgverify.targets.form import Form, Monomial, as_fmpq, form_of

PIECE = 2**12
"""Data that are taken together."""


@dataclass(frozen=True, eq=False)
class PowerSums:
    """The exact power sums of data of shape (N, w); what was asked for is kept."""

    data: np.ndarray
    _known: dict[Monomial, Fraction] = field(default_factory=dict, repr=False)

    def __getitem__(self, monomial: Monomial) -> Fraction:
        """sum_i prod_j x_ij^a_j for the exponents a."""
        if monomial not in self._known:
            self.prepare([monomial])
        return self._known[monomial]

    def prepare(self, monomials: Iterable[Monomial]) -> None:
        """Compute the sums of these monomials in one pass over the data."""
        wanted = [m for m in dict.fromkeys(monomials) if m not in self._known]
        totals = dict.fromkeys(wanted, 0)
        for start in range(0, len(self.data) if wanted else 0, PIECE):
            piece = self.data[start : start + PIECE]
            products = _Products(piece, self._lowest)
            for monomial in wanted:
                totals[monomial] += products.sum_of(monomial) if any(monomial) else len(piece)
        for monomial in wanted:
            self._known[monomial] = totals[monomial] * Fraction(2) ** (self._lowest * sum(monomial))

    @cached_property
    def _lowest(self) -> int:
        """An exponent of two of which all data are multiples."""
        pieces = (self.data[start : start + PIECE] for start in range(0, len(self.data), PIECE))
        return min((int(_whole(piece)[1].min(initial=0)) for piece in pieces), default=0)


class _Products:
    """Products of the columns of some data, each datum over 2^lowest a whole number."""

    def __init__(self, data: np.ndarray, lowest: int) -> None:
        whole, exponent = _whole(data)
        self._columns = (whole.astype(object) << (exponent - lowest).astype(object)).T
        self._found: dict[Monomial, np.ndarray] = {}

    def sum_of(self, monomial: Monomial) -> int:
        """The sum of the products of these powers over all data."""
        if sum(monomial) == 1:
            return int(self._of(monomial).sum())
        left, right = _halves(monomial)
        return int(self._of(left) @ self._of(right))

    def _of(self, monomial: Monomial) -> np.ndarray:
        if monomial not in self._found:
            left, right = _halves(monomial)
            self._found[monomial] = (
                self._columns[monomial.index(1)] if not any(right) else self._of(left) * self._of(right)
            )
        return self._found[monomial]


@dataclass(frozen=True, eq=False)
class PolynomialVectors:
    """Vectors v_i whose entries are polynomials in the datum x_i, one for each datum. Shape (N, q).

    `forms` are the q polynomials, `sums` the power sums of the data.
    """

    sums: PowerSums
    forms: Sequence[Form]

    def __len__(self) -> int:
        return len(self.sums.data)

    def __getitem__(self, place: int) -> tuple[Fraction, ...]:
        """One vector, exactly."""
        x = [Fraction(float(entry)) for entry in self.sums.data[place]]
        return tuple(_value(form, x) for form in self.forms)

    @property
    def width(self) -> int:
        """q."""
        return len(self.forms)

    def last(self, count: int) -> PolynomialVectors:
        """The vectors of the last entries alone."""
        return PolynomialVectors(self.sums, self.forms[-count:])

    def power_sums(self, indices: Iterable[Monomial]) -> dict[Monomial, fmpq]:
        """sum_i prod_k v_ik^a_k for every multi-index a of length q."""
        context = fmpq_mpoly_ctx.get([f"x{j}" for j in range(self.sums.data.shape[1])], Ordering.lex)
        entries = [context.from_dict(form) for form in self.forms]
        powers: dict[Monomial, Form] = {}
        for index in indices:
            factors = [entry**power for entry, power in zip(entries, index, strict=True) if power]
            powers[index] = form_of(math.prod(factors, start=context.constant(1)))
        self.sums.prepare(monomial for form in powers.values() for monomial in form)
        return {
            index: sum((c * as_fmpq(self.sums[monomial]) for monomial, c in form.items()), fmpq(0))
            for index, form in powers.items()
        }

    def combined(self, rows: Sequence[Sequence[Fraction]], offset: Sequence[Fraction]) -> PolynomialVectors:
        """The vectors R v_i + c."""
        one = (0,) * self.sums.data.shape[1]
        found = []
        for row, constant in zip(rows, offset, strict=True):
            total: Form = {one: as_fmpq(constant)} if constant else {}
            for factor, form in zip(row, self.forms, strict=True):
                if factor:
                    for monomial, c in form.items():
                        total[monomial] = total.get(monomial, fmpq(0)) + as_fmpq(factor) * c
            found.append(total)
        return PolynomialVectors(self.sums, found)


def _halves(monomial: Monomial) -> tuple[Monomial, Monomial]:
    """Two monomials of about half the degree whose product it is."""
    left, rest = [0] * len(monomial), (sum(monomial) + 1) // 2
    for j, power in enumerate(monomial):
        left[j] = min(power, rest)
        rest -= left[j]
    return tuple(left), tuple(power - taken for power, taken in zip(monomial, left, strict=True))


def _value(form: Form, x: Sequence[Fraction]) -> Fraction:
    terms = (
        Fraction(int(c.p), int(c.q)) * math.prod(v**power for v, power in zip(x, monomial, strict=True))
        for monomial, c in form.items()
    )
    return sum(terms, Fraction(0))


def _whole(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """k and e with x = k 2^e, k whole numbers of at most 53 bits and a sign."""
    mantissa, exponent = np.frexp(values)
    return (mantissa * 2.0**53).astype(np.int64), exponent.astype(np.int64) - 53

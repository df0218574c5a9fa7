"""Exact sums of products of data, sum_i prod_j x_ij^a_j, in memory that does not grow with the number of data.

Every float64 is a whole number times a power of two, so data over their common scale are whole numbers. They are kept as
limbs of 24 bits, value = sum_l limb_l 2^(24 l), one int64 array for each l, of which only the last is signed: a product of
limbs fills 48 bits, so that sums of thousands of them stay in int64 (a float64 has at most 88 limbs), and no rounding occurs
anywhere. Pieces of the data are taken one after another. A vector whose entries are polynomials in a datum has joint power
sums that are combinations of those of the data, whatever its coefficients are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import fmpq

from sgverify.targets.form import Form, Monomial

BITS = 24
MASK = 2**BITS - 1

PIECE = 2**14
"""Data that are taken together: their limbs stay in the processor's cache, and sums of limbs far below 2^63."""

Limbs = list[np.ndarray]


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
        if not wanted:
            return
        formed = _formed(wanted)
        totals = dict.fromkeys(wanted, 0)
        columns = sorted({j for m in wanted for j, power in enumerate(m) if power})
        for start in range(0, len(self.data), PIECE):
            piece = np.asarray(self.data[start : start + PIECE], dtype=np.float64)
            limbs = {j: _limbs(piece[:, j], self._lowest) for j in columns}
            products: dict[Monomial, Limbs] = {}
            for monomial in formed:
                if sum(monomial) == 1:
                    products[monomial] = limbs[monomial.index(1)]
                else:
                    products[monomial] = _product(*(products[half] for half in _halves(monomial)))
            for monomial in wanted:
                if not any(monomial):
                    totals[monomial] += len(piece)
                elif monomial in products:
                    totals[monomial] += _total(products[monomial])
                else:
                    totals[monomial] += _inner(*(products[half] for half in _halves(monomial)))
        for monomial in wanted:
            self._known[monomial] = totals[monomial] * Fraction(2) ** (self._lowest * sum(monomial))

    @cached_property
    def _lowest(self) -> int:
        """The exponent of the last binary digit that any datum has."""
        lowest = 0
        for start in range(0, len(self.data), PIECE):
            whole, exponent = _whole(np.asarray(self.data[start : start + PIECE], dtype=np.float64))
            given = whole != 0
            if given.any():
                # The lowest set bit of a whole number, as a power of two, has its place as exponent.
                places = np.frexp((whole[given] & -whole[given]).astype(np.float64))[1] - 1
                lowest = min(lowest, int((exponent[given] + places).min()))
        return lowest


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
        powers: dict[Monomial, Form] = {}
        wanted = _closed(list(indices))
        for index in wanted:
            lead = next((k for k, power in enumerate(index) if power), None)
            if lead is None:
                powers[index] = {(0,) * self.sums.data.shape[1]: fmpq(1)}
                continue
            smaller = tuple(power - (k == lead) for k, power in enumerate(index))
            powers[index] = _multiplied(powers[smaller], self.forms[lead])
        self.sums.prepare(monomial for form in powers.values() for monomial in form)
        return {
            index: sum((c * _fmpq(self.sums[monomial]) for monomial, c in form.items()), fmpq(0))
            for index, form in powers.items()
        }

    def combined(self, rows: Sequence[Sequence[Fraction]], offset: Sequence[Fraction]) -> PolynomialVectors:
        """The vectors R v_i + c."""
        one = (0,) * self.sums.data.shape[1]
        found = []
        for row, constant in zip(rows, offset, strict=True):
            total: Form = {one: _fmpq(constant)} if constant else {}
            for factor, form in zip(row, self.forms, strict=True):
                if factor:
                    for monomial, c in form.items():
                        total[monomial] = total.get(monomial, fmpq(0)) + _fmpq(factor) * c
            found.append(total)
        return PolynomialVectors(self.sums, found)


def _closed(monomials: Sequence[Monomial]) -> list[Monomial]:
    """The monomials and those from which they are multiplied, lowest degrees first."""
    found = set()
    for monomial in monomials:
        while monomial not in found:
            found.add(monomial)
            lead = next((j for j, power in enumerate(monomial) if power), None)
            if lead is not None:
                monomial = tuple(power - (j == lead) for j, power in enumerate(monomial))
    return sorted(found, key=lambda monomial: (sum(monomial), monomial))


def _halves(monomial: Monomial) -> tuple[Monomial, Monomial]:
    """Two monomials of about half the degree whose product it is."""
    left, rest = [0] * len(monomial), (sum(monomial) + 1) // 2
    for j, power in enumerate(monomial):
        left[j] = min(power, rest)
        rest -= left[j]
    return tuple(left), tuple(power - taken for power, taken in zip(monomial, left, strict=True))


def _formed(wanted: Sequence[Monomial]) -> list[Monomial]:
    """The monomials whose values are formed, lowest degrees first: those of degree 1, and halves of others."""
    found = {monomial for monomial in wanted if sum(monomial) == 1}
    waiting = [monomial for monomial in wanted if sum(monomial) > 1]
    while waiting:
        for half in _halves(waiting.pop()):
            if half not in found:
                found.add(half)
                if sum(half) > 1:
                    waiting.append(half)
    return sorted(found, key=lambda monomial: (sum(monomial), monomial))


def _multiplied(left: Form, right: Form) -> Form:
    total: Form = {}
    for a, b in left.items():
        for c, d in right.items():
            key = tuple(x + y for x, y in zip(a, c, strict=True))
            total[key] = total.get(key, fmpq(0)) + b * d
    return total


def _value(form: Form, x: Sequence[Fraction]) -> Fraction:
    terms = (
        Fraction(int(c.p), int(c.q)) * math.prod(v**power for v, power in zip(x, monomial, strict=True))
        for monomial, c in form.items()
    )
    return sum(terms, Fraction(0))


def _fmpq(number: Fraction) -> fmpq:
    return fmpq(number.numerator, number.denominator)


def _whole(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """k and e with x = k 2^e, k whole numbers of at most 53 bits and a sign."""
    mantissa, exponent = np.frexp(values)
    return (mantissa * 2.0**53).astype(np.int64), exponent.astype(np.int64) - 53


def _limbs(values: np.ndarray, lowest: int) -> Limbs:
    """The values over 2^lowest as limbs, the last one signed."""
    whole, exponent = _whole(values)
    shift = np.where(whole == 0, 0, exponent - lowest)
    # A negative shift drops zeros alone: `lowest` is the last digit of all.
    whole = np.where(shift < 0, whole >> np.minimum(-np.minimum(shift, 0), 63), whole)
    places, bits = np.divmod(np.maximum(shift, 0), BITS)
    parts = [whole & MASK, (whole >> BITS) & MASK, whole >> 2 * BITS]
    parts = _carried([*(part << bits for part in parts), np.zeros_like(whole)])
    furthest = int(places.max()) if len(places) else 0
    if not furthest:
        return _shortened(parts)
    # The sign fills the limbs above: adding 0 or -1 there and carrying is the same as writing the value once.
    limbs = [np.zeros_like(whole) for _ in range(furthest + len(parts))]
    for place in np.unique(places):
        here = places == place
        for offset, part in enumerate(parts):
            limbs[place + offset] += np.where(here, part, 0)
    return _shortened(_carried(limbs))


def _carried(limbs: Limbs) -> Limbs:
    """The same values with every limb but the last between 0 and 2^24."""
    found, carry = [], np.zeros_like(limbs[0])
    for limb in limbs[:-1]:
        value = limb + carry
        found.append(value & MASK)
        carry = value >> BITS
    return [*found, limbs[-1] + carry]


def _shortened(limbs: Limbs) -> Limbs:
    """The same values without limbs at the end that only repeat the sign."""
    while len(limbs) > 1:
        last, before = limbs[-1], limbs[-2]
        joined = (last << BITS) + before
        if not ((last == 0) | (last == -1)).all() or int(np.abs(joined).max(initial=0)) > MASK:
            break
        limbs = [*limbs[:-2], joined]
    return limbs


def _product(left: Limbs, right: Limbs) -> Limbs:
    """The products of the values."""
    total = [np.zeros_like(left[0]) for _ in range(len(left) + len(right))]
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            total[i + j] += a * b
    return _shortened(_carried(total))


def _total(limbs: Limbs) -> int:
    """The sum of the values."""
    return sum(int(limb.sum()) << BITS * place for place, limb in enumerate(limbs))


def _inner(left: Limbs, right: Limbs) -> int:
    """The sum of the products of the values; of at most 2^14 products of 48 bits each, so that int64 holds every part."""
    return sum(int(a @ b) << BITS * (i + j) for i, a in enumerate(left) for j, b in enumerate(right))


__all__ = ["PolynomialVectors", "PowerSums"]

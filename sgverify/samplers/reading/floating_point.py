"""Which exact operations on float64 and float32 numbers are the elementary functions made of?

Each function here is exact, or returns its rounding error too, by IEEE 754 arithmetic rounded to nearest and by the layout of the
format. Nothing asks for a fused multiply-add, a conversion between integers and floats, or a shift of negative numbers, so that the
same operations exist as vector instructions of every processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

KEPT: dict[Any, Any] = {}
"""What follows from the definitions of the elementary functions, such as their text in C, by what it is."""


@dataclass(frozen=True)
class BinaryFormat:
    """A binary format: its bits of fraction, its exponent's bias, and the whole numbers of its size."""

    fraction: int
    bias: int
    whole: torch.dtype
    root_half: int
    """The bits of sqrt(1/2)."""

    @property
    def rounding(self) -> float:
        """Adding it to |x| < 2^(fraction - 1) rounds x to a whole number, which the low bits of the sum then hold."""
        return 1.5 * 2.0**self.fraction

    @property
    def one(self) -> int:
        """The bits of 1."""
        return self.bias << self.fraction


FLOAT64 = BinaryFormat(52, 1023, torch.int64, 0x3FE6A09E667F3BCD)
FLOAT32 = BinaryFormat(23, 127, torch.int32, 0x3F3504F3)
FORMATS = {torch.float64: FLOAT64, torch.float32: FLOAT32}

# The upper 26 bits of a float64 significand.
_UPPER = -1 << 27


def nearest(x: Tensor) -> Tensor:
    """The whole number nearest to x, ties to even; |x| < 2^51 in float64, 2^22 in float32."""
    rounding = FORMATS[x.dtype].rounding
    return (x + rounding) - rounding


def power_of_two(whole: Tensor) -> Tensor:
    """2^k for whole numbers k of the exponents of normal numbers."""
    return power_of_low_bits(whole + FORMATS[whole.dtype].rounding)


def power_of_low_bits(shifted: Tensor, more: int = 0) -> Tensor:
    """2^(k + more) for `shifted` = `BinaryFormat.rounding` + k, where k + more is the exponent of a normal number."""
    layout = FORMATS[shifted.dtype]
    bits = (shifted.view(layout.whole) << layout.fraction) + (layout.one + (more << layout.fraction))
    return bits.view(shifted.dtype)


def split(x: Tensor) -> tuple[Tensor, Tensor]:
    """(k, m) with x = 2^k m, m in [sqrt(1/2), sqrt(2)), for normal x > 0; k is a float."""
    layout = FORMATS[x.dtype]
    shifted = x.view(layout.whole) + (layout.one - layout.root_half)
    # With a whole number in the fraction of 2^fraction, that number is added to it.
    large = 2.0**layout.fraction
    sum_bits = (shifted >> layout.fraction) | ((layout.bias + layout.fraction) << layout.fraction)
    exponent = sum_bits.view(x.dtype) - (large + layout.bias)
    low_bits = (1 << layout.fraction) - 1
    return exponent, ((shifted & low_bits) + layout.root_half).view(x.dtype)


def two_sum(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """The rounded sum of a and b, and its rounding error. Knuth 1997, section 4.2.2, theorem B."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def quick_two_sum(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """The rounded sum of a and b, and its rounding error, where a = 0 or |a| >= |b|. Dekker 1971, section 4."""
    total = a + b
    return total, b - (total - a)


def upper(x: Tensor) -> Tensor:
    """A float64 x with the lower 27 bits of its significand set to 0; the product of two such numbers is exact."""
    return (x.view(torch.int64) & _UPPER).view(torch.float64)


def quotient(above: tuple[Tensor, Tensor], below: tuple[Tensor, Tensor]) -> Tensor:
    """The quotient of two unevaluated sums (high, low) in float64, its relative error below 2^-53 + 2^-76.

    A first quotient of 26 bits has an exact remainder, to which the low parts are added; the remainder over the divisor is the
    correction.
    """
    inverse = below[0].reciprocal()
    first = upper(above[0] * inverse)
    head = upper(below[0])
    remainder = (above[0] - first * head) - first * (below[0] - head)
    return first + (remainder + (above[1] - first * below[1])) * inverse


def polynomial(coefficients: Sequence[float], x: Tensor) -> Tensor:
    """sum_k coefficients[k] x^k by Horner's rule."""
    value = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        value = (value + coefficient) * x
    return value + coefficients[0]

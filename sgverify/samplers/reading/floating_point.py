"""Which exact operations on float64 numbers are the elementary functions made of?

Each function here is exact, or returns its rounding error too, by IEEE 754 arithmetic rounded to nearest and by the layout of
float64: 52 bits of fraction, 11 of exponent. Nothing asks for a fused multiply-add, a conversion between integers and floats, or
a signed shift, so that the same operations exist as vector instructions of every processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

# Adding it to |x| < 2^51 rounds x to a whole number, which the low bits of the sum then hold (two's complement).
ROUNDING = 1.5 * 2.0**52

KEPT: dict[Any, Any] = {}
"""What follows from the definitions of the elementary functions, such as their text in C, by what it is."""

_FRACTION = 52
_ONE = 1023 << _FRACTION
_ROOT_HALF = 0x3FE6A09E667F3BCD
_LOW_BITS = (1 << _FRACTION) - 1
# The bits of 2^52: with a whole number below 2^52 in the fraction they are 2^52 plus that number.
_LARGE, _LARGE_BITS = 2.0**52, 1075 << _FRACTION
# The upper 26 bits of a significand.
_UPPER = -1 << 27


def nearest(x: Tensor) -> Tensor:
    """The whole number nearest to x, ties to even; |x| < 2^51."""
    return (x + ROUNDING) - ROUNDING


def power_of_two(whole: Tensor) -> Tensor:
    """2^k for whole numbers k in [-1022, 1023]."""
    return power_of_low_bits(whole + ROUNDING)


def power_of_low_bits(shifted: Tensor) -> Tensor:
    """2^k for `shifted` = ROUNDING + k, with whole k in [-1022, 1023]."""
    return ((shifted.view(torch.int64) << _FRACTION) + _ONE).view(torch.float64)


def split(x: Tensor) -> tuple[Tensor, Tensor]:
    """(k, m) with x = 2^k m, m in [sqrt(1/2), sqrt(2)), for normal x > 0; k is a float."""
    shifted = x.view(torch.int64) + (_ONE - _ROOT_HALF)
    exponent = ((shifted >> _FRACTION) | _LARGE_BITS).view(torch.float64) - (_LARGE + 1023)
    return exponent, ((shifted & _LOW_BITS) + _ROOT_HALF).view(torch.float64)


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
    """x with the lower 27 bits of its significand set to 0; the product of two such numbers is exact."""
    return (x.view(torch.int64) & _UPPER).view(torch.float64)


def quotient(above: tuple[Tensor, Tensor], below: tuple[Tensor, Tensor]) -> Tensor:
    """The quotient of two unevaluated sums (high, low), its relative error below 2^-53 + 2^-76.

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

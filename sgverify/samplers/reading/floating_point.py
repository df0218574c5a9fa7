"""The exact operations on float64 numbers, and the polynomials, that the elementary functions are made of.

Each function here is exact, or returns its rounding error too, by IEEE 754 arithmetic rounded to nearest and by the layout of the
format. Nothing asks for a fused multiply-add, a conversion between integers and floats, or a shift of negative numbers, so that the
same operations exist as vector instructions of every processor.

Each polynomial interpolates a smooth function at Chebyshev nodes: with n coefficients on [a, b] at
(a + b)/2 + (b - a)/2 cos((2k + 1) pi / (2n)), k = 0, ..., n - 1. Its coefficients were computed with 60 digits and then rounded to
float64; the lowest comes first. The intervals are those of the reduced arguments, 1e-4 wider. A
test computes every coefficient again, and proves the bound that is stated here of the error relative to the elementary function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

KEPT: dict[Any, Any] = {}
"""What follows from the definitions of the elementary functions, such as their text in C, by what it is."""


FRACTION, BIAS, ROOT_HALF = 52, 1023, 0x3FE6A09E667F3BCD
"""The bits of fraction of a float64 number, its exponent's bias, and the bits of sqrt(1/2)."""

ROUNDING = 1.5 * 2.0**FRACTION
"""Adding it to |x| < 2^51 rounds x to a whole number, which the low bits of the sum then hold."""

ONE = BIAS << FRACTION
"""The bits of 1."""

# The upper 26 bits of a float64 significand.
_UPPER = -1 << 27


def nearest(x: Tensor) -> Tensor:
    """The whole number nearest to x, ties to even; |x| < 2^51."""
    return (x + ROUNDING) - ROUNDING


def power_of_two(whole: Tensor) -> Tensor:
    """2^k for whole numbers k of the exponents of normal numbers."""
    bits = ((whole + ROUNDING).view(torch.int64) << FRACTION) + ONE
    return bits.view(torch.float64)


def split(x: Tensor) -> tuple[Tensor, Tensor]:
    """(k, m) with x = 2^k m, m in [sqrt(1/2), sqrt(2)), for normal x > 0; k is a float."""
    shifted = x.view(torch.int64) + (ONE - ROOT_HALF)
    # With a whole number in the fraction of 2^fraction, that number is added to it.
    sum_bits = (shifted >> FRACTION) | ((BIAS + FRACTION) << FRACTION)
    exponent = sum_bits.view(torch.float64) - (2.0**FRACTION + BIAS)
    return exponent, ((shifted & ((1 << FRACTION) - 1)) + ROOT_HALF).view(torch.float64)


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


# (exp(r) - 1 - r)/r^2 for |r| <= log(2)/2; the error relative to exp(r) is below 2^-60.
EXP = (
    float.fromhex("0x1.0000000000000p-1"),
    float.fromhex("0x1.5555555555557p-3"),
    float.fromhex("0x1.5555555555556p-5"),
    float.fromhex("0x1.11111111100dcp-7"),
    float.fromhex("0x1.6c16c16c162d4p-10"),
    float.fromhex("0x1.a01a01abe7fe1p-13"),
    float.fromhex("0x1.a01a01a6d889cp-16"),
    float.fromhex("0x1.71de0231960ebp-19"),
    float.fromhex("0x1.27e4db646b17ep-22"),
    float.fromhex("0x1.af4de97ca4194p-26"),
    float.fromhex("0x1.1f730349868cep-29"),
)

# (log((1 + s)/(1 - s)) - 2s)/s^3 as a function of s^2, |s| <= (sqrt(2) - 1)/(sqrt(2) + 1); below 2^-57 of the logarithm.
LOG = (
    float.fromhex("0x1.5555555555558p-1"),
    float.fromhex("0x1.99999999952ccp-2"),
    float.fromhex("0x1.2492492df3ba9p-2"),
    float.fromhex("0x1.c71c62e26208bp-3"),
    float.fromhex("0x1.7462b58e46ebep-3"),
    float.fromhex("0x1.39fe42e9740a7p-3"),
    float.fromhex("0x1.2b59b713616c9p-3"),
)

# (sin(r) - r)/r^3 as a function of r^2, |r| <= pi/4; below 2^-57 of the sine.
SIN = (
    float.fromhex("-0x1.5555555555555p-3"),
    float.fromhex("0x1.1111111111110p-7"),
    float.fromhex("-0x1.a01a01a019936p-13"),
    float.fromhex("0x1.71de3a54605eep-19"),
    float.fromhex("-0x1.ae64541266378p-26"),
    float.fromhex("0x1.61217ec01749dp-33"),
    float.fromhex("-0x1.ab17a79237a19p-41"),
)

# (cos(r) - 1 + r^2/2)/r^4 as a function of r^2, |r| <= pi/4; below 2^-59 of the cosine.
COS = (
    float.fromhex("0x1.5555555555555p-5"),
    float.fromhex("-0x1.6c16c16c16966p-10"),
    float.fromhex("0x1.a01a019f4e867p-16"),
    float.fromhex("-0x1.27e4fa17a41b4p-22"),
    float.fromhex("0x1.1eeb68b109173p-29"),
    float.fromhex("-0x1.907d7aebd5e3dp-37"),
)

# erf(x)/x - 1 as a function of x^2 - 1/2, |x| <= 1; below 2^-56 of the error function. Around the middle of its interval the
# polynomial has smaller terms than around 0, which cancel.
ERF = (
    float.fromhex("-0x1.1ae14dc34815ap-5"),
    float.fromhex("-0x1.1fd16292151fdp-2"),
    float.fromhex("0x1.454368017b042p-4"),
    float.fromhex("-0x1.2b902b7b2f28ep-6"),
    float.fromhex("0x1.c82aa249df460p-9"),
    float.fromhex("-0x1.263991b802e8fp-11"),
    float.fromhex("0x1.486638bc9bed0p-14"),
    float.fromhex("-0x1.429e93e676e3cp-17"),
    float.fromhex("0x1.1ad5edf9153dep-20"),
    float.fromhex("-0x1.bf8d2c53bdf9dp-24"),
    float.fromhex("0x1.428e937e8dd34p-27"),
    float.fromhex("-0x1.acbad5ab735b7p-31"),
    float.fromhex("0x1.05ffe45e4636ap-34"),
)

# exp(x^2) erfc(x) as a function of (x - 3)/(x + 3), 1 <= x <= 6; exp(-x^2) times its error is below 2^-57 of the error function.
ERFC = (
    float.fromhex("0x1.6e9827d229d2dp-3"),
    float.fromhex("-0x1.4e102b9cf8513p-2"),
    float.fromhex("0x1.f6ff204105a04p-3"),
    float.fromhex("-0x1.336ffbef08b8ap-3"),
    float.fromhex("0x1.258b13b00ec3bp-4"),
    float.fromhex("-0x1.8fa58eb5ea97bp-6"),
    float.fromhex("0x1.17c8390910d42p-8"),
    float.fromhex("0x1.73101f6d65f08p-11"),
    float.fromhex("-0x1.39085f2ee74f3p-11"),
    float.fromhex("0x1.7b9ef73c0d84dp-15"),
    float.fromhex("0x1.0cb2e736c86f6p-14"),
    float.fromhex("-0x1.af08598a5b98ep-17"),
    float.fromhex("-0x1.0cc3976459401p-17"),
    float.fromhex("0x1.0e3eb39473943p-19"),
    float.fromhex("0x1.56696f6b3d6d5p-20"),
    float.fromhex("0x1.d3f2e5247d0a7p-29"),
)

# log(2) in two parts. The first has 42 bits, so that its product with a whole number below 2^11 is exact.
LOG_2_HIGH = float.fromhex("0x1.62e42fefa3800p-1")
LOG_2_LOW = float.fromhex("0x1.ef35793c76730p-45")
INVERSE_LOG_2 = float.fromhex("0x1.71547652b82fep+0")

# pi/2 in four parts. The first three have 29 bits each, so that their products with a whole number below 2^24 are exact.
HALF_PI = (
    float.fromhex("0x1.921fb54000000p+0"),
    float.fromhex("0x1.10b4611000000p-30"),
    float.fromhex("0x1.4c4c662000000p-59"),
    float.fromhex("0x1.1701b839a2520p-88"),
)
INVERSE_HALF_PI = float.fromhex("0x1.45f306dc9c883p-1")
TWO_BY_ROOT_PI = float.fromhex("0x1.20dd750429b6dp+0")

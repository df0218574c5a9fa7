"""What are the elementary functions in float64? Straight lines of IEEE operations, with errors below one unit in the last place.

Each function is one sequence of additions, multiplications, divisions, comparisons and operations on bits; no branch depends on
the argument. Where an operation's rounding error would count, it is computed and added again. NaN gives NaN, and limits hold at
the infinities; subnormal results are rounded like all others, within one unit of their spacing. The errors are measured against
ball arithmetic in the tests. Sources of the arguments' reductions and of the splitting of log(1 + f): Tang 1989, 1990; the C
library fdlibm, Sun Microsystems 1993.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sgverify.samplers.reading.floating_point import (
    COS,
    ERF,
    ERFC,
    EXP,
    HALF_PI,
    INVERSE_HALF_PI,
    INVERSE_LOG_2,
    LOG,
    LOG_2_HIGH,
    LOG_2_LOW,
    ROUNDING,
    SIN,
    nearest,
    polynomial,
    power_of_two,
    quick_two_sum,
    quotient,
    split,
    two_sum,
)
from sgverify.samplers.reading.floating_point import KEPT as KEPT

FARTHEST = 2.0**24
"""The largest |x| of sin and cos: up to there the reduction by pi/2 is exact to the last bit. Beyond it the result is NaN."""

_SMALLEST = 2.0**-1022


def exp(x: Tensor) -> Tensor:
    """e^x; infinity above 709.78, 0 below -745.13."""
    n, high, low = _reduced_exp(x.clamp(-746.0, 710.0))
    return _scaled(high + low, n)


def expm1(x: Tensor) -> Tensor:
    """e^x - 1, accurate for small x too; infinity above 709.78."""
    high, low = _half_expm1(x.clamp(-40.0, 710.0))
    # For the smallest x, half of it would lose a bit.
    return torch.where(x.abs() < 2.0**-54, x, (high + low) * 2.0)


def log(x: Tensor) -> Tensor:
    """The natural logarithm; -infinity at 0, NaN below."""
    subnormal = x < _SMALLEST
    k, m = split(torch.where(subnormal, x * 2.0**54, x))
    high, low = _logarithm(torch.where(subnormal, k - 54.0, k), m - 1.0, None)
    return _on_domain(x, high + low, 0.0)


def log1p(x: Tensor) -> Tensor:
    """log(1 + x), accurate for small x too; -infinity at -1, NaN below."""
    total, error = two_sum(torch.ones_like(x), x)
    k, m = split(total)
    unit = k == 0.0
    f = torch.where(unit, x, m - 1.0)
    # Beyond 2^60 the error of 1 + x is far below the result's last bit.
    error = torch.where(unit, 0.0, error * power_of_two(-k.clamp(-60.0, 60.0)))
    high, low = _logarithm(k, f, error)
    return torch.copysign(_on_domain(x, high + low, -1.0), x)


def logistic(x: Tensor) -> Tensor:
    """1/(1 + e^-x), accurate where it is small too."""
    high, low = _exp_of_minus(x.abs())
    total = quick_two_sum(torch.ones_like(high), high)
    negative = x < 0.0
    return quotient(
        (torch.where(negative, high, 1.0), torch.where(negative, low, 0.0)), (total[0], total[1] + low)
    )


def softplus(x: Tensor) -> Tensor:
    """log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), without overflow, accurate where it is small too."""
    high, low = _exp_of_minus(x.abs())
    total, error = quick_two_sum(torch.ones_like(high), high)
    large = high > math.sqrt(2) - 1
    f = torch.where(large, total * 0.5 - 1.0, high)
    low = torch.where(large, (error + low) * 0.5, low)
    k = torch.where(large, torch.ones_like(x), 0.0)
    high, low = _logarithm(k, f, low)
    total, error = two_sum(x.clamp(0.0), high)
    return torch.where(x < math.inf, total + (error + low), x)


def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent, m/(m + 2) with m = e^(2|x|) - 1."""
    size = x.abs()
    high, low = _half_expm1(size.clamp(max=22.0) * 2.0)
    m = quick_two_sum(high * 2.0, low * 2.0)
    below = two_sum(m[0], torch.full_like(x, 2.0))
    value = quotient(m, (below[0], below[1] + m[1]))
    # x^3/3 is below half a unit of the last bit there.
    return torch.copysign(torch.where(size < 2.0**-28, size, value), x)


def erf(x: Tensor) -> Tensor:
    """The error function, 2/sqrt(pi) times the integral of e^(-t^2) from 0 to x."""
    size = x.abs()
    inner = size.clamp(max=1.0)
    near = inner + inner * polynomial(ERF, inner * inner - 0.5)
    outer = size.clamp(1.0, 6.0)
    n, high, low = _reduced_exp(outer * -outer)
    far = (high + low) * power_of_two(n) * polynomial(ERFC, (outer - 3.0) / (outer + 3.0))
    return torch.copysign(torch.where(size < 1.0, near, torch.where(size >= 1.0, 1.0 - far, size)), x)


def sin(x: Tensor) -> Tensor:
    """The sine for |x| <= FARTHEST; NaN beyond."""
    quarter, high, low = _reduced_angle(x)
    value = _of_quarter(quarter, high, low)
    return _within(x, torch.where(x.abs() < 2.0**-27, x, value))


def cos(x: Tensor) -> Tensor:
    """The cosine for |x| <= FARTHEST; NaN beyond."""
    quarter, high, low = _reduced_angle(x)
    return _within(x, _of_quarter(quarter + 1, high, low))


def _reduced_exp(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(n, high, low) with e^x = 2^n (high + low); low is small, but not below a unit of high's last bit."""
    n, r, rest = _reduced(x)
    high, low = quick_two_sum(torch.ones_like(x), r)
    return n, high, low + rest


def _reduced(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(n, r, rest) with e^x = 2^n (1 + r + rest), |r| <= log(2)/2, and rest about r^2/2."""
    n = nearest(x * INVERSE_LOG_2)
    head = x - n * LOG_2_HIGH
    tail = n * LOG_2_LOW
    r = head - tail
    return n, head, r * r * polynomial(EXP, r) - tail


def _scaled(value: Tensor, n: Tensor) -> Tensor:
    """2^n value, by two powers of two, so that neither overflows and a subnormal result is rounded once."""
    half = nearest(n * 0.5)
    return value * power_of_two(half) * power_of_two(n - half)


def _exp_of_minus(size: Tensor) -> tuple[Tensor, Tensor]:
    """e^-size for size >= 0 as a sum (high, low), low at most half a unit of high's last bit."""
    n, high, low = _reduced_exp((-size).clamp(min=-746.0))
    high, low = quick_two_sum(high, low)
    half = nearest(n * 0.5)
    first, second = power_of_two(half), power_of_two(n - half)
    return high * first * second, low * first * second


def _half_expm1(x: Tensor) -> tuple[Tensor, Tensor]:
    """(e^x - 1)/2 as a sum (high, low) for -40 <= x <= 710.

    2^(n-1) (1 + r + rest) - 1/2: the half keeps 2^(n-1) finite. |2^(n-1) - 1/2| >= 2^(n-1) |r| or n = 0, so that `quick_two_sum`
    is exact.
    """
    n, r, rest = _reduced(x)
    scale = power_of_two(n - 1.0)
    base = scale - 0.5
    lost = (scale - base) - 0.5
    high, low = quick_two_sum(base, scale * r)
    return high, low + (scale * rest + lost)


def _logarithm(k: Tensor, f: Tensor, low: Tensor | None) -> tuple[Tensor, Tensor]:
    """k log(2) + log(1 + f + low) as a sum (high, low) for 1 + f in [sqrt(1/2), sqrt(2)] and a tiny low.

    log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)) with s = f/(2 + f); 1/(1 + f) = (1 - s)/(1 + s).
    """
    s = f / (f + 2.0)
    z = s * s
    square = f * f * 0.5
    rest = k * LOG_2_LOW
    if low is not None:
        rest = rest + low * (1.0 - (s - s * (s - z)) * 2.0)
    high, error = quick_two_sum(k * LOG_2_HIGH, f)
    return high, error + ((s * (square + z * polynomial(LOG, z)) + rest) - square)


def _on_domain(x: Tensor, value: Tensor, end: float) -> Tensor:
    """`value` for finite x > end, -infinity at the end, NaN below, and x itself for infinity and NaN."""
    value = torch.where(x < math.inf, value, x)
    value = torch.where(x == end, -math.inf, value)
    return torch.where(x < end, math.nan, value)


def _reduced_angle(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(bits, high, low) with x = n pi/2 + high + low, |high| <= pi/4, and n in the low bits.

    The products of n with the first three parts of pi/2 are exact. No float64 below 2^24 but 0 is nearer to a multiple of pi/2
    than 2^-60, where the last part still leaves 53 bits.
    """
    shifted = x * INVERSE_HALF_PI + ROUNDING
    n = shifted - ROUNDING
    first = x - n * HALF_PI[0]
    second, error = two_sum(first, n * -HALF_PI[1])
    third, more = two_sum(second, n * -HALF_PI[2])
    high, low = quick_two_sum(third, (error + more) - n * HALF_PI[3])
    return shifted.view(torch.int64), high, low


def _of_quarter(quarter: Tensor, high: Tensor, low: Tensor) -> Tensor:
    """sin(quarter pi/2 + high + low), from the two low bits of `quarter`."""
    z = high * high
    sine = high + (z * high * polynomial(SIN, z) + low * (1.0 - z * 0.5))
    square = z * 0.5
    head, error = quick_two_sum(torch.ones_like(z), -square)
    cosine = head + (error + (z * z * polynomial(COS, z) - high * low))
    value = torch.where((quarter & 1) == 0, sine, cosine)
    return (value.view(torch.int64) ^ ((quarter & 2) << 62)).view(torch.float64)


def _within(x: Tensor, value: Tensor) -> Tensor:
    return torch.where(x.abs() <= FARTHEST, value, math.nan)

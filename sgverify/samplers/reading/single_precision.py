"""What are the elementary functions in float32? Straight lines of IEEE operations on float32 numbers.

A vector register holds twice as many of them as of float64. The reductions are those of `double_precision`. Rounding errors of
sums are computed and added again where they would exceed those of the last operations. Errors are below `LARGEST_ERROR`, as an
evaluation of every function at all 2^32 arguments shows (`reports/elementary`). NaN gives NaN, limits hold at the infinities, and
subnormal results are rounded like all others. The reduction of an angle needs more bits than float32 has: sine and cosine are
evaluated in float64 and rounded once.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sgverify.samplers.reading.double_precision import FARTHEST, log1p_by, on_domain, softplus_by
from sgverify.samplers.reading.floating_point import (
    COS_SHORT,
    ERF_SHORT,
    ERFC_SHORT,
    EXP_SHORT,
    FLOAT32,
    FLOAT64,
    HALF_PI,
    HALF_PI_REST,
    INVERSE_HALF_PI,
    INVERSE_LOG_2_SHORT,
    LOG_2_HIGH_SHORT,
    LOG_2_LOW_SHORT,
    LOG_SHORT,
    SIN_SHORT,
    TANH_SHORT,
    nearest,
    polynomial,
    power_of_low_bits,
    power_of_two,
    quick_two_sum,
    split,
)
from sgverify.samplers.reading.floating_point import KEPT as KEPT

LARGEST_ERROR = 1.7
"""The largest error of a function in float32, in units in the last place; those of exp, log, log1p and softplus are below 0.9."""

_SMALLEST = 2.0**-126

# e^x is below half of the smallest subnormal number, and beyond the largest number.
_NOTHING, _TOO_MUCH = -104.0, 89.0

# A power of two that keeps 2^n from 1 down to the smallest subnormal number a normal number.
_LIFT = 64


def exp(x: Tensor) -> Tensor:
    """e^x; infinity above 88.72, 0 below -103.97."""
    shifted, r, rest = _reduced(x.clamp(_NOTHING, _TOO_MUCH))
    high, low = quick_two_sum(torch.ones_like(x), r)
    # By two powers of two, so that neither overflows and a subnormal result is rounded once.
    n = shifted - FLOAT32.rounding
    half = nearest(n * 0.5)
    return (high + (low + rest)) * power_of_two(half) * power_of_two(n - half)


def expm1(x: Tensor) -> Tensor:
    """e^x - 1, accurate for small x too; infinity above 88.72."""
    high, low = _half_expm1(x.clamp(-20.0, _TOO_MUCH))
    # For the smallest x, half of it would lose a bit.
    return torch.where(x.abs() < 2.0**-25, x, (high + low) * 2.0)


def log(x: Tensor) -> Tensor:
    """The natural logarithm; -infinity at 0, NaN below."""
    subnormal = x < _SMALLEST
    k, m = split(torch.where(subnormal, x * 2.0**25, x))
    high, low = _logarithm(torch.where(subnormal, k - 25.0, k), m - 1.0, None)
    return on_domain(x, high + low, 0.0)


def log1p(x: Tensor) -> Tensor:
    """log(1 + x), accurate for small x too; -infinity at -1, NaN below."""
    return log1p_by(_logarithm, x)


def logistic(x: Tensor) -> Tensor:
    """1/(1 + e^-x), accurate where it is small too."""
    # Above 30 the result is 1. With e^-x = 2^n (1 + u), 1 + e^-x = (1 + 2^n) + 2^n u has hardly more than one rounding error.
    shifted, r, rest = _reduced((-x).clamp(-30.0, -_NOTHING))
    scale = power_of_low_bits(shifted, -_LIFT)
    base = scale + 2.0**-_LIFT
    lost = 2.0**-_LIFT - (base - scale)
    return (base + (scale * (r + rest) + lost)).reciprocal() * 2.0**-_LIFT


def softplus(x: Tensor) -> Tensor:
    """log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), without overflow, accurate where it is small too."""
    return softplus_by(_logarithm, _exp_of_minus(x.abs()), x)


def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent: a polynomial up to 0.55, 1 - 2/(1 + e^(2|x|)) beyond."""
    size = x.abs()
    near = size.clamp(max=0.55)
    z = near * near
    shifted, r, rest = _reduced(size.clamp(max=10.0) * 2.0)
    scale = power_of_low_bits(shifted)
    far = 1.0 - ((scale + 1.0) + scale * (r + rest)).reciprocal() * 2.0
    return torch.copysign(torch.where(size > 0.55, far, near + near * z * polynomial(TANH_SHORT, z)), x)


def erf(x: Tensor) -> Tensor:
    """The error function, 2/sqrt(pi) times the integral of e^(-t^2) from 0 to x."""
    size = x.abs()
    inner = size.clamp(max=1.0)
    near = inner + inner * polynomial(ERF_SHORT, inner * inner - 0.5)
    outer = size.clamp(1.0, 4.0)
    shifted, r, rest = _reduced(outer * -outer)
    scale = power_of_low_bits(shifted)
    far = (scale + scale * (r + rest)) * polynomial(ERFC_SHORT, (outer - 3.0) / (outer + 3.0))
    return torch.copysign(torch.where(size < 1.0, near, torch.where(size >= 1.0, 1.0 - far, size)), x)


def sin(x: Tensor) -> Tensor:
    """The sine for |x| <= FARTHEST; NaN beyond."""
    quarter, r = _reduced_angle(x.to(torch.float64))
    return torch.where(x == 0.0, x, _within(x, _of_quarter(quarter, r)))


def cos(x: Tensor) -> Tensor:
    """The cosine for |x| <= FARTHEST; NaN beyond."""
    quarter, r = _reduced_angle(x.to(torch.float64))
    return _within(x, _of_quarter(quarter + 1, r))


def _reduced(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(shifted, r, rest) with e^x = 2^n (1 + r + rest), n in the low bits of `shifted`, |r| <= log(2)/2, and rest about r^2/2."""
    shifted = x * INVERSE_LOG_2_SHORT + FLOAT32.rounding
    n = shifted - FLOAT32.rounding
    head = x - n * LOG_2_HIGH_SHORT
    tail = n * LOG_2_LOW_SHORT
    r = head - tail
    # By pairs of terms, which wait for one another less long than those of Horner's rule.
    square, (a, b, c, d, e, f) = r * r, EXP_SHORT
    series = (r * b + a) + square * ((r * d + c) + square * (r * f + e))
    return shifted, head, square * series - tail


def _exp_of_minus(size: Tensor) -> tuple[Tensor, Tensor]:
    """e^-size for size >= 0 as a sum (high, low), low at most half a unit of high's last bit."""
    shifted, r, rest = _reduced((-size).clamp(min=_NOTHING))
    high, low = quick_two_sum(torch.ones_like(size), r)
    high, low = quick_two_sum(high, low + rest)
    scale = power_of_low_bits(shifted, _LIFT)
    return high * scale * 2.0**-_LIFT, low * scale * 2.0**-_LIFT


def _half_expm1(x: Tensor) -> tuple[Tensor, Tensor]:
    """(e^x - 1)/2 as a sum (high, low) for -20 <= x <= 89; see `double_precision`."""
    shifted, r, rest = _reduced(x)
    scale = power_of_low_bits(shifted, -1)
    base = scale - 0.5
    lost = (scale - base) - 0.5
    high, low = quick_two_sum(base, scale * r)
    return high, low + (scale * rest + lost)


def _logarithm(k: Tensor, f: Tensor, low: Tensor | None) -> tuple[Tensor, Tensor]:
    """k log(2) + log(1 + f + low) as a sum (high, low) for 1 + f in [sqrt(1/2), sqrt(2)] and a tiny low; see `double_precision`."""
    s = f / (f + 2.0)
    z = s * s
    square = f * f * 0.5
    rest = k * LOG_2_LOW_SHORT
    if low is not None:
        rest = rest + low * (1.0 - (s - s * (s - z)) * 2.0)
    high, error = quick_two_sum(k * LOG_2_HIGH_SHORT, f)
    return high, error + ((s * (square + z * polynomial(LOG_SHORT, z)) + rest) - square)


def _reduced_angle(x: Tensor) -> tuple[Tensor, Tensor]:
    """(bits, r) with x = n pi/2 + r, |r| <= pi/4, and n in the low bits; n times the first part of pi/2 is exact."""
    shifted = x * INVERSE_HALF_PI + FLOAT64.rounding
    n = shifted - FLOAT64.rounding
    return shifted.view(torch.int64), (x - n * HALF_PI[0]) - n * HALF_PI_REST


def _of_quarter(quarter: Tensor, r: Tensor) -> Tensor:
    """sin(quarter pi/2 + r), from the two low bits of `quarter`."""
    z = r * r
    sine = r + z * r * polynomial(SIN_SHORT, z)
    cosine = (1.0 - z * 0.5) + z * z * polynomial(COS_SHORT, z)
    value = torch.where((quarter & 1) == 0, sine, cosine)
    return (value.view(torch.int64) ^ ((quarter & 2) << 62)).view(torch.float64).to(torch.float32)


def _within(x: Tensor, value: Tensor) -> Tensor:
    return torch.where(x.abs() <= FARTHEST, value, math.nan)

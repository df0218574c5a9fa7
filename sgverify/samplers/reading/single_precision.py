"""What are the elementary functions in float32? Short polynomials in float64, rounded once.

29 spare bits of float64 take the place of compensated sums: each result is within 0.51 units in the last place, subnormal ones
too. NaN gives NaN, and limits hold at the infinities. The reductions are those of `double_precision`.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sgverify.samplers.reading.coefficients import (
    COS_SHORT,
    ERF_SHORT,
    ERFC_SHORT,
    EXP_SHORT,
    HALF_PI,
    HALF_PI_REST,
    INVERSE_HALF_PI,
    INVERSE_LOG_2,
    LOG_2,
    LOG_SHORT,
    SIN_SHORT,
)
from sgverify.samplers.reading.double_precision import FARTHEST
from sgverify.samplers.reading.floating_point import KEPT as KEPT
from sgverify.samplers.reading.floating_point import ROUNDING, polynomial, power_of_low_bits, split


def exp(x: Tensor) -> Tensor:
    """e^x; infinity above 88.72, 0 below -103.97."""
    scale, rest = _exp_parts(x.to(torch.float64).clamp(-105.0, 89.0))
    return (scale + scale * rest).to(torch.float32)


def expm1(x: Tensor) -> Tensor:
    """e^x - 1, accurate for small x too; infinity above 88.72."""
    scale, rest = _exp_parts(x.to(torch.float64).clamp(-105.0, 89.0))
    return torch.copysign(((scale - 1.0) + scale * rest).to(torch.float32), x)


def log(x: Tensor) -> Tensor:
    """The natural logarithm; -infinity at 0, NaN below."""
    k, m = split(x.to(torch.float64))
    return _on_domain(x, (k * LOG_2 + _log1p_near_0(m - 1.0)).to(torch.float32), 0.0)


def log1p(x: Tensor) -> Tensor:
    """log(1 + x), accurate for small x too; -infinity at -1, NaN below."""
    wide = x.to(torch.float64)
    k, m = split(wide + 1.0)
    f = torch.where(k == 0.0, wide, m - 1.0)
    return torch.copysign(_on_domain(x, (k * LOG_2 + _log1p_near_0(f)).to(torch.float32), -1.0), x)


def logistic(x: Tensor) -> Tensor:
    """1/(1 + e^-x), accurate where it is small too."""
    wide = x.to(torch.float64)
    e = _exp_of_minus(wide.abs())
    return (torch.where(wide < 0.0, e, 1.0) / (e + 1.0)).to(torch.float32)


def softplus(x: Tensor) -> Tensor:
    """log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), without overflow, accurate where it is small too."""
    wide = x.to(torch.float64)
    e = _exp_of_minus(wide.abs())
    large = e > math.sqrt(2) - 1
    f = torch.where(large, e * 0.5 - 0.5, e)
    return (wide.clamp(0.0) + (torch.where(large, LOG_2, 0.0 * e) + _log1p_near_0(f))).to(torch.float32)


def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent, m/(m + 2) with m = e^(2|x|) - 1."""
    scale, rest = _exp_parts(x.to(torch.float64).abs().clamp(max=20.0) * 2.0)
    m = (scale - 1.0) + scale * rest
    return torch.copysign((m / (m + 2.0)).to(torch.float32), x)


def erf(x: Tensor) -> Tensor:
    """The error function, 2/sqrt(pi) times the integral of e^(-t^2) from 0 to x."""
    size = x.to(torch.float64).abs()
    inner = size.clamp(max=1.0)
    near = inner + inner * polynomial(ERF_SHORT, inner * inner - 0.5)
    outer = size.clamp(1.0, 6.0)
    scale, rest = _exp_parts(outer * -outer)
    far = (scale + scale * rest) * polynomial(ERFC_SHORT, (outer - 3.0) / (outer + 3.0))
    value = torch.where(size < 1.0, near, torch.where(size >= 1.0, 1.0 - far, size))
    return torch.copysign(value.to(torch.float32), x)


def sin(x: Tensor) -> Tensor:
    """The sine for |x| <= FARTHEST; NaN beyond."""
    quarter, r = _reduced_angle(x.to(torch.float64))
    return torch.where(x == 0.0, x, _within(x, _of_quarter(quarter, r)))


def cos(x: Tensor) -> Tensor:
    """The cosine for |x| <= FARTHEST; NaN beyond."""
    quarter, r = _reduced_angle(x.to(torch.float64))
    return _within(x, _of_quarter(quarter + 1, r))


def _exp_parts(x: Tensor) -> tuple[Tensor, Tensor]:
    """(2^n, e^r - 1) with x = n log(2) + r, |r| <= log(2)/2."""
    shifted = x * INVERSE_LOG_2 + ROUNDING
    r = x - (shifted - ROUNDING) * LOG_2
    return power_of_low_bits(shifted), r + r * r * polynomial(EXP_SHORT, r)


def _exp_of_minus(size: Tensor) -> Tensor:
    scale, rest = _exp_parts((-size).clamp(min=-105.0))
    return scale + scale * rest


def _log1p_near_0(f: Tensor) -> Tensor:
    """log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)]."""
    s = f / (f + 2.0)
    z = s * s
    return (s + s) + s * z * polynomial(LOG_SHORT, z)


def _on_domain(x: Tensor, value: Tensor, end: float) -> Tensor:
    value = torch.where(x < math.inf, value, x)
    value = torch.where(x == end, -math.inf, value)
    return torch.where(x < end, math.nan, value)


def _reduced_angle(x: Tensor) -> tuple[Tensor, Tensor]:
    """(bits, r) with x = n pi/2 + r, |r| <= pi/4, and n in the low bits; n times the first part of pi/2 is exact."""
    shifted = x * INVERSE_HALF_PI + ROUNDING
    n = shifted - ROUNDING
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

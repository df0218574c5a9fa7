"""Arguments of the elementary functions, and their exact values by ball arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from flint import arb, ctx

from sgverify.samplers.reading import elementary
from sgverify.samplers.reading.double_precision import FARTHEST

DTYPES = [torch.float64, torch.float32]

EXACT: dict[Callable[..., torch.Tensor], Callable[[arb], arb]] = {
    elementary.exp: lambda x: x.exp(),
    elementary.expm1: lambda x: x.expm1(),
    elementary.log: lambda x: x.log(),
    elementary.log1p: lambda x: x.log1p(),
    elementary.logistic: lambda x: 1 / (1 + (-x).exp()),
    elementary.softplus: lambda x: x.exp().log1p(),
    elementary.tanh: lambda x: x.tanh(),
    elementary.erf: lambda x: x.erf(),
    elementary.sin: lambda x: x.sin(),
    elementary.cos: lambda x: x.cos(),
}
"""Each elementary function and its values on balls."""

# Where results change quickest: the thresholds of ranges, and the ends of the reduced arguments' intervals.
_EXPONENTIAL = [709.78, -708.4, -745.0, 88.72, -87.3, -103.9, math.log(2) / 2, -math.log(2) / 2, 40.0, 22.0]
_CORNERS = {
    elementary.erf: [1.0, 6.0, 5.86, 3.83],
    elementary.log: [math.sqrt(2), math.sqrt(0.5), 2.0**-1074, 2.0**-149, 2.0**-1022, 2.0**-126, 1.7e308],
    elementary.log1p: [math.sqrt(2) - 1, math.sqrt(0.5) - 1, -1 + 2.0**-53, -1 + 2.0**-24, 1.7e308],
    elementary.sin: [math.pi / 4, math.pi, FARTHEST],
    elementary.cos: [math.pi / 4, math.pi / 2, FARTHEST],
}


def arguments(
    function: Callable[..., torch.Tensor], dtype: torch.dtype, count: int, seed: int
) -> torch.Tensor:
    """`count` random arguments of each of several laws, and the neighbours of the corners; all finite, in the domain."""
    generator = torch.Generator().manual_seed(seed)

    def uniform(low: float, high: float) -> torch.Tensor:
        return low + (high - low) * torch.rand(count, generator=generator, dtype=torch.float64)

    sign = torch.randn(count, generator=generator, dtype=torch.float64).sign()
    wide = dtype == torch.float64
    if function is elementary.log:
        laws = [uniform(-1074, 1024).exp2() if wide else uniform(-149, 128).exp2(), uniform(0.6, 1.6)]
    elif function is elementary.log1p:
        laws = [uniform(-60, 1024 if wide else 128).exp2(), uniform(-0.6, 0.8), -1 + uniform(-53, 0).exp2()]
    elif function in (elementary.sin, elementary.cos):
        # The last ones are as near to the zeros of sine and cosine as the dtype has them.
        zeros = torch.round(uniform(-1e7, 1e7)) * (math.pi / 2)
        laws = [uniform(-4, 4), uniform(-FARTHEST, FARTHEST), sign * uniform(-60, 24).exp2(), zeros]
    else:
        ends = (-746, 711) if wide else (-105, 90)
        laws = [uniform(*ends), uniform(-3, 3), sign * uniform(-60, 6).exp2()]
    corners = torch.tensor(_CORNERS.get(function, _EXPONENTIAL), dtype=torch.float64)
    near = corners.to(dtype)[:, None] * (1 + torch.arange(-3, 4) * torch.finfo(dtype).eps)
    drawn = torch.cat([*(law.to(dtype) for law in laws), near.flatten().to(dtype)])
    drawn = drawn[drawn.isfinite()]
    if function in (elementary.log, elementary.log1p):
        return drawn[drawn > (0 if function is elementary.log else -1)]
    return drawn[drawn.abs() <= FARTHEST]


def largest_error(
    function: Callable[..., torch.Tensor], given: torch.Tensor, found: Sequence[float]
) -> tuple[float, float]:
    """The largest error of the values found, in units in the last place of the exact value, and the argument where it is.

    The unit is the distance of the dtype's numbers that enclose the exact value. A value beyond the largest number must be
    infinite, or the largest number itself.
    """
    worst, where = 0.0, math.nan
    exact, ctx.prec = EXACT[function], 256
    kind = np.float64 if given.dtype == torch.float64 else np.float32
    largest = float(np.finfo(kind).max)
    for x, y in zip(given.tolist(), found, strict=True):
        value = exact(arb(x))
        size = abs(value)
        if float(size.mid()) > largest:
            error = 0.0 if abs(y) >= largest and y * float(value.mid()) > 0 else math.inf
        else:
            below = kind(float(size.mid()))
            if float(below) > 0 and arb(float(below)) > size:
                below = np.nextafter(below, kind(0))
            unit = float(np.nextafter(below, kind(np.inf))) - float(below)
            unit = (
                float(np.finfo(kind).max - np.nextafter(np.finfo(kind).max, kind(0)))
                if math.isinf(unit)
                else unit
            )
            error = float((abs(arb(y) - value) / unit).upper()) if math.isfinite(y) else math.inf
        if not error <= worst:
            worst, where = error, x
    return worst, where

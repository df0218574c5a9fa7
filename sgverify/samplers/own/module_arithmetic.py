"""Which operations of torch are arithmetic on each coordinate by itself, and which only arrange coordinates?

The arithmetic is that of `sgverify.samplers.reading`: IEEE operations, the correctly rounded root and its elementary functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sgverify.samplers.reading import elementary
from sgverify.samplers.reading.arithmetic import root

_ATEN = torch.ops.aten

VIEWS = {
    getattr(_ATEN, name)
    for name in (
        "alias",
        "clone",
        "detach",
        "expand",
        "permute",
        "reshape",
        "select",
        "slice",
        "squeeze",
        "t",
        "transpose",
        "unsqueeze",
        "view",
        "_unsafe_view",
    )
} | {torch.ops.prims.broadcast_in_dim}
"""Operations that choose and arrange the entries of their argument."""

MAKES = {
    getattr(_ATEN, name)
    for name in (
        "empty_like",
        "full",
        "full_like",
        "ones",
        "ones_like",
        "scalar_tensor",
        "zeros",
        "zeros_like",
    )
}
"""Operations whose result does not depend on the entries of a tensor."""

ELEMENTWISE: dict[Any, Callable[..., Any]] = {
    _ATEN.add: lambda a, b: a + b,
    _ATEN.sub: lambda a, b: a - b,
    _ATEN.rsub: lambda a, b: b - a,
    _ATEN.mul: lambda a, b: a * b,
    _ATEN.div: lambda a, b: a / b,
    _ATEN.neg: lambda a: -a,
    _ATEN.reciprocal: lambda a: 1.0 / a,
    _ATEN.square: lambda a: a * a,
    _ATEN.abs: lambda a: torch.where(torch.lt(a, 0.0), -a, a),
    _ATEN.sqrt: root,
    _ATEN.rsqrt: lambda a: 1.0 / root(a),
    _ATEN.exp: elementary.exp,
    _ATEN.expm1: elementary.expm1,
    _ATEN.log: elementary.log,
    _ATEN.log1p: elementary.log1p,
    _ATEN.sigmoid: elementary.logistic,
    _ATEN.tanh: elementary.tanh,
    _ATEN.erf: elementary.erf,
    _ATEN.sin: elementary.sin,
    _ATEN.cos: elementary.cos,
    _ATEN.relu: lambda a: a.clamp_min(0.0),
    _ATEN.clamp_min: lambda a, low: torch.maximum(a, low) if isinstance(low, Tensor) else a.clamp_min(low),
    _ATEN.clamp_max: lambda a, high: a.clamp(max=high),
    _ATEN.maximum: torch.maximum,
    _ATEN.eq: torch.eq,
    _ATEN.ne: torch.ne,
    _ATEN.lt: torch.lt,
    _ATEN.le: torch.le,
    _ATEN.gt: torch.gt,
    _ATEN.ge: torch.ge,
    _ATEN.where: torch.where,
}
"""Operations on each coordinate by itself, in arithmetic that C repeats."""

COMPARISONS = (torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge)
"""Those whose result is true or false."""

POWERS: dict[float, Callable[[Any], Any]] = {
    -1: lambda a: 1.0 / a,
    0.5: root,
    1: lambda a: a,
    2: lambda a: a * a,
    3: lambda a: a * a * a,
}
"""The powers that are products, quotients and roots."""

FURTHER = (
    _ATEN._log_softmax,
    _ATEN._softmax,
    _ATEN.addmm,
    _ATEN.elu,
    _ATEN.gelu,
    _ATEN.gelu_backward,
    _ATEN.leaky_relu,
    _ATEN.log_sigmoid_forward,
    _ATEN.native_layer_norm,
    _ATEN.native_layer_norm_backward,
    _ATEN.silu,
    _ATEN.softplus,
    _ATEN.var_mean,
)
"""Operations that torch is asked to express by simpler ones, beyond those that it expresses by itself."""

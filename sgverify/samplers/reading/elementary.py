"""Which elementary functions have the same bits on every processor, at every place of a tensor, and in C?

A library's exponential is not rounded correctly, and its bits change with the library, its version, the processor and, in torch,
with an entry's place in the tensor. The functions here are sequences of IEEE operations on tensors (`double_precision`), which
`sgverify.samplers.fused.elementary` translates into C. Errors are below one unit in the last place in float64; in float32 the value
of float64 is rounded once.

On a processor the values come from the functions in C as soon as these repay their making (`COMPILED`); whether they do changes no
bit. A tape records a call as one operation. Autograd differentiates through a call as often as needed, by rules written in these
same functions. While torch compiles, torch's own functions stand in: what it generates may round differently in any case.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function_unary
from torch.utils._python_dispatch import _disable_current_modes

from sgverify.errors import ConfigurationError
from sgverify.samplers.reading import double_precision
from sgverify.samplers.reading.floating_point import KEPT, TWO_BY_ROOT_PI

Definition = Callable[[Tensor], Tensor]

InPlaceOf = Callable[[int, int, int], None]
"""A function in C: it writes the values of `count` entries from one address to another, (from, to, count)."""

Maker = Callable[[Callable[..., Tensor], torch.dtype, bool], InPlaceOf | None]
"""How a function in C is found: the function, its dtype, and whether it may be built; None if it cannot be had."""

# Entries evaluated at once, so that the intermediate results stay in a core's cache.
_CACHED = 1 << 13

# Rough seconds that a call takes on tensors, and each entry. A function in C is loaded after the first of these times has been
# spent, if it is stored, and built after the second one: it is never waited for longer than has been waited without it.
_CALL, _ENTRY = 5e-5, 2e-8
_TO_LOAD, _TO_BUILD = 0.005, 0.2


@dataclass(frozen=True)
class _Rule:
    """How a function is evaluated in each dtype, differentiated, and called in torch.

    `slope(x, y)` is the derivative at x, where the function has the value y.
    """

    definitions: dict[torch.dtype, Definition]
    slope: Callable[[Tensor, Tensor], Tensor]
    of_torch: Definition


def exp(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e^x of every entry, written to `out` if it is given; float64 or float32. Raises `ConfigurationError` for another dtype."""
    return _evaluated(exp, x, out)


def expm1(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e^x - 1 of every entry, accurate for small x; options and errors are those of `exp`."""
    return _evaluated(expm1, x, out)


def log(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm of every entry, NaN below 0; options and errors are those of `exp`."""
    return _evaluated(log, x, out)


def log1p(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + x) of every entry, accurate for small x; options and errors are those of `exp`."""
    return _evaluated(log1p, x, out)


def logistic(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1/(1 + e^-x) of every entry; options and errors are those of `exp`."""
    return _evaluated(logistic, x, out)


def softplus(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + e^x) of every entry; options and errors are those of `exp`."""
    return _evaluated(softplus, x, out)


def tanh(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent of every entry; options and errors are those of `exp`."""
    return _evaluated(tanh, x, out)


def erf(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function of every entry; options and errors are those of `exp`."""
    return _evaluated(erf, x, out)


def sin(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine of every entry, NaN where |x| > 2^24; options and errors are those of `exp`."""
    return _evaluated(sin, x, out)


def cos(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine of every entry, NaN where |x| > 2^24; options and errors are those of `exp`."""
    return _evaluated(cos, x, out)


def _softplus_of_torch(x: Tensor) -> Tensor:
    # torch's own softplus is the identity above 20.
    return -torch.nn.functional.logsigmoid(-x)


def _rule(name: str, slope: Callable[[Tensor, Tensor], Tensor], of_torch: Definition | None = None) -> _Rule:
    definition: Definition = getattr(double_precision, name)

    def rounded_once(x: Tensor) -> Tensor:
        return definition(x.to(torch.float64)).to(torch.float32)

    definitions = {torch.float64: definition, torch.float32: rounded_once}
    return _Rule(definitions, slope, of_torch or getattr(torch, name))


ELEMENTARY: dict[Callable[..., Tensor], _Rule] = {
    exp: _rule("exp", lambda x, y: y),
    expm1: _rule("expm1", lambda x, y: exp(x)),
    log: _rule("log", lambda x, y: x.reciprocal()),
    log1p: _rule("log1p", lambda x, y: (x + 1.0).reciprocal()),
    logistic: _rule("logistic", lambda x, y: y * (1.0 - y), torch.sigmoid),
    softplus: _rule("softplus", lambda x, y: logistic(x), _softplus_of_torch),
    tanh: _rule("tanh", lambda x, y: 1.0 - y * y),
    erf: _rule("erf", lambda x, y: exp(-(x * x)) * TWO_BY_ROOT_PI),
    sin: _rule("sin", lambda x, y: cos(x)),
    cos: _rule("cos", lambda x, y: -sin(x)),
}
"""The functions and their rules."""


def definition_of(function: Callable[..., Tensor], dtype: torch.dtype) -> Definition:
    """The sequence of IEEE operations that a function is in one dtype. Raises `ConfigurationError` for another dtype."""
    found = ELEMENTARY[function].definitions.get(dtype)
    if found is None:
        raise ConfigurationError(
            f"{function.__name__} of a tensor of {dtype}: expected torch.float64 or torch.float32; convert the tensor"
        )
    return found


class _Differentiable(torch.autograd.Function):
    """A function with its derivative, for autograd and for `torch.func`."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, function: Callable[..., Tensor]) -> Tensor:
        return _values(function, x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        x, ctx.function = inputs
        ctx.save_for_backward(x, output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        x, y = ctx.saved_tensors
        return grads[0] * ELEMENTARY[ctx.function].slope(x, y), None


class _Compiled:
    """The functions in C, each loaded or built once the sequences of tensor operations have taken long enough to repay that."""

    def __init__(self) -> None:
        self.make: Maker | None = None
        self._spent: dict[tuple[Any, torch.dtype], float] = {}

    def find(self, function: Callable[..., Tensor], like: Tensor) -> InPlaceOf | None:
        """The function in C; None while it has not repaid being made, or if it cannot be made."""
        key = (function, like.dtype)
        if key in KEPT:
            known: InPlaceOf | None = KEPT[key]
            return known
        before = self._spent.get(key, 0.0)
        after = self._spent[key] = before + _CALL + _ENTRY * like.numel()
        for patience, may_build in ((_TO_LOAD, False), (_TO_BUILD, True)):
            if before < patience <= after and self.make is not None:
                found = self.make(function, like.dtype, may_build)
                if found is not None or may_build:
                    KEPT[key] = found
                    return found
        return None


COMPILED = _Compiled()
"""The functions in C. `sgverify.samplers.fused.elementary` sets `make`."""


def _evaluated(function: Callable[..., Tensor], x: Tensor, out: Tensor | None) -> Tensor:
    if has_torch_function_unary(x):
        # A tape records the call as one operation.
        options = {} if out is None else {"out": out}
        found: Tensor = handle_torch_function(function, (x,), x, **options)
        return found
    if torch.compiler.is_compiling():
        result = ELEMENTARY[function].of_torch(x)
    elif x.requires_grad and torch.is_grad_enabled():
        result = _Differentiable.apply(x, function)
    else:
        return _values(function, x, out)
    return result if out is None else out.copy_(result)


def _values(function: Callable[..., Tensor], x: Tensor, out: Tensor | None = None) -> Tensor:
    """The values at x, in x's layout, or in `out`: in C if that is at hand, else piece by piece on tensors; equal bits."""
    if x.device.type != "cpu" or not _owns_memory(x):
        result = definition_of(function, x.dtype)(x)
        return result if out is None else out.copy_(result)
    result = torch.empty_like(x) if out is None else out
    compiled = COMPILED.find(function, x)
    if compiled is not None and x.is_contiguous() and result.is_contiguous():
        compiled(x.data_ptr(), result.data_ptr(), x.numel())
        return result
    flat = x.contiguous().view(-1)
    if compiled is not None:
        made = torch.empty_like(flat)
        compiled(flat.data_ptr(), made.data_ptr(), len(flat))
    else:
        made = _by_tensors(definition_of(function, x.dtype), flat)
    return result.copy_(made.view(x.shape))


def _by_tensors(definition: Definition, flat: Tensor) -> Tensor:
    """The values at the entries, shape (n,), by operations on tensors that no dispatch mode sees, as none sees those in C."""
    with _disable_current_modes() if torch._C._len_torch_dispatch_stack() else nullcontext():
        if len(flat) <= _CACHED:
            return definition(flat)
        return torch.cat([definition(part) for part in flat.split(_CACHED)])


def _owns_memory(x: Tensor) -> bool:
    """Does the tensor hold its numbers? Those of `torch.func` transformations and of subclasses need not."""
    return type(x) in (Tensor, torch.nn.Parameter) and not torch._C._functorch.is_functorch_wrapped_tensor(x)

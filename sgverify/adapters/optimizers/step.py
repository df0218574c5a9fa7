"""How does one step of an optimizer run from a given position, momentum and memory?

An optimizer is constructed once for each shape and each value of its options, and kept: before a call its parameters, its
gradients and what it carries on are set, after `step()` they are read. In two dimensions theta lies in two parameters, each in
a group of its own; in three and more in three, of which the first two have one shape and one group.
"""

from __future__ import annotations

import copy
import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ContextDecorator, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor
from torch._functorch.pyfunctorch import temporarily_pop_interpreter_stack
from torch.autograd import profiler
from torch.utils._python_dispatch import _disable_current_modes

from sgverify.adapters.optimizers.kept_values import OUTSIDE, KeptValue
from sgverify.adapters.optimizers.options import At, Options
from sgverify.errors import DefinitionError, SgverifyError, UserError

LATE = 10**9
"""A late value of a counter: corrections of the first steps, such as 1 - beta^k, have come to their end."""

MOST_KEPT = 64
"""The most optimizers, each with its own options or shape, that are kept for further calls."""

Gradient = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Buffer:
    """A value that an optimizer carries from step to step: one place, or one for each parameter if it is shaped as they are."""

    name: str
    places: tuple[KeptValue, ...]
    by_parameter: bool


@dataclass(frozen=True)
class Kept:
    """What an optimizer keeps: counters, and buffers; `split` as theta is.

    A step that is held finds its counters late, or at what they `stood` at after some steps as it is. `rewritten` are its options
    that it changes itself, as a schedule of its own does: they are held at what it is made with.
    """

    counters: tuple[KeptValue, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    split: bool = True
    stood: Mapping[tuple[Any, ...], float] = field(default_factory=dict)
    rewritten: tuple[KeptValue, ...] = ()
    shared: str = ""
    """A tensor that parameters of one shape have together."""
    stocks: tuple[KeptValue, ...] = ()
    """Lists and dictionaries that grow or shrink, such as a pool of draws: a step that is held finds them empty."""

    def value_of(self, counter: KeptValue) -> float:
        """The value at which a counter is held."""
        return self.stood.get((counter.root, counter.keys), LATE)


@dataclass(frozen=True)
class MomentumBuffer:
    """The momentum p is `factor(at)` times the buffer of this name; `told` is the formula."""

    buffer: str
    factor: Callable[[At], float] = field(repr=False)
    told: str


@contextmanager
def apart() -> Iterator[None]:
    """A context in which torch's draws are not seen, and leave its generator as it was."""
    with _disable_current_modes(), torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.default_generator.manual_seed(0)
        yield


class OptimizerStep:
    """One step from (theta, p, memory), as far as the dynamics has p; tensors of shape (dim,), or (chains, dim) of many chains."""

    def __init__(
        self,
        options: Options,
        code: Callable[..., Any],
        kept: Kept,
        momentum: MomentumBuffer | None,
        told: str,
        *,
        valued: bool = False,
        xi: MomentumBuffer | None = None,
    ) -> None:
        """`valued`: a step depends on the value that its closure returns; `xi` is the buffer that is a thermostat's friction."""
        self.valued = valued
        self.variables = [variable for variable in (momentum, xi) if variable is not None]
        self.options, self.kept, self.momentum, self.told = options, kept, momentum, told
        # The code that is judged, for the searches of what it keeps and of its lines.
        self.function = self.__wrapped__ = code
        self.__name__ = options.name
        named = [variable.buffer for variable in self.variables]
        self.memory = [buffer for buffer in kept.buffers if buffer.name not in named]
        self._made: OrderedDict[Any, tuple[Any, list[Tensor]]] = OrderedDict()

    def holding(self, kept: Kept, options: Options | None = None) -> OptimizerStep:
        """The step with its counters held so, and with other options; its buffers are all memory."""
        return OptimizerStep(options or self.options, self.function, kept, None, self.told)

    def __call__(
        self,
        *state: Tensor,
        h: float,
        grad: Gradient,
        dim: int,
        log_density: Gradient | None = None,
        **numbers: float,
    ) -> tuple[Tensor, ...]:
        """The state after one step."""
        at = self.options.at({"h": h, "dim": float(dim), **numbers})
        theta, rest = state[0], list(state[1:])
        values: dict[str, Tensor] = {}
        factors = {variable.buffer: variable.factor(at) * at.root for variable in self.variables}
        values.update((name, rest.pop(0) / factor) for name, factor in factors.items())
        values.update((buffer.name, value) for buffer, value in zip(self.memory, rest, strict=True))
        loss = None
        if log_density is not None:
            density = log_density

            def loss(place: Tensor) -> Tensor:
                prior = at.prior / 2 * (place * place).sum()
                return -density(place).sum() / at.temperature - prior

        def force(place: Tensor) -> Tensor:
            given = grad(place) / at.temperature
            return given - at.prior * place if at.prior else given

        moved, after = self.take(at, theta, values, force, loss)
        variables = [after[name] * factor for name, factor in factors.items()]
        return (moved, *variables, *(after[buffer.name] for buffer in self.memory))

    def take(
        self,
        at: At,
        theta: Tensor,
        values: Mapping[str, Tensor],
        gradient: Gradient,
        loss: Gradient | None = None,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """theta and the buffers after one step; `loss` is the value of the closure."""
        if theta.ndim > 1 and not all(buffer.by_parameter for buffer in self.kept.buffers):
            raise DefinitionError(
                f"{self.told}: keeps values of other shapes than theta's: it takes one chain"
            )
        optimizer, parameters = self.optimizer(at, theta)
        with torch.no_grad():
            for parameter, part in zip(parameters, self._parts(theta), strict=True):
                parameter.copy_(part)
        for buffer in self.kept.buffers:
            value = values[buffer.name]
            for place, part in zip(buffer.places, self._of(buffer, value), strict=False):
                place.write(optimizer, parameters, part)
        for place in self.kept.counters:
            if place.number < len(parameters):
                place.write(optimizer, parameters, self.kept.value_of(place), exact=True)
        for place in self.kept.rewritten:
            if place.number < len(optimizer.param_groups):
                place.write(optimizer, parameters, self.options.made_with(place.keys[0], at))
        for place in self.kept.stocks:
            if place.number < len(parameters):
                place.read(optimizer, parameters).clear()
        run(optimizer, parameters, self._parts, gradient, self.told, loss)
        found = {}
        for buffer in self.kept.buffers:
            parts = [
                place.read(optimizer, parameters) for place in buffer.places if place.number < len(parameters)
            ]
            tensors = [
                torch.as_tensor(part, dtype=None if isinstance(part, Tensor) else theta.dtype).detach()
                for part in parts
            ]
            found[buffer.name] = torch.cat(tensors, dim=-1) if buffer.by_parameter else tensors[0].clone()
        return torch.cat([parameter.detach() for parameter in parameters], dim=-1), found

    def optimizer(self, at: At, theta: Tensor) -> tuple[Any, list[Tensor]]:
        """The optimizer with these options for parameters like theta, and its parameters."""
        if is_functorch_wrapped_tensor(theta):
            return self._mapped(at, theta)
        key = (tuple(theta.shape), theta.dtype, tuple(at.values.items()))
        if key not in self._made:
            self._made[key] = made(
                self.options, at, [part.detach() for part in self._parts(theta)], self.told
            )
            if len(self._made) > MOST_KEPT:
                self._made.popitem(last=False)
        self._made.move_to_end(key)
        return self._made[key]

    def _mapped(self, at: At, theta: Tensor) -> tuple[Any, list[Tensor]]:
        """A copy of the optimizer of one chain, which is made outside of torch's vmap, on parameters that vmap maps over."""
        parts, one = [part.detach().clone() for part in self._parts(theta)], (tuple(theta.shape), theta.dtype)
        with temporarily_pop_interpreter_stack():
            optimizer, parameters = self.optimizer(at, torch.ones(one[0], dtype=one[1]))
        if OUTSIDE in vars(optimizer):
            # Its values outside are put in their places by a step that is bound to it.
            return made(self.options, at, parts, self.told)
        mapped: list[Tensor] = [torch.nn.Parameter(part) for part in parts]
        memo = {id(old): new for old, new in zip(parameters, mapped, strict=True)}
        copied = object.__new__(type(optimizer))
        for name, value in vars(optimizer).items():
            new = copy.deepcopy(value, memo)
            if type(new) is dict:
                # Some are kept by the id of a parameter.
                new = {id(memo[k]) if isinstance(k, int) and k in memo else k: v for k, v in new.items()}
            vars(copied)[name] = new
        return copied, mapped

    def _of(self, buffer: Buffer, value: Tensor) -> Sequence[Tensor]:
        return self._parts(value) if buffer.by_parameter else [value]

    def _parts(self, theta: Tensor) -> tuple[Tensor, ...]:
        """theta as the optimizer's parameters."""
        return parts_of(theta, self.kept.split)


def parts_of(theta: Tensor, split: bool) -> tuple[Tensor, ...]:
    """theta in one part, or split along its last axis: in two parts in two dimensions, in three parts in more.

    The first two of three have one length: noise may be missing in the second, or be that of the first.
    """
    dim = theta.shape[-1]
    if not split or dim < 2:
        return (theta,)
    first = max(dim // 3, 1)
    if dim == 2:
        return theta[..., :first], theta[..., first:]
    return theta[..., :first], theta[..., first : 2 * first], theta[..., 2 * first :]


def _groups(parameters: Sequence[Tensor]) -> Sequence[Any]:
    """The parameters in their groups: of three, the first two are in one."""
    if len(parameters) == 1:
        return parameters
    return [{"params": list(parameters[:-1])}, {"params": [parameters[-1]]}]


def made(options: Options, at: At, parts: Sequence[Tensor], told: str) -> tuple[Any, list[Tensor]]:
    """An optimizer of parameters like these, which has made one step, and its parameters.

    Raises `UserError` if it cannot be made, or cannot step.
    """
    with apart():
        parameters: list[Tensor] = [torch.nn.Parameter(torch.ones_like(part)) for part in parts]
        try:
            optimizer = options.make(_groups(parameters), **at.values)
            if not callable(getattr(optimizer, "step", None)):
                raise DefinitionError(
                    f"{told}: returned a {type(optimizer).__name__}; expected a function of params that returns an optimizer"
                )
            run(
                optimizer,
                parameters,
                lambda x: parts_of(x, len(parts) > 1),
                lambda x: torch.full_like(x, 0.5),
                told,
            )
        except SgverifyError:
            raise
        except (Exception, SystemExit) as error:
            shown = ", ".join(f"{name}={value!r}" for name, value in at.values.items())
            shapes = " and ".join(str(tuple(part.shape)) for part in parts)
            kind = parts[0].dtype
            raise UserError(
                f"{told}: {options.name}(params, {shown}) and its first step(), with parameters of shape {shapes} in {kind} and "
                f"their gradients, raised {type(error).__name__}: {error}; expected an optimizer that takes these options; mend "
                "it, or adapter.map"
            ) from error
        return optimizer, parameters


def closure_needed(step: Callable[..., Any]) -> bool:
    """Does `step`, a method or the function of a class, need an argument besides self?"""
    method = getattr(step, "__func__", None)
    return _needs_arguments(step, 0) if method is None else _cached_needs(method, 1)


def _needs_arguments(step: Callable[..., Any], given: int) -> bool:
    return any(
        item.default is item.empty
        and item.kind is not item.VAR_KEYWORD
        and item.kind is not item.VAR_POSITIONAL
        and item.name != "self"
        for item in list(inspect.signature(step).parameters.values())[given:]
    )


_cached_needs = lru_cache(maxsize=64)(_needs_arguments)


class _Unrecorded(nullcontext[None], ContextDecorator):
    """Stands for torch's `record_function`, takes what it takes, and records nothing."""

    def __init__(self, *_: Any) -> None:
        super().__init__()


def unrecorded_step(optimizer: Any, *closure: Any) -> None:
    """`step()` without the record for torch's profiler that torch puts around it, a share of the time of a short step."""
    kept, profiler.record_function = profiler.record_function, _Unrecorded  # type: ignore[misc, assignment]
    try:
        optimizer.step(*closure)
    finally:
        profiler.record_function = kept  # type: ignore[misc]


def run(
    optimizer: Any,
    parameters: Sequence[Tensor],
    parts: Callable[[Tensor], Sequence[Tensor]],
    gradient: Gradient,
    told: str,
    loss: Gradient | None = None,
) -> None:
    """Put gradients at the parameters, and call `step()`, with a closure if it needs one, or if a loss is given.

    Raises `DefinitionError` if a parameter gets another shape, or a closure is needed and not called. The closure puts new
    gradients where the parameters are then, and returns the loss there; NaN without one, which shows where a step depends on it.
    """

    differentiated = []

    def differentiate() -> Tensor:
        differentiated.append(True)
        here = torch.cat([parameter.detach() for parameter in parameters], dim=-1)
        for parameter, part in zip(parameters, parts(gradient(here)), strict=True):
            parameter.grad = part.clone()
        return torch.full((), float("nan"), dtype=here.dtype) if loss is None else loss(here)

    shapes = [tuple(parameter.shape) for parameter in parameters]
    needed = closure_needed(optimizer.step)
    if loss is not None or needed:
        unrecorded_step(optimizer, differentiate)
        if needed and not differentiated:
            # Else it would be judged with gradients of another place.
            raise DefinitionError(
                f"{told}: step() was given a closure and did not call it; expected a step that calls its closure, or needs none "
                "and takes the gradients of its parameters; def step(self, closure=None)"
            )
    else:
        differentiate()
        unrecorded_step(optimizer)
    for shape, parameter in zip(shapes, parameters, strict=True):
        if shape != tuple(parameter.shape):
            raise DefinitionError(
                f"{told}: step() gave a parameter of shape {shape} the shape {tuple(parameter.shape)}; expected the same shape"
            )

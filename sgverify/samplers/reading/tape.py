"""Which tensor operations make up one step of a run? They are recorded on a tape while the definition runs.

At every step a definition spends time on look-ups of constants, calls of letters, and creation of tensors, none of which depends
on the state. The tape keeps only the tensor operations, in their order, and plays them on other states, with equal bits in less
time. A step that cannot be recorded raises during the recording, and the run continues with the definition itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from sgverify.errors import Unreached
from sgverify.samplers.reading.arithmetic import root
from sgverify.samplers.reading.constants import Clock, Constant, is_lasting
from sgverify.samplers.reading.elementary import ELEMENTARY

# The variant of each operation that writes its result to an existing tensor.
_INTO: dict[Any, Callable[..., Any]] = {
    getattr(torch.Tensor, name): getattr(torch, name) for name in ("add", "sub", "mul", "div", "neg")
} | {function: function for function in (root, *ELEMENTARY)}


_CONVERSIONS = (torch.Tensor.to, torch.Tensor.double, torch.Tensor.contiguous)
"""Operations that may return their argument itself, where there is nothing to do."""

_FOLDED = 2
"""The most axes of a constant that a tape computes once: constants have no axes of step sizes and chains."""


@dataclass(frozen=True)
class Operation:
    """One operation: the name of its result, the called function, its arguments, and the result."""

    name: str
    function: Any
    call: str
    given: list[str]
    result: Tensor


@dataclass(frozen=True, eq=False)
class Tape:
    """The operations of a step.

    `play(inputs, constants, fixed)` returns the new state; `play_into(inputs, constants, fixed, outputs)` writes it to existing
    tensors. Inputs are the state and the draws. `constants` are those that the step used; their values are looked up at every
    step, so that a changing step size is always the present one. `key` differs for tapes that compute different functions of
    (inputs, constants, fixed). `lines` are the operations in order, with names for their results and for the objects in
    `space`; `outputs` are the names of the new state.
    """

    play: Callable[..., tuple[Tensor, ...]]
    play_into: Callable[..., None]
    constants: tuple[Constant, ...]
    fixed: tuple[Tensor, ...]
    key: str
    lines: tuple[Operation, ...]
    outputs: tuple[str, ...]
    space: dict[str, Any]

    def met(self, like: Tensor) -> tuple[Tensor, ...]:
        """The values of the constants at the present step, as tensors like `like`."""
        return tuple(constant.meet(like) for constant in self.constants)

    @property
    def steady(self) -> bool:
        """Are all constants equal at every step?"""
        return all(len(constant.value) == 1 for constant in self.constants)


def record(
    step: Callable[[], Sequence[Tensor]],
    inputs: Sequence[Tensor],
    fixed: Sequence[Tensor],
    clock: Clock,
    *,
    overwritten: int = 0,
) -> tuple[Tape, tuple[Tensor, ...]]:
    """Run `step` and record its operations; returns the tape and the step's result.

    `inputs` are the tensors that change from step to step, `fixed` those that do not; `lasting` tensors, and what the step computes
    of fixed ones alone, join these. Every other tensor must come from a constant of the run or from the step's own operations;
    otherwise, and for an operation in place, `Unreached` is raised. Operations without effect on the result are left out. The
    step must have run before, so that its constants exist. `play_into` may overwrite the first `overwritten` of the inputs after
    their last use.
    """
    recorder = _Recorder(clock, inputs, fixed)
    clock.met = {}
    try:
        with recorder:
            result = tuple(step())
        outputs = [recorder.write(tensor) for tensor in result]
    finally:
        clock.met = None
    taken = [
        f"    {', '.join(f'{letter}{k}' for k in range(count))}, = {letter}"
        for letter, count in (("x", len(inputs)), ("c", len(recorder.owners)))
        if count
    ]
    recorded = _effective(recorder.lines, outputs)
    lines = [f"    {line.name} = {line.call}({', '.join(line.given)})" for line in recorded]
    text = "\n".join(["def play(x, c, f):", *taken, *lines, f"    return ({', '.join(outputs)},)"])
    key = f"{text}\n{recorder.space}"
    space = dict(recorder.space)
    own = {f"x{k}": tensor for k, tensor in enumerate(inputs[:overwritten])}
    into = "\n".join(["def play_into(x, c, f, o):", *taken, *_into(recorded, outputs, own, space)])
    exec(text, space)
    exec(into, space)
    tape = Tape(
        space["play"],
        space["play_into"],
        tuple(recorder.owners),
        tuple(recorder.fixed),
        key,
        tuple(replace(line, result=line.result.to("meta")) for line in recorded),
        tuple(outputs),
        recorder.space,
    )
    return tape, result


def room(state: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Empty tensors with the shapes and dtypes of this state."""
    return tuple(torch.empty_like(tensor) for tensor in state)


class _Recorder(TorchFunctionMode):
    """Records each operation on tensors."""

    def __init__(self, clock: Clock, inputs: Sequence[Tensor], fixed: Sequence[Tensor]) -> None:
        super().__init__()
        self.fixed: list[Tensor] = []
        self.names: dict[int, str] = {}
        for tensor in fixed:
            self._fix(tensor)
        self.names.update({id(tensor): f"x{number}" for number, tensor in enumerate(inputs)})
        self.owners: list[Constant] = []
        self.space: dict[str, Any] = {}
        self.lines: list[Operation] = []
        self._clock = clock

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        parts = result if isinstance(result, (tuple, list)) else (result,)
        if not any(isinstance(part, Tensor) for part in parts) or (
            func in _CONVERSIONS and any(result is part for part in args)
        ):
            return result
        if not isinstance(result, Tensor) or id(result) in self.names:
            raise Unreached(f"{func} works in place, or returns several tensors")
        if result.ndim <= _FOLDED and self._unchanging([*args, *kwargs.values()]):
            self._fix(result)
            return result
        given = [self.write(part) for part in args]
        given += [f"{name}={self.write(part)}" for name, part in kwargs.items()]
        # The line keeps the result alive, so that its id is not reused for a later tensor.
        line = Operation(f"t{len(self.lines)}", func, self._bind(func), given, result)
        self.lines.append(line)
        self.names[id(result)] = line.name
        return result

    def write(self, value: Any) -> str:
        """The name of a tensor, or of another argument of an operation."""
        if not isinstance(value, Tensor):
            return self._bind(value)
        if id(value) in self.names:
            return self.names[id(value)]
        if is_lasting(value):
            return self._fix(value)
        met = self._clock.met or {}
        if id(value) not in met:
            raise Unreached(f"a tensor of shape {tuple(value.shape)} comes from outside the step")
        name = self.names[id(value)] = f"c{len(self.owners)}"
        self.owners.append(met[id(value)])
        return name

    def _unchanging(self, arguments: Sequence[Any]) -> bool:
        """Is some argument a tensor, and are all such fixed?"""
        tensors = [part for part in arguments if isinstance(part, Tensor)]
        return bool(tensors) and all(
            self.names.get(id(part), "").startswith("f") or is_lasting(part) for part in tensors
        )

    def _fix(self, tensor: Tensor) -> str:
        """The name of a tensor that does not change, which the tape holds from now on."""
        name = self.names[id(tensor)] = f"f[{len(self.fixed)}]"
        self.fixed.append(tensor)
        return name

    def _bind(self, value: Any) -> str:
        if isinstance(value, (tuple, list)) and any(isinstance(part, Tensor) for part in value):
            raise Unreached("an operation on a list of tensors")
        name = f"k{len(self.space)}"
        self.space[name] = value
        return name


def _effective(recorded: Sequence[Operation], outputs: Sequence[str]) -> list[Operation]:
    """The operations on which the outputs depend."""
    wanted, kept = {*outputs}, []
    for line in reversed(recorded):
        if line.name in wanted:
            kept.append(line)
            wanted.update(name.partition("=")[2] or name for name in line.given)
    return kept[::-1]


def _into(
    recorded: Sequence[Operation], outputs: Sequence[str], own: dict[str, Tensor], space: dict[str, Any]
) -> list[str]:
    """The recorded operations as lines that write to existing tensors: outputs directly, other results to a few buffers."""
    last = {name: place for place, line in enumerate(recorded) for name in line.given}
    wanted = {name: f"o[{k}]" for k, name in enumerate(outputs) if outputs.count(name) == 1}
    free: dict[Any, list[str]] = {}
    held: dict[str, tuple[Any, str]] = {name: (_kind(tensor), name) for name, tensor in own.items()}
    written: set[str] = set()
    lines = []
    for place, line in enumerate(recorded):
        function = _INTO.get(line.function)
        arguments = ", ".join(line.given)
        if function is None:
            # The result may be a view of an argument, whose memory is therefore not reused.
            for name in line.given:
                held.pop(name, None)
            lines.append(f"    {line.name} = {line.call}({arguments})")
            continue
        for name in {*line.given} & {*held}:
            if last[name] == place and name not in outputs:
                kind, buffer = held.pop(name)
                free.setdefault(kind, []).append(buffer)
        if line.name in wanted:
            target = wanted[line.name]
            written.add(line.name)
        else:
            kind = _kind(line.result)
            spare = free.get(kind)
            if spare:
                target = spare.pop()
            else:
                target = f"b{len(space)}"
                space[target] = torch.empty_like(line.result)
            held[line.name] = (kind, target)
        space[f"into_{function.__name__}"] = function
        lines.append(f"    {line.name} = into_{function.__name__}({arguments}, out={target})")
    return [*lines, *(f"    o[{k}].copy_({name})" for k, name in enumerate(outputs) if name not in written)]


def _kind(tensor: Tensor) -> tuple[Any, ...]:
    return tensor.shape, tensor.dtype

"""The compiled reading: the tape of a step, several steps at once, through torch.compile.

It needs a C++ compiler. The operations are those of the tape, in their order; a compiler may round some of them
otherwise (a fused multiply-add, another exponential), so results agree with the plain reading up to rounding only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sgverify.errors import ConfigurationError
from sgverify.samplers.noise import KEPT
from sgverify.samplers.tape import Tape

STEPS = KEPT
"""Steps that are compiled as one."""

_COMPILED: dict[tuple[Any, ...], Callable[..., Any]] = {}


@dataclass(frozen=True)
class Stretch:
    """The states after each of STEPS steps, and what was read of each."""

    states: list[tuple[Tensor, ...]]
    values: list[tuple[Tensor, ...]]


def together(compiled: bool | str, tape: Tape | None, observer: Any, left: int) -> int:
    """How many of the next steps are compiled as one by torch, 0 for none; `observer` reads the states, if it is there."""
    ready = compiled is True and tape is not None and left >= STEPS
    return STEPS if ready and (observer is None or observer.tape is not None) else 0


def compiled_steps(tape: Tape, observe: Tape | None, inputs: Sequence[Tensor]) -> Callable[..., Any]:
    """STEPS steps of a tape as one function of (state, draws, constants, fixed), compiled when it is first called.

    `draws` and `constants` hold those of each step; it returns what a `Stretch` holds, `observe` being a tape of test
    functions. Constants are arguments, never part of what is compiled; tapes that differ in anything else are
    compiled apart.
    """
    shapes = tuple((tuple(tensor.shape), tensor.dtype, tensor.device) for tensor in inputs)
    key = (tape.key, None if observe is None else observe.key, shapes)
    if key not in _COMPILED:
        _COMPILED[key] = _compile(tape.play, None if observe is None else observe.play)
    return _COMPILED[key]


def _compile(play: Callable[..., Any], observe: Callable[..., Any] | None) -> Callable[..., Any]:
    def steps(state: Any, draws: Any, constants: Any, fixed: Any) -> Any:
        states, values = [], []
        for k in range(STEPS):
            state = play((*state, *draws[k]), constants[k], fixed)
            states.append(state)
            values.append(() if observe is None else observe(state, (), ()))
        return states, values

    compiled = torch.compile(steps, fullgraph=True, dynamic=False)

    def run(*given: Any) -> Any:
        try:
            with warnings.catch_warnings():
                # torch compiles with functions of its own that it has deprecated.
                warnings.simplefilter("ignore", DeprecationWarning)
                return compiled(*given)
        except Exception as error:  # torch's own types of errors change from release to release
            reason = " ".join((str(error).strip() or type(error).__name__).splitlines()[:3])
            raise ConfigurationError(
                f"compiled=True: torch.compile fails here: {reason}; it needs a C++ compiler such as g++; install one, or "
                "leave compiled=False"
            ) from error

    return run

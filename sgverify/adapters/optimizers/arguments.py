"""Which arguments does `step` of an optimizer take besides a closure, such as a learning rate or a flag, and how are they given?"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

EMPTY = inspect.Parameter.empty


def arguments_of_step(make: Callable[..., Any], known: Collection[str]) -> dict[str, Any]:
    """The arguments of the step of a class with their defaults; those without default have a name among `known`.

    The first one that is none of these is the closure, whatever it is called.
    """
    kind = make.func if isinstance(make, functools.partial) else make
    step = inspect.unwrap(getattr(kind, "step", None)) if isinstance(kind, type) else None  # type: ignore[arg-type]
    if step is None:
        return {}
    return {
        item.name: item.default
        for item in list(inspect.signature(step).parameters.values())[1:]
        if item.kind in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY)
        and "closure" not in item.name
        and (item.name in known or (item.default is not EMPTY and item.default is not None))
    }


def giving(make: Callable[..., Any], arguments: Mapping[str, Any]) -> Callable[..., Any]:
    """A function that makes an optimizer whose `step` is given those of its options that are arguments of the step."""

    def made(params: Any, **options: Any) -> Any:
        with _compiler_left_out():
            optimizer = make(
                params, **{name: value for name, value in options.items() if name not in arguments}
            )
        given = {name: value for name, value in options.items() if name in arguments}
        if given:
            optimizer.step = _given(optimizer.step, given)
        return optimizer

    return made


def _given(step: Callable[..., Any], arguments: Mapping[str, Any]) -> Callable[..., Any]:
    """A step with these arguments, to which the others are given in their order: a closure need not be the first one."""
    signature = inspect.signature(step)
    left = [item for name, item in signature.parameters.items() if name not in arguments]

    def stepped(*others: Any) -> Any:
        names = (item.name for item in left if item.kind is not item.VAR_POSITIONAL)
        return step(**arguments, **dict(zip(names, others, strict=False)))

    stepped.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
    return stepped


@contextmanager
def _compiler_left_out() -> Iterator[None]:
    """A context in which an optimizer is made without torch's compiler, a second's import.

    torch imports it to leave `add_param_group` out of what it compiles; where it is not imported, it compiles nothing.
    """
    function, mark = getattr(torch.optim.Optimizer.add_param_group, "__wrapped__", None), "__dynamo_disable"
    if function is None or "torch._dynamo" in sys.modules or hasattr(function, mark):
        yield
        return
    setattr(function, mark, function)
    try:
        yield
    finally:
        delattr(function, mark)


__all__ = ["EMPTY", "arguments_of_step", "giving"]

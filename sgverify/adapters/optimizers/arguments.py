"""Which arguments does `step` of an optimizer take besides a closure, such as a learning rate or a flag, and how are they given?"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

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
        optimizer = make(params, **{name: value for name, value in options.items() if name not in arguments})
        given = {name: value for name, value in options.items() if name in arguments}
        if given:
            optimizer.step = functools.partial(optimizer.step, **given)
        return optimizer

    return made if arguments else make


__all__ = ["arguments_of_step", "giving"]

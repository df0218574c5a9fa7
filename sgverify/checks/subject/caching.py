"""What is derived from a subject once, and kept with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar


class HasMemory(Protocol):
    """Whoever keeps what was derived from it."""

    @property
    def memory(self) -> dict[tuple[Any, ...], Any]:
        """Values by the function that made them and its further arguments."""


Owner = TypeVar("Owner", bound=HasMemory)
Further = ParamSpec("Further")
Value = TypeVar("Value")


def cached_per_subject(
    function: Callable[Concatenate[Owner, Further], Value],
) -> Callable[Concatenate[Owner, Further], Value]:
    """`function`, called once for each subject and each list of further arguments, which are hashable; what raises is not kept.

    >>> class Counting:
    ...     memory: dict = {}
    >>> @cached_per_subject
    ... def longer(owner, by):
    ...     print("computed")
    ...     return by + 1
    >>> longer(Counting(), 1), longer(Counting(), 1)
    computed
    (2, 2)
    """

    @wraps(function)
    def once(owner: Owner, /, *further: Further.args, **named: Further.kwargs) -> Value:
        key = (function, *further, *sorted(named.items()))
        if key not in owner.memory:
            owner.memory[key] = function(owner, *further, **named)
        value: Value = owner.memory[key]
        return value

    return once


__all__ = ["cached_per_subject"]

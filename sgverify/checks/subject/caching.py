"""How is a quantity derived from a subject computed once and stored with the subject?"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar


class HasMemory(Protocol):
    """An object, such as a subject, with a dictionary for the values derived from it."""

    @property
    def memory(self) -> dict[tuple[Any, ...], Any]:
        """The stored values, by the function that computed each and its further arguments."""


Owner = TypeVar("Owner", bound=HasMemory)
Further = ParamSpec("Further")
Value = TypeVar("Value")


def cached_per_subject(
    function: Callable[Concatenate[Owner, Further], Value],
) -> Callable[Concatenate[Owner, Further], Value]:
    """`function` with a cache: it is called once for each subject and each tuple of further (hashable) arguments.

    A call that raises is not cached.

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

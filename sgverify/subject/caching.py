"""Quantities of a subject are computed once and stored with the subject, so that all questions share them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sgverify.errors import Unreached


class HasMemory(Protocol):
    """An object, such as a subject, with dictionaries for the values derived from it."""

    @property
    def memory(self) -> dict[tuple[Any, ...], Any]:
        """The stored values, by the function that computed each and its further arguments."""

    @property
    def related(self) -> dict[tuple[Any, ...], Any]:
        """The values of which others of its kind have the same, by the function and by what the value depends on."""


Owner = TypeVar("Owner", bound=HasMemory)
Further = ParamSpec("Further")
Value = TypeVar("Value")


def cached_per_subject(
    function: Callable[Concatenate[Owner, Further], Value],
) -> Callable[Concatenate[Owner, Further], Value]:
    """`function` with a cache: it is called once for each subject and each tuple of further (hashable) arguments.

    An `Unreached` is kept and raised again; another exception is not.

    >>> class Counting:
    ...     memory: dict = {}
    ...     related: dict = {}
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
            try:
                owner.memory[key] = function(owner, *further, **named)
            except Unreached as why:
                owner.memory[key] = why
        value: Value = owner.memory[key]
        if isinstance(value, Unreached):
            raise value.with_traceback(None)
        return value

    return once


class Same:
    """An object as a key that equals itself alone; it is held, so that no later object takes its place.

    >>> one = object()
    >>> Same(one) == Same(one), Same(one) == Same(object())
    (True, False)
    """

    def __init__(self, held: object) -> None:
        self._held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self._held is other._held

    def __hash__(self) -> int:
        return id(self._held)


def cached_by(
    *parts: Callable[[Any], Any],
) -> Callable[[Callable[[Owner], Value]], Callable[[Owner], Value]]:
    """A decorator for a function of a subject that depends on these parts of it alone: subjects with equal parts share its value.

    Subjects are related if `dataclasses.replace` makes one of the other, as those of one scheme under two gradients are. Parts are
    hashable; `Same` makes one of a scheme. A call that raises is not cached.
    """

    def decorated(function: Callable[[Owner], Value]) -> Callable[[Owner], Value]:
        @wraps(function)
        def once(owner: Owner) -> Value:
            key = (function, *(part(owner) for part in parts))
            if key not in owner.related:
                owner.related[key] = function(owner)
            value: Value = owner.related[key]
            return value

        return once

    return decorated

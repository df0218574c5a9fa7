"""Points that nobody has looked at yet.

A verdict comes from an expansion at h = 0, or for L to infinity, and its points show what happens at steps and lengths of a run.
A page, a plot or a document draws them; a verdict that is only read never computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any


class PointsAtSight(tuple[Any, ...]):
    """Points that illustrate a verdict and do not decide it: computed when somebody looks, once."""

    _make: Callable[[], Iterable[Any]]

    def __new__(cls, source: Callable[[], Iterable[Any]] | Iterable[Any]) -> Any:
        """The points that `source()` returns; those of an iterable, as `dataclasses.asdict` gives one, are a plain tuple."""
        if not callable(source):
            return tuple(source)
        points = super().__new__(cls)
        points._make = source
        return points

    @cached_property
    def seen(self) -> tuple[Any, ...]:
        """The points."""
        return tuple(self._make())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.seen)

    def __len__(self) -> int:
        return len(self.seen)

    def __getitem__(self, place: Any) -> Any:
        return self.seen[place]

    def __eq__(self, other: object) -> bool:
        return self.seen == (other.seen if isinstance(other, PointsAtSight) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.seen)

    def __repr__(self) -> str:
        return repr(self.seen)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self.seen),)

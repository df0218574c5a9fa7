"""Values that related subjects share: no object hands its value to a later one that takes its place in memory."""

from __future__ import annotations

from typing import Any

from sgverify.subject.caching import Same, cached_by


class Related:
    def __init__(self, related: dict[tuple[Any, ...], Any]) -> None:
        self.memory: dict[tuple[Any, ...], Any] = {}
        self.related, self.scheme = related, object()


def test_an_object_that_is_gone_hands_on_no_value() -> None:

    @cached_by(lambda owner: Same(owner.scheme))
    def value(owner: Related) -> int:
        return next(numbers)

    numbers, related = iter(range(100)), {}  # type: ignore[var-annotated]
    assert [value(Related(related)) for _ in range(100)] == list(range(100))
    kept = Related(related)
    numbers = iter([7])
    assert value(kept) == value(kept) == 7

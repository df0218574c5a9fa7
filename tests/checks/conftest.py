"""What every check asks of a scheme, computed once for all tests: its proof of order and its stability limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sgverify.checks.subject import step_sizes, subject


@pytest.fixture(autouse=True, scope="session")
def what_is_known_of_a_scheme() -> Iterator[None]:
    """Planted bugs are schemes of their own, or lie in code that neither of the two runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subject, "prove_order", remembered(subject.prove_order))
        patch.setattr(step_sizes, "stability_limit", remembered(step_sizes.stability_limit))
        yield


def remembered(compute: Callable[..., Any]) -> Callable[..., Any]:
    """`compute`, by which scheme and what else it is given; an exception is raised anew."""
    known: dict[Any, Any] = {}

    def once(scheme: Any, *given: Any, **more: Any) -> Any:
        key = (id(scheme), repr(given), repr(sorted(more.items())))
        if key not in known:
            # The scheme is kept, so that no other one has its id.
            known[key] = scheme, compute(scheme, *given, **more)
        return known[key][1]

    return once

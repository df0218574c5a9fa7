"""What many tests ask of the same scheme, computed once in a process: its proof of order and its stability limits.

Planted bugs are schemes of their own, or lie in code that neither of the two runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

PLACES = (
    ("sgverify.subject.subject", "prove_order"),
    ("sgverify.subject.step_sizes", "stability_limit"),
)


def remember_schemes() -> None:
    """Put the memory in, in those modules that have been imported by now."""
    for name, function in PLACES:
        module = sys.modules.get(name)
        # Half-way through its import a module may lack the function; what a test has put there itself is left alone.
        compute = getattr(module, function, None)
        if compute is not None and getattr(compute, "__module__", "").startswith("sgverify."):
            setattr(module, function, remembered(compute))


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

"""Ladders of temperatures, and how neighbours on them swap."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.configuration import ExchangeTable
from sgverify.strategies.options import whole
from sgverify.strategies.scalars import decimals

LONGEST = 4
"""Replicas."""


def exchanges(*, replicas: int = LONGEST) -> SearchStrategy[ExchangeTable]:
    """Tables `[exchange]` of replica exchange: ladders of 2 to `replicas` temperatures, and how neighbours on them swap.

    The key `ladder` holds T_k over the configured temperature: 1 for the coldest, and each next one 1.5 to 4 times as
    much as the one below it. A table may also set step factors (0.25, 0.5 or 1 times h for each replica), steps between
    swaps, and how energies are estimated. All keys are valid with every gradient, and the swaps balance: F is 2.
    Shrinks to two temperatures and no other key.

    >>> from hypothesis import find
    >>> sorted(find(exchanges(), lambda table: True).model_dump(exclude_unset=True))
    ['ladder']

    Raises `ConfigurationError` for fewer than two replicas.
    """
    whole("replicas", [replicas], 2, ", the colder and the hotter one")
    return _exchanges(replicas)


@st.composite
def _exchanges(draw: Any, replicas: int) -> ExchangeTable:
    rises = draw(st.lists(decimals(low=1.5, high=4.0, places=1), min_size=1, max_size=replicas - 1))
    ladder = [1.0]
    for rise in rises:
        # Decimals stay short: products of these have few digits.
        ladder.append(round(ladder[-1] * rise, 6))
    tree: dict[str, Any] = {"ladder": ladder}
    if draw(st.booleans()):
        factor = st.sampled_from([0.5, 1.0, 0.25])
        tree["step_factors"] = draw(st.lists(factor, min_size=len(ladder), max_size=len(ladder)))
    for key, values in (
        ("every", [2, 3]),
        ("energies", ["exact"]),
        ("variance", ["repeated"]),
        ("repeats", [2, 5]),
        ("smoothing", [0.5, 1.0]),
        ("refresh", [1, 2, 7]),
        ("momentum", ["kept"]),
    ):
        if draw(st.booleans()):
            tree[key] = draw(st.sampled_from(values))
    return ExchangeTable(**tree)


__all__ = ["exchanges"]

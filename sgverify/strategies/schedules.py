"""Schedules of step sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.configuration import ScheduleTable
from sgverify.errors import ConfigurationError
from sgverify.strategies.scalars import decimals, listed

KINDS = ("fixed", "horizon", "power", "cyclical")


def schedules(
    *, kinds: Sequence[str] = KINDS, alphas: SearchStrategy[float] | None = None, limit: float | None = None
) -> SearchStrategy[ScheduleTable]:
    """Schedule tables of `kinds`: fixed h, h = scale L^-alpha ("horizon"), h_l = scale l^-alpha ("power"), and cycles.

    Without `limit` the step is left open: half the stability limit, the library's default. With a stability limit, in
    units of time, `step` (for `fixed`) or `scale` is 0.1, 0.25, 0.5, 0.75 or 0.9 of it, to three digits. `alphas` draws
    the exponent of a horizon or power schedule, by default `exponents`; in some tables it is left open. There
    are 1 to 5 cycles; they fall to 0, or to 0.05 of `limit` where there is one. Shrinks to a fixed step.

    >>> from hypothesis import find
    >>> find(schedules(kinds=["power"]), lambda table: table.alpha is not None).model_dump(exclude_unset=True)
    {'kind': 'power', 'alpha': 0.5}

    Raises `ConfigurationError` for an empty domain.
    """
    kinds = listed("kinds", kinds, KINDS)
    if limit is not None and not limit > 0:
        raise ConfigurationError(f"limit={limit!r}: expected a positive stability limit")
    return _schedules(kinds, exponents() if alphas is None else alphas, limit)


def exponents(*, low: float = 0.05, high: float = 0.95) -> SearchStrategy[float]:
    """Exponents alpha of decreasing steps: hundredths in [`low`, `high`], which lies in (0, 1). Shrinks to simple ones.

    >>> from hypothesis import find
    >>> find(exponents(), lambda alpha: True)
    0.5

    Raises `ConfigurationError` for an empty domain.
    """
    if not 0 < low <= high < 1:
        raise ConfigurationError(f"low={low!r}, high={high!r}: expected 0 < low <= high < 1")
    simple = [alpha for alpha in (0.5, 0.25, 0.2, 0.75) if low <= alpha <= high]
    anywhere = decimals(low=low, high=high)
    return st.one_of(st.sampled_from(simple), anywhere) if simple else anywhere


@st.composite
def _schedules(
    draw: Any, kinds: tuple[str, ...], alphas: SearchStrategy[float], limit: float | None
) -> ScheduleTable:
    kind = draw(st.sampled_from(kinds))
    given: dict[str, Any] = {"kind": kind}
    if kind == "cyclical":
        given["cycles"] = draw(st.integers(1, 5))
        given["threshold"] = draw(st.sampled_from([0.0, 0.3, 0.7]))
        given["shape"] = draw(st.sampled_from(["cosine", "linear"]))
        if limit is not None and math.isfinite(limit):
            given["low"] = float(f"{draw(st.sampled_from([0.0, 0.05])) * limit:.3g}")
    elif kind != "fixed" and draw(st.booleans()):
        given["alpha"] = draw(alphas)
    if limit is not None and math.isfinite(limit):
        fraction = draw(st.sampled_from([0.5, 0.25, 0.75, 0.1, 0.9]))
        given["step" if kind == "fixed" else "scale"] = float(f"{fraction * limit:.3g}")
    return ScheduleTable(**given)

"""The smallest step size at which an error crosses a level, where the error need not grow with the step.

The error tends to 0 as a power of h. From a step so small that halving it reduces the error, steps are followed upwards by a
constant factor; the first interval in which a level is crossed is narrowed down. A crossing there and back within one such factor
is not seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sgverify.advice.size.model import Level

FACTOR = 1.3
"""The ratio of neighbouring steps of the search where a law takes a millisecond."""

MOST_HALVINGS, MOST_STEPS = 60, 400

_START, _REDUCED = 0.25, 0.8
"""The search starts where the error is below _START of the smallest level, and halving the step leaves _REDUCED of it at most."""

_NOTHING = 1e-12
"""An error of rounding alone."""

_LIMIT = 1 - 1e-6
"""The share of the stability limit up to which steps are followed."""


def smallest_crossings(
    error: Callable[[float], float],
    levels: Sequence[float],
    step: float,
    limit: float = math.inf,
    factor: float = FACTOR,
    tolerance: float = 1e-4,
    rounding: float = 0.0,
) -> tuple[Level, ...]:
    """The largest step below which the error stays within each level.

    `error` is that at a step, infinite where the chain is unstable; the search begins at `step`, and ends at the stability limit.
    `tolerance` is the relative accuracy of the steps that are found, `rounding` an error that need not fall with the step, because
    it is that of the computation.
    """
    known: dict[float, float] = {}

    def at(h: float) -> float:
        if h not in known:
            known[h] = error(h)
        return known[h]

    low, end = _small(at, min(levels), min(step, limit / 2), rounding), limit * _LIMIT
    if low is None:
        return tuple(Level(level, None) for level in levels)
    wanted, found = sorted(levels), dict[float, Level]()
    before = low
    for _ in range(MOST_STEPS):
        if not wanted or before >= end:
            break
        after = min(before * factor, end)
        while wanted and at(after) > wanted[0]:
            level = wanted.pop(0)
            root = _root(at, level, before, after, tolerance)
            # Where the chain ends before the level is met, what is crossed is stability.
            ends = math.isinf(at(after)) and math.isinf(at(root * (1 + 2 * tolerance)))
            found[level] = Level(level, root, stability=ends)
        before = after
    for level in wanted:
        found[level] = Level(level, limit if math.isfinite(limit) else None, stability=math.isfinite(limit))
    return tuple(found[level] for level in levels)


def _small(at: Callable[[float], float], level: float, step: float, rounding: float) -> float | None:
    """A step from which the error falls with h, or is that of the computation, and is far below the level; None where none is."""
    h, nothing = step, max(_NOTHING, min(rounding, _START * level))
    for _ in range(MOST_HALVINGS):
        size = at(h)
        if size <= nothing:
            return h
        if size <= _START * level and at(h / 2) <= max(_REDUCED * size, nothing):
            return h
        # An error c h, the slowest there is in most cases, needs this share of the step; a finite one four halvings at most.
        h *= min(0.5, max(1 / 16, 0.8 * _START * level / size)) if math.isfinite(size) else 0.5
    return None


def _root(at: Callable[[float], float], level: float, low: float, high: float, tolerance: float) -> float:
    a, b = math.log(low), math.log(high)
    # At a limit of the law the error may jump within the rounding of exp(log(h)): the ends are those that were compared.
    ends = {a: low, b: high}

    def above(logarithm: float) -> float:
        # Brent's method wants finite values; that an error is infinite beyond stability is all that counts there.
        return min(at(ends.get(logarithm, math.exp(logarithm))), 2 * level) - level

    # scipy.optimize takes a while to import, and the verdict's block imports this module before anything is judged.
    from scipy import optimize

    root = float(optimize.brentq(above, a, b, xtol=tolerance / 2))
    step = math.exp(root)
    return step if at(step) <= level else step * (1 - tolerance)

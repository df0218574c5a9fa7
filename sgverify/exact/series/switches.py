"""Where a root leaves its series: the h > 0 at which its argument is 0, and what becomes of it there.

An argument that changes its sign there ends the definition: beyond, the root is not real. One that touches 0 and grows again
is a switch: sqrt((h - a)^2) is a - h below a and h - a beyond, min(h, a) is made so, and no coefficient at h = 0 knows of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np

from sgverify.exact.series.conditions import LIMIT, UNSEEN
from sgverify.exact.series.polynomials import Polynomial, coefficients_in, factors, rational
from sgverify.exact.series.radicals import manifest_sign
from sgverify.exact.series.ring import SLOTS, Ring

SAME = 1e-4
"""Zeros of a float polynomial that are one double zero are found to half of the digits, 1e-8; here are some to spare."""


def note_switch(ring: Ring, terms: Mapping[int, Polynomial], text: str) -> None:
    """Name the h at which sum_k c_k h^(k/2), under a root, may next be 0, where its terms do not show that there is none."""
    if not _may_vanish(ring, terms.values()) or len(terms) == 1:
        # One power of h has no other zero.
        return
    place = f"h below the first zero of {text}"
    double = _has_square(ring, terms)
    if all(c.is_constant() for c in terms.values()):
        zeros = _zeros({k: float(rational(c.leading_coefficient())) for k, c in terms.items()})
        if not zeros:
            return
        place = f"h < {zeros[0] ** 2:.6g}"
        double = double or any(b - a < SAME * b for a, b in pairwise(zeros))
    if double:
        ring.condition(UNSEEN, f"{place}, where sqrt({text}) turns into another function of h")
    else:
        ring.condition(LIMIT, place)


def _may_vanish(ring: Ring, coefficients: Iterable[Polynomial]) -> bool:
    signs = {manifest_sign(c, ring) for c in coefficients}
    return len(signs) > 1 or 0 in signs


def _has_square(ring: Ring, terms: Mapping[int, Polynomial]) -> bool:
    """Whether a factor that may vanish at some h > 0 stands squared, or in a higher power."""
    at = ring.position("slot", SLOTS - 1)
    if at in ring.opaque:
        return True
    # The last slot is free: it stands for s.
    s, whole = ring.generator_at(at), ring.zero
    for k, c in terms.items():
        whole = whole + c * s**k
    return any(
        power > 1 and _may_vanish(ring, [part for part in coefficients_in(base, at) if part])
        for base, power in factors(whole)[1]
        if base.degrees()[at]
    )


def _zeros(terms: Mapping[int, float]) -> list[float]:
    """The s > 0 at which sum_k c_k s^k is 0, the least first."""
    roots = np.roots([terms.get(k, 0.0) for k in range(max(terms), -1, -1)])
    return sorted(roots.real[(np.abs(roots.imag) < SAME * np.abs(roots)) & (roots.real > 0)].tolist())

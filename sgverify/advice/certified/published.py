"""Bounds of the literature, as functions of a setting, for the schemes that they speak of.

Each is quoted for T = 1; at another temperature U/T takes the place of U, and h T that of h in the overdamped case.
"""

from __future__ import annotations

import math

from sgverify.advice.certified.model import PublishedBound

DALALYAN = "Dalalyan and Karagulyan 2019, Theorem 1"
LEIMKUHLER = "Leimkuhler, Paulin and Whalley 2024, for small steps"


def published_bounds(
    scheme: str, m: float, L: float, step: float, temperature: float, friction: float | None
) -> tuple[PublishedBound, ...]:
    """The bounds known for this scheme that hold at this step size."""
    found: list[PublishedBound] = []
    if scheme == "sgld-euler" and step <= 2 / (m + L):
        distance = 1.65 * (L / m) * math.sqrt(step * temperature)
        found.append(PublishedBound(DALALYAN, decay=m * step, distance=distance))
    if scheme in ("sghmc-baoab", "sghmc-obabo") and friction is not None:
        decay = step**2 * m / (4 * -math.expm1(-friction * step))
        found.append(PublishedBound(LEIMKUHLER, decay=decay))
    return tuple(found)

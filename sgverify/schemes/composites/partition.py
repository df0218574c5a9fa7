"""A partition of the energies of a target into regions."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sgverify.errors import ConfigurationError


@dataclass(frozen=True)
class Partition:
    """Regions 1, ..., m of the energies, u_(i-1) < U <= u_i for i in between; the first and the last are open.

    `edges` are u_0 < ... < u_m. An energy up to u_1, also one below u_0, is in region 1, and one above u_(m-1), also one
    above u_m, in region m: u_0 and u_m set widths alone, and above u_m gradients are left as they are.
    Raises `ConfigurationError` for fewer than two regions and for edges that are not finite and increasing.
    """

    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        finite = all(math.isfinite(edge) for edge in self.edges)
        if len(self.edges) < 3 or not finite or any(a >= b for a, b in pairwise(self.edges)):
            raise ConfigurationError(
                f"partition.edges={list(self.edges)}: expected at least 3 finite energies, each above the last, so that there are "
                "at least two regions"
            )

    @staticmethod
    def equal(low: float, high: float, bins: int) -> Partition:
        """`bins` regions of one width du = (high - low)/bins, u_0 = low. Raises `ConfigurationError`."""
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ConfigurationError(
                f"partition.low={low!r}, partition.high={high!r}: expected finite energies with low < high"
            )
        if bins < 2:
            raise ConfigurationError(f"partition.bins={bins!r}: expected at least 2 regions")
        width = (high - low) / bins
        return Partition((*(low + i * width for i in range(bins)), high))

    @staticmethod
    def of(edges: Sequence[float]) -> Partition:
        """The regions between given energies u_0 < ... < u_m."""
        return Partition(tuple(float(edge) for edge in edges))

    @property
    def bins(self) -> int:
        """m, the number of regions."""
        return len(self.edges) - 1

    @property
    def inner(self) -> tuple[float, ...]:
        """u_1, ..., u_(m-1): what decides the region of an energy."""
        return self.edges[1:-1]

    @property
    def widths(self) -> tuple[float, ...]:
        """u_i - u_(i-1) of the regions 1, ..., m."""
        return tuple(b - a for a, b in pairwise(self.edges))

    def region(self, energy: float) -> int:
        """The region of one energy, by bisection: `weighting.region_of`, quicker."""
        return 1 + bisect_left(self.inner, energy)

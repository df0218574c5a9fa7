"""A test function of optimisation: its formula, its search box, and where its global minima are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sgverify.schemes.definition.mathematics import softplus
from sgverify.targets.kind import POSITIVE, TargetKind
from sgverify.targets.potential import Potential, Vector, coordinate, number

WIDTHS = 40
"""The width of a box in widths of its wall; the wall stands `BEYOND` widths outside of the box."""
BEYOND = 4


@dataclass(frozen=True)
class Function:
    """f(x_1, ..., x_d), its search box and its global minima.

    `formula` takes the coordinates, on any carrier; `boxes(d)` is (low, high) of each. `near(d)`: a point in the basin
    of each global minimum, from where it is computed. `dims`: its dimensions, the first the default; empty for all.
    U is f where exp(-f/T) is a law on all of R^d. Where f is `bounded` along some direction it is not, and

        U = f + confinement sum_i (softplus((x_i - high_i)/w_i - 4)^2 + softplus((low_i - x_i)/w_i - 4)^2),

    w_i = (high_i - low_i)/40. The added wall is at most 3e-4 inside of the box, and a parabola from a tenth of its width beyond.
    """

    name: str
    summary: str
    formula: Callable[[Sequence[Any]], Any] = field(repr=False)
    boxes: Callable[[int], list[tuple[float, float]]] = field(repr=False)
    near: Callable[[int], list[list[float]]] = field(repr=False)
    source: str
    dims: tuple[int, ...] = ()
    bounded: bool = False

    def value(self, x: np.ndarray) -> np.ndarray:
        """f, without a wall. Shape (*batch, d) -> (*batch), float64."""
        return np.asarray(self.formula([x[..., k] for k in range(x.shape[-1])]), dtype=np.float64)

    def box(self, dim: int) -> np.ndarray:
        """The search domain. Shape (d, 2)."""
        return np.array(self.boxes(dim), dtype=np.float64)

    def minimisers(self, dim: int) -> np.ndarray:
        """The global minima of f, by descent from `near`: where f is least to rounding. Shape (k, d)."""
        return np.array([self._descend(np.array(start, dtype=np.float64)) for start in self.near(dim)])

    def minimum(self, dim: int) -> float:
        """The least value of f, to rounding: an error of 1e-8 in the place is squared."""
        return float(self.value(self.minimisers(dim)).min())

    def kind(self) -> TargetKind:
        """The target exp(-U/T)."""
        return TargetKind(
            name=self.name,
            summary=self.summary,
            source=self.source,
            constants={"confinement": (POSITIVE, 1)} if self.bounded else {},
            potential=self._confined if self.bounded else self._plain,
            dims=self.dims,
            sized=True,
            rugged=True,
        )

    def _plain(self, *, dim: int) -> tuple[Potential, None]:
        return lambda theta: self.formula([coordinate(theta, k) for k in range(dim)]), None

    def _confined(self, *, confinement: Vector, dim: int) -> tuple[Potential, None]:
        boxes = self.boxes(dim)

        def prior(theta: Any) -> Any:
            x = [coordinate(theta, k) for k in range(dim)]
            walls = 0
            for place, (low, high) in zip(x, boxes, strict=True):
                walls = walls + _wall(place, low, high)
            return self.formula(x) + number(theta, confinement) * walls

        return prior, None

    def _descend(self, at: np.ndarray) -> np.ndarray:
        # scipy.optimize takes a while to import, and only experiments ask for minima.
        from scipy import optimize

        def value(x: np.ndarray) -> float:
            return float(self.value(x))

        # f rounds by a few units in the last place.
        options = {"xatol": 1e-8, "fatol": 1e-15 * max(1.0, 10 * abs(value(at))), "maxiter": 2000}
        found = optimize.minimize(value, at, method="Nelder-Mead", options=options)
        return np.asarray(found.x if found.fun < value(at) else at)


def _wall(x: Any, low: float, high: float) -> Any:
    width = (high - low) / WIDTHS
    above, below = softplus((x - high) / width - BEYOND), softplus((low - x) / width - BEYOND)
    return above * above + below * below

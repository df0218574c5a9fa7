"""A kind of target: a potential and the configuration keys of its constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from sgverify.targets.constants import (
    read_points,
    read_positive,
    read_positive_vector,
    read_positives,
    read_precision,
    read_scalar,
    read_simplex,
    read_vector,
)
from sgverify.targets.data_files import FILE_KEYS
from sgverify.targets.potential import PairPotential, Potential
from sgverify.values import Finite, Numbers


@dataclass(frozen=True)
class ConstantShape:
    """The shape of a constant: the type of its value in a configuration, and its reader, `read(key, value, dim)`."""

    type: Any
    read: Callable[[str, Any, int], Any]


NUMBER = ConstantShape(Finite, read_scalar)
POSITIVE = ConstantShape(Finite, read_positive)
VECTOR = ConstantShape(Finite | list[Finite], read_vector)
POSITIVE_VECTOR = ConstantShape(Finite | list[Finite], read_positive_vector)
POSITIVES = ConstantShape(Finite | list[Finite], read_positives)
POSITIVE_LIST = ConstantShape(list[Finite], read_positives)
SIMPLEX = ConstantShape(Finite | list[Finite], read_simplex)
POINTS = ConstantShape(list[Finite] | list[list[Finite]], read_points)
MATRIX = ConstantShape(Numbers, read_precision)


@dataclass(frozen=True)
class DataLayout:
    """The numbers of one datum: d numbers, or d covariates and `labels` numbers that they explain.

    `draw(size, dim, seed)` makes data where none are given; the layout's `size` is the default of their number. Shape
    (N, d + labels). `degree`: the highest degree in the data of those terms of the likelihood that depend on theta; None
    where it is no polynomial. `check` raises for data of another kind. `truth` maps keys on which only drawn data depend to
    (shape, default); these numbers, and the constants named in `shared`, reach `draw` as keywords. `condensable`: a
    likelihood that is analytic in the first number of a datum, so that sums over many may be taken over few (`line`).
    """

    draw: Callable[..., np.ndarray] = field(repr=False)
    size: int = 1000
    labels: int = 0
    degree: int | None = 1
    check: Callable[[np.ndarray], None] | None = field(default=None, repr=False)
    truth: Mapping[str, tuple[ConstantShape, Any]] = field(default_factory=dict)
    shared: tuple[str, ...] = ()
    condensable: bool = False

    def columns(self, dim: int) -> list[str]:
        """The names of the numbers of a datum."""
        covariates = ["x"] if dim == 1 else [f"x_{i}" for i in range(dim)]
        return [*covariates, *(["y"] * self.labels)]


@dataclass(frozen=True)
class TargetKind:
    """A kind of target: one potential, and its constants with their shapes and defaults.

    `constants` maps a configuration key to (shape, default); the configuration knows the key from here alone. A `MATRIX` is
    a precision, symmetric and positive definite, a `POSITIVE` one number above 0, `POSITIVES` one or a list of them,
    `POSITIVE_LIST` a list, `POINTS` a list of vectors, a `POSITIVE_VECTOR` d numbers above 0 and a `SIMPLEX` d + 1 of
    them. `potential` takes them as keywords, as `Matrix` or `Vector` (of one entry for a number) or tuple of these, and
    returns (prior, likelihood or None). `dims`: the possible dimensions, the first of them the default; any dimension where
    it is empty. `sized`: the potential takes `dim` as well. `smooth`, `rugged`, `positive`: see `Target`.
    `peaks(data, **constants)`: points near the modes, where they may be far apart. `components`, for a mixture of Gaussians: the
    share and the potential of each. Averages of a `quadratic` target are exact; those of another one may be stated.
    `hessian_bounds(data, **constants)`: m and M with m <= v . Hessian v <= M for every theta and unit vector v, as the kind's
    author derives them: U is convex where m >= 0, and grad U Lipschitz where M is finite.
    """

    name: str
    summary: str
    source: str
    constants: Mapping[str, tuple[ConstantShape, Any]]
    potential: Callable[..., tuple[Potential, PairPotential | None]] = field(repr=False)
    data: DataLayout | None = None
    components: Callable[..., list[tuple[Fraction, Potential]]] | None = field(default=None, repr=False)
    quadratic: bool = False
    dims: tuple[int, ...] = ()
    sized: bool = False
    smooth: bool = False
    rugged: bool = False
    positive: bool = False
    peaks: Callable[..., tuple[float, ...]] | None = field(default=None, repr=False)
    hessian_bounds: Callable[..., tuple[float, float]] | None = field(default=None, repr=False)

    @property
    def has_data(self) -> bool:
        """Whether the potential has a likelihood."""
        return self.data is not None

    @property
    def keys(self) -> tuple[str, ...]:
        """The configuration keys, below `target.`, that belong to this kind."""
        data = (
            ()
            if self.data is None
            else ("size", "data_seed", "data", *FILE_KEYS, "intercept", *self.data.truth)
        )
        return ("name", "dim", *self.constants, *data, *(() if self.quadratic else ("averages",)))

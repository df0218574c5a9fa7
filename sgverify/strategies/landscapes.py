"""Targets whose Hessian is not one matrix for all theta and all data: wells, mixtures, regressions, counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.configuration import TargetTable
from sgverify.strategies.scalars import asymmetric, columns, decimals, precisions
from sgverify.targets import TARGETS, TargetKind
from sgverify.targets.kind import MATRIX, NUMBER, POSITIVE, POSITIVE_VECTOR, SIMPLEX, VECTOR, ConstantShape

MOST_COUNT = 6
"""Counts go up to here: e^theta then stays within a few units of 1, and so does the curvature."""


def landscape(name: str, dim: int, sizes: tuple[int, ...]) -> SearchStrategy[TargetTable]:
    """Tables of the target `name` with `dim` coordinates and, where it has data, `sizes` of them, by what it declares."""
    return _mixture(dim) if name == "mixture" else _declared(TARGETS[name], dim, sizes)


@st.composite
def _declared(draw: Any, kind: TargetKind, dim: int, sizes: tuple[int, ...]) -> TargetTable:
    """Its constants by their shapes, but for those that are drawn within other bounds; its data as few numbers, or by a seed."""
    table: dict[str, Any] = {"name": kind.name, "dim": dim}
    if kind.data is not None:
        size = draw(st.sampled_from(sizes))
        if kind.name in DATA:
            table["data"] = _rows(draw(DATA[kind.name](dim, size)))
        else:
            table.update(size=size, data_seed=draw(st.integers(0, 99)))
    for key, (shape, _) in kind.constants.items():
        values = WITHIN[key](dim) if key in WITHIN else BY_SHAPE[shape](dim) if shape in BY_SHAPE else None
        if values is not None:
            table[key] = draw(values)
    return TargetTable(**table)


@st.composite
def _mixture(draw: Any, dim: int) -> TargetTable:
    count = draw(st.sampled_from([2, 3]))
    places = decimals(low=-2.0, high=2.0, places=1)
    point: SearchStrategy[Any] = places if dim == 1 else st.lists(places, min_size=dim, max_size=dim)
    # Shares are in proportion, so that they need not sum to 1 here; unequal ones leave no symmetry.
    weights = st.permutations([1.0, 2.0, 4.0]).map(lambda order: list(order[:count]))
    return TargetTable(
        name="mixture",
        dim=dim,
        weights=draw(weights),
        means=draw(st.lists(point, min_size=count, max_size=count, unique_by=str)),
        scales=draw(st.lists(decimals(low=0.6, high=1.5, places=1), min_size=count, max_size=count)),
    )


def _tilts() -> SearchStrategy[float]:
    """Never 0: a symmetric potential hides errors of odd order."""
    return decimals(low=-1.0, high=1.0, places=2, without=frozenset({0.0}))


def _within(low: float, high: float) -> Callable[[int], SearchStrategy[Any]]:
    return lambda dim: decimals(low=low, high=high, places=1)


def _vector(entry: SearchStrategy[float], dim: int) -> SearchStrategy[Any]:
    return entry if dim == 1 else st.lists(entry, min_size=dim, max_size=dim)


def _precisions(dim: int) -> SearchStrategy[Any]:
    """Precisions of a prior that is as strong as one or two data."""
    return decimals(low=1.0, high=4.0, places=0).flatmap(lambda least: precisions(dim=dim, smallest=least))


def _numbers(dim: int, size: int) -> SearchStrategy[list[list[float]]]:
    return columns(dim, size, decimals(low=-3.0, high=3.0, places=1))


def _counts(dim: int, size: int) -> SearchStrategy[list[list[float]]]:
    return columns(dim, size, st.integers(0, MOST_COUNT).map(float))


@st.composite
def _outcomes(draw: Any, size: int) -> list[float]:
    """Zeros and ones, both of them and not as many of each."""
    values = st.lists(st.sampled_from([0.0, 1.0]), min_size=size, max_size=size)
    drawn: list[float] = draw(values.filter(lambda found: len(set(found)) > 1 and asymmetric(found)))
    return drawn


def _rows(made: list[list[float]]) -> list[Any]:
    """The data as one list for each datum, or as plain numbers where there is a single column."""
    return made[0] if len(made) == 1 else [list(row) for row in zip(*made, strict=True)]


BY_SHAPE: Mapping[ConstantShape, Callable[[int], SearchStrategy[Any]]] = {
    NUMBER: lambda dim: _tilts(),
    POSITIVE: _within(0.5, 4.0),
    VECTOR: lambda dim: _vector(_tilts(), dim),
    POSITIVE_VECTOR: lambda dim: _vector(_within(0.5, 4.0)(dim), dim),
    SIMPLEX: lambda dim: _vector(_within(0.5, 4.0)(dim), dim + 1),
    MATRIX: _precisions,
}
"""The strategies of constants by their shape; constants of other shapes keep their defaults."""

WITHIN: Mapping[str, Callable[[int], SearchStrategy[Any]]] = {
    "width": _within(0.5, 2.0),
    "prior_mean": lambda dim: _vector(_within(-2.0, 2.0)(dim), dim),
    "noise_precision": lambda dim: decimals(low=0.25, high=4.0),
    "phi": _within(-2.0, 2.0),
    "sigma": _within(1.0, 3.0),
}
"""Constants that are drawn within other bounds, a prior off the centre of the data among them."""

DATA: Mapping[str, Callable[[int, int], SearchStrategy[list[list[float]]]]] = {
    "linear-regression": lambda dim, size: _numbers(dim + 1, size),
    "logistic-regression": lambda dim, size: st.tuples(_numbers(dim, size), _outcomes(size)).map(
        lambda drawn: [*drawn[0], drawn[1]]
    ),
    "poisson-regression": lambda dim, size: st.tuples(_numbers(dim, size), _counts(1, size)).map(
        lambda drawn: [*drawn[0], *drawn[1]]
    ),
    "robust-regression": lambda dim, size: _numbers(dim + 1, size),
    "gamma-poisson": _counts,
    "beta-bernoulli": lambda dim, size: st.lists(_outcomes(size), min_size=dim, max_size=dim),
    "dirichlet-multinomial": lambda dim, size: _counts(dim + 1, size),
    "tied-means-mixture": _numbers,
}
"""The numbers of N data, one list for each place of a datum."""

__all__ = ["landscape"]

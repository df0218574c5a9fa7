"""Targets whose Hessian is not one matrix for all theta and all data: wells, mixtures, regressions, counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.configuration import TargetTable
from sgverify.strategies.columns import asymmetric, columns
from sgverify.strategies.precisions import precisions
from sgverify.strategies.scalars import decimals

MOST_COUNT = 6
"""Counts go up to here: e^theta then stays within a few units of 1, and so does the curvature."""


def landscape(name: str, dim: int, sizes: tuple[int, ...]) -> SearchStrategy[TargetTable]:
    """Tables of the target `name`, one of `LANDSCAPES`, with `dim` coordinates and, where it has data, `sizes` of them."""
    return LANDSCAPES[name](dim, sizes)


@st.composite
def _double_well(draw: Any, dim: int, sizes: tuple[int, ...]) -> TargetTable:
    return TargetTable(
        name="double-well",
        dim=dim,
        height=draw(decimals(low=0.5, high=4.0, places=1)),
        width=draw(decimals(low=0.5, high=2.0, places=1)),
        tilt=draw(_tilts()),
        precision=draw(decimals(low=0.5, high=4.0, places=1)),
    )


@st.composite
def _quartic(draw: Any, dim: int, sizes: tuple[int, ...]) -> TargetTable:
    tilts = _tilts() if dim == 1 else st.lists(_tilts(), min_size=dim, max_size=dim)
    return TargetTable(
        name="quartic", dim=dim, strength=draw(decimals(low=0.5, high=4.0, places=1)), tilt=draw(tilts)
    )


@st.composite
def _mixture(draw: Any, dim: int, sizes: tuple[int, ...]) -> TargetTable:
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


@st.composite
def _linear_regression(draw: Any, dim: int, sizes: tuple[int, ...]) -> TargetTable:
    numbers = columns(dim + 1, draw(st.sampled_from(sizes)), decimals(low=-3.0, high=3.0, places=1))
    return TargetTable(
        name="linear-regression",
        dim=dim,
        data=_rows(draw(numbers)),
        noise_precision=draw(decimals(low=0.25, high=4.0)),
        **draw(_priors(dim)),
    )


@st.composite
def _logistic_regression(draw: Any, dim: int, sizes: tuple[int, ...]) -> TargetTable:
    size = draw(st.sampled_from(sizes))
    covariates = draw(columns(dim, size, decimals(low=-3.0, high=3.0, places=1)))
    return TargetTable(
        name="logistic-regression",
        dim=dim,
        data=_rows([*covariates, draw(_outcomes(size))]),
        **draw(_priors(dim)),
    )


@st.composite
def _gamma_poisson(draw: Any, dim: int, sizes: tuple[int, ...]) -> TargetTable:
    counts = columns(dim, draw(st.sampled_from(sizes)), _counts())
    return TargetTable(
        name="gamma-poisson",
        dim=dim,
        data=_rows(draw(counts)),
        shape=draw(_positives(dim)),
        rate=draw(_positives(dim)),
    )


@st.composite
def _beta_bernoulli(draw: Any, dim: int, sizes: tuple[int, ...]) -> TargetTable:
    size = draw(st.sampled_from(sizes))
    outcomes = [draw(_outcomes(size)) for _ in range(dim)]
    return TargetTable(
        name="beta-bernoulli",
        dim=dim,
        data=_rows(outcomes),
        alpha=draw(_positives(dim)),
        beta=draw(_positives(dim)),
    )


@st.composite
def _dirichlet_multinomial(draw: Any, dim: int, sizes: tuple[int, ...]) -> TargetTable:
    counts = columns(dim + 1, draw(st.sampled_from(sizes)), _counts())
    return TargetTable(
        name="dirichlet-multinomial",
        dim=dim,
        data=_rows(draw(counts)),
        concentration=draw(
            st.lists(decimals(low=0.5, high=4.0, places=1), min_size=dim + 1, max_size=dim + 1)
        ),
    )


@st.composite
def _tied_means(draw: Any, dim: int, sizes: tuple[int, ...]) -> TargetTable:
    size = draw(st.sampled_from(sizes))
    return TargetTable(
        name="tied-means-mixture",
        dim=dim,
        data=_rows(draw(columns(dim, size, decimals(low=-3.0, high=3.0, places=1)))),
        phi=draw(decimals(low=-2.0, high=2.0, places=1)),
        sigma=draw(decimals(low=1.0, high=3.0, places=1)),
    )


def _tilts() -> SearchStrategy[float]:
    """Never 0: a symmetric potential hides errors of odd order."""
    return decimals(low=-1.0, high=1.0, places=2, without=frozenset({0.0}))


def _positives(dim: int) -> SearchStrategy[Any]:
    entry = decimals(low=0.5, high=4.0, places=1)
    return entry if dim == 1 else st.lists(entry, min_size=dim, max_size=dim)


def _counts() -> SearchStrategy[float]:
    return st.integers(0, MOST_COUNT).map(float)


@st.composite
def _outcomes(draw: Any, size: int) -> list[float]:
    """Zeros and ones, both of them and not as many of each."""
    values = st.lists(st.sampled_from([0.0, 1.0]), min_size=size, max_size=size)
    drawn: list[float] = draw(values.filter(lambda found: len(set(found)) > 1 and asymmetric(found)))
    return drawn


@st.composite
def _priors(draw: Any, dim: int) -> dict[str, Any]:
    """A prior as strong as a datum or two, and off the centre of the data."""
    entry = decimals(low=-2.0, high=2.0, places=1)
    return {
        "prior_precision": draw(precisions(dim=dim, smallest=draw(decimals(low=1.0, high=4.0, places=0)))),
        "prior_mean": draw(entry if dim == 1 else st.lists(entry, min_size=dim, max_size=dim)),
    }


def _rows(made: list[list[float]]) -> list[Any]:
    """One list for each datum, or the plain numbers of a single column."""
    return made[0] if len(made) == 1 else [list(row) for row in zip(*made, strict=True)]


LANDSCAPES: Mapping[str, Callable[[int, tuple[int, ...]], SearchStrategy[TargetTable]]] = {
    "linear-regression": _linear_regression,
    "double-well": _double_well,
    "quartic": _quartic,
    "mixture": _mixture,
    "logistic-regression": _logistic_regression,
    "gamma-poisson": _gamma_poisson,
    "beta-bernoulli": _beta_bernoulli,
    "dirichlet-multinomial": _dirichlet_multinomial,
    "tied-means-mixture": _tied_means,
}

WITH_DATA = (
    "linear-regression",
    "logistic-regression",
    "gamma-poisson",
    "beta-bernoulli",
    "dirichlet-multinomial",
    "tied-means-mixture",
)

__all__ = ["LANDSCAPES", "WITH_DATA", "landscape"]

"""Targets: the conjugate Gaussian model with data of its own, and bare quadratic potentials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.configuration import TargetTable
from sgverify.errors import ConfigurationError
from sgverify.strategies.precisions import precisions
from sgverify.strategies.scalars import decimals
from sgverify.targets import build_target

DIMENSIONS = (1, 2, 3, 4, 5)
SIZES = (3, 4, 6, 8, 12)
"""Numbers of data: small enough to enumerate minibatches, with divisors for reshuffled epochs."""


def datasets(*, dim: int, sizes: Sequence[int] = SIZES) -> SearchStrategy[list[Any]]:
    """Data as a configuration takes them, N numbers or N lists of `dim`; asymmetric in every coordinate.

    The third central moment of each coordinate is not 0: symmetric data hide errors of odd order. Shrinks to few
    small whole numbers.

    >>> from hypothesis import find
    >>> find(datasets(dim=1), lambda data: True)
    [0.0, 0.0, 1.0]

    Raises `ConfigurationError` for an empty domain; asymmetry takes three data.
    """
    if dim < 1:
        raise ConfigurationError(f"dim={dim!r}: expected a whole number of at least 1")
    if not sizes or min(sizes) < 3:
        raise ConfigurationError(
            f"sizes={sizes!r}: expected numbers of at least 3, which asymmetric data take"
        )
    return _datasets(dim, tuple(sorted(sizes)))


def targets(
    *, dims: Sequence[int] = DIMENSIONS, data: bool | None = None, sizes: Sequence[int] = SIZES
) -> SearchStrategy[TargetTable]:
    """Target tables: with data (`data=True`), bare (`data=False`) or either.

    A target with data has a prior that is as strong as the likelihood and off its centre, so that a prior which is
    scaled, repeated or forgotten is seen.

    >>> from hypothesis import find
    >>> find(targets(dims=[1], data=False), lambda table: True).model_dump(exclude_unset=True)
    {'name': 'gaussian', 'dim': 1, 'precision': 1.0, 'mean': 0.0}

    Raises `ConfigurationError` for an empty domain.
    """
    if not dims or min(dims) < 1:
        raise ConfigurationError(f"dims={dims!r}: expected numbers of at least 1")
    chosen = st.sampled_from(sorted(dims))
    bare = chosen.flatmap(_bare)
    if data is False:
        return bare
    full = chosen.flatmap(lambda dim: _with_data(dim, tuple(sizes)))
    datasets(dim=1, sizes=sizes)
    return full if data else st.one_of(bare, full)


def dimension_of(table: TargetTable) -> int:
    """The number of coordinates of the target that a table describes."""
    return build_target(table).dim


def size_of(table: TargetTable) -> int | None:
    """N, None for a target without data."""
    return build_target(table).size


@st.composite
def _datasets(draw: Any, dim: int, sizes: tuple[int, ...]) -> list[Any]:
    size = draw(st.sampled_from(sizes))
    columns = [
        draw(
            st.lists(decimals(low=-3.0, high=3.0, places=1), min_size=size, max_size=size).filter(_asymmetric)
        )
        for _ in range(dim)
    ]
    return columns[0] if dim == 1 else [list(row) for row in zip(*columns, strict=True)]


def _asymmetric(values: list[float]) -> bool:
    tenths = [round(10 * value) for value in values]
    size, total = len(tenths), sum(tenths)
    return sum((size * k - total) ** 3 for k in tenths) != 0


@st.composite
def _bare(draw: Any, dim: int) -> TargetTable:
    precision = draw(precisions(dim=dim))
    mean = draw(_vector(dim))
    return TargetTable(name="gaussian", dim=dim, precision=precision, mean=mean)


@st.composite
def _with_data(draw: Any, dim: int, sizes: tuple[int, ...]) -> TargetTable:
    data = draw(datasets(dim=dim, sizes=sizes))
    strength = draw(decimals(low=1.0, high=2.0 * len(data), places=0))
    return TargetTable(
        name="gaussian-mean",
        dim=dim,
        data=data,
        noise_precision=draw(precisions(dim=dim)),
        prior_precision=draw(precisions(dim=dim, smallest=strength)),
        prior_mean=draw(_vector(dim)),
    )


def _vector(dim: int) -> SearchStrategy[Any]:
    entry = decimals(low=-3.0, high=3.0, places=1)
    return entry if dim == 1 else st.one_of(entry, st.lists(entry, min_size=dim, max_size=dim))


__all__ = ["datasets", "dimension_of", "size_of", "targets"]

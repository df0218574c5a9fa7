"""Targets: the conjugate Gaussian model with data of its own, bare quadratic potentials, and the landscapes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.configuration import TargetTable
from sgverify.errors import ConfigurationError
from sgverify.strategies.landscapes import landscape
from sgverify.strategies.options import listed, whole
from sgverify.strategies.scalars import Precision, as_decimal, columns, decimals, precisions
from sgverify.targets import TARGETS, build_target

DIMENSIONS = (1, 2, 3, 4, 5)
SIZES = (3, 4, 6, 8, 12)
"""Numbers of data: small enough to enumerate minibatches, with divisors for reshuffled epochs."""

LEAST = 3
"""The fewest data that can be asymmetric: two have no third central moment."""

GAUSSIAN = ("gaussian", "gaussian-mean")
NAMES = (
    *GAUSSIAN,
    *(
        name
        for name, kind in TARGETS.shipped.items()
        # On theta > 0 only the schemes that live there run.
        if name not in GAUSSIAN and not (kind.rugged or kind.positive)
    ),
)
WITH_DATA = tuple(name for name in NAMES if TARGETS[name].has_data)
"""The targets, in the order in which they shrink, and those of them that have data."""


def datasets(*, dim: int, sizes: Sequence[int] = SIZES) -> SearchStrategy[list[Any]]:
    """Data as a configuration takes them: N numbers, or N lists of `dim` numbers, with N one of `sizes` (3 to 12).

    Entries are tenths in [-3, 3], in the units of theta. The third central moment of each coordinate is not 0:
    symmetric data hide errors of odd order. Shrinks to few small whole numbers.

    >>> from hypothesis import find
    >>> find(datasets(dim=1), lambda data: True)
    [0.0, 0.0, 1.0]

    Raises `ConfigurationError` for an empty domain; asymmetry takes three data.
    """
    whole("dim", [dim], 1)
    return _datasets(dim, whole("sizes", sizes, LEAST, ", which asymmetric data take"))


def targets(
    *,
    dims: Sequence[int] = DIMENSIONS,
    data: bool | None = None,
    sizes: Sequence[int] = SIZES,
    names: Sequence[str] = GAUSSIAN,
    condition: float | None = None,
) -> SearchStrategy[TargetTable]:
    """Target tables: with data (`data=True`), bare (`data=False`) or either; the Gaussian ones, or those of `names`.

    `dims` are the numbers of coordinates (1 to 5), of which each target takes those that it has, and `sizes` the
    numbers of data (3 to 12); `sgverify list targets` has the names, of which those with so many modes that no chain
    forgets its start are not drawn. Precisions are those of `precisions`, means tenths in [-3, 3]. A Gaussian target
    with data has a prior that is as strong as the likelihood and off its centre, so that a prior which is scaled,
    repeated or forgotten is seen. `condition` prescribes the condition number of the Hessian of U, exactly; only
    Gaussian targets have one. Wells are tilted, data asymmetric. Shrinks to the first of the names, in one dimension
    where `dims` allows, and to small whole numbers.

    >>> from hypothesis import find
    >>> find(targets(dims=[1], data=False), lambda table: True).model_dump(exclude_unset=True)
    {'name': 'gaussian', 'dim': 1, 'precision': 1.0, 'mean': 0.0}
    >>> find(targets(dims=[2], data=False, condition=4.0), lambda table: True).precision
    [1.0, 4.0]
    >>> find(targets(names=["double-well"]), lambda table: True).model_dump(exclude_unset=True)
    {'name': 'double-well', 'dim': 1, 'precision': 1.0, 'height': 1.0, 'width': 1.0, 'tilt': 1.0}

    Raises `ConfigurationError` for an empty domain.
    """
    dims, names = whole("dims", dims, 1), listed("names", names, NAMES)
    numbers = whole("sizes", sizes, LEAST, ", which asymmetric data take")
    kept = [name for name in NAMES if name in names and (data is None or (name in WITH_DATA) == data)]
    if not kept:
        raise ConfigurationError(
            f"names={list(names)!r}, data={data!r}: none of these is left; expected one of "
            f"{', '.join(name for name in NAMES if (name in WITH_DATA) == data)}"
        )
    shared = {name: sorted(set(dims) & set(TARGETS[name].dims or dims)) for name in kept}
    kept = [name for name in kept if shared[name]]
    if not kept:
        raise ConfigurationError(f"names={list(names)!r}, dims={dims!r}: none of these has such a dimension")
    if condition is not None:
        _check_condition(condition, kept, dims)
    return st.one_of([_in_dimensions(name, shared[name], numbers, condition) for name in kept])


def _in_dimensions(
    name: str, dims: Sequence[int], sizes: tuple[int, ...], condition: float | None
) -> SearchStrategy[TargetTable]:
    return st.sampled_from(dims).flatmap(lambda dim: _named(name, dim, sizes, condition))


def _named(
    name: str, dim: int, sizes: tuple[int, ...], condition: float | None
) -> SearchStrategy[TargetTable]:
    if name == "gaussian":
        return _bare(dim, condition)
    return _with_data(dim, sizes, condition) if name == "gaussian-mean" else landscape(name, dim, sizes)


def _check_condition(condition: float, names: Sequence[str], dims: Sequence[int]) -> None:
    wrong = [name for name in names if name not in GAUSSIAN]
    if wrong:
        raise ConfigurationError(
            f"condition={condition!r}, names={list(names)!r}: the Hessian of {wrong[0]} is not one that is drawn; expected "
            f"some of {', '.join(GAUSSIAN)}; leave the condition out, or the name"
        )
    for dim in dims:
        precisions(dim=dim, condition=condition)


def dimension_of(table: TargetTable) -> int:
    """The number of coordinates of the target that a table describes."""
    return build_target(table).dim


def size_of(table: TargetTable) -> int | None:
    """N, None for a target without data."""
    return build_target(table).size


@st.composite
def _datasets(draw: Any, dim: int, sizes: tuple[int, ...]) -> list[Any]:
    size = draw(st.sampled_from(sizes))
    made = draw(columns(dim, size, decimals(low=-3.0, high=3.0, places=1)))
    return list(made[0]) if dim == 1 else [list(row) for row in zip(*made, strict=True)]


@st.composite
def _bare(draw: Any, dim: int, condition: float | None) -> TargetTable:
    precision = draw(precisions(dim=dim, condition=condition))
    mean = draw(_vector(dim))
    return TargetTable(name="gaussian", dim=dim, precision=precision, mean=mean)


@st.composite
def _with_data(draw: Any, dim: int, sizes: tuple[int, ...], condition: float | None) -> TargetTable:
    data = draw(datasets(dim=dim, sizes=sizes))
    if condition is None:
        strength = draw(decimals(low=1.0, high=2.0 * len(data), places=0))
        noise, prior = draw(precisions(dim=dim)), draw(precisions(dim=dim, smallest=strength))
    else:
        noise, prior = draw(_conditioned(dim, len(data), condition))
    return TargetTable(
        name="gaussian-mean",
        dim=dim,
        data=data,
        noise_precision=noise,
        prior_precision=prior,
        prior_mean=draw(_vector(dim)),
    )


@st.composite
def _conditioned(draw: Any, dim: int, size: int, condition: float) -> tuple[float, Precision]:
    """r and Q such that Q + N r I has the condition number exactly, and Q the least eigenvalue N r."""
    # One place: the entries of the rotated matrix then have 15 digits at most, whatever the condition.
    noise = draw(decimals(low=0.5, high=2.0, places=1))
    pull = size * Fraction(repr(noise))
    total = draw(precisions(dim=dim, condition=condition, smallest=as_decimal(2 * pull)))
    return noise, _less(total, pull)


def _less(total: Any, pull: Fraction) -> Any:
    """total - pull I, in the form of `total`."""
    if not isinstance(total, list):
        return as_decimal(Fraction(repr(total)) - pull)
    return [
        [as_decimal(Fraction(repr(entry)) - pull * (i == j)) for j, entry in enumerate(row)]
        if isinstance(row, list)
        else _less(row, pull)
        for i, row in enumerate(total)
    ]


def _vector(dim: int) -> SearchStrategy[Any]:
    entry = decimals(low=-3.0, high=3.0, places=1)
    return entry if dim == 1 else st.one_of(entry, st.lists(entry, min_size=dim, max_size=dim))


__all__ = ["GAUSSIAN", "NAMES", "WITH_DATA", "datasets", "dimension_of", "size_of", "targets"]

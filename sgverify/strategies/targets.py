"""Targets whose Hessian is not one matrix for all theta and all data: wells, mixtures, regressions, counts.

Targets: the conjugate Gaussian model with data of its own, bare quadratic potentials, and the landscapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.configuration import TargetTable
from sgverify.errors import ConfigurationError
from sgverify.strategies.scalars import (
    Precision,
    as_decimal,
    asymmetric,
    columns,
    decimals,
    listed,
    precisions,
    whole,
)
from sgverify.targets import TARGETS, TargetKind, build_target
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


def _landscape_vector(entry: SearchStrategy[float], dim: int) -> SearchStrategy[Any]:
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
    VECTOR: lambda dim: _landscape_vector(_tilts(), dim),
    POSITIVE_VECTOR: lambda dim: _landscape_vector(_within(0.5, 4.0)(dim), dim),
    SIMPLEX: lambda dim: _landscape_vector(_within(0.5, 4.0)(dim), dim + 1),
    MATRIX: _precisions,
}
"""The strategies of constants by their shape; constants of other shapes keep their defaults."""

WITHIN: Mapping[str, Callable[[int], SearchStrategy[Any]]] = {
    "width": _within(0.5, 2.0),
    "prior_mean": lambda dim: _landscape_vector(_within(-2.0, 2.0)(dim), dim),
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

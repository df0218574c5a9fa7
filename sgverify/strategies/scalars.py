"""Which values may an option of a strategy have? A list where several may be drawn, and whole numbers from a least one on.

Which strategies draw exact numbers, columns of data and precision matrices?

Numbers are short decimals, so that a float stands for the fraction that it prints as. Columns of data are asymmetric, since
symmetric data hide errors of odd order. Precision matrices have a prescribed spectrum and short decimals as entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from numbers import Integral
from typing import Any, Literal, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.errors import ConfigurationError

Entry = TypeVar("Entry")


def listed(key: str, given: Iterable[Entry], known: Iterable[Entry] = ()) -> tuple[Entry, ...]:
    """The values of an option, of `known` ones where there are such.

    Raises `ConfigurationError` for one value that stands alone, for none and for an unknown one.

    >>> listed("dims", [1, 2])
    (1, 2)
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigurationError(f"{key}={given!r}: expected a list; write [{given!r}]")
    found, known = tuple(given), tuple(known)
    if not found:
        raise ConfigurationError(f"{key}=[]: expected at least one value{_of(known)}")
    unknown = [value for value in found if known and value not in known]
    if unknown:
        raise ConfigurationError(f"{key}={list(found)!r}: {unknown[0]!r} is none of its values{_of(known)}")
    return found


def whole(key: str, given: Iterable[Any], least: int, why: str = "") -> tuple[int, ...]:
    """The whole numbers of an option, sorted; raises `ConfigurationError` as `listed` does, and for one below `least`."""
    found = listed(key, given)
    for number in found:
        if isinstance(number, bool) or not isinstance(number, Integral) or number < least:
            raise ConfigurationError(
                f"{key}={list(found)!r}: expected whole numbers of at least {least}{why}; change {number!r}"
            )
    return tuple(sorted(map(int, found)))


def _of(known: tuple[Any, ...]) -> str:
    return f"; expected some of {', '.join(map(str, known))}" if known else ""


def columns(count: int, size: int, entries: SearchStrategy[float]) -> SearchStrategy[list[list[float]]]:
    """`count` lists of `size` numbers, tenths, each with a third central moment that is not 0."""
    column = st.lists(entries, min_size=size, max_size=size).filter(asymmetric)
    return st.tuples(*[column] * count).map(list)


def asymmetric(values: Sequence[float]) -> bool:
    """Is the third central moment of the numbers, all of them tenths, different from 0? Computed exactly."""
    tenths = [round(10 * value) for value in values]
    size, total = len(tenths), sum(tenths)
    return sum((size * k - total) ** 3 for k in tenths) != 0


MOST_DIGITS = 15
"""A decimal of at most so many significant digits survives the way to float64 and back."""

MOST_VALUES = 100_000
"""Decimals of one domain, which are listed in the order in which they shrink."""


def as_decimal(value: Fraction | int) -> float:
    """The float that prints as `value`, which must be a decimal of at most 15 significant digits.

    >>> as_decimal(Fraction(3, 8))
    0.375
    """
    number = float(value)
    if Fraction(repr(number)) != value:
        raise ConfigurationError(f"value={value}: is no short decimal; expected e.g. 3/8; round it first")
    return number


@lru_cache(maxsize=256)
def decimals(
    *, low: float, high: float, places: int = 2, without: frozenset[float] = frozenset()
) -> SearchStrategy[float]:
    """Decimals with at most `places` places in [`low`, `high`], save those in `without`.

    Shrinks to whole numbers, small ones first.

    >>> from hypothesis import find
    >>> find(decimals(low=0.5, high=9.0), lambda x: x > 4.32)
    5.0

    Raises `ConfigurationError` for an empty domain.
    """
    unit = 10**places
    first, last = -(-_written(low) * unit // 1), _written(high) * unit // 1
    taken = {_written(value) * unit for value in without}
    if last - first >= MOST_VALUES:
        raise ConfigurationError(
            f"low={low!r}, high={high!r}, places={places!r}: more than {MOST_VALUES} decimals lie between them; take fewer places"
        )
    kept = [k for k in range(int(first), int(last) + 1) if k not in taken]
    if not kept:
        raise ConfigurationError(
            f"low={low!r}, high={high!r}, places={places!r}: no decimal lies between them; expected low <= high; widen them"
        )
    # Listed and not filtered: what a filter rejects lengthens an example and spoils the shrinking.
    kept.sort(key=lambda k: (_places(k, places), abs(k), k < 0))
    values = [as_decimal(Fraction(k, unit)) for k in kept]
    whole = [value for value in values if value == int(value)]
    return st.one_of(st.sampled_from(whole), st.sampled_from(values)) if whole else st.sampled_from(values)


def temperatures(*, low: float = 0.25, high: float = 4.0, unit: bool = False) -> SearchStrategy[float]:
    """Temperatures T of exp(-U/T), in the units of U: hundredths in [`low`, `high`].

    Never 1 unless `unit`, because T = 1 hides every temperature that is missing or misplaced. Raises
    `ConfigurationError` for an empty domain, and for one that reaches 0.

    >>> from hypothesis import find
    >>> find(temperatures(), lambda T: True)
    2.0
    """
    return _scale(low, high, unit)


def frictions(*, low: float = 0.25, high: float = 6.0, unit: bool = False) -> SearchStrategy[float]:
    """Frictions D of dp = -D p dt + ..., in units of 1/time: hundredths in [`low`, `high`].

    Never 1 unless `unit`, because D = 1 hides a D that should be a sqrt(D). Raises `ConfigurationError` for an empty
    domain, and for one that reaches 0.

    >>> from hypothesis import find
    >>> find(frictions(low=2.5), lambda D: True)
    3.0
    """
    return _scale(low, high, unit)


def _scale(low: float, high: float, unit: bool) -> SearchStrategy[float]:
    if low <= 0:
        raise ConfigurationError(f"low={low!r}: expected a number above 0; raise it")
    return decimals(low=low, high=high, without=frozenset() if unit else frozenset({1.0}))


def _written(value: float) -> Fraction:
    return Fraction(repr(float(value)))


def _places(k: int, places: int) -> int:
    """Decimal places that k/10^places needs."""
    while places and k % 10 == 0:
        k, places = k // 10, places - 1
    return places


COSINE, SINE = Fraction(3, 5), Fraction(4, 5)
"""The rotation of the triangle 3, 4, 5: rational, and each use of it adds one decimal place only."""

MOST_ROTATIONS = 4
LARGEST_CONDITION = 100.0

SHAPES = ("number", "diagonal", "dense")

Precision = float | list[float] | list[list[float]]


def precisions(
    *,
    dim: int,
    condition: float | None = None,
    smallest: float | None = None,
    shape: Literal["number", "diagonal", "dense"] | None = None,
) -> SearchStrategy[Precision]:
    """Precisions R diag(l_1, ..., l_d) R^T in the forms that a configuration takes, of one `shape` or of any.

    "number" is a multiple of the identity, "diagonal" a list of `dim` numbers, "dense" a matrix of `dim` lists. R is a
    product of at most 4 rotations by the angle of the triangle 3, 4, 5, so the entries are decimals and the
    eigenvalues, those of `eigenvalues`, are the ones that were drawn, with `condition` and `smallest` as there. Units:
    those of U over theta^2. Shrinks to a small number, and to a diagonal where a condition is prescribed.

    >>> from hypothesis import find
    >>> find(precisions(dim=1), lambda value: True)
    1.0
    >>> find(precisions(dim=2, condition=4.0, shape="dense"), lambda value: True)
    [[2.92, -1.44], [-1.44, 2.08]]

    Raises `ConfigurationError` for an empty domain.
    """
    _check_spectrum(dim, condition)
    if shape is not None:
        listed("shape", [shape], SHAPES)
    if shape == "dense" and dim == 1:
        raise ConfigurationError(
            "shape='dense' with dim=1: one coordinate has no dense matrix; leave shape out"
        )
    if shape == "number" and condition not in (None, 1.0):
        raise ConfigurationError(
            f"condition={condition!r} with shape='number': has the condition 1; leave it out"
        )
    return _precisions(dim, condition, smallest, shape)


def _check_spectrum(dim: int, condition: float | None) -> None:
    whole("dim", [dim], 1)
    if condition is not None and not 1 <= condition <= 10_000:
        raise ConfigurationError(f"condition={condition!r}: expected a number from 1 to 10000")
    if dim == 1 and condition not in (None, 1.0):
        raise ConfigurationError(
            f"condition={condition!r} with dim=1: one eigenvalue has the condition 1; leave it out"
        )


def eigenvalues(
    *, dim: int, condition: float | None = None, smallest: float | None = None
) -> SearchStrategy[list[float]]:
    """Lists of `dim` positive eigenvalues, the first the smallest and, for dim > 1, the second the largest.

    The smallest is in [0.25, 4] unless `smallest` prescribes it. The largest over the smallest is `condition`, drawn
    from [1, 100] where it is left out. The products are exact: each is the float that prints as the decimal. Shrinks to
    ones.

    >>> from hypothesis import find
    >>> find(eigenvalues(dim=3, condition=4.0), lambda values: True)
    [1.0, 4.0, 1.0]

    Raises `ConfigurationError` for an empty domain.
    """
    _check_spectrum(dim, condition)
    return _eigenvalues(dim, condition, smallest)


@st.composite
def _eigenvalues(draw: Any, dim: int, condition: float | None, smallest: float | None) -> list[float]:
    least = draw(decimals(low=0.25, high=4.0)) if smallest is None else smallest
    if dim == 1:
        return [least]
    widest = draw(decimals(low=1.0, high=LARGEST_CONDITION, places=1)) if condition is None else condition
    others = [draw(decimals(low=1.0, high=widest, places=1)) for _ in range(dim - 2)]
    ratios = [Fraction(1), _fraction(widest), *map(_fraction, others)]
    return [as_decimal(_fraction(least) * ratio) for ratio in ratios]


@st.composite
def _precisions(
    draw: Any, dim: int, condition: float | None, smallest: float | None, shape: str | None
) -> Precision:
    if dim == 1 or shape == "number":
        (value,) = draw(_eigenvalues(1, None, smallest))
        return value
    chosen = shape or draw(
        st.sampled_from(["number", "diagonal", "dense"] if condition is None else ["diagonal", "dense"])
    )
    if chosen == "number":
        return draw(_eigenvalues(1, None, smallest))[0]
    values = draw(_eigenvalues(dim, condition, smallest))
    if chosen == "diagonal":
        return values
    planes = [(i, j) for i in range(dim) for j in range(i + 1, dim)]
    rotations = draw(
        st.lists(st.sampled_from(planes), min_size=1, max_size=min(MOST_ROTATIONS, len(planes)), unique=True)
    )
    rows = [[_fraction(values[i]) if i == j else Fraction(0) for j in range(dim)] for i in range(dim)]
    for i, j in rotations:
        rows = _rotated(rows, i, j)
    return [[as_decimal(entry) for entry in row] for row in rows]


def _rotated(rows: list[list[Fraction]], i: int, j: int) -> list[list[Fraction]]:
    """R A R^T for the rotation R in the plane of the coordinates i and j."""

    def turn(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
        turned = [list(row) for row in matrix]
        turned[i] = [COSINE * a - SINE * b for a, b in zip(matrix[i], matrix[j], strict=True)]
        turned[j] = [SINE * a + COSINE * b for a, b in zip(matrix[i], matrix[j], strict=True)]
        return turned

    def transposed(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
        return [list(column) for column in zip(*matrix, strict=True)]

    return transposed(turn(transposed(turn(rows))))


def _fraction(value: float) -> Fraction:
    return Fraction(repr(float(value)))

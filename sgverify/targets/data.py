"""The data of a posterior: given in the configuration, or drawn from a seed; those of a file are read by `data_files`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from sgverify.errors import ConfigurationError, shown
from sgverify.targets.constants import LARGEST, is_list

_ROWS = 2**16

MOST_NUMBERS = 10**7


def draw_data(size: int, dim: int, seed: int) -> np.ndarray:
    """x_i ~ N(theta*, I), i = 1..N, around one draw theta* ~ N(0, I). Shape (N, d), float64.

    The stream is `numpy.random.default_rng(seed).standard_normal`: first the d coordinates of theta*, then
    the noise of the data, row by row. So the first data of a longer set are those of a shorter one.
    """
    check_amount(size, dim)
    generator = np.random.default_rng(seed)
    centre = generator.standard_normal(dim)
    return frozen(centre + generator.standard_normal((size, dim)))


def draw_covariates(size: int, dim: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(theta*, x, z) of a regression: theta* ~ N(0, I), z_i ~ N(0, 1). Shapes (d,), (N, d), (N,), float64.

    The covariates are skewed, correlated and off 0, so that a bug in any of these shows: with u ~ N(0, I) and
    v_j = 1/2 + u_j + u_j^2/4, x_0 = v_0 and x_j = v_j + v_(j-1)/2. The stream is that of `draw_data`: theta*, then
    (u, z) row by row, so the first data of a longer set are those of a shorter one.
    """
    check_amount(size, dim + 1)
    generator = np.random.default_rng(seed)
    theta = generator.standard_normal(dim)
    rows = generator.standard_normal((size, dim + 1))
    skewed = 0.5 + rows[:, :dim] + rows[:, :dim] ** 2 / 4
    covariates = skewed.copy()
    covariates[:, 1:] += skewed[:, :-1] / 2
    return theta, covariates, rows[:, dim]


def read_data(value: Any, dim: int | None, labels: int = 0) -> np.ndarray:
    """Data as the configuration gives them: N numbers (width 1) or N lists of d + labels numbers, float64.

    Shape (N, d + labels).
    """
    if isinstance(value, np.ndarray) and value.ndim in (1, 2) and value.size and value.dtype.kind in "fiu":
        return _read_array(value, dim, labels)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not is_list(value):
        raise ConfigurationError(
            f"target.data={shown(value)}: expected a list of numbers, or of lists of numbers if dim > 1"
        )
    if not value:
        raise ConfigurationError(
            "target.data=[] is empty; expected at least one datum; add one, or leave it out for drawn data"
        )
    rows = [row if is_list(row) else [row] for row in value]
    width = dim + labels if dim is not None else len(rows[0])
    for i, row in enumerate(rows):
        if len(row) != width or width <= labels:
            _refuse_length(i, value[i], width, dim, labels)
        for entry in row:
            _check_entry(f"target.data[{i}]", entry)
    return frozen([[float(entry) for entry in row] for row in rows])


def _read_array(value: np.ndarray, dim: int | None, labels: int) -> np.ndarray:
    """Data that are an array already, checked without a list of them; what is mapped from a file is not copied."""
    table = value.reshape(len(value), -1)
    width = dim + labels if dim is not None else table.shape[1]
    if table.shape[1] != width or width <= labels:
        _refuse_length(0, table[0].tolist(), width, dim, labels)
    wrong = first_entry(table, lambda piece: ~(np.abs(piece.astype(np.float64)) <= LARGEST))
    if wrong is not None:
        _check_entry(f"target.data[{wrong[0]}]", table[wrong].item())
    return table if isinstance(table, np.memmap) and table.dtype == np.float64 else frozen(table)


def _refuse_length(place: int, datum: Any, width: int, dim: int | None, labels: int) -> NoReturn:
    why = "because target.dim is given" if dim is not None else "as in the first datum"
    what = "the covariates and then what they explain, " if labels else ""
    least = "at least one number" if not labels else f"at least {labels + 1} numbers, {what[:-2]}"
    raise ConfigurationError(
        f"target.data[{place}]={shown(datum)}: expected "
        f"{f'{width} numbers, {what}{why}' if width > labels else least}; give every datum the same length"
    )


def check_amount(size: int, width: int) -> None:
    """Raise `ConfigurationError` for more numbers than a target can hold."""
    if size * width > MOST_NUMBERS:
        raise ConfigurationError(
            f"target.size={size} with {width} numbers each: expected at most {MOST_NUMBERS} numbers; choose a smaller size"
        )


def checked(
    right: Callable[[np.ndarray], np.ndarray], wanted: str, *, last: bool = False
) -> Callable[[np.ndarray], None]:
    """A check that raises `ConfigurationError` for data with an entry that is not right; `last`: the last one of a datum alone."""

    def check(data: np.ndarray) -> None:
        entries = data[:, -1:] if last else data
        wrong = np.argwhere(~right(entries))
        if len(wrong):
            row, column = wrong[0]
            raise ConfigurationError(
                f"target.data[{row}] has the entry {entries[row, column]:g}; expected {wanted}"
            )

    return check


def is_count(data: np.ndarray) -> np.ndarray:
    """Which entries are whole numbers from 0?"""
    return np.asarray((data >= 0) & (data == np.floor(data)))


def is_outcome(data: np.ndarray) -> np.ndarray:
    """Which entries are 0 or 1?"""
    return np.isin(data, (0.0, 1.0))


check_counts = checked(is_count, "counts, whole numbers from 0; mend this datum")


def _check_entry(key: str, entry: Any) -> None:
    number = isinstance(entry, int | float | Fraction) and not isinstance(entry, bool)
    if not number or not abs(entry) <= LARGEST:
        raise ConfigurationError(
            f"{key} holds {shown(entry)}: expected finite numbers of size up to 1e100; remove or mend this datum"
        )


def frozen(values: np.ndarray | Sequence[Sequence[float]]) -> np.ndarray:
    """The values as a float64 array that cannot be written to."""
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


def first_entry(table: np.ndarray, wrong: Callable[[np.ndarray], np.ndarray]) -> tuple[int, int] | None:
    """Row and column of the first entry for which `wrong` holds; a mapped table is visited piece by piece."""
    for start in range(0, len(table), _ROWS):
        found = np.argwhere(wrong(table[start : start + _ROWS]))
        if len(found):
            return start + int(found[0][0]), int(found[0][1])
    return None

"""The data of a posterior: given in the configuration, or drawn from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError
from sgverify.targets.constants import LARGEST, is_list, shown

DEFAULT_SIZE = 1000
MOST_NUMBERS = 10**7


def draw_data(size: int, dim: int, seed: int) -> np.ndarray:
    """x_i ~ N(theta*, I), i = 1..N, around one draw theta* ~ N(0, I). Shape (N, d), float64.

    The stream is `numpy.random.default_rng(seed).standard_normal`: first the d coordinates of theta*, then
    the noise of the data, row by row. So the first data of a longer set are those of a shorter one.
    """
    if size * dim > MOST_NUMBERS:
        raise ConfigurationError(
            f"target.size={size} with target.dim={dim}: expected at most {MOST_NUMBERS} numbers; choose a smaller size"
        )
    generator = np.random.default_rng(seed)
    centre = generator.standard_normal(dim)
    return _frozen(centre + generator.standard_normal((size, dim)))


def read_data(value: Any, dim: int | None) -> np.ndarray:
    """Data as the configuration gives them: N numbers (dim 1) or N lists of d numbers. Shape (N, d), float64."""
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
    width = dim if dim is not None else len(rows[0])
    for i, row in enumerate(rows):
        if len(row) != width or width == 0:
            expected = f"{width} numbers, " + (
                "because target.dim is given" if dim is not None else "as in the first datum"
            )
            raise ConfigurationError(
                f"target.data[{i}]={shown(value[i])}: expected {expected if width else 'at least one number'}; "
                "give every datum the same length"
            )
        for entry in row:
            _check_entry(f"target.data[{i}]", entry)
    return _frozen([[float(entry) for entry in row] for row in rows])


def exact_sum(data: np.ndarray) -> tuple[Fraction, ...]:
    """sum_i x_i, exactly: every float64 is a dyadic rational. Shape (N, d) -> (d,)."""
    mantissa, exponent = np.frexp(data)
    # x = k 2^(e - 53); halves of k, summed for each e, stay inside int64.
    high, low = np.divmod((mantissa * 2.0**53).astype(np.int64), 2**26)
    total = [Fraction(0)] * data.shape[1]
    for column in range(data.shape[1]):
        for e in np.unique(exponent[:, column]):
            chosen = exponent[:, column] == e
            whole = int(high[chosen, column].sum()) * 2**26 + int(low[chosen, column].sum())
            total[column] += whole * Fraction(2) ** (int(e) - 53)
    return tuple(total)


def as_integers(data: np.ndarray) -> tuple[list[list[int]], int]:
    """Integers k and one scale s with data = k/s exactly; s is a power of two."""
    ratios = [[entry.as_integer_ratio() for entry in row] for row in data.tolist()]
    scale = max(below for row in ratios for _, below in row)
    return [[above * (scale // below) for above, below in row] for row in ratios], scale


def _check_entry(key: str, entry: Any) -> None:
    number = isinstance(entry, int | float | Fraction) and not isinstance(entry, bool)
    if not number or not abs(entry) <= LARGEST:
        raise ConfigurationError(
            f"{key} holds {shown(entry)}: expected finite numbers of size up to 1e100; remove or mend this datum"
        )


def _frozen(values: np.ndarray | Sequence[Sequence[float]]) -> np.ndarray:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array

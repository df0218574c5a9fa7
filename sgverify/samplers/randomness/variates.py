"""How are normal, uniform and integer variates made of a stream's words?

The normal variates use only +, -, *, / and square roots, for each of which IEEE 754 prescribes the rounding. Their bits are
therefore equal on every processor and device, and at every position in a tensor. A library's log and cos guarantee neither; nor
does torch's square root (`sgverify.samplers.reading.arithmetic`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import torch
from torch import Tensor

from sgverify.samplers.randomness.philox import LANES, ROWS, Stream
from sgverify.samplers.reading.arithmetic import root
from sgverify.schemes.definition.mathematics import NORMAL, NoiseLaw

# Words handled at once, so that the working set of a few tensors stays in a core's cache.
_CACHED = 1 << 16

_RADIUS_BITS = 41
_ANGLE_BITS = 22
# -2 log z = -4 artanh s, s = (z-1)/(z+1), s^2 <= 0.0295; sin y, |y| <= pi/4.
_LOG = tuple(float(Fraction(-4, 2 * k + 1)) for k in range(10))
_SIN = tuple(float(Fraction((-1) ** k, math.factorial(2 * k + 1))) for k in range(9))
# The number of terms of each series: the first omitted ones are below 3e-17 and 1e-19 of the sums, or 2e-9 and 3e-9.
_TERMS = {torch.float64: (10, 9), torch.float32: (5, 5)}
# The integer dtype of the same size, the bits of the mantissa, and sqrt(1/2) as such an integer.
_LAYOUT = {
    torch.float64: (torch.int64, 52, 0x3FE6A09E667F3BCD),
    torch.float32: (torch.int32, 23, 0x3F3504F3),
}


def normals(stream: Stream, first: int, count: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """The standard normals first, ..., first + count - 1 of the stream; shape (count, S, C).

    Box-Muller: (r cos phi, r sin phi), r = sqrt(-2 log u), from one word of 64 bits, u an odd multiple of 2^-42 and phi one of
    2^23 evenly spaced angles. Hence |z| <= 7.63; the normal law has the probability 2e-14 beyond. The two normals of word `row`
    of a cell are the cell's normals `row` and ROWS + `row`. In float32 the same words are used.
    """
    if stream.drawing is not None:
        found: Tensor = stream.drawing.normals(stream, first, count, dtype)
        return found
    return _stretch(stream, first, count, 2 * ROWS, lambda bits: box_muller(bits, dtype))


def indices(stream: Stream, first: int, count: int, bound: int | Tensor) -> Tensor:
    """Uniform integers in 0, ..., bound - 1; int64 of shape (count, S, C).

    Each is floor(w * bound / 2^32) of a 32-bit word w: no probability is off by more than 2^-32. `bound` < 2^31 may be a tensor
    of shape (count, 1, 1). The halves of word `row` of a cell give the cell's integers `row` and ROWS + `row`.
    """
    if stream.drawing is not None and isinstance(bound, int):
        found: Tensor = stream.drawing.indices(stream, first, count, bound)
        return found
    return _stretch(stream, first, count, 2 * ROWS, _halves).mul_(bound).bitwise_right_shift_(32)


def drawn_from(
    table: Sequence[float], stream: Stream, first: int, count: int, dtype: torch.dtype = torch.float64
) -> Tensor:
    """Entries of a table, shape (count, S, C), each with equal probability, at positions that `indices` draws."""
    values = torch.tensor(table, dtype=torch.float64, device=stream.device).to(dtype)
    return values[indices(stream, first, count, len(table))]


def uniforms(
    edge: float, stream: Stream, first: int, count: int, dtype: torch.dtype = torch.float64
) -> Tensor:
    """Uniform numbers between -edge and edge; shape (count, S, C).

    edge (w + 1/2 - 2^31) 2^-31 of a 32-bit word w: one rounding in float64, and one more in a narrower dtype.
    """
    bits = _stretch(stream, first, count, 2 * ROWS, _halves)
    return bits.sub_(1 << 31).to(torch.float64).add_(0.5).mul_(edge * 2.0**-31).to(dtype)


class Variates:
    """The draws of a law from a stream, taken in order; numbers of a cell beyond a request are kept for the next one.

    Normal draws come from `normals`, those of a discrete law from its table (`drawn_from`), uniform ones from `uniforms`.
    """

    def __init__(self, stream: Stream, dtype: torch.dtype = torch.float64, law: NoiseLaw = NORMAL) -> None:
        self._stream, self._dtype = stream, dtype
        self._edge = None if law.edge is None else law.largest
        self._table = [float(value) for value in law.table]
        self._cell, self._kept = -1, torch.empty(0)

    def take(self, first: int, count: int) -> Tensor:
        """The draws first, ..., first + count - 1; shape (count, S, C)."""
        per_cell = 2 * ROWS
        pieces = []
        cell, place = divmod(first, per_cell)
        if cell == self._cell:
            pieces.append(self._kept[place : place + count])
            first, count = first + len(pieces[0]), count - len(pieces[0])
            cell, place = divmod(first, per_cell)
        if count:
            cells = -(-(place + count) // per_cell)
            made = self._made(cell * per_cell, cells * per_cell)
            pieces.append(made[place : place + count])
            self._cell, self._kept = cell + cells - 1, made[-per_cell:]
        return pieces[0] if len(pieces) == 1 else torch.cat(pieces)

    def _made(self, first: int, count: int) -> Tensor:
        if self._table:
            return drawn_from(self._table, self._stream, first, count, self._dtype)
        if self._edge is not None:
            return uniforms(self._edge, self._stream, first, count, self._dtype)
        return normals(self._stream, first, count, self._dtype)


def box_muller(bits: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Two independent standard normals of each word; both of the shape of `bits`, contiguous."""
    log_terms, sin_terms = _TERMS[dtype]
    signed = (bits >> _ANGLE_BITS).to(dtype).add_(0.5)
    radius = _minus_two_log(signed.abs(), log_terms)
    radius = root(radius, out=radius).copysign_(signed)
    # The radius carries the sign, so that phi = pi (t - 1/2) for an odd multiple t of 2^-23; y = phi / 2.
    y = (bits & ((1 << _ANGLE_BITS) - 1)).to(dtype)
    y.sub_((1 << (_ANGLE_BITS - 1)) - 0.5).mul_(math.pi * 2.0 ** -(_ANGLE_BITS + 1))
    square = y * y
    sine = _horner(_SIN[:sin_terms], square)
    sine.mul_(y)
    torch.mul(sine, sine, out=square)
    cosine = 1.0 - square
    root(cosine, out=cosine)
    return square.mul_(-2.0).add_(1.0).mul_(radius), sine.mul_(2.0).mul_(cosine).mul_(radius)


def _minus_two_log(u: Tensor, terms: int) -> Tensor:
    """-2 log(u 2^-41) for u in (0, 2^41]: u = 2^e z with z in [sqrt(1/2), sqrt(2)); overwrites u."""
    whole, mantissa, low = _LAYOUT[u.dtype]
    bits = u.view(whole)
    exponent = (bits - low).bitwise_right_shift_(mantissa)
    bits.sub_(exponent << mantissa)
    s = (u - 1.0).div_(u.add_(1.0))
    series = _horner(_LOG[:terms], s * s).mul_(s)
    return series.add_(exponent.sub_(_RADIUS_BITS).to(u.dtype).mul_(-2 * math.log(2.0)))


def _horner(coefficients: tuple[float, ...], x: Tensor) -> Tensor:
    value = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        value.add_(coefficient).mul_(x)
    return value.add_(coefficients[0])


def _halves(bits: Tensor) -> tuple[Tensor, Tensor]:
    return (bits >> 32).bitwise_and_(0xFFFFFFFF), bits & 0xFFFFFFFF


def _stretch(
    stream: Stream, first: int, count: int, per_cell: int, make: Callable[[Tensor], tuple[Tensor, Tensor]]
) -> Tensor:
    """The variates first, ..., first + count - 1; `make` gives two for each word of the cells that contain them."""
    cells = range(first // per_cell, -(-(first + count) // per_cell))
    whole: Tensor | None = None
    for some, runs, chains in _pieces(stream, cells):
        pair = make(stream.bits(some, runs, chains))
        if whole is None:
            shape = (len(cells), 2, ROWS, stream.runs, len(stream.chains))
            whole = torch.empty(shape, dtype=pair[0].dtype, device=pair[0].device)
        place = slice(some.start - cells.start, some.stop - cells.start)
        columns = slice(chains.start - stream.chains.start, chains.stop - stream.chains.start)
        for half, values in enumerate(pair):
            whole[place, half, :, runs.start : runs.stop, columns] = values
    assert whole is not None
    skip = first - cells.start * per_cell
    return whole.flatten(0, 2)[skip : skip + count]


def _pieces(stream: Stream, cells: range) -> Iterator[tuple[range, range, range]]:
    """The cells, runs and chains whose words are computed at once: as many as fit in a core's cache."""
    chains = stream.chains
    most = max(LANES, _CACHED // ROWS // LANES * LANES)
    across = [
        range(max(chains.start, at), min(chains.stop, at + most))
        for at in range(chains.start // LANES * LANES, chains.stop, most)
    ]
    wide = max(map(len, across))
    runs = max(1, _CACHED // (ROWS * wide))
    deep = max(1, _CACHED // (ROWS * wide * min(runs, stream.runs)))
    for cell in range(cells.start, cells.stop, deep):
        for run in range(0, stream.runs, runs):
            for part in across:
                yield (
                    range(cell, min(cell + deep, cells.stop)),
                    range(run, min(run + runs, stream.runs)),
                    part,
                )

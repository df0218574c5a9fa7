"""Uniform, normal and whole-number variates made of a stream's words.

The normal variates use +, -, *, / and square roots only, each of which IEEE 754 rounds in one way. They are
therefore the same bits on every processor and device, at every position in a tensor; a library's log and cos
promise neither.
"""

from __future__ import annotations

import math
from fractions import Fraction

import torch
from torch import Tensor

from sgverify.samplers.philox import Stream

# Blocks handled at once, so that the working set of a few int64 tensors stays in a core's cache.
_CACHED = 1 << 15
_ONE = 0x3FF0000000000000
_SQRT_HALF = 0x3FE6A09E667F3BCD
# log z = 2 artanh s, s = (z-1)/(z+1), s^2 <= 0.0295: the first omitted term is below 3e-17 of the sum.
_LOG = tuple(float(Fraction(2, 2 * k + 1)) for k in range(10))
# sin y, |y| <= pi/4: the first omitted term is below 1e-19 of the sum.
_SIN = tuple(float(Fraction((-1) ** k, math.factorial(2 * k + 1))) for k in range(9))


def uniforms(stream: Stream, first: int, count: int) -> Tensor:
    """The uniforms first, ..., first + count - 1 of the stream; float64, shape (count, S, C).

    They are the odd multiples of 2^-53 in (0, 1), all equally likely: 0 and 1 never occur.
    """
    start = first // 2
    pieces = []
    for at, size in _pieces(stream, start, -(-(first + count) // 2) - start):
        words = stream.blocks(at, size)
        pieces.append(torch.stack([_fraction(_join(*words[:2])), _fraction(_join(*words[2:]))], dim=1))
    return _cut(pieces, first - 2 * start, count)


def normals(stream: Stream, first: int, count: int) -> Tensor:
    """The standard normals first, ..., first + count - 1 of the stream; float64, shape (count, S, C).

    Box-Muller: (sqrt(-2 log u) cos(phi), sqrt(-2 log u) sin(phi)) from one block of four words, u of 52 bits
    and phi of 51 bits and a sign; so |z| <= 8.58, and beyond that lies 1e-17 of the normal law.
    """
    start = first // 2
    pieces = [
        _box_muller(*stream.blocks(at, size))
        for at, size in _pieces(stream, start, -(-(first + count) // 2) - start)
    ]
    return _cut(pieces, first - 2 * start, count)


def indices(stream: Stream, first: int, count: int, bound: int | Tensor) -> Tensor:
    """Whole numbers in 0, ..., bound - 1; int64, shape (count, S, C).

    floor(w * bound / 2^32) of a 32-bit word w: no probability is off by more than 2^-32. `bound` < 2^31 may be
    a tensor of shape (count, 1, 1).
    """
    start = first // 4
    pieces = [
        torch.stack(stream.blocks(at, size), dim=1)
        for at, size in _pieces(stream, start, -(-(first + count) // 4) - start)
    ]
    return _cut(pieces, first - 4 * start, count).mul_(bound).bitwise_right_shift_(32)


def _pieces(stream: Stream, first: int, count: int) -> list[tuple[int, int]]:
    size = max(1, _CACHED // stream.width)
    return [(at, min(size, first + count - at)) for at in range(first, first + count, size)]


def _cut(pieces: list[Tensor], skip: int, count: int) -> Tensor:
    """Concatenate (blocks, per block, S, C) pieces and take `count` entries after the first `skip`."""
    joined = pieces[0] if len(pieces) == 1 else torch.cat(pieces)
    return joined.flatten(0, 1)[skip : skip + count]


def _join(high: Tensor, low: Tensor) -> Tensor:
    """The 52-bit whole number made of a word and the upper 20 bits of another; overwrites both."""
    return high.bitwise_left_shift_(20).bitwise_or_(low.bitwise_right_shift_(12))


def _fraction(bits: Tensor) -> Tensor:
    """(k + 1/2) 2^-52 for a 52-bit k, exactly, by writing k into the mantissa of a number in [1, 2)."""
    return bits.bitwise_or_(_ONE).view(torch.float64).sub_(1.0).add_(2.0**-53)


def _box_muller(w0: Tensor, w1: Tensor, w2: Tensor, w3: Tensor) -> Tensor:
    radius = _log(_fraction(_join(w0, w1))).mul_(-2.0).sqrt_()
    angle = _join(w2, w3)
    sign = angle << 63
    # With the sign as its last bit, phi = pi (t - 1/2) for an odd multiple t of 2^-52; y = phi/2.
    y = angle.bitwise_or_(_ONE | 1).view(torch.float64).sub_(1.5).mul_(math.pi / 2)
    square = y * y
    sine = _horner(_SIN, square).mul_(y)
    cosine = (sine * sine).neg_().add_(1.0).sqrt_()
    radius.view(torch.int64).bitwise_xor_(sign)
    out = torch.empty((len(radius), 2, *radius.shape[1:]), dtype=torch.float64, device=radius.device)
    torch.mul(sine, sine, out=square).mul_(-2.0).add_(1.0)
    torch.mul(radius, square, out=out[:, 0])
    torch.mul(sine.mul_(2.0).mul_(cosine), radius, out=out[:, 1])
    return out


def _log(u: Tensor) -> Tensor:
    """log u for u in (0, 1): u = 2^e z with z in [sqrt(1/2), sqrt(2)); overwrites u."""
    bits = u.view(torch.int64)
    exponent = (bits - _SQRT_HALF).bitwise_right_shift_(52)
    bits.sub_(exponent << 52)
    s = (u - 1.0).div_(u.add_(1.0))
    return _horner(_LOG, s * s).mul_(s).add_(exponent.to(torch.float64).mul_(math.log(2.0)))


def _horner(coefficients: tuple[float, ...], x: Tensor) -> Tensor:
    value = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        value.add_(coefficient).mul_(x)
    return value.add_(coefficients[0])

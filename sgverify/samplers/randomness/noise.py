"""From which random stream do the rows of a sweep take their noise: separate streams, one stream, or one Brownian path?

Every law has a stream of its own. The k-th draw of this law at step l = 1, 2, ..., coordinate i, is the number
((l-1) K + k) dim + i of that stream, with K draws of this law in a step. Streams are counter-based: a path can be recomputed
anywhere, independently of the batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from sgverify.errors import ConfigurationError
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.randomness.variates import Variates
from sgverify.samplers.run.schedules import Row
from sgverify.schemes.definition.mathematics import NORMAL, NoiseLaw
from sgverify.schemes.scheme import Scheme

OF_REPLICAS = ("noise", "momentum", "additive", "uniform", "memory-noise", "memory-additive")
"""The prefixes of the kinds of streams that are separate for every replica of a composite."""

# The number of normal draws that are summed at once.
_PIECE = 1 << 18


class Streamed:
    """The noise of rows whose draws are the stream's numbers in order; rows with a shared stream get equal draws (S = 1)."""

    def __init__(
        self, stream: Stream, *, draws: int, dim: int, dtype: torch.dtype, law: NoiseLaw = NORMAL
    ) -> None:
        self._variates, self._draws, self._dim = Variates(stream, dtype, law), draws, dim

    def take(self, first: int, count: int) -> Iterator[Tensor]:
        """The count * draws tensors, each of shape (S or 1, C, d), for the steps first, ..., first + count - 1, from 0."""
        return iter(self.stacked(first, count).unbind())

    def stacked(self, first: int, count: int) -> Tensor:
        """The draws of these steps in one tensor, shape (count * draws, S, C, d)."""
        wide = self._draws * self._dim
        flat = self._variates.take(first * wide, count * wide)
        return flat.unflatten(0, (-1, self._dim)).movedim(1, -1)


class Mixed:
    """The noise of a step with draws of several laws, in the step's order; each law has a stream of its own."""

    def __init__(
        self,
        streams: Callable[[str], Stream],
        purpose: str,
        laws: Sequence[NoiseLaw],
        *,
        dim: int,
        dtype: torch.dtype,
    ) -> None:
        self._laws = tuple(laws)
        self._sources = {
            law: Streamed(
                streams(stream_kind(purpose, law)), draws=self._laws.count(law), dim=dim, dtype=dtype, law=law
            )
            for law in dict.fromkeys(self._laws)
        }

    def take(self, first: int, count: int) -> Iterator[Tensor]:
        """See `Streamed.take`."""
        taken = {law: source.take(first, count) for law, source in self._sources.items()}
        if len(taken) == 1:
            return next(iter(taken.values()))
        return (next(taken[law]) for _ in range(count) for law in self._laws)


def stream_kind(purpose: str, law: NoiseLaw) -> str:
    """The kind of the stream for draws of a law: `purpose` itself for the normal law, else with the law's name."""
    return purpose if law.normal else f"{purpose}-{law}"


class Brownian:
    """The noise of rows with steps h_r = m_r h_min on one Brownian path.

    A draw z_r(l, k) = m^(-1/2) sum_{n = (l-1) m + 1}^{l m} z(n, k), m = m_r, is the path's increment over a longer step, in
    standard units. Each row alone has independent standard normal draws. The sums are taken by halves, in a fixed order.
    """

    def __init__(
        self, stream: Stream, spans: Sequence[int], *, draws: int, dim: int, dtype: torch.dtype
    ) -> None:
        self._fine = {
            span: Streamed(stream, draws=draws, dim=dim, dtype=torch.float64) for span in set(spans)
        }
        self._spans, self._dtype = tuple(spans), dtype
        self._draws, self._wide = draws, draws * dim * stream.width

    def take(self, first: int, count: int) -> Iterator[Tensor]:
        """See `Streamed.take`."""
        made = {span: self._row(span, first, count) for span in set(self._spans)}
        return iter(torch.cat([made[span] for span in self._spans], dim=1).to(self._dtype).unbind())

    def _row(self, span: int, first: int, count: int) -> Tensor:
        at_once = max(1, _PIECE // (span * self._wide))
        pieces = [
            self._sums(span, span, (first + done) * span, min(at_once, count - done) * span)
            for done in range(0, count, at_once)
        ]
        return torch.cat(pieces).flatten(0, 1).div_(math.sqrt(span))

    def _sums(self, row: int, span: int, first: int, count: int) -> Tensor:
        """The sums over `span` fine steps each, shape (count / span, draws, 1, C, d), for the row with m_r = `row`."""
        if count == span > 1 and count * self._wide > _PIECE:
            half = span // 2
            return self._sums(row, half, first, half) + self._sums(row, half, first + half, half)
        total = self._fine[row].stacked(first, count).unflatten(0, (-1, self._draws))
        while len(total) > count // span:
            total = total[0::2] + total[1::2]
        return total


def spans(rows: Sequence[Row]) -> tuple[int, ...]:
    """m_r = h_r / h_min of each row, powers of two."""
    steps = [row.at(1) for row in rows]
    return tuple(int(step / min(steps)) for step in steps)


def check_path(scheme: Scheme) -> None:
    """Raise `ConfigurationError` if a step has a draw that is no increment of a Brownian path."""
    for law in scheme.laws:
        if not law.normal:
            raise ConfigurationError(
                f"coupled='brownian' with the scheme {scheme.name}, which draws noise.{law}(): sums of such draws have "
                "another law, so that no path serves two step sizes; leave the rows independent, or take coupled=true"
            )


def stream_keys(coupled: bool | str, kind: str, rows: Sequence[Row]) -> list[bytes]:
    """The keys of the rows' streams of one kind: the bits of their schedules, or one key for a shared stream.

    Replicas of a composite have separate noise and shared minibatches. Rows on one Brownian path share the start and the path;
    their minibatches are independent, since the l-th steps of two rows are at different times.
    """
    if coupled is True or (coupled == "brownian" and kind.startswith(("noise", "momentum", "memory-noise"))):
        return [b"coupled"]
    return [row.key if kind.startswith(OF_REPLICAS) else row.schedule.key for row in rows]

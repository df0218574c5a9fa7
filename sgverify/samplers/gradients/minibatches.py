"""Which data does a minibatch hold: drawn with or without replacement, or blocks of a permutation, swept once or both ways?

The q-th minibatch of a chain is a function of q and the chain's stream alone. Step l with m minibatches uses those with
q = (l - 1) m, ..., l m - 1, in the order of its evaluations.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, Protocol

import torch
from torch import Tensor

from sgverify.errors import ConfigurationError
from sgverify.gradients import GradientEstimator, find_estimator
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.randomness.variates import indices
from sgverify.targets import Target

# The largest n for which comparing the data of a minibatch pairwise is faster than a table of all data.
_COMPARED = 32


class Minibatches(Protocol):
    """A source of minibatches of n data out of N."""

    def block(self, first: int, count: int) -> Tensor:
        """The data indices of the minibatches first, ..., first + count - 1, int64 of shape (count, n, S, C)."""


class Iid:
    """Minibatches of n data drawn with replacement, independent of one another."""

    def __init__(self, stream: Stream, size: int, batch: int) -> None:
        self._stream, self._size, self._batch = stream, size, batch

    def block(self, first: int, count: int) -> Tensor:
        """See `Minibatches`."""
        drawn = indices(self._stream, first * self._batch, count * self._batch, self._size)
        return drawn.unflatten(0, (count, self._batch))


class WithoutReplacement:
    """Minibatches that are subsets of n data, all subsets equally likely, independent of one another.

    Floyd's algorithm: for j = N-n, ..., N-1 take a random t in 0..j, or j itself if t is already taken.
    Source: Bentley and Floyd 1987, "A sample of brilliance".
    """

    def __init__(self, stream: Stream, size: int, batch: int) -> None:
        self._stream, self._size, self._batch = stream, size, batch

    def block(self, first: int, count: int) -> Tensor:
        """See `Minibatches`."""
        n, low = self._batch, self._size - self._batch
        bounds = torch.arange(low + 1, self._size + 1, device=self._stream.device).repeat(count)
        drawn = indices(self._stream, first * n, count * n, bounds[:, None, None]).unflatten(0, (count, n))
        if n <= _COMPARED:
            for k in range(1, n):
                taken = (drawn[:, :k] == drawn[:, k : k + 1]).any(1)
                drawn[:, k].masked_fill_(taken, low + k)
        else:
            for batch in drawn.unbind():
                self._look_up(batch)
        return drawn

    def _look_up(self, batch: Tensor) -> None:
        """Floyd's algorithm for one minibatch, in place, with a table of the data already taken."""
        taken = torch.zeros((self._size, *batch.shape[1:]), dtype=torch.bool, device=batch.device)
        for k in range(self._batch):
            chosen = batch[k : k + 1]
            chosen.masked_fill_(taken.gather(0, chosen), self._size - self._batch + k)
            taken.scatter_(0, chosen, True)


class Reshuffle:
    """The blocks of n data of a random permutation, one permutation per chain and epoch of N/n minibatches.

    The permutation of the present epoch is stored: S C N integers.
    """

    def __init__(self, stream: Stream, size: int, batch: int) -> None:
        self._stream, self._size, self._batch = stream, size, batch
        self._epoch, self._order = -1, torch.empty(0)

    @property
    def periods(self) -> tuple[int, ...]:
        """The numbers of minibatches after which a new sweep begins: of another permutation, or in the other direction."""
        return (self._size // self._batch,)

    def block(self, first: int, count: int) -> Tensor:
        """See `Minibatches`."""
        length = self.periods[0]
        pieces = []
        while count:
            epoch, place = divmod(first, length)
            taken = min(count, length - place)
            piece = self._permutation(epoch)[place * self._batch : (place + taken) * self._batch]
            pieces.append(piece.unflatten(0, (taken, self._batch)))
            first, count = first + taken, count - taken
        return torch.cat(pieces)

    def _permutation(self, epoch: int) -> Tensor:
        """Fisher and Yates' shuffle of 0, ..., N-1 for all chains side by side, shape (N, S, C)."""
        if epoch != self._epoch:
            size = self._size
            bounds = torch.arange(size, 0, -1, device=self._stream.device)
            partner = indices(self._stream, epoch * size, size, bounds[:, None, None]).flatten(1)
            order = torch.arange(size, device=partner.device)[:, None].repeat(1, partner.shape[1])
            for k in range(size):
                other = partner[k : k + 1] + k
                chosen = order.gather(0, other)
                order.scatter_(0, other, order[k : k + 1].clone())
                order[k : k + 1] = chosen
            self._epoch, self._order = epoch, order.unflatten(1, (-1, len(self._stream.chains)))
        return self._order


class Symmetric(Reshuffle):
    """The blocks of n data of a random permutation, in order and then in reverse, one permutation per chain and double sweep.

    A double sweep has 2 N/n minibatches; the next one uses a new permutation. Source: Paulin, Whalley, Chada,
    Leimkuhler, arXiv 2410.19780, symmetric minibatch splitting.
    """

    @property
    def periods(self) -> tuple[int, ...]:
        """See `Reshuffle.periods`: the way back, and a new permutation."""
        return (self._size // self._batch, 2 * (self._size // self._batch))

    def block(self, first: int, count: int) -> Tensor:
        """See `Minibatches`."""
        length = self.periods[0]
        places = []
        for number in range(first, first + count):
            sweep, place = divmod(number, 2 * length)
            forward = min(place, 2 * length - 1 - place) * self._batch
            places.append(self._permutation(sweep)[forward : forward + self._batch])
        return torch.stack(places)


_BLOCKS: tuple[type[Reshuffle], ...] = (Reshuffle, Symmetric)
"""The source for one and for two sweeps over the blocks of one permutation."""


@singledispatch
def source_of(
    estimator: GradientEstimator, choice: Any, stream: Stream, size: int, per_step: int
) -> Minibatches:
    """The source of an estimator's minibatches of n out of N data, by its declaration.

    A family of estimators may register a source of its own.
    """
    if estimator.exchangeable:
        return _BLOCKS[estimator.sweeps - 1](stream, size, choice.batch)
    return (Iid if estimator.replaced else WithoutReplacement)(stream, size, choice.batch)


def check_minibatches(kind: str, target: Target, batch: int) -> int:
    """N, the number of data; raises `ConfigurationError` if the target has no minibatches of this kind and size."""
    if target.size is None:
        raise ConfigurationError(
            f"gradient.kind={kind!r}: the target {target.name} has no data; expected 'full' or 'additive' there; "
            "choose one of these or a target with data"
        )
    if not 1 <= batch <= target.size:
        raise ConfigurationError(
            f"gradient.batch={batch}: expected 1 to {target.size}, the number of data; choose a batch in this range"
        )
    if find_estimator(kind).exchangeable and target.size % batch:
        raise ConfigurationError(
            f"gradient.batch={batch}: {kind} consumes the {target.size} data in blocks of equal size; expected a "
            f"divisor of {target.size}"
        )
    if target.size >= 2**31:
        raise ConfigurationError(
            f"target.size={target.size}: expected fewer than 2^31 data for random minibatches"
        )
    return target.size

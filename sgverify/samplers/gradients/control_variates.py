"""Which gradient estimators subtract, for each datum of a minibatch, its gradient at a centre or at its last draw?"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sgverify.errors import ConfigurationError
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.estimators import MinibatchEstimator
from sgverify.samplers.gradients.minibatches import Minibatches
from sgverify.samplers.reading.arithmetic import in_order
from sgverify.samplers.reading.constants import lasting

MOST = 2**27
"""The most numbers in a table of gradients: one gibibyte in float64."""


class CentredEstimator(MinibatchEstimator):
    """The estimate grad prior(theta) + sum_i g_i(c) + N/n sum_{i in B} (g_i(theta) - g_i(c)), c a fixed centre.

    g_i is the gradient of datum i's likelihood and c the centre of the declared estimator. If all data have the same Hessian, the
    minibatch cancels; with a hoisted potential no minibatch is then evaluated. Source: Baker, Fearnhead, Fox, Nemeth 2019,
    equation (6).
    """

    def __init__(
        self,
        potential: Potential,
        source: Minibatches,
        *,
        batch: int,
        per_step: int,
        centre: Sequence[float],
    ) -> None:
        super().__init__(potential, source, batch=batch, per_step=per_step)
        location = torch.tensor(centre, dtype=torch.float64)
        self._centre = lasting(location.to(self._data.dtype).to(self._data.device))
        at = self._centre[None, None]
        self._gradient = lasting((potential.full(at) - potential.prior(at))[0, 0])

    @property
    def cancels(self) -> bool:
        """See `MinibatchEstimator.cancels`."""
        return self.adds

    def prepare(self, first: int, count: int) -> None:
        """Draw the minibatches."""
        self._gathered = {}
        if not self.cancels:
            self._drawn = self._indices = self.source.block(first * self._per_step, count * self._per_step)

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        """See `Estimator.evaluate`."""
        if self.cancels:
            return self.potential.full(theta)
        chosen = self._chosen_data(step * self._per_step + minibatch)
        there = self.potential.sum_over(self._centre.expand_as(theta), chosen)
        change = self.potential.sum_over(theta, chosen) - there
        return self.potential.prior(theta) + self._gradient + (len(self._data) / self._batch) * change


class TableEstimator(MinibatchEstimator):
    """SAGA: the estimate grad prior(theta) + sum_i a_i + N/n sum_{i in B} (g_i(theta) - a_i), with a table of gradients a_i.

    After the step a_i = g_i(theta) for i in B, with theta the point at which the minibatch was first evaluated. The table starts
    with g_i(theta_0) and holds S C N d numbers. Its sum is updated at every step, and recomputed every N/n steps. Source:
    Defazio, Bach, Lacoste-Julien 2014, equation (3).
    """

    def __init__(self, potential: Potential, source: Minibatches, *, batch: int, per_step: int) -> None:
        super().__init__(potential, source, batch=batch, per_step=per_step)
        self._again = -(-len(self._data) // batch)
        self._first = 0
        self._table, self._sum = torch.empty(0), torch.empty(0)
        self._asked: dict[int, tuple[Tensor, Tensor]] = {}
        self._resumed: tuple[Tensor, ...] = ()

    @property
    def again(self) -> int:
        """The number of steps after which the sum of the table is recomputed."""
        return self._again

    def renewals(self, first: int) -> tuple[int, ...]:
        """See `Estimator.renewals`: the next sum of the whole table."""
        return ((first // self._again + 1) * self._again, *super().renewals(first))

    def prepare(self, first: int, count: int) -> None:
        """Draw the minibatches."""
        self._first = first
        self._drawn = self._indices = self.source.block(first * self._per_step, count * self._per_step)

    def begin(self, step: int, theta: Tensor) -> None:
        """Fill the table at the first step; later enter the gradients of the last step's minibatches."""
        if self._resumed:
            table, self._sum = self._resumed
            wide = table.unflatten(2, (len(self._data), -1))
            self._table = wide.permute(2, 0, 1, 3).clone(memory_format=torch.contiguous_format)
            self._resumed = ()
        fresh = not self._table.numel()
        if fresh:
            self._fill(theta)
        self._enter()
        if fresh or (self._first + step) % self._again == 0:
            self._sum = in_order(self._table)

    @property
    def carried(self) -> tuple[Tensor, ...]:
        """The table, shape (S, C, N d), and its sum, shape (S, C, d)."""
        if self._resumed:
            return self._resumed
        self._enter()
        if not self._table.numel():
            return ()
        # A copy: the table is written to, and the caller may keep the carried tensors.
        table = self._table.permute(1, 2, 0, 3).clone(memory_format=torch.contiguous_format)
        return table.flatten(2), self._sum

    def resume(self, carried: tuple[Tensor, ...]) -> None:
        """See `Estimator.resume`."""
        # The table itself is laid out at the next step: a kernel hands it on as it is.
        self._resumed = carried

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        """See `Estimator.evaluate`."""
        change = self._change(theta, step * self._per_step + minibatch, minibatch)
        return self.potential.prior(theta) + self._sum + (len(self._data) / self._batch) * change

    def _change(self, theta: Tensor, number: int, minibatch: int) -> Tensor:
        """sum_{i in B} (g_i(theta) - a_i) over the minibatch of this number of the block, the given one of its step."""
        drawn = self._drawn[number]
        found = self.potential.likelihoods(theta, self._data[drawn])
        drawn = drawn.expand(found.shape[:-1])
        self._asked.setdefault(minibatch, (drawn, found))
        return in_order(found - self._table.gather(0, _wide(drawn, found)))

    def _fill(self, theta: Tensor) -> None:
        size = len(self._data)
        if size * theta.numel() > MOST:
            raise ConfigurationError(
                f"gradient.kind='saga': the table of {size} data for {theta.shape[0]} rows of {theta.shape[1]} chains in "
                f"{theta.shape[2]} dimensions has {size * theta.numel()} numbers; expected at most {MOST}; run fewer chains at "
                "once, or gradient.kind=svrg, which keeps one gradient"
            )
        self._table = self.potential.likelihoods(theta, self._data.reshape(size, 1, 1, -1)).contiguous()

    def _enter(self) -> None:
        """Put the gradients of the last step's minibatches into the table; a datum that was drawn twice counts once."""
        for drawn, found in self._asked.values():
            places = _wide(drawn, found)
            for place, value in zip(places.split(1), found.split(1), strict=True):
                self._sum = self._sum + (value - self._table.gather(0, place))[0]
                self._table.scatter_(0, place, value)
        self._asked = {}


def _wide(drawn: Tensor, like: Tensor) -> Tensor:
    """Indices of shape (n, S, C), repeated for every coordinate of `like`, shape (n, S, C, d)."""
    return drawn[..., None].expand(like.shape)

"""What is the variance of the energies that a swap compares, and how much of it does a control variate take away? By all data.

The estimate of an energy on a minibatch of n of N data without replacement is N/n times the sum over the minibatch of a term v_i
for each datum, plus what no minibatch changes. Its variance over all minibatches is exactly

    N^2 (1/n - 1/N) s^2,        s^2 = 1/(N - 1) sum_i (v_i - mean v)^2

(Cochran 1977, Theorem 2.2), so that no minibatch needs to be drawn. v_i is l_i(theta) without a control variate and l_i(theta) + c
l_i(theta^) with one; of the difference of two replicas it is the difference of theirs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from reports.applications.classifier.model import Posterior
from reports.applications.keeping import Arrays
from sgverify.schemes.composites.composite import best_coefficient, reduced_energy

QUANTITIES = ("plain", "doubled", "fixed", "used", "best", "correlation", "coefficient")
"""Of the difference of energies: its variance without a control variate at n and at 2n, with c = -1, with the coefficients in use,
and with the best ones. Of the first replica: the correlation of l_i(theta) and l_i(theta^) over the data, and c in use."""


def variance_of_estimate(values: Tensor, batch: int) -> Tensor:
    """N^2 (1/n - 1/N) s^2 of terms v_i, shape (*batch, N) -> (*batch)."""
    size = values.shape[-1]
    return size * size * (1 / batch - 1 / size) * values.var(-1)


def of_difference(
    here: Tensor, there: Tensor | None, coefficient: Tensor | None, batch: int
) -> dict[str, Tensor]:
    """The `QUANTITIES` of a pair, each of shape (C,).

    `here` are l_i(theta) of both replicas, shape (2, C, N), `there` l_i(theta^), and `coefficient` is c in use, shape (2, C, 1);
    without a control variate only the first two quantities are found.
    """

    def variance(values: Tensor, count: int = batch) -> Tensor:
        return variance_of_estimate(values[0] - values[1], count)

    found = {"plain": variance(here), "doubled": variance(here, 2 * batch)}
    if there is None or coefficient is None:
        return found
    centred, control = (values - values.mean(-1, keepdim=True) for values in (here, there))
    covariance = (centred * control).sum(-1, keepdim=True)
    squares = (control * control).sum(-1, keepdim=True)
    # The total at theta^ is the same for every minibatch: it has no part in a variance.
    best = best_coefficient(covariance, squares)
    found["fixed"] = variance(reduced_energy(here, there, 0.0))
    found["used"] = variance(reduced_energy(here, there, 0.0, coefficient=coefficient))
    found["best"] = variance(reduced_energy(here, there, 0.0, coefficient=best))
    root = (squares * (centred * centred).sum(-1, keepdim=True)).sqrt()
    found["correlation"] = (covariance / root)[0, :, 0]
    found["coefficient"] = coefficient[0, :, 0]
    return found


class Monitor:
    """The `QUANTITIES` of each pair at the steps `at`, before the swap: with a control variate of age m, its oldest.

    `found[label]` has shape (times, quantities, C), NaN for what a method has not.
    """

    def __init__(self, posterior: Posterior, batch: int, at: Sequence[int], chains: int) -> None:
        self._posterior, self._batch, self._chains = posterior, batch, chains
        self.times = tuple(at)
        self.at = frozenset(at)
        self.found: dict[str, np.ndarray] = {}

    def see(self, number: int, label: str, theta: Tensor, controls: Any) -> None:
        """The states of a pair after step `number`, shape (2, C, d), and its control variates, if it has any."""
        each = self._posterior.each
        if controls is None:
            found = of_difference(each(theta), None, None, self._batch)
        else:
            found = of_difference(each(theta), each(controls.at), controls.coefficient, self._batch)
        kept = self.found.setdefault(label, np.full((len(self.times), len(QUANTITIES), self._chains), np.nan))
        for name, values in found.items():
            kept[self.times.index(number), QUANTITIES.index(name)] = values.numpy()

    def of(self, label: str, quantity: str) -> np.ndarray:
        """A quantity of a method, shape (times, C)."""
        found: np.ndarray = self.found[label][:, QUANTITIES.index(quantity)]
        return found

    def arrays(self) -> Arrays:
        """What was found so far, for a run that goes on."""
        return {f"monitor.{label}": values for label, values in self.found.items()}

    def resume(self, arrays: Arrays) -> None:
        """Take up what another monitor has found."""
        start = "monitor."
        self.found = {
            name[len(start) :]: value.copy() for name, value in arrays.items() if name.startswith(start)
        }


def times(steps: int, refreshes: Sequence[int]) -> tuple[int, ...]:
    """The steps up to `steps` at which every control variate is as old as it gets: multiples of each m.

    >>> times(200, (8, 64))
    (64, 128, 192)
    """
    common = math.lcm(*refreshes)
    return tuple(range(common, steps + 1, common))

"""Which energies does a swap compare, with which control variates, and what is the variance of their difference?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function_unary

from sgverify.errors import ConfigurationError
from sgverify.samplers.composites.hooks import Stage
from sgverify.samplers.gradients.minibatches import Iid, WithoutReplacement, check_minibatches
from sgverify.samplers.reading.arithmetic import in_order
from sgverify.schemes.composites.composite import best_coefficient, reduced_energy


@dataclass(frozen=True, eq=False)
class Controls:
    """The control variate of each row: theta^, shape (S, C, d), and the full energy at theta^ and coefficient c, (S, C, 1)."""

    at: Tensor
    full: Tensor
    coefficient: Tensor

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """The three tensors, in the order of the fields."""
        return self.at, self.full, self.coefficient

    def learnt(self, coefficient: Tensor) -> Controls:
        """The control variates with another coefficient."""
        return replace(self, coefficient=coefficient)


@dataclass(frozen=True, eq=False)
class Samples:
    """Estimates of U on r minibatches, shape (r, S, C, 1), and the best coefficient of each row, empty without control variates.

    `share` is the factor from the variance of these estimates to that of the estimate by which a swap decides.
    """

    values: Tensor
    coefficient: Tensor
    share: float

    def variance(self, differences: Tensor) -> Tensor:
        """The variance of the estimate of a difference from `differences` on these minibatches, shape (r, *batch)."""
        return _covariance(differences, differences) * self.share


@dataclass(frozen=True, eq=False)
class Measured:
    """Var(E_k - E_(k+1)) of each row k and the row above, and the best coefficient of each row; shapes (S, C, 1)."""

    variance: Tensor
    coefficient: Tensor


def check_energies(choice: Any, gradient: Any) -> None:
    """Raise `ConfigurationError` for energies on minibatches that the gradients do not have."""
    if choice.energies == "minibatch" and not gradient.estimator.draws_data:
        raise ConfigurationError(
            f"exchange.energies='minibatch' with gradient.kind={gradient.kind!r}: there are no minibatches; expected 'exact'; "
            "choose that, or a gradient of minibatches"
        )


class SwapEnergies:
    """Energies of all rows on minibatches that the replicas of a chain share, independent of the steps' minibatches.

    `exact`: energies of all data. Otherwise `subset` says that the data of a minibatch are distinct, and `repeated` that
    variances are measured on repeated minibatches.
    """

    def __init__(self, stage: Stage, choice: Any) -> None:
        self._potential, self._choice = stage.potential, choice
        gradient, target = stage.settings.gradient, stage.potential.target
        noisy = gradient.estimator.draws_data
        check_energies(choice, gradient)
        self.exact = choice.energies == "exact" or not noisy
        if self.exact:
            return
        kind = Iid if gradient.estimator.energies_replaced else WithoutReplacement
        size = check_minibatches("iid", target, gradient.batch)
        self._size, self._batch = size, gradient.batch
        self._swaps = kind(stage.streams("swap"), size, gradient.batch)
        self._variances = kind(stage.streams("swap-variance"), size, gradient.batch)
        self.subset = kind is WithoutReplacement
        self.repeated = choice.variance == "repeated" or (choice.variance is None and gradient.batch == 1)
        if not self.repeated and gradient.batch == 1:
            raise ConfigurationError(
                "exchange.variance='minibatch' with gradient.batch=1: one datum has no spread; expected 'repeated', or a larger "
                "batch"
            )

    def period(self, reduced: bool) -> int:
        """The steps between two measurements: as configured, else N/n rounded up with a control variate, and 1 without one."""
        if self.exact:
            return 1
        chosen = self._choice.refresh
        return int(chosen if chosen is not None else -(-self._size // self._batch) if reduced else 1)

    def control_at(self, theta: Tensor, coefficient: Tensor | None = None) -> Controls:
        """A control variate at theta, with the present coefficient; -1 for the first one."""
        # A copy, since the state is overwritten by later steps.
        full = self._potential.energy(theta)[..., None]
        return Controls(
            theta.clone(), full, torch.full_like(full, -1.0) if coefficient is None else coefficient
        )

    def at(self, theta: Tensor, controls: Controls | None, number: int) -> Tensor:
        """The estimate of U at theta, shape (S, C, 1), for the swap after step `number`."""
        if self.exact:
            return self._potential.energy(theta)[..., None]
        chosen = self.minibatch(number)
        energy = self._potential.energy_over(theta, chosen)[..., None]
        if controls is None:
            return energy
        control = self._potential.energy_over(controls.at, chosen)[..., None]
        return reduced_energy(energy, control, controls.full, coefficient=controls.coefficient)

    def measure(self, theta: Tensor, controls: Controls | None, event: int, replicas: int) -> Measured:
        """The variance of the estimate at theta with the present control variates, measured on separate minibatches."""
        found = self.estimates(theta, controls, event)
        grouped = found.values.unflatten(1, (-1, replicas))
        # The last row of a group has no row above it.
        differences = grouped - torch.cat([grouped[:, :, 1:], grouped[:, :, -1:]], dim=2)
        return Measured(found.variance(differences).flatten(0, 1), found.coefficient)

    def estimates(self, theta: Tensor, controls: Controls | None, event: int) -> Samples:
        """The estimates at theta on the separate minibatches of a measurement."""
        energies, share = self._sample(theta, event)
        estimates, coefficient = energies, torch.empty(0)
        if controls is not None:
            control, _ = self._sample(controls.at, event)
            coefficient = best_coefficient(_covariance(energies, control), _covariance(control, control))
            estimates = reduced_energy(energies, control, controls.full, coefficient=controls.coefficient)
        return Samples(estimates, coefficient, share)

    def minibatch(self, number: int) -> Tensor:
        """The data indices, shape (n, S, C), on which energies are estimated after step `number`."""
        return self._swaps.block(number, 1)[0]

    def spread(self, event: int) -> tuple[Tensor, float]:
        """Minibatches, shape (n, r, S, C), and the factor from the variance of their energies to that of the estimate."""
        if self.repeated:
            r = self._choice.repeats
            return self._variances.block(event * r, r).movedim(1, 0), 1.0
        # Each datum of one minibatch counts as a minibatch of size 1.
        left = 1 - self._batch / self._size if self.subset else 1.0
        return self._variances.block(event, 1), left / self._batch

    def _sample(self, theta: Tensor, event: int) -> tuple[Tensor, float]:
        """Energies, shape (r, S, C, 1), and the factor from their variance to that of the estimate on a minibatch."""
        chosen, share = self.spread(event)
        wide = theta.expand(chosen.shape[1], *theta.shape)
        return self._potential.energy_over(wide, chosen)[..., None], share


def sum_of_samples(values: Tensor) -> Tensor:
    """The sum along the first axis, term by term: one operation on a tape."""
    if has_torch_function_unary(values):
        found: Tensor = handle_torch_function(sum_of_samples, (values,), values)
        return found
    return in_order(values)


def _covariance(a: Tensor, b: Tensor) -> Tensor:
    """The sample covariance along the first axis."""
    count = len(a)
    return sum_of_samples((a - sum_of_samples(a) / count) * (b - sum_of_samples(b) / count)) / (count - 1)

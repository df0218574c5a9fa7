"""Energies of all data and of minibatches: against numpy's reading, finite differences and the mean over all minibatches."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
import torch

from sgverify.errors import ConfigurationError
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.estimators import GradientChoice
from sgverify.samplers.gradients.kinds import effective_potential
from sgverify.targets import Target
from tests.samplers.conftest import gradient_of

TARGETS = {
    "affine": {"name": "gaussian-mean", "dim": 2, "size": 7, "data_seed": 3, "prior_mean": 1.0},
    "affine, Hessians differ": {"name": "linear-regression", "dim": 2, "size": 7},
    "not affine": {"name": "logistic-regression", "dim": 2, "size": 7},
}


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest, make_target: Callable[..., Target]) -> Target:
    return make_target(**TARGETS[request.param])


def potential(target: Target, dtype: torch.dtype = torch.float64, *, hoist: bool = True) -> Potential:
    return Potential(target, dtype=dtype, device="cpu", hoist=hoist)


def points(*shape: int) -> torch.Tensor:
    return 2 * torch.randn(shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)


def estimate(target: Target, theta: torch.Tensor, chosen: torch.Tensor) -> np.ndarray:
    """The printed formula, datum by datum, on numpy."""
    assert target.data is not None
    assert target.likelihood is not None
    rows = np.broadcast_to(chosen.numpy(), (len(chosen), *theta.shape[:-1]))
    parts = [target.likelihood(theta.numpy(), target.data[row]) for row in rows]
    return np.asarray(target.prior(theta.numpy()) + len(target.data) / len(parts) * sum(parts))


@pytest.mark.parametrize("hoist", [True, False])
def test_the_energy_is_that_of_the_numpy_reading(target: Target, hoist: bool) -> None:
    theta = points(3, 4, 2)
    found = potential(target, hoist=hoist).energy(theta)
    assert found.shape == (3, 4)
    # Some twenty terms of size up to 100.
    np.testing.assert_allclose(found.numpy(), target.energy_float64(theta.numpy()), rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("hoist", [True, False])
def test_the_estimate_of_a_minibatch_is_the_printed_formula(target: Target, hoist: bool) -> None:
    theta, chosen = points(3, 4, 2), torch.randint(7, (5, 3, 4), generator=torch.Generator().manual_seed(1))
    made = potential(target, hoist=hoist)
    np.testing.assert_allclose(
        made.energy_over(theta, chosen).numpy(), estimate(target, theta, chosen), rtol=1e-13, atol=1e-12
    )
    shared = chosen[:, :1]
    np.testing.assert_allclose(
        made.energy_over(theta, shared).numpy(), estimate(target, theta, shared), rtol=1e-13, atol=1e-12
    )


@pytest.mark.parametrize("hoist", [True, False])
def test_the_estimates_of_all_minibatches_average_to_the_energy(target: Target, hoist: bool) -> None:
    theta = points(2)
    every = torch.tensor(list(product(range(7), repeat=2))).T
    made = potential(target, hoist=hoist)
    estimates = made.energy_over(theta.expand(49, 2), every)
    assert float(estimates.mean()) == pytest.approx(float(made.energy(theta)), rel=1e-13, abs=1e-12)
    assert float(estimates.std()) > 0.1


@pytest.mark.parametrize("hoist", [True, False])
@pytest.mark.parametrize("all_data", [True, False])
def test_the_gradient_is_that_of_the_energy(target: Target, hoist: bool, all_data: bool) -> None:
    theta, chosen = points(3, 4, 2), torch.randint(7, (5, 3, 4), generator=torch.Generator().manual_seed(1))
    made = potential(target, hoist=hoist)
    found = gradient_of(made, theta, None if all_data else chosen)
    # Central differences: an error of about step^2 for the smooth part and 1e-14/step for rounding.
    for k in range(2):
        shift = torch.zeros(2, dtype=torch.float64)
        shift[k] = 1e-5
        over = (lambda x: made.energy(x)) if all_data else (lambda x: made.energy_over(x, chosen))
        difference = (over(theta + shift) - over(theta - shift)) / 2e-5
        torch.testing.assert_close(found[..., k], difference, rtol=1e-7, atol=1e-7)


def test_an_energy_of_float32_chains_is_summed_in_float64(target: Target) -> None:
    theta = points(3, 4, 2).float()
    found = potential(target, torch.float32).energy(theta)
    assert found.dtype == torch.float64
    np.testing.assert_allclose(
        found.numpy(), target.energy_float64(theta.double().numpy()), rtol=3e-6, atol=1e-5
    )


def test_the_energy_of_a_chain_does_not_depend_on_its_batch(target: Target) -> None:
    theta, chosen = (
        points(3, 400, 2),
        torch.randint(7, (5, 3, 400), generator=torch.Generator().manual_seed(1)),
    )
    made = potential(target, hoist=False)
    together = made.energy_over(theta, chosen)
    alone = made.energy_over(theta[1:2, 7:8], chosen[:, 1:2, 7:8])
    assert torch.equal(together[1:2, 7:8], alone)


def test_a_clipped_gradient_leaves_its_energy_alone(target: Target) -> None:
    clipped = effective_potential(potential(target), GradientChoice("iid", 2, clip=0.01))
    theta = points(3, 4, 2)
    torch.testing.assert_close(clipped.energy(theta), potential(target).energy(theta), rtol=1e-13, atol=1e-12)
    assert not torch.equal(clipped.full(theta), potential(target).full(theta))


def test_a_target_without_data_has_no_energy_of_a_minibatch(line: Target) -> None:
    with pytest.raises(ConfigurationError, match="has no data"):
        potential(line).energy_over(points(1, 1), torch.zeros((1, 1), dtype=torch.int64))

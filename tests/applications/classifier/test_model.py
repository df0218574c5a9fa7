"""The gradient is that of the energy by differences; all minibatches leave it unbiased, with N/n on the likelihood alone."""

from __future__ import annotations

from itertools import combinations
from types import ModuleType

import pytest
import torch
from torch import Tensor

from reports.applications.classifier import model
from reports.applications.classifier.network import ResidualNetwork
from reports.applications.classifier.target import network_posterior
from sgverify.errors import ConfigurationError
from sgverify.samplers.gradients.differentiation import Potential
from tests.applications.classifier.small import CONVOLUTIONAL, DENSE, N, drawn, images, posterior
from tests.applications.sbn.planting import planted

PAIRS = [torch.tensor(pair)[:, None, None] for pair in combinations(range(N), 2)]
ALL = torch.arange(N)[:, None, None]
ROUNDING = 1e-11
"""Sums of a hundred terms of size 10 round off less; an error that is planted is larger than 0.01."""


def full(theta: Tensor, network: ResidualNetwork = DENSE) -> Tensor:
    """The gradient of U by autograd through the energy's own parts, all data."""
    at, held = theta.clone().requires_grad_(True), images(network)
    outputs = network.outputs(at, held.train[None, None])
    chosen = held.train_labels.expand(outputs.shape[:-1])[..., None]
    losses = -outputs.log_softmax(-1).gather(-1, chosen).sum()
    (found,) = torch.autograd.grad(0.15 * (at * at).sum() + losses, at)
    return found


def by_minibatches(subject: ModuleType, network: ResidualNetwork = DENSE) -> Tensor:
    """The average of the estimate over all minibatches of 2 of the 6 images."""
    held = subject.Posterior(network, images(network), 0.3)
    return torch.stack([held.gradient(drawn(network, 2, 2), pair) for pair in PAIRS]).mean(0)


@pytest.mark.parametrize("network", [DENSE, CONVOLUTIONAL], ids=["dense", "convolutional"])
def test_minibatches_are_unbiased(network: ResidualNetwork) -> None:
    found = by_minibatches(model, network)
    assert torch.allclose(found, full(drawn(network, 2, 2), network), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("network", [DENSE, CONVOLUTIONAL], ids=["dense", "convolutional"])
def test_the_gradient_is_the_energy_s(network: ResidualNetwork) -> None:
    held, theta, step = posterior(network), drawn(network, 1, 1), 1e-6
    found = held.gradient(theta, ALL)[0, 0]
    for place in range(0, network.dim, max(1, network.dim // 12)):
        shift = torch.zeros(network.dim, dtype=torch.float64)
        shift[place] = step
        rise = held.energy(theta + shift) - held.energy(theta - shift)
        # Third derivatives, through the division by a standard deviation, are below 1e5, and energies of size 10 round off
        # 1e-15 / step.
        assert float(rise) / (2 * step) == pytest.approx(float(found[place]), abs=1e-6)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (
            "+ size / batch * self._at(theta, chosen.movedim(0, -1)).sum(-1)",
            "+ self._at(theta, chosen.movedim(0, -1)).sum(-1)",
        ),
        (
            "return self.prior(theta) + size / batch * self._at(",
            "return size / batch * self.prior(theta) + size / batch * self._at(",
        ),
        ("return self.precision / 2 * (theta", "return self.precision * (theta"),
        ("self.images.train_labels[places]", "self.images.train_labels[places] * 0"),
    ],
    ids=["N/n missing", "prior scaled", "prior doubled", "labels lost"],
)
def test_a_wrong_gradient_is_seen(was: str, now: str) -> None:
    assert (by_minibatches(planted(model, was, now)) - full(drawn(DENSE, 2, 2))).abs().max() > 0.01


def test_energies_are_those_of_the_target() -> None:
    held, theta = posterior(), drawn(DENSE, 2, 2)
    data = images(DENSE)
    target = network_posterior(DENSE, data.train.numpy(), data.train_labels.numpy(), precision=0.3).target()
    potential = Potential(target, dtype=torch.float64, device=torch.device("cpu"))
    assert torch.allclose(potential.full(theta), full(theta), rtol=0, atol=ROUNDING)
    # A log density is known up to a constant.
    constant = potential.energy(theta) - held.energy(theta)
    assert float(constant.max() - constant.min()) < ROUNDING
    for pair in PAIRS[:4]:
        found = potential.energy_over(theta, pair) - held.energy_over(theta, pair)
        assert torch.allclose(found, constant, rtol=0, atol=ROUNDING)


def test_several_minibatches_at_one_state_are_each_alone() -> None:
    held, theta = posterior(), drawn(DENSE, 2, 3)
    chosen = torch.randint(0, N, (2, 5, 1, 3), generator=torch.Generator().manual_seed(0))
    found = held.energy_over(theta.expand(5, *theta.shape), chosen)
    for r in range(5):
        assert torch.allclose(found[r], held.energy_over(theta, chosen[:, r]), rtol=0, atol=ROUNDING)


def test_all_data_are_summed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = posterior().energy(drawn(DENSE, 2, 2))
    monkeypatch.setattr(model, "AT_ONCE", 1)
    assert torch.allclose(posterior().energy(drawn(DENSE, 2, 2)), whole, rtol=0, atol=ROUNDING)


def test_settings_share_a_minibatch_and_chains_have_their_own() -> None:
    held = model.ClassifierModel(posterior(DENSE, 30), batch=2, seed=1, chains=range(3))
    theta = drawn(DENSE, 1, 1).expand(2, 3, -1)
    found = held.gradient(theta, 70, 0)
    assert torch.equal(found[0], found[1]) and not torch.isclose(found[0, 0], found[0, 1]).all()
    assert torch.equal(held.gradient(theta, 70, 0), found)
    assert not torch.isclose(held.gradient(theta, 71, 0), found).all()
    assert not torch.isclose(held.gradient(theta, 70, 1), found).all()
    fresh = model.ClassifierModel(posterior(DENSE, 30), batch=2, seed=1, chains=range(3))
    assert torch.equal(fresh.gradient(theta, 70, 0), found)
    assert torch.equal(held.prior(theta), 0.3 * theta)


def test_impossible_sizes_are_refused() -> None:
    for batch in (1, 3):
        with pytest.raises(ConfigurationError, match=f"batch={batch}: expected 2 to 2"):
            model.ClassifierModel(posterior(), batch=batch, seed=0, chains=range(1))
    with pytest.raises(ConfigurationError, match="rows of 4 levels"):
        network_posterior(DENSE, [[1.0]], [0])
    with pytest.raises(ConfigurationError, match="from 0 to 2"):
        network_posterior(DENSE, [[1.0, 0, 0, 0]], [3])

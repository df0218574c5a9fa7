"""Gradients of torch modules by torch's own operations: recorded ones have the bits of `torch.func`, whatever the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sgverify.samplers import GradientChoice, Settings, fixed
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.own import module_gradient
from sgverify.samplers.own.module_gradient import ChainGradient
from sgverify.samplers.own.module_operations import Layout
from sgverify.samplers.own.module_parts import ModuleLikelihood
from sgverify.samplers.own.module_target import ModuleTarget, module_target
from sgverify.schemes import find_scheme
from tests.sampled_states import sample_states

N, CLASSES = 12, 3

NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "dense": lambda: nn.Sequential(nn.Linear(16, 5), nn.Tanh(), nn.Linear(5, CLASSES)),
    "convolution": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 4, 4)), nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, CLASSES)
    ),
    "normalised": lambda: nn.Sequential(nn.Linear(16, 6), nn.LayerNorm(6), nn.GELU(), nn.Linear(6, CLASSES)),
}


def target_of(network: str = "dense", **options: Any) -> ModuleTarget:
    torch.manual_seed(3)
    drawn = torch.Generator().manual_seed(1)
    data = torch.randn(N, 16, generator=drawn), torch.randint(CLASSES, (N,), generator=drawn)
    return module_target(NETWORKS[network](), nn.CrossEntropyLoss(), data=data, **options)


def thetas(dim: int, chains: int, seed: int = 0) -> Tensor:
    return torch.randn(chains, dim, generator=torch.Generator().manual_seed(seed))


def rows_of(target: ModuleTarget, chains: int, batch: int = 4, seed: int = 0) -> Tensor:
    assert target.data is not None
    chosen = torch.randint(N, (batch, chains), generator=torch.Generator().manual_seed(seed))
    return torch.tensor(target.data, dtype=torch.float32)[chosen]


def by_torch_func(target: ModuleTarget, theta: Tensor, rows: Tensor) -> Tensor:
    """One pass of torch.func, without any recording."""
    likelihood: Any = target.likelihood
    each = torch.func.vmap(torch.func.grad(likelihood._of_flat))
    return each(theta, rows.movedim(1, 0).contiguous())


@pytest.mark.by_default("dense", "convolution")
@pytest.mark.parametrize("network", NETWORKS)
def test_recorded_operations_have_the_bits_of_torch_func(
    network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module_gradient, "CALLS", 2)
    target = target_of(network)
    likelihood: Any = target.likelihood
    for seed in range(4):
        theta, rows = thetas(target.dim, 7, seed), rows_of(target, 7, seed=seed)
        found = likelihood.gradient_of_batch(theta, rows)
        assert torch.equal(found, by_torch_func(target, theta, rows))
    (played,) = likelihood._gradient._recorded.values()
    assert played is not None


def test_one_minibatch_for_all_chains_is_each_chains_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_gradient, "CALLS", 1)
    target = target_of()
    likelihood: Any = target.likelihood
    theta, rows = thetas(target.dim, 5), rows_of(target, 1)
    shared = [likelihood.gradient_of_batch(theta, rows) for _ in range(2)]
    torch.testing.assert_close(shared[1], by_torch_func(target, theta, rows.expand(-1, 5, -1)))
    assert torch.equal(*shared)


@pytest.mark.by_default("1000000")
@pytest.mark.parametrize("calls", [1, 10**6])
def test_the_bits_of_a_chain_do_not_depend_on_its_batch(calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_gradient, "CALLS", calls)
    target = target_of()
    likelihood: Any = target.likelihood
    theta, rows = thetas(target.dim, 33), rows_of(target, 33)
    for _ in range(2):
        whole = likelihood.gradient_of_batch(theta, rows)
        parts = [slice(0, 1), slice(1, 20), slice(20, 33)]
        alone = [likelihood.gradient_of_batch(theta[part], rows[:, part]) for part in parts]
        assert torch.equal(whole, torch.cat(alone))


def test_a_loss_that_changes_from_call_to_call_is_not_played(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Python computes beside the tensors would stay as it was recorded: the comparison finds it."""
    monkeypatch.setattr(module_gradient, "CALLS", 1)
    calls = iter(range(100))
    gradient = ChainGradient(
        lambda parts: parts["a"].square().sum() * (1.0 + next(calls)), Layout({"a": (2,)})
    )
    theta = torch.ones(3, 2)
    found = [gradient(theta)[0, 0].item() for _ in range(3)]
    assert len(set(found)) == 3
    assert set(gradient._recorded.values()) == {None}


def test_the_same_code_runs_on_other_devices() -> None:
    """No GPU is here: the shapes and devices of every operation are followed on torch's device without memory."""
    target = target_of()
    likelihood: Any = target.likelihood
    theta, rows = thetas(target.dim, 3).to("meta"), rows_of(target, 3).to("meta")
    found = likelihood.gradient_of_batch(theta, rows)
    assert (found.shape, found.device.type) == (theta.shape, "meta")
    assert target.prior.gradient(theta).device.type == "meta"  # type: ignore[attr-defined]


@pytest.mark.by_default("iid")
@pytest.mark.parametrize("kind", ["full", "iid", "svrg"])
def test_a_run_that_is_recorded_has_the_bits_of_one_that_is_not(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(chains=3, dtype="float32", start=0.0, gradient=GradientChoice(kind, batch=4))
    found = []
    for calls, tape in ((5, True), (10**6, False)):
        monkeypatch.setattr(module_gradient, "CALLS", calls)
        run = sample_states(
            find_scheme("sghmc-baoab"),
            target_of("convolution"),
            fixed([0.01], [30]),
            at=[30],
            settings=settings,
            tape=tape,
        )
        found.append(run.values["theta"])
    assert np.array_equal(*found)


def test_full_gradients_are_one_pass_a_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    target = target_of("convolution")
    theta = thetas(target.dim, 4)[None]
    potential = Potential(target, dtype=torch.float32, device="cpu")
    asked: list[tuple[int, ...]] = []
    honest = ModuleLikelihood.gradient_of_batch

    def told(self: ModuleLikelihood, at: Tensor, rows: Tensor) -> Tensor:
        asked.append(tuple(rows.shape))
        return honest(self, at, rows)

    monkeypatch.setattr(ModuleLikelihood, "gradient_of_batch", told)
    found = potential.full(theta)
    assert asked == [(N, 1, 1, 17)]
    monkeypatch.undo()
    one_by_one = potential.prior(theta) + potential.likelihoods(theta, potential.data[:, None, None]).sum(0)  # type: ignore[index]
    torch.testing.assert_close(found, one_by_one)

"""Gradients of torch modules as arithmetic coordinate by coordinate: torch's own up to rounding, and the kernel's to the bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sgverify.errors import ConfigurationError
from sgverify.samplers import GradientChoice, Settings, fixed
from sgverify.samplers.fused import loops, shape
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.own.module_arithmetic import ELEMENTWISE
from sgverify.samplers.own.module_operations import LARGEST
from sgverify.samplers.own.module_target import ModuleTarget, module_target
from sgverify.schemes import find_scheme
from tests.sampled_states import sample_states

N, CLASSES = 19, 3


@dataclass(frozen=True)
class Case:
    module: Callable[[], nn.Module]
    loss: Any
    label: str = "number"


CASES = {
    "regression": Case(
        lambda: nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1)), nn.MSELoss(reduction="sum")
    ),
    "classes": Case(
        lambda: nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, CLASSES)),
        nn.CrossEntropyLoss(),
        "class",
    ),
    "binary": Case(
        lambda: nn.Sequential(nn.Linear(4, 3), nn.SiLU(), nn.Linear(3, 2), nn.Softplus(), nn.Linear(2, 1)),
        nn.BCEWithLogitsLoss(),
        "binary",
    ),
    "normalised": Case(
        lambda: nn.Sequential(nn.Linear(4, 5), nn.LayerNorm(5), nn.GELU(), nn.Linear(5, 1)),
        nn.HuberLoss(reduction="sum"),
    ),
    "line": Case(lambda: nn.Linear(4, 1), nn.MSELoss(reduction="sum")),
}


def target_of(case: str = "regression", size: int = N, **options: Any) -> ModuleTarget:
    torch.manual_seed(3)
    made = CASES[case]
    drawn = torch.Generator().manual_seed(1)
    x = torch.randn(size, 4, generator=drawn)
    y = torch.randn(size, 1, generator=drawn)
    if made.label == "class":
        y = torch.randint(CLASSES, (size,), generator=drawn)
    elif made.label == "binary":
        y = (y > 0).float()
    return module_target(made.module(), made.loss, data=(x, y), **options)


def potential_of(target: ModuleTarget, dtype: torch.dtype = torch.float64) -> Potential:
    return Potential(target, dtype=dtype, device="cpu")


def run(target: ModuleTarget, compiled: Any, chains: int = 5, first: int = 0, **choice: Any) -> np.ndarray:
    settings = Settings(
        chains=chains,
        first_chain=first,
        dtype="float32",
        start=0.5,
        compiled=compiled,
        gradient=GradientChoice(**{"kind": "iid", "batch": 4, **choice}),
    )
    found = sample_states(
        find_scheme("sghmc-baoab"), target, fixed([0.01], [40]), at=[17, 40], settings=settings
    )
    return found.values["theta"]


@pytest.mark.by_default("regression", "binary", "line")
@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_torch(case: str) -> None:
    target = target_of(case)
    potential, likelihood = potential_of(target), target.likelihood
    assert potential.operations is not None
    theta = torch.randn(1, 6, target.dim, generator=torch.Generator().manual_seed(2)).double()
    rows = potential.data[:, None, None]  # type: ignore[index]
    expected = likelihood.gradient_of_batch(theta, rows)  # type: ignore[union-attr]
    torch.testing.assert_close(potential.sum_over(theta, rows), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.by_default("regression")
@pytest.mark.parametrize(
    "case",
    [
        case if case in ("regression", "classes") else pytest.param(case, marks=pytest.mark.power)
        for case in CASES
    ],
)
def test_a_kernel_has_the_bits_of_the_definition(case: str) -> None:
    target = target_of(case)
    assert np.array_equal(run(target, "kernel"), run(target, False))


@pytest.mark.by_default("{'kind': 'saga'}", "{'clip': 0.5}")
@pytest.mark.parametrize(
    "choice",
    [
        {"kind": "full"},
        {"kind": "svrg", "refresh": 7},
        {"kind": "saga"},
        {"kind": "without-replacement"},
        {"clip": 0.5},
    ],
    ids=str,
)
def test_every_estimator_has_the_kernel(choice: dict[str, Any]) -> None:
    target = target_of("line")
    assert np.array_equal(run(target, "kernel", **choice), run(target, False, **choice))


@pytest.mark.power  # 0.9 s
def test_one_chain_sums_data_side_by_side() -> None:
    target = target_of("regression")
    whole = run(target, "kernel", chains=1, kind="full")
    assert np.array_equal(whole, run(target, False, chains=1, kind="full"))


def test_the_bits_of_a_chain_do_not_depend_on_the_others() -> None:
    target = target_of("classes")
    together = run(target, False, chains=9)
    assert np.array_equal(together[..., 6:, :], run(target, False, chains=3, first=6))


def test_an_operation_that_is_not_known_is_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(ELEMENTWISE, torch.ops.aten.tanh)
    target = target_of()
    potential = potential_of(target)
    assert potential.operations is None
    assert not potential.tracked_likelihood
    with pytest.raises(ConfigurationError, match="torch code"):
        run(target, "kernel")


def test_gradients_that_differ_from_those_of_torch_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = ELEMENTWISE[torch.ops.aten.sigmoid]
    monkeypatch.setitem(ELEMENTWISE, torch.ops.aten.tanh, wrong)
    assert potential_of(target_of()).operations is None


def test_a_column_that_is_rounded_is_not_taken_for_a_class() -> None:
    """Where data choose entries, each class is tried once: a class that the network lacks is left to torch, which refuses it."""

    class Rounds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))

        def forward(self, x: Tensor) -> Tensor:
            return (x.long().to(x) * self.weight).sum(-1, keepdim=True)

    x, y = torch.randn(N, 4, generator=torch.Generator().manual_seed(0)), torch.zeros(N, 1)
    # Whole numbers at first, so that only all data tell.
    x[:8] = x[:8].round()
    rounds = module_target(Rounds(), nn.MSELoss(reduction="sum"), data=(x, y))
    assert potential_of(rounds).operations is None
    network = CASES["classes"].module()
    labels = torch.tensor([0, 1, 2, 1] * 4 + [CLASSES])
    beyond = module_target(network, nn.CrossEntropyLoss(), data=(x[:17], labels))
    assert potential_of(beyond).operations is None


def test_another_order_of_additions_in_c_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "_sum", lambda terms: " + ".join(reversed(terms)))
    with pytest.raises(ConfigurationError, match="in C end at another"):
        run(target_of(), "kernel")


def test_other_coordinates_in_c_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = loops._places

    def shifted(name: str, chosen: Any, tables: list[str]) -> Any:
        turned = [every[1:] + every[:1] for every in chosen]
        return honest(name, turned, tables)

    monkeypatch.setattr(loops, "_places", shifted)
    with pytest.raises(ConfigurationError, match="in C end at another"):
        run(target_of(), "kernel")


def test_other_devices_and_large_networks_use_the_operations_of_torch() -> None:
    assert Potential(target_of(), dtype=torch.float32, device="meta").operations is None
    assert LARGEST == shape.LARGEST
    x = torch.randn(N, 4)
    large = nn.Sequential(nn.Linear(4, 300), nn.Linear(300, 1))
    assert (
        potential_of(module_target(large, nn.MSELoss(reduction="sum"), data=(x, x[:, :1]))).operations is None
    )

"""Nothing in a step waits for the device, but for the watch over divergence, nor makes a tensor anywhere else."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from sgverify.samplers import GradientChoice, Settings, fixed
from sgverify.samplers.reading import elementary
from sgverify.samplers.run.run import Ensemble
from sgverify.schemes.loading import load_step
from sgverify.targets import Target

# What hands a number or an entry's place to Python: an accelerator has to finish all that came before.
WAITING = ("_local_scalar_dense", "item", "nonzero", "is_nonzero", "equal", "unique", "masked_select")


class Waits(TorchDispatchMode):
    """Counts the operations at which the host would wait for a device."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if name in WAITING:
            self.found[name] += 1
        return func(*args, **(kwargs or {}))


@pytest.fixture(autouse=True)
def no_building(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions in C are made once a process, after some number of calls: of which run, depends on the tests before."""
    monkeypatch.setattr(elementary, "COMPILED", elementary._Compiled())


def ensemble(subject: str, target: Target, *lengths: int, **how: Any) -> Ensemble:
    settings = Settings(**{"chains": 5, "compiled": False, **how})
    found = load_step(subject)
    return Ensemble(found, target, fixed([0.001], [*lengths]), settings)


def waits(subject: str, target: Target, length: int, **how: Any) -> int:
    run = ensemble(subject, target, length, **how)
    with torch.no_grad(), Waits() as mode:
        for _ in run.blocks():
            pass
    return sum(mode.found.values())


def waits_of_ten_steps(subject: str, target: Target, **how: Any) -> int:
    """Of two lengths the difference: what the beginning of a run reads is not of a step. One tape is recorded in each."""
    return waits(subject, target, 20, **how) - waits(subject, target, 10, **how)


IID = {"gradient": GradientChoice("iid", batch=2)}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("sgld-euler", {}),
    ("sgld-euler", IID),
    ("sghmc-aboba", IID),
    ("sgnht-euler", {"gradient": GradientChoice("svrg", batch=2)}),
]
AROUND: list[tuple[str, dict[str, Any]]] = [("resgld", IID), ("resghmc", {}), ("csgld", IID), ("awsgld", IID)]


@pytest.mark.parametrize(("subject", "how"), CASES)
def test_a_step_waits_for_the_watch_over_divergence_alone(
    subject: str, how: dict[str, Any], posterior: Target
) -> None:
    assert waits_of_ten_steps(subject, posterior, **how) == 10


@pytest.mark.parametrize(("subject", "how"), AROUND)
def test_only_a_swap_waits_once_more_and_that_on_a_processor(
    subject: str, how: dict[str, Any], posterior: Target
) -> None:
    # On a processor replica exchange asks whether anything is swapped; an accelerator is not asked.
    assert waits_of_ten_steps(subject, posterior, **how) == 10 * (2 if subject.startswith("re") else 1)


@pytest.mark.parametrize(("subject", "how"), [*CASES, *AROUND])
def test_a_step_makes_every_tensor_on_the_device_of_the_settings(
    subject: str, how: dict[str, Any], posterior: Target
) -> None:
    # On "meta" tensors have no entries, and meet no others: one that is made there by default ends in an error.
    blocks = ensemble(subject, posterior, 20, 40, **how).blocks()
    assert next(blocks).last == 20
    try:
        torch.set_default_device("meta")
        (block,) = blocks
    finally:
        torch.set_default_device(None)
    assert block.last == 40
    assert {tensor.device.type for tensor in block.state.values()} == {"cpu"}

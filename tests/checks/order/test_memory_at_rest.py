"""The order of torch code with a memory, measured with its memory at rest: what is no integrator of its dynamics does not pass."""

from __future__ import annotations

import pytest
import torch

from sgverify import torch_step, verify
from sgverify.evidence import Evidence
from sgverify.schemes import langevin


def local_order(step: object) -> Evidence:
    (found,) = verify(step, checks=["local-order"])
    return found


def mean_gradient(share: float = 1.0, bend: float = 0.0, noise: float = 2.0) -> object:
    """Langevin dynamics by a running mean of the gradient, with an error that no Gaussian target shows where `bend` is not 0."""

    @torch_step(langevin, memory={"m": 0.0})
    def step(theta, m, *, h, grad, T):  # type: ignore[no-untyped-def]
        slope = share * grad(theta) + bend * (grad(theta + 1) + grad(theta - 1) - 2 * grad(theta))
        m = 0.9 * m + 0.1 * slope
        return theta - h * m + (noise * T * h) ** 0.5 * torch.randn_like(theta), m

    return step


def test_a_running_mean_of_gradients_has_order_one() -> None:
    found = local_order(mean_gradient())
    assert (found.outcome, found.found.exponent) == ("pass", 1)
    assert "with the memory (m) at rest, as for h -> 0" in found.reason


@pytest.mark.power  # 3.4 s
@pytest.mark.parametrize("wrong", [{"bend": 0.1}, {"noise": 1.0}, {"share": 0.9}])
def test_an_error_is_no_pass(wrong: dict[str, float]) -> None:
    found = local_order(mean_gradient(**wrong))
    assert found.outcome == "undecided"
    assert found.reason.startswith("the step discretises another dynamics than langevin")


def test_an_error_that_gaussian_targets_do_not_show_is_seen_at_rest_alone() -> None:
    found = verify(mean_gradient(bend=0.1), checks=["stationary-bias", "local-order"])
    assert {item.check: item.outcome for item in found} == {
        "stationary-bias": "pass",
        "local-order": "undecided",
    }
    assert found.outcome == "undecided"


def test_a_memory_of_draws_is_left_open_with_a_way_on() -> None:
    @torch_step(langevin, memory={"v": 0.0})
    def momentum(theta, v, *, h, grad, T):  # type: ignore[no-untyped-def]
        v = 0.9 * v - h * grad(theta) + (0.2 * h * T) ** 0.5 * torch.randn_like(theta)
        return theta + v, v

    found = local_order(momentum)
    assert found.outcome == "undecided"
    assert (
        "the memory depends on the draws: write it as a definition, @scheme(langevin, memory=...)"
        in found.reason
    )

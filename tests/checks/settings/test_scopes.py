"""What the checks of torch code say that they examined: the settings that were judged, and the sides of switches."""

import math

import pytest
import torch

from sgverify import torch_step, verify
from sgverify.schemes import langevin


def euler(theta, h, grad, T):
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)


@torch_step(langevin, order=1)
def plain(theta, *, h, grad, T):
    return euler(theta, h, grad, T)


@torch_step(langevin, order=1)
def for_two(theta, *, h, grad, T):
    return euler(theta, h, grad, T) + 0 * torch.ones(2, dtype=theta.dtype) @ theta


@torch_step(langevin, order=1)
def other_at_large_h(theta, *, h, grad, T):
    return euler(theta, h, grad, T) + (0.4 * h * theta if h > 0.21 else 0)


@torch_step(langevin, order=1)
def other_at_large_T(theta, *, h, grad, T):
    return euler(theta, h, grad, T * (2 if T > 300 else 1))


@torch_step(langevin, order=1)
def other_in_a_window(theta, *, h, grad, T):
    return euler(theta, h, grad, T) - 3 * h * theta * ((theta.abs() > 2) & (theta.abs() < 2.2))


def answered(step, name: str, **given):
    (found,) = verify(step, checks=[name], **given)
    return found


@pytest.mark.by_default("target0")
@pytest.mark.parametrize("target", [{"name": "gaussian", "dim": 2}, {"name": "double-well"}])
def test_settings_name_what_was_judged_with_the_configured_numbers(target) -> None:
    found = answered(plain, "settings", target=target, temperature=0.371)
    scope = found.scope
    assert found.verdict == "conforms" and 0.371 in scope.temperatures.values
    assert {1, 2, 64} <= set(scope.dimensions.values) and scope.time is None
    assert "6 spreads" in scope.states.told and scope.targets.told == "Gaussians"


@pytest.mark.power
def test_settings_that_were_passed_over_are_in_no_scope() -> None:
    found = answered(for_two, "settings", target={"name": "gaussian", "dim": 2})
    assert found.scope.dimensions.values == (2.0,) and found.verdict == "conforms", found.reason


@pytest.mark.by_default("step0-steps", "step1-temperatures")
@pytest.mark.parametrize(
    "step, axis",
    [(other_at_large_h, "steps"), (other_at_large_T, "temperatures"), (other_in_a_window, "states")],
)
def test_a_switch_is_held_on_its_axis_and_is_no_pass(step, axis: str) -> None:
    found = answered(step, "switches")
    assert found.verdict == "inconclusive", found.reason
    extents = found.scope.extents
    assert extents.pop(axis).reach == "held" and all(extent.reach != "held" for extent in extents.values())


@pytest.mark.power
def test_a_window_of_states_fails_by_the_law_and_names_where() -> None:
    found = answered(other_in_a_window, "settings")
    assert found.verdict == "violates" and "not affine" in found.reason, found.reason

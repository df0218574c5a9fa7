"""The dtype audit: float32 constants, noise, casts and sums are named; float64 code passes, however it is written."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from sgverify import torch_step, verify
from sgverify.schemes import kinetic, langevin

SMALL = {
    "target": {"name": "gaussian-mean", "size": 7, "dim": 2},
    "temperature": 0.7,
    "schedule": {"step": 0.013},
}


def judged(function, dynamics=langevin, **options):
    found = verify(torch_step(dynamics)(function), SMALL, checks=["dtype"], **options)
    assert [(item.check, item.method) for item in found] == [("dtype", "exact")]
    return found[0]


def baoa(theta, p, *, h, grad, D, T):
    gamma = torch.tensor(D * 0.01)
    amplitude = (T * (1 - torch.exp(-2 * gamma * h))) ** 0.5
    p = p - h * grad(theta)
    theta = theta + h / 2 * p
    p = torch.exp(-gamma * h) * p + amplitude * torch.randn_like(p)
    return theta + h / 2 * p, p


def euler(theta, h, grad, amplitude, noise):
    return theta - h * grad(theta) + amplitude * noise


def narrow_noise(theta, *, h, grad, T):
    return euler(theta, h, grad, math.sqrt(2 * T * h), torch.randn(theta.shape))


def narrow_gradient(theta, *, h, grad, T):
    return euler(theta, h, lambda x: grad(x).float(), math.sqrt(2 * T * h), torch.randn_like(theta))


def narrow_exponential(theta, *, h, grad, T):
    decay = torch.exp(torch.tensor(-h))
    return decay * theta - h * (grad(theta) - theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)


def wide_in_single(theta, *, h, grad, T):
    return euler(theta, h, grad, math.sqrt(2 * T * h), torch.randn_like(theta, dtype=torch.float64))


BUGS = {
    "a gradient cast to float32": (narrow_gradient, "torch.to"),
    "an exponential of a float32 constant": (narrow_exponential, "torch.tensor"),
    "a float32 state that becomes float64": (wide_in_single, "a float32 step returns theta in torch.float64"),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_narrow_number_is_named_with_its_line(bug):
    function, named = BUGS[bug]
    found = judged(function)
    assert found.verdict == "violates"
    assert any(named in fault for fault in found.certificate["faults"])
    if function is not wide_in_single:
        assert "test_dtype_audit.py:" in found.reason


def test_the_variance_that_posteriors_loses_is_measured_and_grows_as_the_step_falls():
    """1 - exp(-2 gamma h) in float32: of variance 2 gamma h little is left at small steps, and then nothing."""
    found = judged(baoa, kinetic, schedule={"step": 1e-3}, friction=1.0)
    assert found.verdict == "violates" and "moves otherwise" in found.reason
    sizes = [point.value for point in found.points]
    assert [point.step for point in found.points] == pytest.approx([1e-3, 1e-5, 1e-7])
    assert sizes[0] < sizes[1] < sizes[2]
    # At h = 1e-5 the noise has what float32 leaves of its variance 1 - exp(-2e-7).
    left = float(1 - torch.exp(-2 * torch.tensor(0.01) * 1e-5)) / 2e-7
    assert left < 0.95
    assert sizes[1] == pytest.approx(abs(1 - math.sqrt(left)), rel=0.5)
    # At 1e-7 there is none.
    assert float(1 - torch.exp(-2 * torch.tensor(0.01) * 1e-7)) == 0


def test_a_draw_that_is_rounded_to_float32_is_told_and_is_no_fault():
    found = judged(narrow_noise)
    assert (
        found.verdict == "conforms" and "float32 constants or draws in test_dtype_audit.py:" in found.reason
    )
    assert max(point.value for point in found.points) < 1e-6


def test_float64_code_passes_however_it_is_written():
    def numpys(theta, *, h, grad, T):
        return euler(theta, np.float64(h), grad, np.sqrt(2 * T * h), torch.randn_like(theta))

    def tensors(theta, *, h, grad, T):
        amplitude = torch.tensor(2 * T * h, dtype=theta.dtype).sqrt()
        return euler(theta, theta.new_tensor(h), grad, amplitude, torch.normal(torch.zeros_like(theta), 1.0))

    def held_exactly(theta, *, h, grad, T):
        return euler(theta, h, grad, math.sqrt(2 * T * h), torch.tensor(1.0) * torch.randn_like(theta))

    for function in (numpys, tensors, held_exactly):
        found = judged(function)
        assert found.verdict == "conforms", found.reason


def drawn_by_numpy(theta, *, h, grad, T):
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.as_tensor(np.random.randn(*theta.shape))


def test_draws_of_numpy_are_float64_and_no_fault():
    found = judged(drawn_by_numpy)
    assert found.verdict == "conforms" and "as numpy draws, and is not judged" in found.reason


def float64_alone(theta, *, h, grad, T):
    if theta.dtype != torch.float64:
        raise OverflowError("2**32 has no place here")
    return euler(theta, h, grad, math.sqrt(2 * T * h), torch.randn_like(theta))


def test_code_for_float64_alone_is_judged_in_float64():
    found = judged(float64_alone)
    assert found.outcome == "pass"
    assert found.reason.endswith("; in float32 it raises OverflowError, and is not judged")

"""What a step may return and ask for: anything else is the user's to mend, and says where."""

from __future__ import annotations

import sys

import pytest
import torch

from sgverify import torch_step, verify
from sgverify.errors import UserError
from sgverify.schemes import langevin


def nans(theta, *, h, grad, T):
    return theta * float("nan")


def infinite(theta, *, h, grad, T):
    return theta + float("inf")


def whole(theta, *, h, grad, T):
    return theta.to(torch.int64)


def complex_(theta, *, h, grad, T):
    return theta.to(torch.complex128)


def leaves(theta, *, h, grad, T):
    sys.exit(7)


def part(theta, *, h, grad, T):
    return theta - h * grad(theta[:1])


@pytest.mark.by_default(
    "nans-test_results.py:.*`nans` returned NaN for `theta` at theta=\\\\[",
    "infinite-returned an infinite number",
    "whole-returned a tensor of torch.int64",
    "complex_-returned a tensor of torch.complex128",
)
@pytest.mark.parametrize(
    "function, said",
    [
        (nans, r"test_results.py:.*`nans` returned NaN for `theta` at theta=\["),
        (infinite, "returned an infinite number"),
        (whole, "returned a tensor of torch.int64"),
        (complex_, "returned a tensor of torch.complex128"),
        (leaves, "raised SystemExit: 7"),
        (part, r"grad\(\) of a tensor of shape \(1,\)"),
    ],
)
def test_a_result_that_is_none_is_refused_by_file_and_line(function, said):
    step = torch_step(langevin, order=1)(function)
    for check in ("local-order", "pure-step"):
        with pytest.raises(UserError, match=said):
            verify(step, {"target": {"name": "gaussian-mean", "dim": 2}}, checks=[check])


def test_a_step_may_differentiate():
    def differentiated(theta, *, h, grad, T):
        at = theta.clone().requires_grad_(True)
        (at * grad(theta)).sum().backward()
        return theta - h * at.grad + (2 * T * h) ** 0.5 * torch.randn_like(theta)

    (found,) = verify(torch_step(langevin, order=1)(differentiated), checks=["pure-step"])
    assert found.verdict == "conforms"

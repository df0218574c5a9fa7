"""Loops that are right near the mode and wrong further out; and loops whose draws cannot be put back, judged by their runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

import sgverify

pytestmark = pytest.mark.usefixtures("short_runs")

X = torch.tensor([[1.0, 0.5], [0.3, -1.2], [-0.7, 0.9], [1.5, 0.2], [0.4, 1.1]], dtype=torch.float64)
Y = torch.tensor([1.0, -0.5, 0.2, 1.3, -0.3], dtype=torch.float64)
net = nn.Linear(2, 1, bias=False, dtype=torch.float64)
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
HERE = f"{__file__}:posterior"


@sgverify.log_density(dim=2, data=(X, Y), log_prior=lambda theta: -0.5 * (theta**2).sum(-1))
def posterior(theta, x, y):
    return -0.5 * ((x * theta).sum(-1) - y) ** 2


def differentiate(rows):
    opt.zero_grad()
    misfit = len(X) / len(rows) * 0.5 * ((net(X[rows])[:, 0] - Y[rows]) ** 2).sum()
    (misfit + 0.5 * (net.weight**2).sum()).backward()


def move(size=2.0):
    opt.step()
    with torch.no_grad():
        net.weight.add_(torch.randn_like(net.weight), alpha=math.sqrt(size * opt.param_groups[0]["lr"]))


def right(lr):
    differentiate(torch.randint(len(X), (2,)))
    move()


def clipped(lr):
    differentiate(torch.arange(len(X)))
    nn.utils.clip_grad_norm_(net.parameters(), 7.31)
    move()


def clamped(lr):
    differentiate(torch.arange(len(X)))
    move()
    with torch.no_grad():
        net.weight.clamp_(-1.13, 2.41)


def quiet_far_out(lr):
    differentiate(torch.arange(len(X)))
    move(2.0 if net.weight.abs().max() < 2.13 else 0.0)


def of_numpy(lr):
    differentiate(torch.as_tensor(np.random.choice(len(X), 2)))
    move()


def of_numpy_cold(lr):
    differentiate(torch.as_tensor(np.random.choice(len(X), 2)))
    move(1.0)


BATCHES = iter([])


def of_an_iterator(lr):
    global BATCHES
    rows = next(BATCHES, None)
    if rows is None:
        BATCHES = iter(torch.randperm(len(X))[:4].reshape(2, 2))
        rows = next(BATCHES)
    differentiate(rows)
    move()


@pytest.mark.by_default(
    "clamped-fail-6 spreads below the mean", "quiet_far_out-fail-times the noise of the dynamics"
)
@pytest.mark.parametrize(
    ("loop", "outcome", "told"),
    [
        (right, "pass", ""),
        (clipped, "fail", "the mean displacement of a call"),
        (clamped, "fail", "6 spreads below the mean"),
        (quiet_far_out, "fail", "times the noise of the dynamics"),
    ],
)
def test_a_call_is_looked_at_out_to_six_spreads(loop, outcome, told) -> None:
    found = sgverify.verify(loop, checks=["own-loss"], adapter={"density": HERE, "map": {"lr": "h"}})
    assert found.outcome == outcome and told in found[0].reason, found[0].reason
    assert "out to 6 spreads" in found[0].scope.states.told or outcome == "fail"


@pytest.mark.by_default("of_an_iterator-undecided-goes on with an iterator (make it anew in the step")
@pytest.mark.parametrize(
    ("loop", "outcome", "told"),
    [
        (of_numpy, "pass", ""),
        (of_numpy_cold, "fail", "its noise has 0.5"),
        (of_an_iterator, "undecided", "goes on with an iterator (make it anew in the step"),
    ],
)
def test_what_cannot_be_put_back_is_judged_by_its_run(loop, outcome, told) -> None:
    given = {"density": HERE, "map": {"lr": "h"}}
    found = sgverify.verify(loop, checks=["own-loss", "pure-step"], adapter=given)
    assert found.outcome == outcome, [item.reason for item in found]
    assert any(told in item.reason for item in found), [item.reason for item in found]

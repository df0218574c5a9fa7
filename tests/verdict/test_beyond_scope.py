"""Bugs that show only outside of what is tried, along each axis: none gets a PASS whose own lines do not name the axis.

The same of failures: code that is right gets none, however it is written.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import sgverify
from sgverify.evidence.scope import Axis
from sgverify.schemes import constants, langevin, sqrt
from sgverify.schemes.scheme import make_scheme
from sgverify.verdict.untested import NOUNS, whole_scope

Fault = Callable[[Any, torch.Tensor, dict[str, Any], int], Any]
"""The factor of the noise in a step: of the optimizer, a parameter, its group and its number."""


def optimizer(fault: Fault) -> type[torch.optim.Optimizer]:
    """SGLD whose noise is `fault` times what it should be."""

    class SGLD(torch.optim.Optimizer):
        def __init__(
            self, params: Any, lr: float = 1e-3, temperature: float = 1.0, scale: float = 1.0
        ) -> None:
            super().__init__(params, {"lr": lr, "temperature": temperature, "scale": scale})
            self.steps = 0

        @torch.no_grad()
        def step(self, closure: Any = None) -> None:
            self.steps += 1
            for number, group in enumerate(self.param_groups):
                for p in group["params"]:
                    noise = torch.randn_like(p) * fault(self, p, group, number)
                    p.add_(p.grad, alpha=-group["lr"])
                    p.add_(noise, alpha=math.sqrt(2 * group["lr"] * group["temperature"]))

    return SGLD


def of_code(axis: Axis, random: np.random.Generator) -> Fault:
    """A fault that depends on one axis alone, at a place drawn at random."""
    x = float(random.uniform(0.3, 0.8))
    k, many = int(random.integers(2, 4000)), int(random.integers(2, 20_000))
    far = float(random.uniform(0.2, 7.0))
    power = float(random.uniform(-9, 3))
    faults: dict[Axis, Fault] = {
        "time": lambda o, p, g, i: x if o.steps % k == k - 1 else 1.0,
        "shapes": lambda o, p, g, i: x if p.numel() >= many or p.ndim == 2 + k % 3 else 1.0,
        "options": lambda o, p, g, i: g["scale"],
        "dtypes": lambda o, p, g, i: x if p.dtype == (torch.float32, torch.float16)[k % 2] else 1.0,
        "states": lambda o, p, g, i: 1.0 - x * ((p > far) & (p < far + 0.2)).to(p.dtype),
        "temperatures": lambda o, p, g, i: x if g["temperature"] > 10**power else 1.0,
        "steps": lambda o, p, g, i: x if g["lr"] < 10**power else 1.0,
    }
    return faults[axis]


def named(results: sgverify.Results, axis: Axis) -> bool:
    """Does the answer say for what it holds along the axis, in its own lines or among what was not tested?"""
    rows = dict(results.verdict.rows())
    extent = whole_scope(list(results)).extents.get(axis)
    if extent is None:
        return bool(rows["not tested"])
    return (
        extent.reach != "every"
        and extent.told in rows["holds for"]
        and extent.told in results.verdict.text().replace("\n              ", " ")
    )


CODE: list[Axis] = ["time", "shapes", "options", "dtypes", "states", "temperatures", "steps"]


@pytest.mark.power
@pytest.mark.parametrize(("axis", "seed"), [(axis, seed) for axis in CODE for seed in range(6)])
def test_no_bug_beyond_the_tried_gets_a_pass_that_does_not_name_its_axis(axis: Axis, seed: int) -> None:
    results = sgverify.verify(optimizer(of_code(axis, np.random.default_rng([seed, CODE.index(axis)]))))
    assert results.outcome != "pass" or named(results, axis), results.verdict.text()


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.power) for seed in range(1, 6))])
def test_no_bug_of_a_coordinate_gets_a_pass_in_every_dimension(seed: int) -> None:
    random = np.random.default_rng(seed)
    first, second = (int(period) for period in random.choice([2, 3, 4, 5, 7, 11], size=2, replace=False))
    extra = float(random.uniform(0.1, 2.0))

    def hot(theta: Any, *, h: Any, grad: Any, noise: Any, T: Any) -> Any:
        last = constants((*(0,) * (first - 1), 1), theta) * constants((*(0,) * (second - 1), 1), theta)
        return theta - h * grad(theta) + sqrt(2 * T * h) * (1 + extra * last) * noise()

    results = sgverify.verify(make_scheme(hot, langevin, order=1))
    scope = whole_scope(list(results))
    assert results.outcome != "pass" or (
        scope.dimensions is not None and scope.dimensions.reach == "tried" and named(results, "dimensions")
    ), results.verdict.text()


def test_every_axis_has_a_name() -> None:
    assert set(CODE) | {"dimensions", "targets", "gradients"} == {*NOUNS}

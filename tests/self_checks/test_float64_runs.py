"""Runs of the sampler are float64 throughout, and a sum in float32 is named."""

from __future__ import annotations

import pytest
import torch

import sgverify.samplers.run.averages as module
from tests.self_checks.registry import self_check

SMALL = {
    "target": {"name": "gaussian-mean", "size": 7, "dim": 2},
    "temperature": 0.7,
    "schedule": {"step": 0.013},
}


@pytest.mark.parametrize("gradient", ["full", "iid", "additive"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_sampler_is_float64_throughout(gradient, dtype):
    found = self_check(
        "float64-runs", "sghmc-obabo", SMALL, gradient={"kind": gradient, "batch": 3}, dtype=dtype
    )
    assert found.verdict == "conforms", found.reason


def test_an_average_that_is_summed_in_float32_is_named(monkeypatch):
    wide = module.torch.zeros

    def narrow(*shape, dtype=None, **more):
        return wide(*shape, dtype=torch.float32 if dtype == torch.float64 else dtype, **more)

    class Narrowed:
        zeros = staticmethod(narrow)

        def __getattr__(self, name):
            return getattr(torch, name)

    monkeypatch.setattr(module, "torch", Narrowed())
    found = self_check("float64-runs", "sgld-euler", SMALL)
    assert found.verdict == "violates" and "averages.py:" in found.reason

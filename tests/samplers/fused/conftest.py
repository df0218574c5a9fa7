"""Data and targets of the kernels' tests, and kernels that are built and proved in no time."""

from __future__ import annotations

from typing import Any

import pytest

from sgverify.samplers.fused import choosing, compiler
from sgverify.targets import Target


@pytest.fixture
def in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if kernels were built and proved in no time: "auto" takes one for the second block."""
    monkeypatch.setattr(choosing, "TIMED", 0.0)
    monkeypatch.setattr(choosing, "PROVED", 0.0)
    monkeypatch.setattr(choosing, "windows", lambda leg, steps: [])
    monkeypatch.setattr(compiler, "SLOWEST", 0.0)


@pytest.fixture(scope="module")
def data(make_target: Any) -> Target:
    return make_target("gaussian-mean", dim=3, size=40, data_seed=5)


@pytest.fixture(scope="module")
def targets(make_target: Any, data: Target) -> dict[str, Target]:
    return {
        "gaussian": data,
        "logistic": make_target("logistic-regression", dim=3, size=60, data_seed=5),
        "double-well": make_target("double-well", dim=2),
    }

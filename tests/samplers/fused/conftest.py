"""Kernels are compiled in a fifth of the time: where arithmetic is IEEE's, -O1 has the bits of -O2."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from sgverify.samplers.fused import choosing, compiler
from sgverify.targets import Target

_QUICK = tuple(
    "-O1" if flag == "-O2" else flag
    for flag in compiler.FLAGS
    if flag not in ("-ftree-vectorize", "-fpeel-loops")
)
_BUILT: dict[str, ctypes.CDLL] = {}


@pytest.fixture(autouse=True)
def _compiled_quickly(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the tests under `as_shipped`, which compile with the flags of a user's run."""
    if "as_shipped" not in request.fixturenames:
        monkeypatch.setattr(compiler, "FLAGS", _QUICK)
        monkeypatch.setattr(compiler, "_BUILT", _BUILT)


@pytest.fixture
def as_shipped() -> None:
    """The flags of a user's run."""


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

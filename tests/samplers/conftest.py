"""Targets, made as a configuration would have them made; and kernels, compiled in a quarter of the time.

Where arithmetic is IEEE's, -O0 has the bits of -O2.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sgverify.samplers.fused import compiler
from sgverify.samplers.fused.driver import forget_proofs
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.run.averages import RunningSums
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import Row
from sgverify.samplers.run.settings import Settings
from sgverify.schemes import Scheme
from sgverify.schemes.composites import Composite
from sgverify.targets import Target, build_target

_QUICK = tuple(
    "-O0" if flag == "-O2" else flag
    for flag in compiler.FLAGS
    if flag not in ("-ftree-vectorize", "-fpeel-loops")
)
_BUILT: dict[str, ctypes.CDLL] = {}

MATRIX = [[2.0, 0.5, 0.0], [0.5, 1.0, 0.25], [0.0, 0.25, 3.0]]


def build(name: str, **keys: Any) -> Target:
    return build_target(SimpleNamespace(name=name, **keys))


@pytest.fixture(autouse=True)
def _compiled_quickly(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the tests under `as_shipped`, which compile with the flags of a user's run."""
    if "as_shipped" not in request.fixturenames:
        monkeypatch.setattr(compiler, "FLAGS", _QUICK)
        monkeypatch.setattr(compiler, "_BUILT", _BUILT)


@pytest.fixture
def as_shipped() -> None:
    """The flags of a user's run."""


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _proved_anew() -> None:
    """No kernel is taken on the word of another test, which may have planted a bug in it, or built it with other flags."""
    forget_proofs()


@pytest.fixture(scope="session")
def make_target() -> Callable[..., Target]:
    return build


@pytest.fixture(scope="session")
def line() -> Target:
    """A quadratic in one dimension, precision 3, mean 1/2."""
    return build("gaussian", precision=3.0, mean=0.5)


@pytest.fixture(scope="session")
def space() -> Target:
    """A quadratic in three dimensions whose Hessian is not diagonal."""
    return build("gaussian", dim=3, precision=MATRIX, mean=[1.0, -2.0, 0.5])


@pytest.fixture(scope="session")
def posterior() -> Target:
    """The posterior of a mean in one dimension, N = 20."""
    return build("gaussian-mean", size=20, data_seed=3)


@pytest.fixture(scope="session")
def wide_posterior() -> Target:
    """The posterior of a mean in three dimensions, N = 12, with correlated noise."""
    return build(
        "gaussian-mean", dim=3, size=12, data_seed=5, noise_precision=MATRIX, prior_precision=[1.0, 2.0, 4.0]
    )


def averaged_in_pieces(
    ends: tuple[int, ...],
    step: Scheme | Composite,
    target: Target,
    rows: Sequence[Row],
    *,
    observables: Sequence[Callable[..., Any]],
    settings: Settings,
    **options: Any,
) -> np.ndarray:
    """The averages of `sample`, of a run that is cut after these steps, and goes on from its position each time."""
    ensemble = Ensemble(step, target, rows, settings, **options)
    sums, position = RunningSums(ensemble, observables), ensemble.begin()
    with torch.no_grad():
        for end in (*ends, None):
            for block in ensemble.blocks(sums, start=position, until=end):
                sums.enter(block)
            position = ensemble.position(block)
            assert end is None or position.done == end
    return sums.values


def gradient_of(made: Potential, theta: Tensor, chosen: Tensor | None = None) -> Tensor:
    """grad U of all data, or its estimate of a minibatch, datum by datum."""
    if chosen is None:
        return made.full(theta)
    assert made.data is not None
    likelihood = made.likelihoods(theta, made.data[chosen]).sum(0)
    return made.prior(theta) + len(made.data) / len(chosen) * likelihood

"""Runs that go wrong: what diverges is named, what cannot be run is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from sgverify.errors import ConfigurationError
from sgverify.samplers import GradientChoice, Settings, fixed, sample
from sgverify.samplers.gradients import estimators
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.randomness.variates import normals
from sgverify.schemes import dynamics, find_scheme, scheme, sqrt
from sgverify.targets import Target
from tests.sampled_states import sample_states

SGLD = find_scheme("sgld-euler")


def test_a_diverging_row_is_named_and_the_others_go_on(line: Target) -> None:
    """Euler's factor 1 - 3h is -8 at h = 3; the bound is passed at a step that a hand-written loop can find."""
    settings = Settings(chains=4, first_chain=10, start=2.0)
    rows = fixed([0.1, 3.0, 0.2], [5, 30])
    tests = [lambda theta: theta[..., 0]]
    found = sample(SGLD, line, rows, observables=tests, settings=settings)
    calm = sample(SGLD, line, (rows[0], rows[2]), observables=tests, settings=settings)
    assert np.array_equal(found.values[:, [0, 2]], calm.values)
    assert np.isfinite(found.values[:, 1, 0]).all()
    assert np.isnan(found.values[:, 1, 1]).all()
    assert np.isnan(found.last["theta"][1]).all()
    assert [found.diverged[0], found.diverged[2]] == [None, None]

    start, bound = 0.5 + 2 / math.sqrt(3), 1e9 * 2.0
    z = normals(Stream.of("noise", seed=0, runs=[rows[1].schedule.key], chains=range(10, 14)), 0, 30)[
        :, 0
    ].numpy()
    theta, step = np.full(4, start), 0
    while (np.abs(theta) <= bound).all():
        theta, step = theta - 3.0 * (3 * (theta - 0.5)) + math.sqrt(6.0) * z[step], step + 1
    why = found.diverged[1]
    assert why is not None
    assert why.step_number == step
    assert why.chains == tuple(10 + int(chain) for chain in np.flatnonzero(np.abs(theta) > bound))
    assert str(why).startswith(f"step=3.0 diverged at step {step} (chains 1")
    for block in (1, 7):
        again = sample(SGLD, line, rows, observables=tests, settings=settings, block=block)
        assert again.diverged == found.diverged
        assert np.array_equal(again.values, found.values, equal_nan=True)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_nan_and_infinity_are_divergence(line: Target, value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = estimators.Estimator.evaluate

    def broken(self: Any, theta: torch.Tensor, step: int, *rest: int) -> torch.Tensor:
        found = honest(self, theta, step, *rest).clone()
        if step == 3:
            found[:, 2] = value
        return found

    monkeypatch.setattr(estimators.Estimator, "evaluate", broken)
    found = sample_states(SGLD, line, fixed([0.1], [1]), at=[3, 9], settings=Settings(chains=4), tape=False)
    assert found.diverged[0] is not None
    # The block that begins after step 3 is the first with an index 3: its step 7.
    assert (found.diverged[0].step_number, found.diverged[0].chains) == (7, (2,))
    assert np.isfinite(found.values["theta"][:, 0]).all()
    assert np.isnan(found.values["theta"][:, 1]).all()


def test_what_does_not_go_together_is_refused(line: Target) -> None:
    tests = [lambda theta: theta[..., 0]]
    settings = Settings(gradient=GradientChoice("iid"))
    with pytest.raises(ConfigurationError, match="gradient.kind='iid': the target gaussian has no data"):
        sample(SGLD, line, fixed([0.1], [5]), observables=tests, settings=settings)
    with pytest.raises(ConfigurationError, match=r"rows=\[\]"):
        sample(SGLD, line, [], observables=tests)
    with pytest.raises(ConfigurationError, match="expected one number for each chain"):
        sample(SGLD, line, fixed([0.1], [5]), observables=[lambda theta: theta])
    with pytest.raises(ConfigurationError, match=r"at=\[\]"):
        sample_states(SGLD, line, fixed([0.1], [5]), at=[])


def test_an_unknown_parameter_is_refused(line: Target) -> None:
    @dynamics(theta="vector")
    def heated(theta, *, grad, T, heat):  # type: ignore[no-untyped-def]
        return -grad(theta), heat * T

    @scheme(heated)
    def step(theta, *, h, grad, noise, T, heat):  # type: ignore[no-untyped-def]
        return theta - h * grad(theta) + sqrt(2 * T * heat * h) * noise()

    with pytest.raises(ConfigurationError, match="asks for the parameter heat"):
        sample_states(step, line, fixed([0.1], [5]), at=[1])

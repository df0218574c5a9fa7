"""Scaled and clipped gradients against numpy, datum by datum."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from sgverify.errors import ConfigurationError
from sgverify.samplers import Settings, fixed, sample
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.estimators import Estimator, GradientChoice, MinibatchEstimator
from sgverify.samplers.gradients.kinds import effective_potential, make_estimator
from sgverify.samplers.randomness.philox import Stream
from sgverify.schemes import find_scheme
from sgverify.targets import Target, build_target

DATA = [[0.5, -1.0], [2.0, 0.25], [-3.0, 4.0], [0.0, 0.5], [7.0, -2.0], [1.0, 1.0]]
PRIOR, NOISE = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([[2.0, -0.5], [-0.5, 1.0]])
THETA = np.array([0.3, -1.2])


def posterior() -> Target:
    return build_target(
        SimpleNamespace(
            name="gaussian-mean",
            dim=2,
            data=DATA,
            prior_precision=PRIOR.tolist(),
            noise_precision=NOISE.tolist(),
        )
    )


def potential(hoist: bool = True) -> Potential:
    return Potential(posterior(), dtype=torch.float64, device="cpu", hoist=hoist)


def expected(
    scale: float,
    clip: float | None,
    chosen: tuple[int, ...] = (0, 1, 2, 3, 4, 5),
    theta: np.ndarray = THETA,
) -> np.ndarray:
    """grad prior + scale N/n sum of the clipped gradients of the chosen data."""
    each = (theta - np.array(DATA)[list(chosen)]) @ NOISE
    if clip is not None:
        each = np.array([g * min(1.0, clip / np.linalg.norm(g)) for g in each])
    return PRIOR @ theta + scale * len(DATA) / len(chosen) * each.sum(0)


class Listed:
    """A source whose chains hold the given minibatches, one each."""

    def __init__(self, batches: list[tuple[int, ...]]) -> None:
        self.batches = torch.tensor(batches).T[None, :, None, :]

    def block(self, first: int, count: int) -> torch.Tensor:
        return self.batches.expand(count, -1, -1, -1)


def made(choice: GradientChoice, hoist: bool = True) -> Estimator:
    def stream(name: str) -> Stream:
        return Stream.of(name, seed=1, runs=[b"a"], chains=range(3))

    return make_estimator(choice, potential(hoist), stream, minibatches=1, evaluations=1)


@pytest.mark.parametrize("hoist", [True, False])
@pytest.mark.parametrize(("scale", "clip"), [(0.9, None), (1.5, None), (1.0, 2.0), (0.7, 0.5), (1.0, 1e6)])
def test_minibatches_scale_and_clip_the_likelihood_alone(
    scale: float, clip: float | None, hoist: bool
) -> None:
    batches = list(combinations(range(6), 2))
    effective = effective_potential(potential(hoist), GradientChoice(scale=scale, clip=clip))
    estimator = MinibatchEstimator(effective, Listed(batches), batch=2, per_step=1)
    estimator.prepare(0, 1)
    theta = torch.tensor(THETA).expand(1, len(batches), 2)
    found = estimator.evaluate(theta, 0, 0, 0)[0].numpy()
    due = np.array([expected(scale, clip, chosen) for chosen in batches])
    assert found == pytest.approx(due, rel=1e-13, abs=1e-12)
    # Over all minibatches the mean is that of all data: the sum of what is clipped datum by datum.
    assert found.mean(0) == pytest.approx(expected(scale, clip), rel=1e-13)


@pytest.mark.parametrize("hoist", [True, False])
@pytest.mark.parametrize(("scale", "clip"), [(0.9, None), (1.0, 2.0), (0.7, 0.5)])
def test_full_gradients_are_scaled_and_clipped_too(scale: float, clip: float | None, hoist: bool) -> None:
    theta = torch.tensor(THETA).expand(1, 3, 2)
    found = made(GradientChoice("full", scale=scale, clip=clip), hoist).evaluate(theta, 0, 0, 0)
    assert found[0, 2].numpy() == pytest.approx(expected(scale, clip), rel=1e-13)


def test_additive_noise_is_neither_scaled_nor_clipped() -> None:
    theta = torch.tensor(THETA).expand(1, 3, 2)
    noises = []
    for scale, clip in ((1.0, None), (0.5, 0.01)):
        estimator = made(GradientChoice("additive", scale=scale, clip=clip))
        estimator.prepare(0, 1)
        noises.append(estimator.evaluate(theta, 0, 0, 0)[0].numpy() - expected(scale, clip))
    assert noises[0] == pytest.approx(noises[1], rel=1e-12, abs=1e-12)
    assert np.abs(noises[0]).min() > 1e-3


def test_a_gradient_of_zero_is_not_clipped() -> None:
    alone = build_target(SimpleNamespace(name="gaussian-mean", data=[0.5]))
    effective = effective_potential(
        Potential(alone, dtype=torch.float64, device="cpu"), GradientChoice(clip=1.0)
    )
    assert effective.full(torch.tensor([[[0.5]]], dtype=torch.float64)).item() == 0.5


@pytest.mark.parametrize(("scale", "clip"), [(0.5, None), (0.5, 1.0)])
def test_chains_start_around_the_posterior_and_follow_the_biased_gradient(
    scale: float, clip: float | None
) -> None:
    """One step of Euler, its noise of size 1e-15, from the posterior's own mean."""
    target, h = posterior(), 1e-3
    choice = GradientChoice(scale=scale, clip=clip)
    averages = sample(
        find_scheme("sgld-euler"),
        target,
        fixed([h], [1]),
        observables=[lambda theta: theta[..., 0], lambda theta: theta[..., 1]],
        settings=Settings(chains=2, temperature=1e-27, start=0.0, gradient=choice),
    )
    mean = target.mean_float64()
    due = mean - h * expected(scale, clip, theta=mean)
    assert np.abs(due - mean).min() > 1e-4
    assert averages.values[:, 0, 0, 0] == pytest.approx(due, abs=1e-12)


@pytest.mark.parametrize("keys", [{"scale": 0.9}, {"clip": 1.0}])
def test_a_target_without_data_has_no_likelihood_to_change(keys: dict[str, Any]) -> None:
    bare = build_target(SimpleNamespace(name="gaussian", precision=2.0))
    with pytest.raises(ConfigurationError, match=r"gradient\.(scale|clip)=.*has no data"):
        effective_potential(Potential(bare, dtype=torch.float64, device="cpu"), GradientChoice(**keys))

"""Gradient estimators: their mean and covariance by enumeration, and which evaluations share a minibatch."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
import torch

from sgverify.errors import ConfigurationError, UnknownNameError
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.estimators import Estimator, GradientChoice, MinibatchEstimator, _root
from sgverify.samplers.gradients.kinds import make_estimator
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.reading.carrier import Chains
from sgverify.targets import Target

KINDS = ["full", "iid", "without-replacement", "reshuffle", "symmetric", "additive"]


class Listed:
    """A source whose chains hold the given minibatches, one each."""

    def __init__(self, batches: list[tuple[int, ...]]) -> None:
        self.batches = torch.tensor(batches).T[None, :, None, :]

    def block(self, first: int, count: int) -> torch.Tensor:
        return self.batches.expand(count, -1, -1, -1)


def potential(target: Target, hoist: bool = True, dtype: torch.dtype = torch.float64) -> Potential:
    return Potential(target, dtype=dtype, device="cpu", hoist=hoist)


def make(target: Target, kind: str, chains: int = 4, **keys: Any) -> Estimator:
    how = {"minibatches": 2, "evaluations": 3, "hoist": True} | keys

    def stream(name: str) -> Stream:
        return Stream.of(name, seed=1, runs=[b"a", b"b"], chains=range(chains))

    choice = GradientChoice(kind, batch=keys.pop("batch", 4), covariance=keys.pop("covariance", 1.0))
    return make_estimator(
        choice,
        potential(target, how["hoist"]),
        stream,
        minibatches=how["minibatches"],
        evaluations=how["evaluations"],
    )


@pytest.mark.parametrize("hoist", [True, False])
@pytest.mark.parametrize("replace", [True, False])
def test_mean_and_covariance_over_all_minibatches(wide_posterior: Target, hoist: bool, replace: bool) -> None:
    """The mean over all minibatches is grad U, their covariance that of the data over n (times (N-n)/(N-1))."""
    size, n, dim = 12, 2, 3
    batches = list(product(range(size), repeat=n)) if replace else list(combinations(range(size), n))
    estimator = MinibatchEstimator(potential(wide_posterior, hoist), Listed(batches), batch=n, per_step=1)
    estimator.prepare(0, 1)
    theta = torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64)
    found = estimator.evaluate(theta.expand(1, len(batches), dim), 0, 0, 0)[0].numpy()
    full = potential(wide_posterior, hoist=False).full(theta[None, None])[0, 0].numpy()
    data = np.array(wide_posterior.data_gradients(), dtype=float)
    covariance = data.T @ data / size / n * (1 if replace else (size - n) / (size - 1))
    scale = np.abs(data).max() + np.abs(full).max()
    # Sums of at most 144 terms of this scale, or of its square.
    assert np.abs(found.mean(0) - full).max() < 200 * np.finfo(float).eps * scale
    assert np.abs(np.cov(found.T, bias=True) - covariance).max() < 400 * np.finfo(float).eps * scale**2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["posterior", "wide_posterior"])
def test_the_clever_way_agrees_with_the_plain_one(
    kind: str, target: str, request: pytest.FixtureRequest
) -> None:
    made = request.getfixturevalue(target)
    clever, plain = make(made, kind), make(made, kind, hoist=False)
    theta = torch.randn((2, 4, made.dim), generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    scale = float(np.abs(made.precision_float64()).sum()) * (float(theta.abs().max()) + 4) * made.size
    for estimator in (clever, plain):
        estimator.prepare(3, 2)
    for step in range(2):
        left, right = (estimator.of_step(step) for estimator in (clever, plain))
        for _ in range(2):
            difference = left(Chains(theta)).tensor - right(Chains(theta)).tensor
            assert float(difference.abs().max()) < (made.size + 13) * np.finfo(float).eps * scale
            left, right = left.fresh(), right.fresh()


@pytest.mark.parametrize("kind", ["iid", "without-replacement", "reshuffle", "symmetric"])
def test_grad_is_one_minibatch_and_fresh_another(posterior: Target, kind: str) -> None:
    estimator = make(posterior, kind)
    estimator.prepare(0, 2)
    theta = Chains(torch.zeros((2, 4, 1), dtype=torch.float64))

    grad = estimator.of_step(0)
    first = grad(theta).tensor
    unused = grad.fresh()
    second = grad.fresh()
    other = second(theta).tensor
    assert torch.equal(grad(theta).tensor, first)
    assert torch.equal(second(theta).tensor, other)
    assert not torch.equal(other, first)
    assert unused is not second

    # Numbered in the order of asking: the second minibatch of step 0 is not the first one of step 1.
    following = estimator.of_step(1)(theta).tensor
    assert not torch.equal(following, other)
    assert not torch.equal(following, first)


def test_reshuffle_with_two_minibatches_a_step_uses_each_datum_once_an_epoch(posterior: Target) -> None:
    """20 data in batches of 5, two a step: two steps are an epoch, over which the deviations sum to 0."""
    estimator = make(posterior, "reshuffle", batch=5)
    estimator.prepare(0, 4)
    theta = Chains(torch.full((2, 4, 1), 0.7, dtype=torch.float64))
    full = potential(posterior).full(theta.tensor)
    for epoch in range(2):
        total = torch.zeros_like(full)
        for step in (2 * epoch, 2 * epoch + 1):
            grad = estimator.of_step(step)
            total += grad(theta).tensor + grad.fresh()(theta).tensor
        assert float((total / 4 - full).abs().max()) < 1e-12 * float(full.abs().max())


def test_additive_noise_is_fresh_at_every_evaluation_and_is_the_root_of_its_covariance(space: Target) -> None:
    covariance = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 3.0]])
    estimator = make(space, "additive", covariance=covariance.tolist(), chains=40_000)
    estimator.prepare(5, 1)
    theta = torch.randn((2, 40_000, 3), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    grad = estimator.of_step(0)
    noises = [grad(Chains(theta)).tensor - potential(space).full(theta) for _ in range(3)]
    assert not torch.equal(noises[0], noises[1])
    # Independent N(0, V) vectors: z^T V^-1 z is chi-square; its sum has mean m and variance 2m. 6 deviations: 2e-9.
    for left in range(3):
        flat = noises[left].flatten(0, 1).numpy()
        for right in range(3):
            sums = np.linalg.inv(covariance) @ (noises[right].flatten(0, 1).numpy().T @ flat)
            expected = len(flat) * np.eye(3) * (left == right)
            assert np.abs(sums - expected).max() < 6 * np.sqrt(2 * len(flat)) * np.linalg.cond(covariance)


@pytest.mark.parametrize(
    ("given", "matrix"),
    [
        (2.0, 2 * np.eye(3)),
        ([1.0, 2.0, 3.0], np.diag([1.0, 2.0, 3.0])),
        (np.ones((3, 3)).tolist(), np.ones((3, 3))),
    ],
)
def test_the_root_of_a_covariance(given: Any, matrix: np.ndarray) -> None:
    root = _root(given, 3)
    assert np.abs(root.T @ root - matrix).max() < 30 * np.finfo(float).eps


@pytest.mark.parametrize("given", [[1.0, 2.0], [[1.0, 2.0, 0], [0, 1.0, 0], [0, 0, 1]], float("nan"), -1.0])
def test_what_is_no_covariance_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"gradient.covariance=.*expected"):
        _root(given, 3)


def test_an_unknown_kind_is_named_with_its_neighbour(posterior: Target) -> None:
    with pytest.raises(UnknownNameError, match="gradient.kind 'reshufle'; did you mean 'reshuffle'"):
        make(posterior, "reshufle")


@pytest.mark.parametrize("kind", KINDS)
def test_float32_gradients_stay_float32(posterior: Target, kind: str) -> None:
    for hoist in (True, False):
        estimator = make_estimator(
            GradientChoice(kind),
            potential(posterior, hoist, torch.float32),
            lambda name: Stream.of(name, seed=0, runs=[b"a"], chains=range(3)),
            minibatches=1,
            evaluations=1,
        )
        estimator.prepare(0, 1)
        theta = Chains(torch.zeros((1, 3, 1), dtype=torch.float32))
        assert estimator.of_step(0)(theta).tensor.dtype == torch.float32

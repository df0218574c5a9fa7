"""SVRG gradients as they run: the estimate, when the snapshot is taken, and the law of the chains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from sgverify.configuration import load_configuration
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import answers_for
from sgverify.samplers import Settings, fixed, horizon, sample
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.estimators import GradientChoice, SnapshotEstimator
from sgverify.samplers.gradients.kinds import make_estimator
from sgverify.samplers.randomness.philox import Stream
from sgverify.schemes.loading import load_scheme
from sgverify.subject.binding import make_subject
from sgverify.targets import Target

DATA = [[0.5, 1.0], [-1.5, 0.25], [2.0, 1.5], [0.25, -1.0], [1.0, 2.0], [-0.5, 0.75]]
TABLE = {"name": "linear-regression", "dim": 1, "data": DATA}


@pytest.fixture(scope="module")
def regression(make_target: Any) -> Target:
    return make_target("linear-regression", dim=1, data=DATA)


def stream(name: str) -> Stream:
    return Stream.of(name, seed=1, runs=[b"a"], chains=range(3))


def make(target: Target, *, hoist: bool = True, **keys: Any) -> SnapshotEstimator:
    potential = Potential(target, dtype=torch.float64, device="cpu", hoist=hoist)
    choice = GradientChoice("svrg", **{"batch": 2, **keys})
    found = make_estimator(choice, potential, stream, minibatches=1, evaluations=1)
    assert isinstance(found, SnapshotEstimator)
    return found


@pytest.mark.parametrize("hoist", [True, False])
def test_the_estimate_is_the_gradient_at_the_snapshot_and_the_minibatchs_change_since(
    regression: Target, hoist: bool
) -> None:
    estimator = make(regression, hoist=hoist, refresh=4)
    estimator.prepare(0, 4)
    at = torch.tensor([[[0.5], [1.0], [-2.0]]], dtype=torch.float64)
    estimator.begin(0, at)
    theta = at + 0.75
    drawn = estimator._drawn[2][:, 0].numpy()
    x, y = np.array(DATA).T
    prior = Potential(regression, dtype=torch.float64, device="cpu").prior
    for chain in range(3):
        here, there = theta[0, chain, 0].item(), at[0, chain, 0].item()
        each = [x * (x * v - y) for v in (here, there)]
        precision = estimator.potential.sum_over(
            torch.zeros(1, 1, 1, dtype=torch.float64), estimator._data[:1, None, None]
        ).item() / -(x[0] * y[0])
        expected = precision * (each[1].sum() + 3 * (each[0] - each[1])[drawn[:, chain]].sum())
        expected += prior(theta)[0, chain, 0].item()
        found = estimator.evaluate(theta, 2, 0, 0)[0, chain, 0].item()
        assert found == pytest.approx(expected, rel=1e-12)
    # At the snapshot itself it is the full gradient, whatever the minibatch.
    assert torch.allclose(estimator.evaluate(at, 3, 0, 0), estimator.potential.full(at), rtol=1e-13)


def test_the_snapshot_is_taken_every_so_many_steps_and_is_no_view_of_the_state(regression: Target) -> None:
    estimator, taken = make(regression, refresh=3), []
    for first, count in ((0, 2), (2, 5)):
        estimator.prepare(first, count)
        for k in range(count):
            theta = torch.full((1, 3, 1), float(first + k), dtype=torch.float64)
            estimator.begin(k, theta)
            theta += 100
            taken.append(estimator.carried[0][0, 0, 0].item())
    assert taken == [0, 0, 0, 3, 3, 3, 6]


def test_the_default_interval_sees_as_many_data_as_there_are(regression: Target) -> None:
    estimator = make(regression, batch=4)
    estimator.prepare(0, 3)
    seen = []
    for k in range(3):
        estimator.begin(k, torch.full((1, 3, 1), float(k), dtype=torch.float64))
        seen.append(estimator.carried[0][0, 0, 0].item())
    assert seen == [0, 0, 2]


def run(target: Target, rows: Any, **how: Any) -> Any:
    settings = Settings(chains=5, gradient=GradientChoice("svrg", batch=2, refresh=7))
    tests = [lambda theta, p: theta[..., 0] ** 2]
    return sample(load_scheme("sghmc-aboba"), target, rows, observables=tests, settings=settings, **how)


def test_rows_of_different_lengths_keep_their_snapshots(regression: Target) -> None:
    rows = horizon(0.02, 0.3, [5, 11, 40])
    rows = (rows[2], rows[0], rows[1])
    whole = run(regression, rows)
    for i, row in enumerate(rows):
        alone = run(regression, [row])
        assert np.array_equal(alone.values[:, 0], whole.values[:, i])
        assert np.array_equal(alone.last["theta"][0], whole.last["theta"][i])


def test_blocks_of_any_size_give_the_same_chains(regression: Target) -> None:
    one, other = (run(regression, fixed([0.02], [40]), block=size) for size in (3, 40))
    assert np.array_equal(one.last["theta"], other.last["theta"])


def test_where_the_minibatch_cancels_the_run_is_that_of_full_gradients(posterior: Target) -> None:
    scheme, tests = load_scheme("sghmc-aboba"), [lambda theta, p: theta[..., 0] ** 2]
    found = [
        sample(
            scheme,
            posterior,
            fixed([0.02], [30]),
            observables=tests,
            settings=Settings(chains=4, gradient=GradientChoice(kind, batch=4)),
            hoist=hoist,
        ).last["theta"]
        for kind, hoist in (("full", True), ("svrg", True), ("svrg", False))
    ]
    assert np.array_equal(found[0], found[1])
    assert np.allclose(found[0], found[2], rtol=1e-12)


def standardised(length: int, refresh: int = 3, start: float = 10.0) -> float:
    """(sampled - exact) / standard error of E theta^2 over `length` steps."""
    subject = make_subject(
        load_scheme("sgld-euler"),
        load_configuration(
            {"target": TABLE, "gradient": {"kind": "svrg", "batch": 1, "refresh": refresh}, "start": start}
        ),
    )
    step = subject.step
    exact = answers_for(subject.model).bias(fixed_step(step), length).value + float(subject.truth)
    settings = Settings(chains=20_000, start=start, gradient=subject.configuration.gradient)
    found = sample(
        subject.scheme,
        subject.target,
        fixed([step], [length]),
        observables=[lambda theta: theta[..., 0] ** 2],
        settings=settings,
    ).values[0, 0, 0]
    return float((found.mean() - exact) / (found.std(ddof=1) / len(found) ** 0.5))


def test_chains_have_the_exact_law_and_a_snapshot_that_is_never_refreshed_has_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Two-sided 4.5 standard errors: a right sampler fails once in 150,000 seeds, and this seed is fixed.
    assert abs(standardised(20)) < 4.5
    honest = SnapshotEstimator.begin

    def once(self: SnapshotEstimator, step: int, theta: torch.Tensor) -> None:
        if not self.carried:
            honest(self, step, theta)

    monkeypatch.setattr(SnapshotEstimator, "begin", once)
    assert abs(standardised(20)) > 20

"""SAGA and control variates as they run: the estimates, what is kept of the steps before, and the law of the noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from sgverify.configuration import GradientTable
from sgverify.errors import ConfigurationError
from sgverify.exact.affine.noise import gradient_noise
from sgverify.samplers import GradientChoice, Settings, fixed, sample
from sgverify.samplers.gradients import control_variates
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.kinds import make_estimator
from sgverify.samplers.randomness.philox import Stream
from sgverify.schemes import find_scheme
from sgverify.targets import Target
from tests.self_checks.registry import self_check
from tests.zoo.quadratics import quadratics_of

DATA = [[0.5, 1.0], [-1.5, 0.25], [2.0, 1.5], [0.25, -1.0], [1.0, 2.0], [-0.5, 0.75]]
X, Y = np.array(DATA).T


@pytest.fixture(scope="module")
def regression(make_target: Any) -> Target:
    return make_target("linear-regression", dim=1, data=DATA)


def make(target: Target, kind: str, per_step: int = 1, *, hoist: bool = True, batch: int = 2) -> Any:
    potential = Potential(target, dtype=torch.float64, device="cpu", hoist=hoist)
    stream = Stream.of(kind, seed=1, runs=[b"a"], chains=range(3))
    return make_estimator(
        GradientChoice(kind, batch=batch), potential, lambda kind: stream, minibatches=per_step, evaluations=2
    )


def each(value: float, target: Target) -> np.ndarray:
    """g_i(theta) by hand: the likelihood is that of y = x theta with the target's noise."""
    at = torch.tensor([[[value]]], dtype=torch.float64)
    scale = Potential(target, dtype=torch.float64, device="cpu").likelihoods(
        at * 0, torch.tensor([DATA[0]], dtype=torch.float64)[:, None, None]
    ).item() / -(X[0] * Y[0])
    return np.asarray(scale * X * (X * value - Y))


@pytest.mark.parametrize("per_step", [1, 2])
def test_a_table_holds_the_gradients_where_each_datum_was_last_drawn(
    regression: Target, per_step: int
) -> None:
    estimator = make(regression, "saga", per_step, batch=3)
    estimator.prepare(0, 9)
    tables: list[np.ndarray] = []
    twice = False
    for step in range(9):
        values = [0.3 * step + chain for chain in range(3)]
        theta = torch.tensor(values, dtype=torch.float64)[None, :, None]
        estimator.begin(step, theta)
        if not tables:
            tables = [each(value, regression) for value in values]
        seen: list[Any] = []
        for minibatch in range(per_step):
            found = estimator.evaluate(theta, step, minibatch, minibatch)
            again = estimator.evaluate(theta + 1.0, step, minibatch, 2)
            drawn = estimator._drawn[step * per_step + minibatch][:, 0].numpy()
            for chain, value in enumerate(values):
                chosen, table = drawn[:, chain], tables[chain]
                twice = twice or len(set(chosen.tolist())) < 3
                prior = estimator.potential.prior(theta)[0, chain, 0].item()
                expected = prior + table.sum() + 2 * (each(value, regression) - table)[chosen].sum()
                assert found[0, chain, 0].item() == pytest.approx(expected, rel=1e-12)
                # The second question of a minibatch is answered by the same table, and does not enter it.
                other = table.sum() + 2 * (each(value + 1, regression) - table)[chosen].sum()
                other += estimator.potential.prior(theta + 1.0)[0, chain, 0].item()
                assert again[0, chain, 0].item() == pytest.approx(other, rel=1e-12)
                seen.append((chain, chosen, value))
        for chain, chosen, value in seen:
            tables[chain][chosen] = each(value, regression)[chosen]
    assert twice


@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-aboba"])
def test_a_run_with_a_table_does_not_depend_on_how_it_is_cut(regression: Target, name: str) -> None:
    settings = Settings(chains=3, seed=5, gradient=GradientChoice("saga", batch=2))
    rows = fixed([0.01, 0.02], [20])
    scheme, observables = find_scheme(name), [lambda theta, *rest: theta[..., 0] ** 2]
    whole, cut = (
        sample(scheme, regression, rows, observables=observables, settings=settings, block=block)
        for block in (None, 3)
    )
    assert np.array_equal(whole.values, cut.values)
    alone = sample(scheme, regression, rows[1:], observables=observables, settings=settings)
    assert np.array_equal(alone.values[:, 0], whole.values[:, 1])


def test_a_table_is_carried_over_a_pause(regression: Target, tmp_path: Any) -> None:
    estimator, other = make(regression, "saga"), make(regression, "saga")
    theta = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)[None, :, None]
    for first in (estimator, other):
        first.prepare(0, 8)
    for step in range(5):
        estimator.begin(step, theta + step)
        estimator.evaluate(theta + step, step, 0, 0)
    other.resume(estimator.carried)
    for step in range(5, 8):
        values = []
        for one in (estimator, other):
            one.begin(step, theta + step)
            values.append(one.evaluate(theta + step, step, 0, 0))
        assert torch.equal(*values)


def test_a_table_that_is_too_large_is_refused_by_name(
    regression: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_variates, "MOST", 17)
    estimator = make(regression, "saga")
    with pytest.raises(
        ConfigurationError, match=r"the table of 6 data for 1 rows of 3 chains in 1 dim.* 18 numbers"
    ):
        estimator.begin(0, torch.zeros(1, 3, 1, dtype=torch.float64))


@pytest.mark.parametrize("hoist", [True, False])
def test_a_control_variate_takes_away_the_minibatch_at_the_centre(regression: Target, hoist: bool) -> None:
    estimator = make(regression, "control-variate", hoist=hoist)
    estimator.prepare(0, 2)
    centre = float(regression.mean[0])
    theta = torch.tensor([0.4, -1.0, 2.5], dtype=torch.float64)[None, :, None]
    found = estimator.evaluate(theta, 1, 0, 0)
    for chain, value in enumerate(theta.flatten().tolist()):
        chosen = estimator._drawn[1][:, 0, chain].numpy()
        here, there = each(value, regression), each(centre, regression)
        expected = estimator.potential.prior(theta)[0, chain, 0].item()
        expected += there.sum() + 3 * (here - there)[chosen].sum()
        assert found[0, chain, 0].item() == pytest.approx(expected, rel=1e-12)


def test_the_exact_noise_of_a_control_variate_is_that_of_all_its_minibatches(regression: Target) -> None:
    law = gradient_noise(GradientTable(kind="control-variate", batch=2), regression).minibatch
    assert law is not None
    centre = regression.mean[0]
    assert law.noise_at([centre])[0, 0] == 0
    hessians = [hessian[0][0] for hessian, _ in quadratics_of(regression)]
    for value in (Fraction(3, 2), Fraction(-1)):
        # N times a datum's part is H_i theta + g_i: what is left of it at theta is H_i (theta - c).
        changes = [h * (value - centre) for h in hessians]
        means = [(a + b) / 2 for a, b in product(changes, repeat=2)]
        average = sum(means) / len(means)
        variance = sum((m - average) ** 2 for m in means) / len(means)
        assert Fraction(str(law.noise_at([value])[0, 0])) == variance


def test_a_control_variate_has_no_noise_where_all_data_have_one_hessian(make_target: Any) -> None:
    target = make_target("gaussian-mean", size=8)
    noise = gradient_noise(GradientTable(kind="control-variate", batch=2), target)
    assert noise.covariance is None and noise.minibatch is None and not noise.noisy


@pytest.mark.power  # 0.6 s
def test_the_running_control_variate_has_the_law_that_is_computed() -> None:
    found = self_check(
        "agreement",
        find_scheme("sgld-euler"),
        target={"name": "linear-regression", "size": 8},
        gradient={"kind": "control-variate", "batch": 2},
        steps=200,
    )
    assert found.verdict == "conforms" and set(found.certificate["components"]) == {
        "mean in sd",
        "log variance",
    }

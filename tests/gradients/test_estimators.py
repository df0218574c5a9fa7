"""Every declared estimator is read: it runs, its noise has a law or says why not, and its estimates have a definition."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sgverify.configuration import load_configuration
from sgverify.errors import UnknownNameError
from sgverify.exact.affine.noise import noise_of
from sgverify.gradients import ESTIMATORS, READERS, GradientEstimator, find_estimator
from sgverify.samplers import GradientChoice
from sgverify.samplers.gradients.kinds import RUNNING
from sgverify.targets import build_target
from tests.self_checks.gradient_cases import elsewhere
from tests.self_checks.minibatches import draw_of, period_of

EVERY = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=list(ESTIMATORS))


@EVERY
def test_every_reading_knows_it(estimator: GradientEstimator) -> None:
    family = type(estimator)
    assert RUNNING.keys() & set(family.__mro__)
    assert (noise_of.dispatch(family) is noise_of.dispatch(object)) == bool(estimator.unread)
    assert (elsewhere.dispatch(family) is elsewhere.dispatch(object)) == (not estimator.draws_data)


@EVERY
def test_what_it_declares_fits_together(estimator: GradientEstimator) -> None:
    assert estimator.noisy or not (estimator.draws_data or estimator.each_evaluation)
    assert not (estimator.exchangeable and estimator.replaced)
    asked = (12, GradientChoice(estimator.name, batch=4), 1)
    period = period_of(estimator, *asked)
    draws = [draw_of(estimator, number, *asked) for number in range(2 * period)]
    # No draw is used before its time, and none beyond its period.
    assert all(draw <= number for number, draw in enumerate(draws))
    assert not set(draws[:period]) & set(draws[period:])
    assert (period == 1) == (not estimator.exchangeable)
    assert estimator.draws_data == (estimator.name in READERS["batch"])
    assert estimator.label.format(batch=3).count("3") == estimator.draws_data


def test_a_sweep_back_goes_over_the_draws_of_the_sweep_there() -> None:
    asked = (12, GradientChoice("symmetric", batch=4), 1)
    estimator = find_estimator("symmetric")
    assert [draw_of(estimator, number, *asked) for number in range(8)] == [0, 1, 2, 2, 1, 0, 6, 7]


def test_an_unknown_kind_is_refused_where_it_is_asked_for() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown gradient.kind 'idd'; did you mean 'iid'\?"):
        find_estimator("idd")
    with pytest.raises(UnknownNameError, match=r"unknown gradient.kind"):
        _ = GradientChoice("saga-like").estimator


@pytest.mark.parametrize("kind", ["iid", "svrg", "control-variate"])
def test_the_exact_law_draws_minibatches_as_the_estimator_declares(kind: str) -> None:
    chosen = {"target": {"name": "linear-regression", "size": 5}, "gradient": {"kind": kind, "batch": 2}}
    configuration = load_configuration(chosen)
    target = build_target(configuration.target)
    for replaced in (True, False):
        estimator = replace(find_estimator(kind), replaced=replaced)
        law = noise_of(estimator, configuration.gradient, target).minibatch
        assert law is not None and law.replaced == replaced

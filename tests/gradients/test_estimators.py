"""Every declared estimator is read: it runs, its noise has a law or says why not, and its estimates have a definition."""

from __future__ import annotations

import pytest

from sgverify.checks.gradient_cases import elsewhere
from sgverify.errors import UnknownNameError
from sgverify.exact.affine.gradient_noise import noise_of
from sgverify.gradients import ESTIMATORS, READERS, GradientEstimator, find_estimator
from sgverify.samplers import GradientChoice
from sgverify.samplers.gradient_kinds import RUNNING

EVERY = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=list(ESTIMATORS))


@EVERY
def test_every_reading_knows_it(estimator: GradientEstimator) -> None:
    family = type(estimator)
    assert family in RUNNING
    assert (noise_of.dispatch(family) is noise_of.dispatch(object)) == bool(estimator.unread)
    assert (elsewhere.dispatch(family) is elsewhere.dispatch(object)) == (not estimator.draws_data)


@EVERY
def test_what_it_declares_fits_together(estimator: GradientEstimator) -> None:
    assert estimator.noisy or not (estimator.draws_data or estimator.each_evaluation)
    assert not (estimator.exchangeable and estimator.replaced)
    asked = (12, GradientChoice(estimator.name, batch=4), 1)
    assert estimator.period(*asked) == {0: 1, 1: 3, 2: 6}[estimator.sweeps]
    back = [0, 1, 2, 2, 1, 0, 6, 7] if estimator.sweeps == 2 else list(range(8))
    assert [estimator.draw_of(number, *asked) for number in range(8)] == back
    assert estimator.draws_data == (estimator.name in READERS["batch"])
    assert estimator.label.format(batch=3).count("3") == estimator.draws_data


def test_an_unknown_kind_is_refused_where_it_is_asked_for() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown gradient.kind 'idd'; did you mean 'iid'\?"):
        find_estimator("idd")
    with pytest.raises(UnknownNameError, match=r"unknown gradient.kind"):
        _ = GradientChoice("saga-like").estimator

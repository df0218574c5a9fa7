"""Draws: the states of the run, kept and thinned, whatever happens to it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sgverify.errors import ConfigurationError
from sgverify.samplers import GradientChoice, Settings, fixed, sample
from sgverify.samplers.run.recording import Draws, bytes_needed, kept_steps, record
from sgverify.samplers.run.run import Ensemble
from sgverify.schemes import find_scheme
from sgverify.targets import Target
from tests.sampled_states import sample_states

SETTINGS = Settings(chains=3, seed=5, burn_in=4, thinning=3, gradient=GradientChoice(kind="iid", batch=2))
DATA = {"name": "logistic-regression", "dim": 2, "size": 9, "data_seed": 1}
LAST = 400


def ensemble(target: Target, scheme: str = "sgnht-euler", settings: Settings = SETTINGS) -> Ensemble:
    return Ensemble(find_scheme(scheme), target, fixed([0.05], [LAST]), settings)


def test_the_draws_are_the_states_after_burn_in_by_thinning(make_target: Callable[..., Target]) -> None:
    target = make_target(**DATA)
    draws = record(ensemble(target))
    numbers = list(range(7, LAST + 1, 3))
    assert draws.numbers.tolist() == numbers
    states = sample_states(
        find_scheme("sgnht-euler"), target, fixed([0.05], [LAST]), at=numbers, settings=SETTINGS
    )
    assert list(draws.values) == ["theta", "p", "xi"]
    for name, value in draws.values.items():
        np.testing.assert_array_equal(value, np.moveaxis(states.values[name][0], 0, 1))


@pytest.mark.power  # 0.6 s
def test_their_mean_is_the_average_that_the_sampler_sums(make_target: Callable[..., Target]) -> None:
    target = make_target(**DATA)
    draws = record(ensemble(target), energy=False)
    averages = sample(
        find_scheme("sgnht-euler"),
        target,
        fixed([0.05], [LAST]),
        observables=[lambda theta, p: theta[..., 0] * p[..., 1]],
        settings=SETTINGS,
    )
    found = (draws.values["theta"][..., 0] * draws.values["p"][..., 1]).mean(-1)
    np.testing.assert_allclose(found, averages.values[0, 0, 0], rtol=1e-12)
    assert draws.energies is None


@pytest.mark.by_default("logistic-regression", "linear-regression")
@pytest.mark.parametrize("name", ["gaussian-mean", "linear-regression", "logistic-regression"])
def test_the_energy_is_that_of_the_draw_over_all_data(name: str, make_target: Callable[..., Target]) -> None:
    target = make_target(**{**DATA, "name": name})
    draws = record(ensemble(target))
    assert draws.energies is not None
    expected = target.energy_float64(draws.values["theta"])
    np.testing.assert_allclose(draws.energies, expected, rtol=1e-12, atol=1e-12)


def test_an_interrupted_run_keeps_what_it_has_drawn(make_target: Callable[..., Target]) -> None:
    target = make_target(**DATA)
    whole = record(ensemble(target))
    for stop in (1, 100, 399):
        cut = interrupted(ensemble(target), stop)
        assert not cut.complete
        count = len(cut.numbers)
        assert count == len([number for number in kept_steps(ensemble(target)) if number < stop])
        for name, value in cut.values.items():
            np.testing.assert_array_equal(value, whole.values[name][:, :count])
        assert cut.energies is not None
        np.testing.assert_array_equal(cut.energies, whole.energies[:, :count])  # type: ignore[index]


def interrupted(run: Ensemble, stop: int) -> Draws:
    """Ctrl-C during step `stop`."""
    sizes = run.rows[0].schedule

    class Stopping(type(sizes)):  # type: ignore[misc]
        def at(self, number: int) -> float:
            if number == stop:
                raise KeyboardInterrupt
            return float(super().at(number))

    # One step at a time, so that the schedule is asked step by step.
    run._steps_at_once = 1
    run.rows = (type(run.rows[0])(Stopping(sizes.step), run.rows[0].lengths),)
    return record(run)


def test_a_divergence_ends_the_draws_before_it(make_target: Callable[..., Target]) -> None:
    settings = Settings(chains=4, start=0.0)
    run = Ensemble(find_scheme("sgld-euler"), make_target(name="quartic"), fixed([0.3], [20_000]), settings)
    draws = record(run)
    (why,) = draws.diverged
    assert draws.numbers[-1] == why.step_number - 1
    assert np.isfinite(draws.values["theta"]).all()
    assert not draws.complete


def test_the_size_is_that_of_the_arrays(make_target: Callable[..., Target]) -> None:
    run = ensemble(make_target(**DATA))
    draws = record(run)
    held = [*draws.values.values(), draws.energies, draws.numbers, draws.steps]
    assert bytes_needed(run) == sum(array.nbytes for array in held)  # type: ignore[union-attr]


def test_a_burn_in_that_leaves_nothing_is_refused(make_target: Callable[..., Target]) -> None:
    settings = Settings(chains=2, burn_in=LAST)
    with pytest.raises(ConfigurationError, match="no state is left"):
        record(ensemble(make_target(**DATA), settings=settings))

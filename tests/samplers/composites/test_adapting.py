"""Adaptively weighted runs: pauses, independence, draws that count by their weights, first passages."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sgverify.configuration import load_configuration
from sgverify.samplers import GradientChoice, Row, Settings, fixed, sample
from sgverify.samplers.composites.adapting import Adapting
from sgverify.samplers.run.leg import RunObserver
from sgverify.samplers.run.run import Ensemble
from sgverify.schemes.composites import AdaptivelyWeighted
from sgverify.schemes.composites.adaptation import PartitionChoice
from sgverify.schemes.loading import load_step
from sgverify.targets import Observable, Target, build_target, parse_observable
from tests.samplers.conftest import averaged_in_pieces

CHOICE = PartitionChoice(
    low=-0.5, high=3.0, bins=6, zeta=0.8, scale=2.0, alpha=0.6, offset=4.0, temperature=0.8
)
MINIBATCH = GradientChoice(kind="iid", batch=2)


def composite(name: str) -> AdaptivelyWeighted:
    found = load_step(name)
    assert isinstance(found, AdaptivelyWeighted)
    return found


def target(name: str = "double-well") -> Target:
    data = {"data": [0.0, 1.0, 4.0]} if name == "gaussian-mean" else {}
    return build_target(load_configuration({"target": {"name": name, **data}}).target)


def observable() -> Observable:
    return parse_observable("theta**2 + theta", 1)


def settings(**rest: object) -> Settings:
    return Settings(**{"chains": 3, "start": 0.5, "temperature": 1.5, "partition": CHOICE, "seed": 5, **rest})  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "gradient"), [("awsgld", MINIBATCH), ("csghmc", GradientChoice())])
def test_a_run_in_pieces_goes_on_to_the_same_bits(name: str, gradient: GradientChoice) -> None:
    rows = [*fixed([0.02], [40]), Row(fixed([0.03], [1])[0].schedule, (25,))]
    given = (composite(name), target("gaussian-mean"), rows)
    how = {"observables": [observable()], "settings": settings(gradient=gradient)}
    whole = sample(*given, block=7, **how)  # type: ignore[arg-type]
    np.testing.assert_array_equal(whole.values, averaged_in_pieces((17,), *given, **how))
    assert np.isfinite(whole.values).all()


def test_chains_do_not_depend_on_the_chains_beside_them() -> None:
    given = (composite("awsgld"), target(), fixed([0.02], [60]))
    many = sample(*given, observables=[observable()], settings=settings(chains=5))
    one = sample(*given, observables=[observable()], settings=settings(chains=1, first_chain=3))
    np.testing.assert_array_equal(many.values[..., 3:4], one.values)
    assert len(np.unique(many.values)) == 5


class Seen(RunObserver):
    """States, energies and logs of weights of every step."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.hooks = ensemble.hooks
        self.steps: list[tuple[torch.Tensor, ...]] = []

    def show(
        self, rows: tuple[int, ...], number: int, state: tuple[torch.Tensor, ...], steps: np.ndarray
    ) -> None:
        assert isinstance(self.hooks, Adapting)
        recorded = self.hooks.recorded()
        self.steps.append((state[0].clone(), recorded["energy"], recorded["log_weight"]))


@pytest.mark.parametrize("name", ["awsgld", "csgld"])
def test_averages_count_every_draw_by_the_weight_that_it_had(name: str) -> None:
    given = (composite(name), target(), fixed([0.02], [50]), settings())
    ensemble = Ensemble(*given)
    seen = Seen(ensemble)
    with torch.no_grad():
        for _ in ensemble.blocks(seen):
            pass
    weights = np.exp([log.numpy() for _, _, log in seen.steps])
    states = np.array([state.numpy()[..., 0] for state, _, _ in seen.steps])
    wanted = (weights * (states**2 + states)).sum(0) / weights.sum(0)
    found = sample(*given[:3], observables=[observable()], settings=given[3]).values[0, :, 0]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert weights.std() > 0.01 * weights.mean()


@pytest.mark.power  # 0.8 s
def test_weights_of_csgld_stay_a_distribution_and_those_of_awsgld_increase() -> None:
    for name in ("awsgld", "csgld"):
        ensemble = Ensemble(composite(name), target(), fixed([0.02], [300]), settings())
        with torch.no_grad():
            for _ in ensemble.blocks():
                pass
        assert isinstance(ensemble.hooks, Adapting)
        theta = ensemble.hooks.weighting.theta
        assert theta.shape == (1, 3, 6)
        assert bool((theta > 0).all())
        if name == "csgld":
            np.testing.assert_allclose(theta.sum(-1), 1.0, rtol=1e-12)
        else:
            assert bool((theta.diff(dim=-1) >= 0).all())
            np.testing.assert_array_equal(theta[..., -1], 1.0)


@pytest.mark.power  # 0.6 s
def test_a_divergence_names_the_multiplier_that_drove_it() -> None:
    """CSGLD on two wells at a step where its multiplier turns negative, and what one may do about it."""
    about = Settings(chains=64, seed=0)
    found = sample(
        composite("csgld"), target(), fixed([0.05], [3000]), observables=[observable()], settings=about
    )
    (why,) = found.diverged
    assert why is not None and why.why
    assert "its gradient is multiplied by" in str(why) and "partition.zeta" in str(why)
    plain = sample(
        composite("csgld").scheme, target(), fixed([50.0], [3000]), observables=[observable()], settings=about
    )
    assert plain.diverged[0] is not None and not plain.diverged[0].why


@pytest.mark.parametrize("name", ["awsgld", "vr-resghmc"])
@pytest.mark.parametrize("step", [1e30, 60.0])
def test_a_row_that_diverges_at_once_or_later_takes_nothing_from_the_others(name: str, step: float) -> None:
    # The others take that step too, and what is done around it.
    how = {"observables": [observable()], "settings": settings(gradient=MINIBATCH)}
    given = (load_step(name), target("gaussian-mean"))
    alone = sample(*given, fixed([0.02], [30]), **how)  # type: ignore[arg-type]
    beside = sample(*given, fixed([0.02, step], [30]), **how)  # type: ignore[arg-type]
    rows = len(alone.rows)
    assert beside.diverged[:rows] == (None,) * rows
    ends = [why.step_number for why in beside.diverged[rows:] if why is not None]
    assert len(ends) == rows and (max(ends) == 1) == (step == 1e30)
    np.testing.assert_array_equal(beside.values[:, :rows], alone.values)
    assert np.isnan(beside.values[:, rows:]).all()

"""Replicas swap by the sampler's hooks at their own temperatures; a run that was stopped goes on to the same bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from reports.applications import keeping
from reports.applications.chains import ChainRecorder, ChainRun, ChainSetting
from reports.applications.classifier.methods import SCHEME, ComparedMethod, Scaled, methods
from reports.applications.classifier.model import ClassifierModel
from reports.applications.classifier.predictions import Predictions
from reports.applications.classifier.swapping import Swapping
from reports.applications.classifier.variances import Monitor, times
from reports.applications.keeping import KeptParts
from sgverify.schemes import find_scheme
from tests.applications.classifier.small import DENSE, posterior

SIZE = 24
SCALED = Scaled(SIZE, 4, 5)
CHAINS = range(2)


def pairs() -> list[ComparedMethod]:
    """The methods of two replicas."""
    return [method for method in methods(SCALED) if method.swaps is not None]


def made() -> tuple[ChainRun, Swapping, Predictions]:
    held, group = posterior(DENSE, SIZE), pairs()
    monitor = Monitor(held, SCALED.batch, times(SCALED.steps, SCALED.refreshes), len(CHAINS))
    swapping = Swapping(group, held, SCALED, seed=3, chains=CHAINS, monitor=monitor)
    seen = Predictions(group, held, steps=SCALED.steps, thinning=4, scales=(1.0, 2.0), chains=len(CHAINS))
    run = ChainRun(
        find_scheme(SCHEME),
        ClassifierModel(held, batch=SCALED.batch, seed=3, chains=CHAINS),
        [row for method in group for row in method.rows],
        steps=SCALED.steps,
        seed=3,
        chains=CHAINS,
        coupled=[replica for method in group for replica in range(len(method.rows))],
        after=swapping,
    )
    return run, swapping, seen


class Stopped(Exception):
    """The run is stopped."""


def stop_at_27(number: int) -> None:
    # Within an epoch, between two renewals of every control variate.
    keeping.OFTEN = 0.0 if number == 26 else 1e9
    if number == 27:
        raise Stopped


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "OFTEN", 1e9)
    monkeypatch.setattr(keeping, "SHARE", 0)
    run, swapping, seen = made()
    run.run(seen)
    assert sum(int(pair.swaps.sum()) for pair in swapping.pairs) > 0
    kept = KeptParts(tmp_path, {})
    half, _, half_seen = made()
    with pytest.raises(Stopped):
        half.run(half_seen, kept=kept, part="one", tell=stop_at_27)
    stored = kept.load("one")
    assert stored is not None and stored[0]["done"] == 26
    again, swaps, predictions = made()
    again.run(predictions, kept=kept, part="one")
    for name, value in run.named().items():
        assert torch.equal(again.named()[name], value)
    assert np.array_equal(predictions.sums, seen.sums) and np.array_equal(predictions.theta, seen.theta)
    for one, two in zip(swapping.pairs, swaps.pairs, strict=True):
        assert np.array_equal(one.swaps, two.swaps)
        for a, b in zip(one.hooks.carried, two.hooks.carried, strict=True):
            assert torch.equal(a, b)
    assert swapping.monitor is not None and swaps.monitor is not None
    for label, values in swapping.monitor.found.items():
        assert np.array_equal(values, swaps.monitor.found[label], equal_nan=True)


def test_swaps_are_decided_at_the_temperatures_of_the_chains() -> None:
    run, swapping, _ = made()
    for number in range(1, 3 * SCALED.epoch + 1):
        run.step()
        for pair in swapping.pairs:
            cold, warm = (row.temperature.at(number) for row in pair.method.rows)
            assert pair.hooks._temperatures[0, :, 0].tolist() == pytest.approx([cold, warm], rel=1e-12)
            steps = [row.at(number) for row in pair.hooks._stage.rows]
            assert steps[0] == pair.method.rows[0].step.at(number)
            F = SCALED.correction * SCALED.cooling ** ((number - 1) // SCALED.epoch)
            assert float(pair.hooks.choice.correction) == pytest.approx(F, rel=1e-12)


def test_a_swap_exchanges_the_states_of_a_chain_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    run, swapping, _ = made()
    for _ in range(6):
        run.step()
    before = {name: value.clone() for name, value in run.named().items()}
    pair = swapping.pairs[2]
    # Chain 1 of one method swaps with certainty, nothing else does.
    monkeypatch.setattr(type(pair.hooks), "log_chance", lambda hooks, *_: chances(hooks, pair.hooks))
    found = swapping(7, tuple(value.clone() for value in before.values()))
    rows = pair.rows
    ratio = 5**0.5
    assert torch.equal(found[0][rows][:, 0], before["theta"][rows][:, 0])
    assert torch.equal(found[0][rows][:, 1], before["theta"][rows][:, 1].flip(0))
    # p sqrt(T_new / T_old): the momentum has the law of its new temperature.
    assert torch.allclose(found[1][rows][0, 1] * ratio, before["p"][rows][1, 1], rtol=1e-12, atol=0)
    assert torch.allclose(found[1][rows][1, 1] / ratio, before["p"][rows][0, 1], rtol=1e-12, atol=0)
    others = [row for row in range(len(found[0])) if row not in range(rows.start, rows.stop)]
    for tensor, held in zip(found, before.values(), strict=True):
        assert torch.equal(tensor[others], held[others])
    assert pair.swaps.tolist()[1] >= 1


def chances(hooks, chosen) -> torch.Tensor:
    """log of the chance to swap, shape (1, 1, C): 0 for chain 1 of the chosen pair, else -infinity."""
    found = torch.full((1, 1, len(CHAINS)), -torch.inf, dtype=torch.float64)
    if hooks is chosen:
        found[..., 1] = 0.0
    return found


def test_replicas_have_noise_and_uniform_numbers_of_their_own_and_share_minibatches() -> None:
    run, swapping, _ = made()
    run.step()
    uniforms = swapping.pairs[0].hooks.log_uniforms
    assert not torch.equal(uniforms[:, 0], uniforms[:, 1])
    chosen = swapping.pairs[0].hooks.energies.minibatch(5)
    assert chosen.shape == (SCALED.batch, 1, len(CHAINS))
    noise = torch.stack([next(run._draws()) for _ in range(1)])[0]
    assert torch.equal(noise[0], noise[2]) and not torch.isclose(noise[0], noise[1]).any()


def test_predictions_of_a_pair_that_diverged_are_no_numbers() -> None:
    _, _, seen = made()
    rows = sum(len(method.rows) for method in pairs())
    theta = torch.zeros((rows, len(CHAINS), DENSE.dim), dtype=torch.float64)
    alive = np.ones((rows, len(CHAINS)), dtype=bool)
    alive[1, 0] = False
    seen.see(SCALED.steps, {"theta": theta}, alive)
    assert np.isnan(seen.last[0, 0]).all() and np.allclose(seen.last[0, 1], 1 / DENSE.classes)
    assert np.isfinite(seen.last[1:]).all()


def test_the_first_state_that_counts_is_after_the_burn_in() -> None:
    _, _, seen = made()
    method = pairs()[0]
    assert method.burn_in == SCALED.burn_in * SCALED.epoch
    theta = torch.zeros((2 * len(pairs()), 2, DENSE.dim), dtype=torch.float64)
    seen.see(method.burn_in, {"theta": theta}, np.ones(theta.shape[:2], dtype=bool))
    assert not seen.counts[0]
    seen.see(method.burn_in + 2, {"theta": theta}, np.ones(theta.shape[:2], dtype=bool))
    assert seen.counts[0] == 1 and np.allclose(seen.average(1, 0), 1 / DENSE.classes)


class Friction:
    """D falls with the step's number."""

    def at(self, number: int) -> float:
        return 3.0 / number


def test_friction_may_change_from_step_to_step() -> None:
    held = posterior(DENSE, SIZE)

    def moved(friction: float | Friction, steps: int) -> torch.Tensor:
        model = ClassifierModel(held, batch=4, seed=3, chains=CHAINS)
        run = ChainRun(
            find_scheme(SCHEME), model, [ChainSetting(0.01, friction, name="one")], steps=steps, seed=3
        )
        run.run(ChainRecorder())
        return run.named()["theta"]

    assert torch.equal(moved(Friction(), 1), moved(3.0, 1))
    assert not torch.isclose(moved(Friction(), 2), moved(3.0, 2)).all()

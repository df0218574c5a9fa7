"""Chains on a model's own gradient move by the definition, whatever shares their tensors; a divergence is named by its step."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from reports.applications.chains import ChainRecorder, ChainRun, ChainSetting, SampledModel, streams
from sgverify.errors import ConfigurationError
from sgverify.samplers.randomness.noise import Mixed
from sgverify.schemes import find_scheme

ABOBA, SGLD = find_scheme("sghmc-aboba"), find_scheme("sgld-euler")
STEPS = 6


class Quadratic(SampledModel):
    """U = theta^T diag(a) theta / 2, with a gradient noise that depends on step and chain."""

    dim, far = 3, 1e6

    def __init__(self, chains: int = 2) -> None:
        self.precision = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64)
        self.calls: list[tuple[int, int]] = []

    def start(self, chains: range) -> Tensor:
        return torch.stack([torch.full((3,), 1.0 + chain, dtype=torch.float64) for chain in chains])[None]

    def gradient(self, theta: Tensor, step: int, minibatch: int) -> Tensor:
        self.calls.append((step, minibatch))
        return self.precision * theta + 0.1 * np.sin(step)


class States(ChainRecorder):
    def __init__(self, at: range = range(STEPS + 1)) -> None:
        self.at, self.found, self.alive = at, {}, {}

    def see(self, number: int, state: dict[str, Tensor], alive: np.ndarray) -> None:
        self.found[number] = {name: value.clone() for name, value in state.items()}
        self.alive[number] = alive.copy()


TWO = (ChainSetting(0.1, 2.0), ChainSetting(0.2, 3.0))


def run(scheme=ABOBA, settings=TWO, **given) -> tuple[ChainRun, States]:
    made = ChainRun(scheme, Quadratic(), settings, steps=STEPS, seed=3, **given)
    seen = States()
    made.run(seen)
    return made, seen


def test_sgld_is_its_formula_on_its_stream() -> None:
    made, seen = run(SGLD, (ChainSetting(0.1, temperature=0.5),))
    noise = [*Mixed(streams(3, range(2)), "noise", SGLD.laws, dim=3, dtype=torch.float64).take(0, STEPS)]
    theta, model = Quadratic().start(range(2)), Quadratic()
    for step in range(STEPS):
        theta = theta - 0.1 * model.gradient(theta, step, 0) + (2 * 0.5 * 0.1) ** 0.5 * noise[step]
        assert torch.allclose(theta, seen.found[step + 1]["theta"], rtol=1e-14, atol=0)
    assert made.model.calls == [(step, 0) for step in range(STEPS)]


def test_a_row_has_the_bits_that_it_has_alone_and_so_has_a_chain() -> None:
    _, both = run()
    _, alone = run(settings=(ChainSetting(0.2, 3.0),))
    _, last = run(chains=range(1, 2))
    for name in ("theta", "p"):
        assert torch.equal(both.found[STEPS][name][1:], alone.found[STEPS][name])
        assert torch.equal(both.found[STEPS][name][:, 1:], last.found[STEPS][name])


def test_settings_share_their_noise_or_have_their_own() -> None:
    same = (ChainSetting(0.1, 2.0), ChainSetting(0.1, 2.0))
    _, coupled = run(settings=same)
    _, apart = run(settings=same, coupled=False)
    assert torch.equal(*coupled.found[STEPS]["theta"])
    assert not torch.isclose(*apart.found[STEPS]["theta"]).any()


def test_temperature_and_step_may_change_from_step_to_step() -> None:
    class Falling:
        def at(self, number: int) -> float:
            return 0.1 / number

    _, moving = run(SGLD, (ChainSetting(Falling(), temperature=Falling()),))
    noise = [*Mixed(streams(3, range(2)), "noise", SGLD.laws, dim=3, dtype=torch.float64).take(0, STEPS)]
    theta, model = Quadratic().start(range(2)), Quadratic()
    for step in range(STEPS):
        h = 0.1 / (step + 1)
        theta = theta - h * model.gradient(theta, step, 0) + (2 * h * h) ** 0.5 * noise[step]
        assert torch.allclose(theta, moving.found[step + 1]["theta"], rtol=1e-13, atol=0)


def test_a_divergence_is_named_and_the_other_chains_go_on() -> None:
    made, seen = run(SGLD, (ChainSetting(0.1), ChainSetting(2.0**12)))
    assert seen.alive[STEPS].tolist() == [[True, True], [False, False]]
    assert {(item.setting, item.chain) for item in made.diverged()} == {
        ("h = 4096, D = 1", 0),
        ("h = 4096, D = 1", 1),
    }
    # |1 - h a| > 4000 a step: beyond 1e6 at the second one, as the first is at most 20480 (1 + chain) + noise.
    assert {item.step for item in made.diverged()} == {2}
    _, alone = run(SGLD, (ChainSetting(0.1),))
    assert torch.equal(seen.found[STEPS]["theta"][:1], alone.found[STEPS]["theta"])
    assert torch.equal(seen.found[STEPS]["theta"][1:], made.first[0][1:])


def test_a_stationary_momentum_has_the_temperature_of_its_row() -> None:
    settings = (ChainSetting(0.1, 2.0, 1.0), ChainSetting(0.1, 2.0, 4.0))
    made, _ = run(settings=settings, start_momentum="stationary")
    assert torch.equal(made.first[1][1], 2 * made.first[1][0]) and made.first[1].abs().min() > 0


class Rowwise(Quadratic):
    rowwise = True

    def gradient(self, theta: Tensor, step: int, minibatch: int) -> Tensor:
        self.calls.append((len(theta), step))
        return self.precision * theta + 0.1 * np.sin(step)


@pytest.mark.parametrize("coupled", [True, False])
def test_rows_that_have_diverged_are_left_out_without_a_change_of_the_others(coupled: bool) -> None:
    settings = (ChainSetting(0.1), ChainSetting(2.0**12), ChainSetting(0.2))
    seen = []
    for model in (Quadratic(), Rowwise()):
        made = ChainRun(SGLD, model, settings, steps=STEPS, seed=3, coupled=coupled)
        states = States()
        made.run(states)
        seen.append(states)
    assert [rows for rows, _ in model.calls] == [3, 3, 2, 2, 2, 2]
    for number in range(STEPS + 1):
        assert torch.equal(seen[0].found[number]["theta"], seen[1].found[number]["theta"])
        assert (seen[0].alive[number] == seen[1].alive[number]).all()


def test_after_a_step_the_state_may_be_replaced() -> None:
    _, seen = run(after=lambda number, state: (state[0], torch.zeros_like(state[1])))
    assert not seen.found[STEPS]["p"].any() and seen.found[STEPS]["theta"].any()


@pytest.mark.parametrize(
    ("given", "told"),
    [({"settings": ()}, "at least one"), ({"start_momentum": "cold"}, "'zero' or 'stationary'")],
)
def test_a_wrong_call_is_refused(given: dict, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        run(**given)

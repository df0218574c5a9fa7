"""A composite's run written down: its draws and gradients step by step, over blocks and a pause, to the bits of the run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from sgverify.samplers import GradientChoice, Settings, fixed
from sgverify.samplers.composites.hooks import StepHooks, hooks_of
from sgverify.samplers.gradients.estimators import Estimator
from sgverify.samplers.run.leg import by_coordinate
from sgverify.samplers.run.run import Ensemble
from sgverify.schemes import find_scheme
from sgverify.schemes.composites import Composite
from sgverify.targets import Target
from tests.sampled_states import sample_states
from tests.self_checks.composite_transcript import CompositeStep, Writing, write
from tests.self_checks.run_transcript import transcribe

STEPS, SETTINGS = 11, Settings(chains=3, gradient=GradientChoice("iid", 4))


@dataclass(frozen=True)
class Halving(Composite):
    kind = "halving"


class _Doubled(Estimator):
    def __init__(self, own: Estimator) -> None:
        super().__init__(own.potential)
        self._own = own
        self.prepare, self.begin = own.prepare, own.begin  # type: ignore[method-assign]

    def evaluate(self, theta: torch.Tensor, step: int, minibatch: int, evaluation: int) -> torch.Tensor:
        return 2 * self._own.evaluate(theta, step, minibatch, evaluation)


class _Halving(StepHooks):
    def estimator(self, estimator: Estimator) -> Estimator:
        return _Doubled(estimator)

    def after(self, place: int, number: int, state: tuple, steps: np.ndarray) -> tuple:
        return tuple(by_coordinate(value / 2) for value in state)


@pytest.fixture(autouse=True)
def _registered() -> None:
    hooks_of.register(Halving)(lambda composite, settings: _Halving())


def _written(posterior: Target, step: float = 0.05) -> tuple[Writing[CompositeStep], bool]:
    composite = Halving("halving", find_scheme("sgld-euler"))
    ensemble = Ensemble(composite, posterior, fixed([step], [STEPS]), SETTINGS, block=4)
    writing = Writing(CompositeStep)
    return writing, write(ensemble, writing, 6)


def test_every_step_is_told_once_over_blocks_and_a_pause(posterior: Target) -> None:
    writing, diverged = _written(posterior)
    assert not diverged and [step.number for step in writing.steps] == list(range(1, STEPS + 1))
    for step in writing.steps:
        (call,), (moved,), (after,) = step.gradient_calls, step.moved, step.after
        np.testing.assert_array_equal(call.given, 2 * call.plain)
        np.testing.assert_array_equal(after, moved / 2)
    starts = [writing.start[0], *(step.after[0] for step in writing.steps)]
    for before, step in zip(starts, writing.steps, strict=False):
        np.testing.assert_array_equal(step.gradient_calls[0].theta, before)


def test_writing_a_run_down_changes_none_of_its_bits(posterior: Target) -> None:
    writing, _ = _written(posterior)
    given = Halving("halving", find_scheme("sgld-euler")), posterior, fixed([0.05], [STEPS])
    states = sample_states(*given, at=[6, STEPS], settings=SETTINGS).values["theta"]
    for place, number in enumerate((6, STEPS)):
        np.testing.assert_array_equal(states[:, place], writing.steps[number - 1].after[0])
    plain = transcribe(find_scheme("sgld-euler"), posterior, given[2], SETTINGS)
    np.testing.assert_array_equal(np.array([step.draws for step in writing.steps]), plain.draws)
    assert plain.minibatches is not None
    np.testing.assert_array_equal(
        [step.gradient_calls[0].chosen for step in writing.steps], plain.minibatches
    )


def test_the_step_at_which_a_chain_leaves_every_bound_is_left_out(posterior: Target) -> None:
    writing, diverged = _written(posterior, step=1e8)
    assert diverged and not writing.steps

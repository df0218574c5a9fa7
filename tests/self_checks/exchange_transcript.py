"""Which energies, uniform numbers and controls does a short run of replica exchange use at each step?

Half of the uniform numbers are replaced by ones so small that every swap of positive probability is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.composites.exchange import Exchange
from sgverify.samplers.run.leg import Leg
from sgverify.samplers.run.run import Ensemble
from tests.self_checks import composite_transcript
from tests.self_checks.composite_transcript import Writing, array, write

BLOCK, PAUSE = 7, 11
"""The steps per block, and the step after which the run is paused and resumed."""

SURE = -1e300
"""The logarithm of a uniform number below every positive probability."""


@dataclass(eq=False)
class ExchangeStep(composite_transcript.CompositeStep):
    """The record of one step of replica exchange and of its swaps, for S rows and C chains.

    `swapped_on`, shape (n, S, C), are the data indices of the energies; `spread_on`, shape (n, r, S, C), those of the draws that
    measure the energies' variance. `drawn_uniforms` are the logarithms of the uniform numbers that the run drew, `uniforms` of
    those that were used, each of shape (S, C). `controls` are theta^, the full energy at theta^, and the coefficient.
    """

    swapped_on: np.ndarray | None = None
    spread_on: np.ndarray | None = None
    drawn_uniforms: np.ndarray = field(default_factory=lambda: np.empty(0))
    uniforms: np.ndarray = field(default_factory=lambda: np.empty(0))
    controls: tuple[np.ndarray, ...] | None = None
    variance: np.ndarray = field(default_factory=lambda: np.empty(0))
    recorded: dict[str, np.ndarray] = field(default_factory=dict)


class ExchangeTranscript(Writing[ExchangeStep]):
    """The record of a whole run: its start (state, controls, variances), its steps, and whether chains diverged."""

    first_controls: tuple[np.ndarray, ...] | None
    first_variance: np.ndarray
    diverged = False

    def __init__(self, hooks: Exchange, random: np.random.Generator) -> None:
        super().__init__(ExchangeStep)
        self._hooks, self._random = hooks, random

    def begin(self, leg: Leg) -> Leg:
        """See `RunObserver.begin`."""
        if not self.steps:
            self.first_controls, self.first_variance = self._controls(), array(self._hooks.variance)
        energies: Any = self._hooks.energies
        if not energies.exact:
            minibatch, spread = energies.minibatch, energies.spread

            def watched_minibatch(number: int) -> Tensor:
                found: Tensor = minibatch(number)
                self.now.swapped_on = array(found)
                return found

            def watched_spread(event: int) -> tuple[Tensor, float]:
                found, share = spread(event)
                self.now.spread_on = array(found)
                return found, share

            energies.minibatch, energies.spread = watched_minibatch, watched_spread
        return super().begin(leg)

    def prepared(self) -> None:
        """See `Writing.prepared`."""
        self._drawn = self._hooks.log_uniforms
        put = torch.from_numpy(self._random.random(self._drawn.shape) < 0.5)
        self._hooks.log_uniforms = torch.where(put, SURE, self._drawn)

    def keep(self, place: int) -> None:
        """See `Writing.keep`."""
        now = self.now
        now.drawn_uniforms, now.uniforms = array(self._drawn[place]), array(self._hooks.log_uniforms[place])
        now.controls, now.variance = self._controls(), array(self._hooks.variance)
        now.recorded = {name: array(value) for name, value in self._hooks.recorded().items()}

    def _controls(self) -> tuple[np.ndarray, ...] | None:
        controls = self._hooks.controls
        return None if controls is None else tuple(array(tensor) for tensor in controls.tensors)


def transcript_of(ensemble: Ensemble, seed: int) -> ExchangeTranscript:
    """The transcript of all steps of an ensemble with one schedule, made with `block=BLOCK`."""
    hooks = ensemble.hooks
    assert isinstance(hooks, Exchange)
    transcript = ExchangeTranscript(hooks, np.random.default_rng(seed))
    transcript.diverged = write(ensemble, transcript, PAUSE)
    return transcript


__all__ = ["BLOCK", "PAUSE", "SURE", "ExchangeStep", "ExchangeTranscript", "transcript_of"]

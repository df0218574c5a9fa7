"""A short run of replica exchange written down: energies, uniform numbers and controls beside its steps.

Half of the uniform numbers are put in its way, so small that a swap is made wherever one has a chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.composites import transcript as composite_transcript
from sgverify.samplers.composites.exchange import Exchange
from sgverify.samplers.composites.transcript import Writing, array, write
from sgverify.samplers.run.leg import Leg
from sgverify.samplers.run.run import Ensemble

BLOCK, PAUSE = 7, 11
"""Steps drawn at once, and the step after which the run is paused and taken up again."""

SURE = -1e300
"""The logarithm of a uniform number below every chance that is not 0."""


@dataclass(eq=False)
class ExchangeStep(composite_transcript.CompositeStep):
    """One step, and what swaps made of it.

    `swapped_on`, `spread_on`: data of the energies, and of the draws that measure their variance, (n, S, C) and (n, r, S, C).
    `drawn_uniforms`: as the run drew them, `uniforms`: as they were put in; logarithms, (S, C). `controls`: theta^, the full
    energy there and the coefficient.
    """

    swapped_on: np.ndarray | None = None
    spread_on: np.ndarray | None = None
    drawn_uniforms: np.ndarray = field(default_factory=lambda: np.empty(0))
    uniforms: np.ndarray = field(default_factory=lambda: np.empty(0))
    controls: tuple[np.ndarray, ...] | None = None
    variance: np.ndarray = field(default_factory=lambda: np.empty(0))
    recorded: dict[str, np.ndarray] = field(default_factory=dict)


class ExchangeTranscript(Writing[ExchangeStep]):
    """A whole run: how it began (`start`, and the controls and variances then), its steps, and whether chains left every bound."""

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
    """Run all steps of an ensemble of one schedule, made with `block=BLOCK`."""
    hooks = ensemble.hooks
    assert isinstance(hooks, Exchange)
    transcript = ExchangeTranscript(hooks, np.random.default_rng(seed))
    transcript.diverged = write(ensemble, transcript, PAUSE)
    return transcript


__all__ = ["BLOCK", "PAUSE", "SURE", "ExchangeStep", "ExchangeTranscript", "transcript_of"]

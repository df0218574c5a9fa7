"""How does a run record its draws, in one go or in parts between which it can be stored?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import torch

from sgverify.samplers.run.halting import Halt
from sgverify.samplers.run.leg import Block, Divergence, Position
from sgverify.samplers.run.recorder import Draws, Outlet, Recorder, kept_steps, widths_of
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.settings import one_thread


class DrawRecording:
    """A run of one row, or of the replicas of one row, that records its draws; `advance` it, store its `halt`, and continue from
    it.

        first = DrawRecording(ensemble, outlet=outlet)
        first.advance(seconds=2)
        first.halt().save("halt.npz")
        DrawRecording(ensemble, outlet=outlet, halt=Halt.load("halt.npz")).advance()

    The draws are those of a run that was left alone, bit for bit, whatever moves the parts: the definition, its tape or a kernel.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        *,
        energy: bool = True,
        outlet: Outlet | None = None,
        halt: Halt | None = None,
        start: Position | None = None,
    ) -> None:
        self._ensemble, self._recorder = ensemble, Recorder(ensemble, energy=energy, outlet=outlet)
        self._last = ensemble.rows[0].lengths[-1]
        self._blocks: Iterator[Block] | None = None
        self._block: Block | None = None
        self._start = start if halt is None else halt.position(ensemble)
        self.done = 0
        self.diverged: tuple[Divergence, ...] = ()
        if halt is not None:
            self.done = halt.step
            self._recorder.take_up(halt.held, halt.step)

    @property
    def finished(self) -> bool:
        """Has the run reached its last step, or has a chain diverged?"""
        return bool(self.diverged) or self.done >= self._last

    @property
    def complete(self) -> bool:
        """Has the run reached its last step, without a chain that diverged?"""
        return self.done >= self._last and not self.diverged

    def advance(
        self,
        *,
        until: int | None = None,
        seconds: float | None = None,
        stop: Callable[[], bool] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Move on, until the run is finished, step `until` is reached, so many `seconds` have passed or `stop` says so.

        Time and `stop` are looked at after each block of steps. `progress` is called with the number of finished steps.
        """
        started = time.monotonic()
        if self.finished or (until is not None and self.done >= until):
            return
        with one_thread(), torch.no_grad():
            if self._blocks is None or until is not None:
                start = self._start if self._block is None else self._position()
                self._blocks = self._ensemble.blocks(self._recorder, start=start, until=until)
            for block in self._blocks:
                self.done, self._block = block.last, block
                if progress is not None:
                    progress(self.done)
                if block.diverged:
                    self.diverged = tuple(block.diverged.values())
                    return
                late = seconds is not None and time.monotonic() - started > seconds
                if late or (stop is not None and stop()):
                    break
            if until is not None and self.done >= until:
                # These blocks end here; others follow from the same position.
                self._blocks = None

    def draws(self) -> Draws:
        """The recorded draws, with an outlet those after its last part; without those at and after a divergence."""
        done = max(self.done, self._recorder.shown)
        return self._recorder.draws(self.diverged, done, complete=self.complete)

    def halt(self) -> Halt:
        """What the run needs to continue after its latest block; not to be asked for after a divergence."""
        with torch.no_grad():
            return Halt.of(self._ensemble, self._position(), self._recorder.held())

    def _position(self) -> Any:
        if self._block is not None:
            return self._ensemble.position(self._block, ended=True)
        return self._start or self._ensemble.begin()


def record(
    ensemble: Ensemble,
    *,
    energy: bool = True,
    progress: Callable[[int], None] | None = None,
    outlet: Outlet | None = None,
) -> Draws:
    """Run an ensemble of one row, or of the replicas of one row, and record its draws: with an outlet, those after its last part.

    `progress` is called with the number of finished steps. Ctrl-C ends the run, and so does the first chain that diverges; the
    draws until then are returned. Raises `ConfigurationError` if burn-in and thinning leave no draw.
    """
    recording = DrawRecording(ensemble, energy=energy, outlet=outlet)
    with suppress(KeyboardInterrupt):
        recording.advance(progress=progress)
    return recording.draws()


def bytes_needed(ensemble: Ensemble, *, energy: bool = True) -> int:
    """The memory, in bytes, of the draws of a whole run."""
    widths = widths_of(ensemble)
    one = sum(widths.values()) * torch.empty(0, dtype=ensemble.dtype).element_size() + (8 if energy else 0)
    return len(kept_steps(ensemble)) * (len(ensemble.chains) * one + 16)

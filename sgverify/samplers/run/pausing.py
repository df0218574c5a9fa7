"""How is a sampled run paused, stored in a file, and resumed with equal bits?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from sgverify.errors import ConfigurationError
from sgverify.samplers.run.averages import Averages, check_observables
from sgverify.samplers.run.checkpoint import Checkpoint, identity_of
from sgverify.samplers.run.leg import Position
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.running_sums import RunningSums
from sgverify.samplers.run.schedules import Row
from sgverify.samplers.run.settings import Settings, one_thread
from sgverify.schemes import Scheme
from sgverify.schemes.composites.composite import Composite
from sgverify.targets import Target


class Run:
    """A run of `sample` in pieces: `advance` it, `pause` it, and resume it with `checkpoint=` in this or another process.

        run = Run(scheme, target, rows, observables=[f], settings=settings)
        run.advance(1000).pause().save("run.npz")
        averages = Run(scheme, target, rows, observables=[f], settings=settings, checkpoint="run.npz").advance().averages

    The averages equal those of `sample` bit for bit. They do not depend on the pauses, on the batching of steps and chains, or
    (except for `generator="native"`) on the devices of the parts. Arguments are those of `sample`. Raises `ConfigurationError` if
    they contradict one another, or if `checkpoint` (or the file of this name) belongs to another run.
    """

    def __init__(
        self,
        scheme: Scheme | Composite,
        target: Target,
        rows: Sequence[Row],
        *,
        observables: Sequence[Callable[..., Any]],
        settings: Settings | None = None,
        checkpoint: Checkpoint | str | Path | None = None,
        hoist: bool = True,
        block: int | None = None,
        tape: bool = True,
    ) -> None:
        settings = settings or Settings()
        check_observables(observables, rows)
        self._ensemble = Ensemble(scheme, target, rows, settings, hoist=hoist, block=block, tape=tape)
        self._sums_so_far = RunningSums(self._ensemble, observables)
        self._identity = identity_of(
            self._ensemble.scheme, target, self._ensemble.rows, settings, observables
        )
        if isinstance(scheme, Composite):
            self._identity["composite"] = scheme.rule
        with one_thread(), torch.no_grad():
            if checkpoint is None:
                self._reached: Position | None = self._ensemble.begin()
                return
            held = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint.load(checkpoint)
            held.check(self._identity, self._ensemble.chains)
            self._reached = self._sums_so_far.take_up(held)

    @property
    def step(self) -> int:
        """The number of steps taken so far."""
        return self._now.done

    @property
    def finished(self) -> bool:
        """Has every row reached its last length, or diverged?"""
        return not self._now.rows

    def advance(self, steps: int | None = None) -> Run:
        """Take `steps` more steps, or with None all remaining ones; returns the run itself.

        Ctrl-C raises `KeyboardInterrupt`; the run cannot be continued then, but its last checkpoint remains valid.
        Raises `ConfigurationError` for a number of steps that is not positive.
        """
        if steps is not None and steps < 1:
            raise ConfigurationError(f"steps={steps!r}: expected at least 1, or None for all that are left")
        start = self._now
        until = None if steps is None else start.done + steps
        if self.finished:
            return self
        self._reached = None
        with one_thread(), torch.no_grad():
            for block in self._ensemble.blocks(self._sums_so_far, start=start, until=until):
                self._sums_so_far.enter(block)
                last = block
            self._reached = self._ensemble.position(last)
        return self

    @property
    def _now(self) -> Position:
        if self._reached is None:
            raise ConfigurationError(
                f"run of {self._identity['scheme']}: was ended between two checkpoints, and its sums are those of no step; "
                "expected a run that was not; take up the last checkpoint"
            )
        return self._reached

    def pause(self) -> Checkpoint:
        """A checkpoint of the run at its present step, to be stored (`save`) and resumed; this run can continue as well."""
        return self._sums_so_far.held(self._now, self._ensemble.chains, self._identity)

    @property
    def averages(self) -> Averages:
        """The averages as from `sample`, over the steps taken so far; `complete` if the run is finished."""
        sums_so_far = self._sums_so_far
        last = {name: value.copy() for name, value in sums_so_far.last.items()}
        return Averages(
            self._ensemble.rows, sums_so_far.values.copy(), last, tuple(sums_so_far.diverged), self.finished
        )

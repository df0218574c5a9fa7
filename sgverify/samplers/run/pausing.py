"""A sampled run that can be paused, kept in a file and taken up again, to the same bits."""

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
    """`sample` in pieces: `advance` it, `pause` it, and go on with `checkpoint=` in this process or in another.

        run = Run(scheme, target, rows, observables=[f], settings=settings)
        run.advance(1000).pause().save("run.npz")
        averages = Run(scheme, target, rows, observables=[f], settings=settings, checkpoint="run.npz").advance().averages

    The averages are those of `sample`, bit for bit, wherever the run was paused, however its steps and chains were
    batched, and, but for `generator="native"`, on whatever device each part ran. Arguments as in `sample`; raises
    `ConfigurationError` where they do not go together, or `checkpoint` (or the file of this name) is of another run.
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
        """The number of steps that are done."""
        return self._now.done

    @property
    def finished(self) -> bool:
        """Whether every row has reached its last length, or diverged."""
        return not self._now.rows

    def advance(self, steps: int | None = None) -> Run:
        """So many steps more, all that are left where it is left open; the run itself.

        Ctrl-C ends it with `KeyboardInterrupt`; this run is then refused, and the last checkpoint stands.
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
        """The run as it stands, to be kept (`save`) and taken up again; this run can go on as well."""
        return self._sums_so_far.held(self._now, self._ensemble.chains, self._identity)

    @property
    def averages(self) -> Averages:
        """What `sample` returns, of the steps that are done; `complete` where all are."""
        sums_so_far = self._sums_so_far
        last = {name: value.copy() for name, value in sums_so_far.last.items()}
        return Averages(
            self._ensemble.rows, sums_so_far.values.copy(), last, tuple(sums_so_far.diverged), self.finished
        )

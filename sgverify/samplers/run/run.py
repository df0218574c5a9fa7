"""The run of a sweep: every step size and every chain in one tensor, moved in blocks of steps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from sgverify.samplers.composites.hooks import next_break
from sgverify.samplers.fused.choosing import TimedStart, is_candidate, may_have_kernel, pays
from sgverify.samplers.reading.constants import Constant
from sgverify.samplers.run.assembly import Assembly
from sgverify.samplers.run.leg import (
    Block,
    Divergence,
    Keeping,
    Leg,
    Position,
    RunObserver,
    by_coordinate,
    check_shapes,
    divergences,
    whole_groups,
)
from sgverify.samplers.run.schedules import Fixed, step_sizes
from sgverify.samplers.run.stepwise import Stepwise

if TYPE_CHECKING:
    from sgverify.samplers.fused.driver import Fused

# The random numbers of a block: enough to amortise the cost of drawing them, at little memory. A block on torch is at most
# _LONGEST steps and about _SECONDS long: between two blocks progress is told, and a run is stopped or stored.
_BLOCK = 1 << 19
_LONGEST = 512
_SECONDS = 0.5


class Ensemble(Assembly):
    """An assembly of chains that runs, in blocks of steps, until every row has reached its last length."""

    def begin(self) -> Position:
        """The position of a run before its first step."""
        rows = tuple(range(len(self.rows)))
        return Position(rows, 0, self._begin(rows))

    def blocks(
        self, observer: RunObserver | None = None, *, start: Position | None = None, until: int | None = None
    ) -> Iterator[Block]:
        """Run every row to its last length, or until it diverges. A block ends at each length of a running row.

        `observer` is shown every step. `start` is the position from which the run continues; it stops after step `until`.
        """
        now = start or self.begin()
        while now.rows and (until is None or now.done < until):
            self._carried = now.carried
            for block in self.run(self.leg(now, observer, until)):
                yield block
                last = block
            now = self.position(last)

    def position(self, block: Block, *, ended: bool = False) -> Position:
        """The position of the run at the end of its latest block; with `ended`, rows at their last length are among its rows."""
        kept = [
            i
            for i, row in enumerate(block.rows)
            if row not in block.diverged and (ended or self.rows[row].lengths[-1] > block.last)
        ]
        index = torch.tensor(kept, dtype=torch.int64, device=self.device)
        state, carried = (
            tuple(by_coordinate(tensor.index_select(0, index)) for tensor in tensors)
            for tensors in (tuple(block.state[name] for name in self.scheme.state), self._carried)
        )
        return Position(tuple(block.rows[i] for i in kept), block.last, state, carried)

    def run(self, leg: Leg) -> Iterator[Block]:
        """The blocks of a leg, until its steps are taken, one of its rows diverges, or a kernel is to take the other steps."""
        rows, done = len(leg.places), leg.steps.start
        # Blocks of a given length are asked of torch.
        proved = self._steps_at_once is None
        mover = self._kernel(leg, proved=proved) or Stepwise(leg, self._length(rows))
        timed = self._pace is None and self._steps_at_once is None and isinstance(mover, Stepwise)
        timed_start = TimedStart() if timed and is_candidate(leg) else None
        moving = not all(isinstance(row.schedule, Fixed) for row in leg.rows)
        marks = sorted({length for row in leg.rows for length in row.lengths if length < leg.steps.stop})
        # Draws are stored between two blocks, which therefore are short where steps are slow.
        paced = timed_start is not None or (
            isinstance(mover, Stepwise) and isinstance(leg.observer, Keeping) and self._steps_at_once is None
        )
        longest = 1 if paced else mover.length
        state, beyond, h = leg.start, None, None
        while done < leg.steps.stop and beyond is None:
            mark = next((mark for mark in marks if mark > done), leg.steps.stop)
            started = time.perf_counter()
            steps = step_sizes(leg.rows, done, min(longest, mark - done))
            if h is None or moving:
                h = Constant(steps if moving else steps[:1], leg.clock, passing=moving)
            if timed_start is not None:
                timed_start.start()
            state, beyond, taken = mover.move(state, done, steps, h)
            each = (time.perf_counter() - started) / taken
            longest = (
                min(mover.length, 2 * longest, int(_SECONDS / max(each, 1e-9)) or 1)
                if paced
                else mover.length
            )
            if timed_start is not None:
                self._pace = timed_start.stop(taken)
            named = dict(zip(self.scheme.state, state, strict=True))
            check_shapes(self.scheme.name, named, self._shapes(rows), self.dtype)
            block = Block(leg.places, done + 1, named, steps[:taken], {})
            if beyond is not None:
                block.diverged.update(self._divergences(block, beyond))
            done = block.last
            hooks = () if leg.hooks is None else leg.hooks.carried
            self._carried = (*hooks, *leg.estimator.carried)
            yield block
            if timed_start is not None and self._pace is not None:
                timed_start = None
                if pays(leg, range(done, leg.steps.stop), self._pace):
                    # The next leg begins here, by a kernel if one can be made.
                    return

    def leg(self, now: Position, observer: RunObserver | None = None, until: int | None = None) -> Leg:
        """The next leg of the running rows, until the first of them ends, or until step `until`, or until settings change."""
        alive, hooks, noise = now.rows, self.hooks, self._noise(now.rows)
        state = self._resampled(alive, now.state, now.done)
        own = applied_estimator = self.estimator(alive, self.scheme.census)
        if hooks is not None:
            hooks.enter(self.stage(alive, now.done), state, now.carried)
            applied_estimator = hooks.estimator(own)
        own.resume(now.carried[0 if hooks is None else len(hooks.carried) :])
        rows = tuple(self.rows[row] for row in alive)
        changed = next_break(self.annealing, self.settings.resample_momentum, now.done)
        stops = (min(row.lengths[-1] for row in rows), until, changed)
        leg = Leg(
            alive,
            rows,
            state,
            range(now.done, min(stop for stop in stops if stop is not None)),
            self.bound if hooks is None and self.annealing is None else self._bound_to(alive, now.done),
            self._clock,
            self.settings_at(now.done),
            own,
            applied_estimator,
            hooks,
            partial(self._draws, noise),
            self._streams(alive),
            self._tape,
            self.farthest,
            observer,
        )
        return leg if observer is None else observer.begin(leg)

    def _divergences(self, block: Block, beyond: np.ndarray) -> dict[int, Divergence]:
        """The divergences of a block by row, with the composite's possible cause; the replicas of a row end together."""
        found = divergences(block, beyond, [row.name for row in self.rows], self.chains.start)
        if self.hooks is None:
            return found
        for row, divergence in found.items():
            place = block.rows.index(row)
            why = self.hooks.why_diverged(place, np.flatnonzero(beyond[place]))
            found[row] = replace(divergence, why=why)
        return whole_groups(found, self.hooks.replicas)

    def _kernel(self, leg: Leg, *, proved: bool) -> Fused | None:
        """The kernel of a leg, if it is to have one. Most runs are over before, and the translation to C takes long to load."""
        if not may_have_kernel(leg, self._pace, proved=proved):
            return None
        from sgverify.samplers.fused.driver import fused

        return fused(leg, self._pace)

    def _length(self, rows: int) -> int:
        """The number of steps per block, such that the random numbers of a block do not exceed _BLOCK."""
        if self._steps_at_once is not None:
            return self._steps_at_once
        choice, scheme = self.settings.gradient, self.scheme
        numbers = scheme.draws * self.target.dim
        if choice.estimator.noisy:
            # The sum over a minibatch holds a gradient's numbers for each of its data.
            numbers += (scheme.gradients + choice.batch * max(1, scheme.minibatches)) * self.target.dim
        return max(1, min(_LONGEST, _BLOCK // max(1, numbers * rows * self.settings.chains)))

    def _shapes(self, rows: int) -> dict[str, tuple[int, ...]]:
        """The shape of each variable, (S, C, d or 1)."""
        widths = {
            name: self.target.dim if kind == "vector" else 1 for name, kind in self.scheme.shapes.items()
        }
        return {name: (rows, self.settings.chains, width) for name, width in widths.items()}

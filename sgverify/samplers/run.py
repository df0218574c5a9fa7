"""The chains of a sweep in motion: every step size and every chain in one tensor, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.assembly import Assembly
from sgverify.samplers.blocks import (
    Block,
    Position,
    by_coordinate,
    check_shapes,
    divergences,
    far_out,
    whole_groups,
)
from sgverify.samplers.compiling import together
from sgverify.samplers.constants import Constant
from sgverify.samplers.fused.driver import fused
from sgverify.samplers.motion import Motion
from sgverify.samplers.schedules import Fixed, step_sizes
from sgverify.samplers.watching import Watch

# Random numbers that a block holds at once: enough to spread the cost of drawing them, and small.
_BLOCK = 1 << 19
_LONGEST = 512


class Ensemble(Assembly):
    """The steps of an assembly, taken in blocks until every row has run its length."""

    def begin(self) -> Position:
        """Where a run starts, before its first step."""
        rows = tuple(range(len(self.rows)))
        native = self._make_native() if self.settings.generator == "native" else None
        return Position(rows, 0, self._begin(rows), generators=native.positions() if native else ())

    def blocks(
        self, watch: Watch | None = None, *, start: Position | None = None, until: int | None = None
    ) -> Iterator[Block]:
        """Run every row to its last length, or until it diverges. A block ends at each length of a running row.

        `watch` is shown every state, with the rows that run, the number of the step and the step sizes. `start`: go on
        from there; `until`: stop after the step of this number.
        """
        now = start or self.begin()
        if self.settings.generator == "native":
            self._native = self._make_native()
            self._native.move_to(now.generators)
        while now.rows and (until is None or now.done < until):
            self._carried = now.carried
            for block in self._run(now.rows, now.state, now.done, watch, until):
                yield block
                last = block
            now = self.position(last)
            if self._native is not None:
                self._native.move_to(now.generators)

    def position(self, block: Block) -> Position:
        """Where the run stands at the end of its latest block."""
        kept = [
            i
            for i, row in enumerate(block.rows)
            if row not in block.diverged and self.rows[row].lengths[-1] > block.last
        ]
        index = torch.tensor(kept, dtype=torch.int64, device=self.device)
        state, carried = (
            tuple(by_coordinate(tensor.index_select(0, index)) for tensor in tensors)
            for tensors in (tuple(block.state[name] for name in self.scheme.state), self._carried)
        )
        generators = () if self._native is None else self._native.positions(kept)
        return Position(tuple(block.rows[i] for i in kept), block.last, state, carried, generators)

    def _run(
        self,
        alive: tuple[int, ...],
        start: tuple[Tensor, ...],
        done: int,
        watch: Watch | None,
        until: int | None,
    ) -> Iterator[Block]:
        """Blocks of the rows `alive`, until one of them ends or diverges, or step `until`."""
        noise, around = self._noise(alive), self.around
        own = estimator = self._estimator(alive, self.scheme.census)
        if around is not None:
            around.enter(self.stage(alive), start, self._carried)
            estimator = around.estimator(own)
            own.resume(self._carried[len(around.carried) :])
        else:
            estimator.resume(self._carried)
        running = [self.rows[row] for row in alive]
        moving = not all(isinstance(row.schedule, Fixed) for row in running)
        marks = sorted({length for row in alive for length in self.rows[row].lengths})
        end = min(self.rows[row].lengths[-1] for row in alive)
        end = end if until is None else min(end, until)
        marks = sorted({*(mark for mark in marks if mark < end), end})
        parameters = self._parameters if around is None else self._parameters_of(alive)
        motion = Motion(self.scheme, parameters, self._clock, self._fixed(), tape=self._tape)
        fast = fused(self, alive, own, noise, start, range(done, end), watch)
        state, beyond, h = start, None, None
        while done < end and beyond is None:
            length = self._length(alive) if fast is None else fast.length
            count = min(length, next(mark for mark in marks if mark > done) - done)
            steps = step_sizes(running, done, count)
            if h is None or moving:
                h = Constant(steps if moving else steps[:1], self._clock, passing=moving)
            k = 0
            if fast is not None:
                state, beyond, k = fast.move(state, done, steps, h, watch, alive)
                count = k
            else:
                draws = self._draws(noise, done, count)
                estimator.prepare(done, count)
                if around is not None:
                    around.prepare(done, count)
            while k < count and beyond is None:
                many = together(self.settings.compiled, motion.tape, watch, count - k)
                if many:
                    drawn = [tuple(islice(draws, self.scheme.draws)) for _ in range(many)]
                    stretch = motion.move_compiled(state, drawn, k, None if watch is None else watch.tape)
                    for state, values in zip(stretch.states, stretch.values, strict=True):
                        beyond = far_out(state, self._bound)
                        if watch is not None:
                            watch.add(alive, done + k + 1, values, steps[k])
                        k += 1
                        if beyond is not None:
                            break
                    continue
                self._clock.now = k
                estimator.begin(k, state[0])
                drawn_now = tuple(islice(draws, self.scheme.draws))
                state = motion.move(state, drawn_now, h, partial(estimator.of_step, k), estimator.given(k))
                beyond = far_out(state, self._bound)
                if around is not None:
                    # To rows that do not diverge here this is a step like any other.
                    state = around.after(k, done + k + 1, state, steps[k])
                k += 1
                if watch is not None:
                    watch.show(alive, done + k, state, steps[k - 1])
            named = dict(zip(self.scheme.state, state, strict=True))
            check_shapes(self.scheme.name, named, self._shapes(len(alive)), self.dtype)
            block = Block(alive, done + 1, named, steps[:k], {})
            if beyond is not None:
                names = [row.name for row in self.rows]
                block.diverged.update(divergences(block, beyond, names, self.chains.start))
                if around is not None:
                    for row, found in block.diverged.items():
                        place = alive.index(row)
                        why = around.why_diverged(place, np.flatnonzero(beyond[place]))
                        block.diverged[row] = replace(found, why=why)
                    block.diverged.update(whole_groups(block.diverged, around.replicas))
            done = block.last
            self._carried = own.carried if around is None else (*around.carried, *own.carried)
            yield block

    def _fixed(self) -> tuple[Tensor, ...]:
        affine = self.potential.affine
        return () if affine is None else (affine.centre, affine.transposed, affine.offset)

    def _length(self, alive: tuple[int, ...]) -> int:
        """Steps per block: as many as keep the block's random numbers within _BLOCK."""
        if self._steps_at_once is not None:
            return self._steps_at_once
        choice, scheme = self.settings.gradient, self.scheme
        numbers = scheme.draws * self.target.dim if self.settings.generator == "philox" else 0
        if choice.kind != "full":
            # Minibatches are summed over the data that they hold, in as many numbers as a gradient has.
            numbers += (scheme.gradients + choice.batch * max(1, scheme.minibatches)) * self.target.dim
        return max(1, min(_LONGEST, _BLOCK // max(1, numbers * len(alive) * self.settings.chains)))

    def _shapes(self, rows: int) -> dict[str, tuple[int, ...]]:
        """The shape of each variable, (S, C, d or 1)."""
        widths = {
            name: self.target.dim if kind == "vector" else 1 for name, kind in self.scheme.shapes.items()
        }
        return {name: (rows, self.settings.chains, width) for name, width in widths.items()}

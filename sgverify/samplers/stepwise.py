"""The steps of a leg one by one: by the definition, or by its tape where that has shown the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice

import numpy as np

from sgverify.samplers.blocks import far_out
from sgverify.samplers.compiling import together
from sgverify.samplers.constants import Constant
from sgverify.samplers.leg import Leg
from sgverify.samplers.motion import Motion, State


class Stepwise:
    """Moves by `Motion`, and many steps at once where torch has compiled its tape."""

    def __init__(self, leg: Leg, length: int) -> None:
        self._leg, self.length = leg, length
        self._motion = Motion(leg.bound, leg.clock, leg.fixed, tape=leg.taped)

    def move(
        self, state: State, done: int, steps: np.ndarray, h: Constant
    ) -> tuple[State, np.ndarray | None, int]:
        """See `Mover.move`."""
        leg, count = self._leg, len(steps)
        drawn = leg.drawn_in(done, count)
        leg.felt.prepare(done, count)
        if leg.around is not None:
            leg.around.prepare(done, count)
        k, beyond = 0, None
        while k < count and beyond is None:
            many = together(leg.settings.compiled, self._motion.tape, leg.watch, count - k)
            if many:
                state, beyond, taken = self._compiled(state, list(islice(drawn, many)), done, k, steps)
            else:
                state, beyond = self._one(state, drawn, done, k, steps[k], h)
                taken = 1
            k += taken
        return state, beyond, k

    def _one(
        self, state: State, drawn: Iterator[State], done: int, k: int, sizes: np.ndarray, h: Constant
    ) -> tuple[State, np.ndarray | None]:
        leg = self._leg
        leg.clock.now = k
        leg.felt.begin(k, state[0])
        state = self._motion.move(state, next(drawn), h, partial(leg.felt.of_step, k), leg.felt.given(k))
        beyond = far_out(state, leg.farthest)
        if leg.around is not None:
            # To rows that do not diverge here this is a step like any other.
            state = leg.around.after(k, done + k + 1, state, sizes)
        if leg.watch is not None:
            leg.watch.show(leg.places, done + k + 1, state, sizes)
        return state, beyond

    def _compiled(
        self, state: State, drawn: list[State], done: int, k: int, steps: np.ndarray
    ) -> tuple[State, np.ndarray | None, int]:
        leg, taken = self._leg, 0
        stretch = self._motion.move_compiled(state, drawn, k, None if leg.watch is None else leg.watch.tape)
        for new, values in zip(stretch.states, stretch.values, strict=True):
            if leg.watch is not None:
                leg.watch.add(leg.places, done + k + taken + 1, values, steps[k + taken])
            taken += 1
            beyond = far_out(new, leg.farthest)
            if beyond is not None:
                return new, beyond, taken
        return new, None, taken

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
        leg.applied_estimator.prepare(done, count)
        if leg.hooks is not None:
            leg.hooks.prepare(done, count)
        k, beyond = 0, None
        while k < count and beyond is None:
            many = together(leg.settings.compiled, self._motion.tape, leg.observer, count - k)
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
        leg.applied_estimator.begin(k, state[0])
        state = self._motion.move(
            state, next(drawn), h, partial(leg.applied_estimator.of_step, k), leg.applied_estimator.given(k)
        )
        beyond = far_out(state, leg.farthest)
        if leg.hooks is not None:
            # To rows that do not diverge here this is a step like any other.
            state = leg.hooks.after(k, done + k + 1, state, sizes)
        if leg.observer is not None:
            leg.observer.show(leg.places, done + k + 1, state, sizes)
        return state, beyond

    def _compiled(
        self, state: State, drawn: list[State], done: int, k: int, steps: np.ndarray
    ) -> tuple[State, np.ndarray | None, int]:
        leg, taken = self._leg, 0
        stretch = self._motion.move_compiled(
            state, drawn, k, None if leg.observer is None else leg.observer.tape
        )
        for new, values in zip(stretch.states, stretch.values, strict=True):
            if leg.observer is not None:
                leg.observer.add(leg.places, done + k + taken + 1, values, steps[k + taken])
            taken += 1
            beyond = far_out(new, leg.farthest)
            if beyond is not None:
                return new, beyond, taken
        return new, None, taken

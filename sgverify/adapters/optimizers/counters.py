"""Where are the counters of an optimizer held, and does a step depend on that, or on an option that is told as a plain number?

Does `step` draw its noise only where a flag asks for it?
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from sgverify.adapters.optimizers.finding import CLOSE, DIMS, taken, usual
from sgverify.adapters.optimizers.options import Options
from sgverify.adapters.optimizers.step import LATE, Kept, OptimizerStep, apart, made, parts_of, run
from sgverify.samplers.intercepted.interception import Recording, Steady
from sgverify.schemes.adapting import parameter

SEEN = 200
"""The number of steps as it is after which counters are read: a correction by 1 - 0.99^t is then within a seventh of its end."""

STALLED, GROWN = 0.2, 1e3
"""The shares of the movement of earlier steps below which late ones have come to a halt, and beyond which they run away.

A correction changes a step by less than five times after `SEEN` steps, for rates up to 1 - 1/`SEEN`; a step size that decays goes
below any share. What lies between is seen by the long run, and what is held is no PASS.
"""


def held_counters(step: OptimizerStep) -> tuple[Kept, str]:
    """What is kept, with its counters where a step is to be held, and what depends on that; "" if nothing does.

    They are late where a late step is as those after `SEEN` steps as it is, up to a correction that has come to its end; else, as
    of a schedule, they stand where they stood then.
    """
    kept = step.kept
    if not kept.counters:
        return kept, ""
    stood = replace(kept, stood=_stood(step))
    named = {place.name: f"{place.name} at {stood.value_of(place):g}" for place in kept.counters}
    told = f"the counter {', '.join(named.values())}"
    seen = _moved_with(step, stood)
    try:
        late = _moved_with(step, kept)
    except (Exception, SystemExit):
        return stood, told
    if _close(seen, late):
        return kept, ""
    once_more = replace(kept, stood=dict.fromkeys(stood.stood, 2.0 * LATE + 1))
    if (
        _close(late, _moved_with(step, once_more))
        and STALLED * seen.norm() < late.norm() < GROWN * seen.norm()
    ):
        return kept, ""
    return stood, told


def _stood(step: OptimizerStep) -> dict[tuple[Any, ...], float]:
    """The counters after `SEEN` steps of a fresh optimizer."""
    at, split = usual(step.options), step.kept.split
    optimizer, parameters = made(
        step.options, at, parts_of(torch.ones(DIMS[0], dtype=torch.float64), split), step.told
    )
    with apart():
        for _ in range(1, SEEN):
            run(optimizer, parameters, lambda x: parts_of(x, split), lambda x: 0.5 * x, step.told)
    return {
        (place.root, place.keys): float(place.read(optimizer, parameters)) for place in step.kept.counters
    }


def depends_on_option(step: OptimizerStep, name: str) -> bool:
    """Does a step depend on an option: is it another one where the option has twice the value?"""
    read = step.options.read[name]
    twice = {**step.options.read, name: lambda quantities: type(read(quantities))(2 * read(quantities))}
    try:
        other = _moved_with(step, step.kept, replace(step.options, read=twice))
    except (Exception, SystemExit):
        return True
    return not _close(_moved_with(step, step.kept), other)


def _moved_with(step: OptimizerStep, kept: Kept, options: Options | None = None) -> Tensor:
    """How far a step with these counters moves from a fixed place, with fixed draws."""
    before, after = taken(
        OptimizerStep(options or step.options, step.function, kept, None, step.told), 0, Steady()
    )
    return after - before


def _close(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=CLOSE, atol=CLOSE * float(one.abs().max()), equal_nan=True)


def silent_flag(step: OptimizerStep) -> str:
    """The setting of a flag of `step` without whose other value a step draws nothing; "" where there is none."""
    still = _draws(step)
    for name in step.options.of_step if not still else ():
        default = step.options.left.get(name)
        if not isinstance(default, (bool, int, float)):
            continue
        other = not default if isinstance(default, bool) else 1.0 - bool(default)
        read = {**step.options.read, name: parameter(name, other)}
        if _draws(OptimizerStep(replace(step.options, read=read), step.function, step.kept, None, step.told)):
            return f"{name}={default!r} of step, without the noise that it has with --set adapter.map.{name}={float(other):g}"
    return ""


def _draws(step: OptimizerStep) -> int:
    """The number of random operations of a step."""
    recording = Recording()
    taken(step, 0, recording)
    return len(recording.values)


__all__ = ["depends_on_option", "held_counters", "silent_flag"]

"""What does an optimizer keep, and where are its counters held? It is run and looked at.

Does a step depend on that, or on an option that is told as a plain number, and does it draw noise only where a flag asks for it?
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.adapters.optimizers.idle_options import idle_options
from sgverify.adapters.optimizers.kept_values import KeptValue, is_number, leaves, moving, stocks_of
from sgverify.adapters.optimizers.options import At, Options, constant
from sgverify.adapters.optimizers.step import (
    LATE,
    Buffer,
    Gradient,
    Kept,
    OptimizerStep,
    apart,
    closure_needed,
    made,
    parts_of,
    run,
)
from sgverify.errors import DefinitionError, SgverifyError, UserError
from sgverify.samplers.intercepted.interception import Recording, Steady
from sgverify.schemes.adapting import QUANTITIES, parameter
from sgverify.schemes.memory import DIM, Axes

STEPS = 4
"""The number of steps in which what changes is looked for, and the options that change nothing."""

AT = {"h": 2.0**-5, "T": 1.0, "D": 1.25}
"""The numbers at which an optimizer is looked at."""

DIMS = (7, 8)
"""The dimensions in which it is looked at; an axis that grows with the dimension is told from a fixed one."""

CLOSE = 1e-9
"""The relative error up to which a displacement is a sum of multiples of a buffer, and two results agree."""


def find_kept(options: Options, told: str) -> tuple[Kept, dict[str, Axes], dict[str, float]]:
    """What an optimizer keeps, with the shape of each buffer of one chain, and a value that it had after its first step."""
    shared = ""
    try:
        counters, rewritten, others, values, stocks = _looked_at(options, DIMS[0], True, told)
        kept = _grouped(others, values, len(parts_of(torch.ones(DIMS[0]), True)))
        shared = _shared(kept, values)
        if not all(buffer.by_parameter for buffer in kept):
            raise UserError("")
        split = True
    except UserError:
        # One parameter alone: some optimizers take no groups, or keep one value for all parameters.
        split = False
        counters, rewritten, others, values, stocks = _looked_at(options, DIMS[0], False, told)
        kept = _grouped(others, values, 1)
    shapes: dict[str, Axes] = {}
    other = {} if split else _looked_at(options, DIMS[1], False, told)[3]
    for buffer in kept:
        place = buffer.places[0]
        shapes[buffer.name] = (
            (DIM,) if buffer.by_parameter else _axes(values[place], other.get(place), place, told)
        )
    starts = {
        buffer.name: float(
            np.mean([float(torch.as_tensor(values[place]).double().mean()) for place in buffer.places])
        )
        for buffer in kept
    }
    found = Kept(
        tuple(counters), tuple(kept), split, rewritten=tuple(rewritten), shared=shared, stocks=tuple(stocks)
    )
    return found, shapes, starts


def _shared(kept: Sequence[Buffer], values: Mapping[KeptValue, Any]) -> str:
    """A tensor that is shaped as one of several parameters, and that not each of them has for itself; "" if there is none."""
    shapes = {tuple(part.shape) for part in parts_of(torch.ones(DIMS[0]), True)}
    for buffer in kept:
        value = values[buffer.places[0]]
        if not buffer.by_parameter and isinstance(value, Tensor) and tuple(value.shape) in shapes:
            return buffer.places[0].told
    return ""


STEEP = 1e3
"""The change of a loss from one call of a closure to the next at which no Metropolis test is left to chance."""


def class_of(options: Options, told: str) -> type:
    """The class of the optimizers that a function makes."""
    return type(made(options, usual(options), [torch.ones(DIMS[0], dtype=torch.float64)], told)[0])


def _looked_at(
    options: Options, dim: int, split: bool, told: str
) -> tuple[list[KeptValue], list[KeptValue], list[KeptValue], dict[KeptValue, Any], list[KeptValue]]:
    """The counters, its options that it changes, the other places that change, all values after the first step, and its stocks."""
    parts = parts_of(torch.ones(dim, dtype=torch.float64), split)
    optimizer, parameters = made(options, usual(options, dim), parts, told)
    history = [leaves(optimizer, parameters)]
    with apart():
        for step in range(1, STEPS):
            force = constant_force(torch.linspace(0.3, 1.1 + step**2, dim, dtype=torch.float64))
            _step(optimizer, parameters, split, force, told, step + 1)
            history.append(leaves(optimizer, parameters))
    stocks = stocks_of(history, told)
    history = [
        {place: value for place, value in held.items() if not any(map(place.is_in, stocks))}
        for held in history
    ]
    first = history[0]
    changed = moving(history, told)
    rewritten = [
        place
        for place in first
        if any(place in places for places in changed)
        and place.root in ("group", "self")
        and len(place.keys) == 1
        and options.is_one(place.name, first[place])
    ]
    counters, others = ([place for place in places if place not in rewritten] for places in changed)
    return counters, rewritten, others, first, stocks


def _grouped(places: Sequence[KeptValue], values: dict[KeptValue, Any], count: int) -> list[Buffer]:
    """The buffers of the places: those of one name in the states of all parameters are one."""
    size = [len(part) for part in parts_of(torch.ones(DIMS[0]), count > 1)]
    by_name: dict[tuple[str, Any], list[KeptValue]] = {}
    for place in places:
        by_name.setdefault((place.root, place.keys), []).append(place)
    found: list[Buffer] = []
    for (root, _), held in by_name.items():
        held = sorted(held, key=lambda place: place.number)
        name = held[0].name if held[0].name.isidentifier() else f"kept_{len(found)}"
        name = f"{name}_" if name in {"theta", "p", "xi", "grad", "noise", *QUANTITIES} else name
        name = name if name not in {item.name for item in found} else f"{name}_{root}"
        shaped = len(held) == count and all(
            isinstance(values[place], Tensor) and tuple(values[place].shape) == (size[place.number],)
            for place in held
        )
        found.append(Buffer(name, tuple(held), shaped))
    return found


def _axes(one: Any, other: Any, place: KeptValue, told: str) -> Axes:
    """The shape of a value, from its shapes in two dimensions."""
    if is_number(one):
        return ()
    shapes = tuple(one.shape), tuple(getattr(other, "shape", ()))
    axes = [a if a == b else DIM if (a, b) == DIMS else None for a, b in zip(*shapes, strict=False)]
    if len(shapes[0]) != len(shapes[1]) or None in axes:
        raise DefinitionError(
            f"{told}: keeps {place.told} of shape {shapes[0]} in dimension {DIMS[0]} and {shapes[1]} in dimension {DIMS[1]}; "
            "expected axes of fixed length or of theta's"
        )
    return tuple(axis for axis in axes if axis is not None)


def depends_on_loss(step: OptimizerStep) -> bool:
    """Does a step depend on the value that its closure returns, as a Metropolis test does?

    It is run with closures whose values fall and rise steeply from call to call, and with one whose value is small and stays; they
    are not compared where it takes none, or calls none. The first value differs as well: a step may go by one value alone, or by
    its size.
    """
    if not _takes_closure(step):
        return False
    (first, *others), called = zip(
        *(_with_loss(step, *loss) for loss in ((-STEEP, 0.0), (STEEP, 0.0), (0.0, 1 / STEEP))), strict=True
    )
    return any(called) and any(not torch.equal(first, other) for other in others)


def with_closure_differs(step: OptimizerStep) -> bool:
    """Does a step that may be given a closure, and calls it, make another step than without one?"""
    if not _takes_closure(step) or closure_needed(step.function):
        return False
    given, called = _with_loss(step, 0.0, STEEP)
    return called and not torch.equal(given, _moved_by(step, None))


def _with_loss(step: OptimizerStep, slope: float, held: float) -> tuple[Tensor, bool]:
    """The state after a step whose closure returns slope times the number of its call, plus a number; and whether it is called."""
    values: list[float] = []

    def loss(place: Tensor) -> Tensor:
        values.append(slope * (len(values) + 1) + held)
        return torch.tensor(values[-1], dtype=place.dtype)

    return _moved_by(step, loss), bool(values)


def _takes_closure(step: OptimizerStep) -> bool:
    others = {"self", *step.options.of_step}
    return any(
        item not in others and "generator" not in item for item in inspect.signature(step.function).parameters
    )


def _moved_by(step: OptimizerStep, loss: Gradient | None) -> Tensor:
    """theta and the buffers after one step from a fixed place, with fixed draws, those of own generators too, NaN as 0."""
    return taken(step, 2, Steady(), loss)[1].nan_to_num()


def usual(options: Options, dim: int = DIMS[0]) -> At:
    """The options at the numbers at which an optimizer is looked at."""
    return options.at({**AT, "dim": float(dim)})


def taken(step: OptimizerStep, seed: int, mode: Any, loss: Gradient | None = None) -> tuple[Tensor, Tensor]:
    """theta and the buffers before and after one step from a random place, under a mode in which draws are seen or fixed."""
    theta, values = probe(step, np.random.default_rng(seed))
    with apart(), mode:
        moved, after = step.take(usual(step.options), theta, values, lambda x: 0.5 * x, loss)
    pairs = [(theta, moved), *((values[name], after[name]) for name in after)]
    before, found = (torch.cat([part.reshape(-1) for part in side]) for side in zip(*pairs, strict=True))
    return before, found


def constant_force(force: Tensor) -> Gradient:
    """The same gradient at every place."""
    return lambda theta: force


def probe(step: OptimizerStep, random: np.random.Generator) -> tuple[Tensor, dict[str, Tensor]]:
    """A random theta, and buffers that are positive: some are second moments."""
    theta = torch.tensor(random.standard_normal(DIMS[0]))
    values = {}
    for buffer in step.kept.buffers:
        optimizer, parameters = step.optimizer(usual(step.options), theta)
        now = [torch.as_tensor(place.read(optimizer, parameters)) for place in buffer.places]
        shape = theta.shape if buffer.by_parameter else now[0].shape
        values[buffer.name] = torch.tensor(0.5 + random.random(tuple(shape)))
    return theta, values


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
        for number in range(1, SEEN):
            _step(optimizer, parameters, split, lambda x: 0.5 * x, step.told, number + 1)
    return {
        (place.root, place.keys): float(place.read(optimizer, parameters)) for place in step.kept.counters
    }


def idle_of(step: OptimizerStep, options: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Those of its options and of its groups' that move nothing, neither in the first steps nor in one that is held."""
    split, at = step.kept.split, usual(step.options)
    made_once, _ = step.optimizer(at, torch.ones(DIMS[0], dtype=torch.float64))
    own = {"params": None, **step.options.defaults}
    options = {**options, **{k: v for k, v in made_once.param_groups[0].items() if k not in own}}
    losses: list[Gradient | None] = [None, lambda x: (x * x).sum()]
    # At most as large as its buffers, so that bounds of them and of gradients are passed.
    start = torch.linspace(-1.3, 2.2, DIMS[0], dtype=torch.float64)

    def taken_with(values: Mapping[str, Any]) -> list[Tensor]:
        given = {name: value for name, value in values.items() if name in own}

        def make(params: Any, **chosen: Any) -> Any:
            optimizer = step.options.make(params, **chosen)
            for group in optimizer.param_groups:
                group.update({name: value for name, value in values.items() if name not in given})
            return optimizer

        read = {**step.options.read, **{name: constant(value) for name, value in given.items()}}
        others = replace(step.options, read=read, make=make)
        states = []
        for loss in losses[: 1 + _takes_closure(step)]:
            optimizer, parameters = made(
                others, replace(at, values={**at.values, **given}), parts_of(start, split), step.told
            )
            with apart():
                for _ in range(1, STEPS):
                    run(
                        optimizer,
                        parameters,
                        lambda x: parts_of(x, split),
                        lambda x: 3.0 * x + 1,
                        step.told,
                        loss,
                    )
            states += [
                taken(step.holding(step.kept, others), 0, nullcontext(), loss)[1],
                *(p.detach() for p in parameters),
            ]
        return states

    return idle_options(taken_with, options)


def _step(
    optimizer: Any, parameters: list[Tensor], split: bool, gradient: Gradient, told: str, number: int
) -> None:
    """The step of this number; raises `UserError` if the code raises."""
    try:
        run(optimizer, parameters, lambda x: parts_of(x, split), gradient, told)
    except SgverifyError:
        raise
    except (Exception, SystemExit) as error:
        raise UserError(
            f"{told}: its step number {number} raised {type(error).__name__}: {error}; expected an optimizer that takes {SEEN} "
            "steps in a row, as the first of them are looked at"
        ) from error


def _moved_with(step: OptimizerStep, kept: Kept, options: Options | None = None) -> Tensor:
    """How far a step with these counters moves from a fixed place, with fixed draws."""
    before, after = taken(step.holding(kept, options), 0, Steady())
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
        if _draws(step.holding(step.kept, replace(step.options, read=read))):
            return f"{name}={default!r} of step, without the noise that it has with --set adapter.map.{name}={float(other):g}"
    return ""


def _draws(step: OptimizerStep) -> int:
    """The number of random operations of a step."""
    recording = Recording()
    taken(step, 0, recording)
    return len(recording.values)

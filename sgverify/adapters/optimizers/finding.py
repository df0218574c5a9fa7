"""What does an optimizer keep, and which of its buffers is the momentum? It is run and looked at."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.adapters.optimizers.kept_values import KeptValue, is_number, leaves, moving, stocks_of
from sgverify.adapters.optimizers.options import At, Options
from sgverify.adapters.optimizers.step import (
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
from sgverify.errors import DefinitionError, UserError
from sgverify.samplers.intercepted.interception import Steady
from sgverify.schemes.adapting import QUANTITIES
from sgverify.schemes.memory import DIM, Axes

STEPS = 4
"""The number of steps in which what changes is looked for."""

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
            run(
                optimizer,
                parameters,
                lambda x: parts_of(x, split),
                constant_force(torch.linspace(0.3, 1.1 + step**2, dim, dtype=torch.float64)),
                told,
            )
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


__all__ = [
    "class_of",
    "constant_force",
    "depends_on_loss",
    "find_kept",
    "probe",
    "taken",
    "usual",
    "with_closure_differs",
]

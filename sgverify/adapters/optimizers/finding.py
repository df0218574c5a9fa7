"""What does an optimizer keep, and which of its buffers is the momentum? It is run and looked at."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.adapters.optimizers.kept_values import KeptValue, is_number, leaves, moving
from sgverify.adapters.optimizers.options import At, Options
from sgverify.adapters.optimizers.step import (
    Buffer,
    Gradient,
    Kept,
    MomentumBuffer,
    OptimizerStep,
    apart,
    closure_needed,
    made,
    parts_of,
    run,
)
from sgverify.errors import DefinitionError, UserError
from sgverify.samplers.intercepted.interception import Steady
from sgverify.schemes.adapting import FUNCTIONS, QUANTITIES
from sgverify.schemes.memory import DIM, Axes
from sgverify.schemes.numbers.text import Grammar

STEPS = 4
"""The number of steps in which what changes is looked for."""

AT = {"h": 2.0**-5, "T": 1.0, "D": 1.25}
"""The numbers at which an optimizer is looked at."""

DIMS = (7, 8)
"""The dimensions in which it is looked at; an axis that grows with the dimension is told from a fixed one."""

CLOSE = 1e-9
"""The relative error up to which a displacement is a sum of multiples of a buffer, and two results agree."""

TRIED = 8
"""The number of steps from which the multiples are found."""


def find_kept(options: Options, told: str) -> tuple[Kept, dict[str, Axes], dict[str, float]]:
    """What an optimizer keeps, with the shape of each buffer of one chain, and a value that it had after its first step."""
    shared = ""
    try:
        counters, rewritten, others, values = _looked_at(options, DIMS[0], True, told)
        kept = _grouped(others, values, len(parts_of(torch.ones(DIMS[0]), True)))
        shared = _shared(kept, values)
        if not all(buffer.by_parameter for buffer in kept):
            raise UserError("")
        split = True
    except UserError:
        # One parameter alone: some optimizers take no groups, or keep one value for all parameters.
        split = False
        counters, rewritten, others, values = _looked_at(options, DIMS[0], False, told)
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
    found = Kept(tuple(counters), tuple(kept), split, rewritten=tuple(rewritten), shared=shared)
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
    at = options.at({**AT, "dim": float(DIMS[0])})
    return type(made(options, at, [torch.ones(DIMS[0], dtype=torch.float64)], told)[0])


def _looked_at(
    options: Options, dim: int, split: bool, told: str
) -> tuple[list[KeptValue], list[KeptValue], list[KeptValue], dict[KeptValue, Any]]:
    """The counters, the options that the optimizer changes, the other places that change, and all values after the first step."""
    at = options.at({**AT, "dim": float(dim)})
    parts = parts_of(torch.ones(dim, dtype=torch.float64), split)
    optimizer, parameters = made(options, at, parts, told)
    history = [leaves(optimizer, parameters)]
    with apart():
        for step in range(1, STEPS):
            run(
                optimizer,
                parameters,
                lambda x: parts_of(x, split),
                _constant(torch.linspace(0.3, 1.1 + step**2, dim, dtype=torch.float64)),
                told,
            )
            history.append(leaves(optimizer, parameters))
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
    return counters, rewritten, others, first


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
    results, called = [], []
    for slope, held in ((-STEEP, 0.0), (STEEP, 0.0), (0.0, 1 / STEEP)):
        calls = itertools.count(1)

        def loss(
            place: Tensor, slope: float = slope, held: float = held, calls: Iterator[int] = calls
        ) -> Tensor:
            called.append(place)
            return torch.tensor(slope * next(calls) + held, dtype=place.dtype)

        results.append(_moved_by(step, loss))
    return bool(called) and any(not torch.equal(results[0], other) for other in results[1:])


def with_closure_differs(step: OptimizerStep) -> bool:
    """Does a step that may be given a closure, and calls it, make another step than without one?"""
    if not _takes_closure(step) or closure_needed(step.function):
        return False
    called = []

    def loss(place: Tensor) -> Tensor:
        called.append(place)
        return torch.full((), STEEP, dtype=place.dtype)

    given = _moved_by(step, loss)
    return bool(called) and not torch.equal(given, _moved_by(step, None))


def _takes_closure(step: OptimizerStep) -> bool:
    others = {"self", *step.options.of_step}
    return any(
        item not in others and "generator" not in item for item in inspect.signature(step.function).parameters
    )


def _moved_by(step: OptimizerStep, loss: Gradient | None) -> Tensor:
    """theta and the buffers after one step from a fixed place, with fixed draws, those of own generators too, NaN as 0."""
    theta, values = probe(step, np.random.default_rng(2))
    with apart(), Steady():
        moved, after = step.take(
            step.options.at({**AT, "dim": float(DIMS[0])}), theta, values, lambda x: 0.5 * x, loss
        )
    return torch.cat([moved, *(value.reshape(-1) for value in after.values())]).nan_to_num()


def find_momentum(step: OptimizerStep, given: str | None) -> MomentumBuffer:
    """Which buffer is the momentum, and by which factor?

    `given` is the formula of `adapter.state.p`. Without one, theta's displacement is compared with each buffer before and after
    the step: if it is a multiple of one, s times, p is s/h times this buffer. Raises `DefinitionError` if it is of none.
    """
    buffers = [buffer.name for buffer in step.kept.buffers if buffer.by_parameter]
    if not buffers:
        raise DefinitionError(
            f"{step.told}: {step.options.name} keeps no tensor of theta's shape from step to step, which could be a momentum; "
            "leave adapter.dynamics out"
        )
    if given is not None:
        return _told_momentum(step, buffers, given)
    for name in buffers:
        at = step.options.at({**AT, "dim": float(DIMS[0])})
        share = share_of(step, at, name)
        if share:
            cache: dict[Any, float] = {}

            def factor(at: At, name: str = name, cache: dict[Any, float] = cache) -> float:
                key = tuple(at.values.items())
                if key not in cache:
                    cache[key] = share_of(step, at, name)
                if not cache[key]:
                    raise _no_momentum(step, buffers, f", with {at.values}")
                return cache[key] / at.h

            return MomentumBuffer(name, factor, f"{_spelled(share, at)}{name}/h")
    raise _no_momentum(step, buffers)


def find_thermostat(step: OptimizerStep, momentum: MomentumBuffer) -> MomentumBuffer:
    """The number besides the momentum that is its friction, with the factor that makes it that of h."""
    others = [b.name for b in step.kept.buffers if b.name != momentum.buffer and not b.by_parameter]
    if len(others) != 1 or len(step.kept.buffers) != 2:
        raise DefinitionError(
            f"{step.told}: {step.options.name} keeps no single number beside the momentum {momentum.buffer}; expected the friction "
            "xi of a thermostat; leave adapter.dynamics out"
        )
    cache: dict[Any, float] = {}

    def factor(at: At) -> float:
        key = tuple(at.values.items())
        if key not in cache:
            left = []
            for xi in (0.5, 1.5):
                theta = torch.zeros(DIMS[0], dtype=torch.float64)
                values = {
                    momentum.buffer: torch.ones_like(theta),
                    others[0]: torch.tensor(xi, dtype=theta.dtype),
                }
                with apart():
                    torch.manual_seed(0)
                    left.append(step.take(at, theta, values, _constant(theta))[1][momentum.buffer].double())
            cache[key] = float((left[0] - left[1]).mean()) / at.h
        return cache[key]

    return MomentumBuffer(others[0], factor, others[0])


def _no_momentum(step: OptimizerStep, buffers: Sequence[str], where: str = "") -> DefinitionError:
    return DefinitionError(
        f"{step.told}: theta does not move by a multiple of what {step.options.name} keeps ({', '.join(buffers)}){where}; expected "
        f"the momentum as a formula; add adapter.state.p, such as adapter.state.p={buffers[0]}/h"
    )


def _spelled(share: float, at: At) -> str:
    """A factor as text: by the option whose value it is, else as a number."""
    for sign, size in (("", share), ("-", -share)):
        if size == 1.0:
            return sign
        for name, value in at.values.items():
            if isinstance(value, float) and abs(size - value) <= CLOSE * abs(value):
                return f"{sign}{name}*"
    return f"{share:.6g}*"


def _told_momentum(step: OptimizerStep, buffers: list[str], given: str) -> MomentumBuffer:
    options = tuple(name for name in step.options.told if name not in QUANTITIES)
    grammar = Grammar(
        (*QUANTITIES, *options, *buffers), FUNCTIONS, f"{buffers[0]}/h", signs="+ - * / **", number=float
    )
    try:
        node = grammar.read(given)
    except DefinitionError as error:
        raise DefinitionError(f"{step.told}: adapter.state.p: {error}") from None
    used = [name for name in buffers if name in grammar.names_in(node)]

    def value(at: At, size: float) -> float:
        quantities = {"h": at.h, "T": at.temperature, **at.values, **dict.fromkeys(used, size)}
        return float(grammar.value(node, quantities))

    at = step.options.at({**AT, "dim": float(DIMS[0])})
    try:
        zero, once, twice = (value(at, size) for size in (0.0, 1.0, 2.0))
    except (KeyError, ArithmeticError, ValueError):
        zero, once, twice = 1.0, 0.0, 0.0
    if len(used) != 1 or zero != 0.0 or once == 0.0 or abs(twice - 2 * once) > CLOSE * abs(once):
        raise DefinitionError(
            f"{step.told}: adapter.state.p={given!r}: expected a multiple of one of {', '.join(buffers)}, with h, T and "
            f"the options {', '.join(options)}, such as {buffers[0]}/h"
        )
    return MomentumBuffer(used[0], lambda at: value(at, 1.0), given)


def share_of(step: OptimizerStep, at: At, name: str) -> float:
    """s, if theta moves by a B + b B' with B the buffer before, B' after the step and s = a + b; 0 if it does not.

    It may move by a multiple of the gradient besides, as where a drift follows half of a kick: (h/2) (B - h g) + (h/2) B'.
    """
    random = np.random.default_rng(1)
    moves, before, after, forces = [], [], [], []
    for number in range(TRIED):
        theta, values = probe(step, random)
        # From 0, so that a displacement is no difference of large numbers, however small h is.
        theta = torch.zeros_like(theta)
        force = torch.tensor(random.standard_normal(DIMS[0]))
        with apart():
            torch.manual_seed(number)
            moved, held = step.take(at, theta, values, _constant(force))
        moves.append((moved - theta).numpy())
        before.append(values[name].numpy())
        after.append(held[name].double().numpy())
        forces.append(force.numpy())
    displacement = np.concatenate(moves)
    columns = np.stack([np.concatenate(parts) for parts in (before, after, forces)], axis=1)
    for chosen in ([1], [0], [0, 1], [0, 1, 2]):
        shares, _, rank, _ = np.linalg.lstsq(columns[:, chosen], displacement, rcond=CLOSE)
        left = np.abs(columns[:, chosen] @ shares - displacement).max()
        # Of dependent columns the shares are not known.
        if rank == len(chosen) and left <= CLOSE * np.abs(displacement).max():
            share = float(shares[:2].sum())
            return 1.0 if abs(share - 1) < CLOSE else share
    return 0.0


def _constant(force: Tensor) -> Gradient:
    return lambda theta: force


def probe(step: OptimizerStep, random: np.random.Generator) -> tuple[Tensor, dict[str, Tensor]]:
    """A random theta, and buffers that are positive: some are second moments."""
    theta = torch.tensor(random.standard_normal(DIMS[0]))
    values = {}
    for buffer in step.kept.buffers:
        optimizer, parameters = step.optimizer(step.options.at({**AT, "dim": float(DIMS[0])}), theta)
        now = [torch.as_tensor(place.read(optimizer, parameters)) for place in buffer.places]
        shape = theta.shape if buffer.by_parameter else now[0].shape
        values[buffer.name] = torch.tensor(0.5 + random.random(tuple(shape)))
    return theta, values


__all__ = [
    "class_of",
    "depends_on_loss",
    "find_kept",
    "find_momentum",
    "find_thermostat",
    "probe",
    "share_of",
    "with_closure_differs",
]

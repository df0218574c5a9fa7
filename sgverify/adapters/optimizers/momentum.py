"""Which buffer of an optimizer is the momentum, and which number its friction, and by which factors?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product

import numpy as np
import torch
from torch import Tensor

from sgverify.adapters.optimizers.finding import AT, CLOSE, DIMS, constant_force, probe, usual
from sgverify.adapters.optimizers.options import At, measured_once
from sgverify.adapters.optimizers.step import Gradient, MomentumBuffer, OptimizerStep, apart
from sgverify.errors import DefinitionError, SgverifyError
from sgverify.samplers.intercepted.interception import Interception
from sgverify.schemes.adapting import FUNCTIONS, QUANTITIES
from sgverify.schemes.numbers.text import Grammar

TRIED = 8
"""The number of steps from which the multiples are found."""


ELSEWHERE = (
    {"h": 0.0123918475629, "T": 0.7318461928, "D": 1.9173645281},
    {"h": 0.0471938265193, "T": 2.3184651927, "D": 0.6128394651},
    {"h": 0.0009138465273, "T": 1.0, "D": 1.25},
)
"""Other numbers at which a formula that holds at `AT` is tried."""

PLACES = (AT, *ELSEWHERE)

TINY = (2.0**-12, 2.0**-13)
"""The shares of a step size from which a momentum's share as h -> 0 is extrapolated, with an error of order h^2."""

Share = Callable[[OptimizerStep, At, str], float]
"""The multiple of a buffer by which theta moves, `share_of` or `carried_share`; 0 if it moves by none."""


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
    at = usual(step.options)
    name = buffer_by(share_of, step, at)
    if not name:
        name = buffer_by(carried_share, step, at)
        split = _as_option(step, [_limit(step, numbers, name) for numbers in PLACES]) if name else None
        if split is None:
            raise _no_momentum(step, buffers)
        return MomentumBuffer(name, lambda at: split[0](at) / at.h, f"{split[1]}{name}/h")

    def measured(at: At) -> float:
        share = share_of(step, at, name)
        if not share:
            raise _no_momentum(step, buffers, f", with {at.values}")
        return share

    own = f"{share_of(step, at, name):.6g}*"
    multiple, text = _as_option(step, [share_of(step, at, name) for at in _places(step)]) or (
        measured_once(measured),
        own,
    )
    return MomentumBuffer(name, lambda at: multiple(at) / at.h, f"{text}{name}/h")


def buffer_by(share: Share, step: OptimizerStep, at: At) -> str:
    """The first buffer of theta's shape that has a share by this reading; "" if none has."""
    buffers = (buffer.name for buffer in step.kept.buffers if buffer.by_parameter)
    return next((name for name in buffers if share(step, at, name)), "")


def with_one_draw(
    step: OptimizerStep, at: At, theta: Tensor, values: Mapping[str, Tensor], gradient: Gradient, drawn: int
) -> tuple[Tensor, dict[str, Tensor], int]:
    """theta and the buffers after a step in which the draw of this number, from 1, is 1 and the others 0, and their count."""
    count = 0

    def put(shape: tuple[int, ...], law: object = None, chances: object = None) -> Tensor:
        nonlocal count
        count += 1
        return torch.full(shape, float(count == drawn), dtype=torch.float64)

    with apart():
        step.optimizer(at, theta)
        with Interception(put):
            moved, after = step.take(at, theta, values, gradient)
    return moved, after, count


def carried_share(step: OptimizerStep, at: At, name: str) -> float:
    """a, if theta moves by a B without gradient and draws, draws no farther than B carries them, and a gradient kicks B; or 0.

    So moves the momentum of a splitting, which carries theta along between draws.
    """
    theta, values = probe(step, np.random.default_rng(1))
    theta = torch.zeros_like(theta)

    def moved(drawn: int, force: float = 0.0) -> tuple[Tensor, Tensor, int]:
        gradient = constant_force(torch.full_like(theta, force))
        to, held, count = with_one_draw(step, at, theta, values, gradient, drawn)
        return to, held[name].double(), count

    try:
        rest, kept, draws = moved(0)
        pushed, kicked = [moved(k + 1) for k in range(draws)], moved(0, 1.0)[1]
    except (SgverifyError, ArithmeticError, ValueError):
        return 0.0
    shares = rest / values[name]
    if (
        not shares.isfinite().all()
        or torch.equal(kicked, kept)
        or float(shares.max() - shares.min()) > CLOSE * float(shares.abs().max())
    ):
        return 0.0
    share = float(shares.mean())
    noise = [
        float(sum(((one[k] - at_rest) ** 2).sum() for one in pushed))
        for k, at_rest in enumerate((rest, kept))
    ]
    return share if noise[0] <= 4 * share**2 * noise[1] else 0.0


def _limit(step: OptimizerStep, numbers: Mapping[str, float], name: str) -> float:
    """The share of a buffer that carries theta, to leading order in h: its power 0 or 1 times a limit; NaN for another power."""
    ats = [step.options.at({**numbers, "h": numbers["h"] * tiny, "dim": float(DIMS[0])}) for tiny in TINY]
    one, two = (carried_share(step, at, name) for at in ats)
    if not two:
        return math.nan
    power = round(math.log2(abs(one / two)))
    first, second = (share / tiny**power for share, tiny in zip((one, two), TINY, strict=True))
    return 2 * second - first if power in (0, 1) else math.nan


def lone_number(step: OptimizerStep, momentum: str) -> str:
    """The number that is kept besides a momentum, and nothing else; "" if there is none."""
    others = [b.name for b in step.kept.buffers if b.name != momentum and not b.by_parameter]
    return others[0] if len(others) == 1 and len(step.kept.buffers) == 2 else ""


def find_thermostat(step: OptimizerStep, momentum: MomentumBuffer) -> MomentumBuffer:
    """The number besides the momentum that is its friction, with the factor that makes it that of h."""
    xi = lone_number(step, momentum.buffer)
    if not xi:
        raise DefinitionError(
            f"{step.told}: {step.options.name} keeps no single number beside the momentum {momentum.buffer}; expected the friction "
            "xi of a thermostat; leave adapter.dynamics out"
        )

    def measured(at: At) -> float:
        left, theta = [], torch.zeros(DIMS[0], dtype=torch.float64)
        for value in (0.5, 1.5):
            values = {momentum.buffer: torch.ones_like(theta), xi: torch.tensor(value, dtype=theta.dtype)}
            with apart():
                left.append(step.take(at, theta, values, constant_force(theta))[1][momentum.buffer].double())
        return float((left[0] - left[1]).mean())

    multiple, _ = _as_option(step, [*map(measured, _places(step))]) or (measured_once(measured), "")
    return MomentumBuffer(xi, lambda at: multiple(at) / at.h, xi)


def _no_momentum(step: OptimizerStep, buffers: Sequence[str], where: str = "") -> DefinitionError:
    return DefinitionError(
        f"{step.told}: theta does not move by a multiple of what {step.options.name} keeps ({', '.join(buffers)}){where}; expected "
        f"the momentum as a formula; add adapter.state.p, such as adapter.state.p={buffers[0]}/h"
    )


def _places(step: OptimizerStep) -> list[At]:
    return [step.options.at({**numbers, "dim": float(DIMS[0])}) for numbers in PLACES]


def _as_option(step: OptimizerStep, shares: Sequence[float]) -> tuple[Callable[[At], float], str] | None:
    """A number as 1, an option or its root, with a sign, where it is that at every setting tried, and as the text of a factor.

    A formula costs nothing, where a measurement takes some steps at each setting.
    """
    places = _places(step)

    def read(at: At, option: str, power: float, sign: float) -> float:
        return sign * at.values[option] ** power if option else sign

    numbers = [option for option, value in places[0].values.items() if isinstance(value, float) and value > 0]
    for option, power in [("", 1.0), *product(numbers, (1.0, 0.5))]:
        for sign in (1.0, -1.0):
            read_here = partial(read, option=option, power=power, sign=sign)
            pairs = zip(map(read_here, places), shares, strict=True)
            if all(abs(own - share) <= CLOSE * abs(share) for own, share in pairs):
                text = {1.0: option, 0.5: f"sqrt({option})"}[power] + "*" * bool(option)
                return read_here, "-" * (sign < 0) + text
    return None


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

    at = usual(step.options)
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
    """s, if theta moves by a B + b B' with B the buffer before, B' after the step and s = a + b; else, or where not finite, 0.

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
            torch.default_generator.manual_seed(number)
            moved, held = step.take(at, theta, values, constant_force(force))
        moves.append((moved - theta).numpy())
        before.append(values[name].numpy())
        after.append(held[name].double().numpy())
        forces.append(force.numpy())
    displacement = np.concatenate(moves)
    columns = np.stack([np.concatenate(parts) for parts in (before, after, forces)], axis=1)
    if not (np.isfinite(displacement).all() and np.isfinite(columns).all()):
        return 0.0
    for chosen in ([1], [0], [0, 1], [0, 1, 2]):
        shares, _, rank, _ = np.linalg.lstsq(columns[:, chosen], displacement, rcond=CLOSE)
        left = np.abs(columns[:, chosen] @ shares - displacement).max()
        # Of dependent columns the shares are not known.
        if rank == len(chosen) and left <= CLOSE * np.abs(displacement).max():
            share = float(shares[:2].sum())
            return 1.0 if abs(share - 1) < CLOSE else share
    return 0.0

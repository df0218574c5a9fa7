"""Which options of somebody's code move nothing: its steps are the same, bit for bit, at every value that is tried?

Each option takes other values while the others keep theirs, and once more while all the others have another value as well: one may
be read only beside another one, as the dampening of a momentum. A value that the code refuses is not tried.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sgverify.adapters.optimizers.options import uses
from sgverify.schemes.adapting import QUANTITIES, Parameter

Run = Callable[[Mapping[str, Any]], Sequence[Any]]
"""The states after some steps with fixed draws, where these options have these values and the others their own."""


def other_values(value: Any) -> tuple[Any, ...]:
    """The values at which an option is tried, the first one beside others: none for a text, or what else is no number.

    >>> other_values(0.25), other_values(100), other_values(None), other_values((0.5, 0.25))
    ((0.5, 0.3, 0.0, 30.0), (1, 201, 0), (True, 0.3), ((1.0, 0.5), (0.125, 0.0625)))
    """
    if value is None or isinstance(value, bool):
        return (True, 0.3) if value is None else (not value,)
    if isinstance(value, int):
        return tuple(number for number in dict.fromkeys((1, 2 * value + 1, 0)) if number != value)
    if isinstance(value, float):
        near = (2 * value, 0.3, 0.0, 30.0)
        return tuple(number for number in dict.fromkeys(near) if number != value)
    if isinstance(value, (tuple, list)) and value and all(isinstance(part, float) for part in value):
        return tuple(type(value)(factor * part for part in value) for factor in (2.0, 0.25))
    return ()


def plain_values(read: Mapping[str, Parameter], told: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are told as numbers, with their values, and not as expressions of h, T, D or the number of data."""
    plain = [name for name, text in told.items() if not any(uses(text, quantity) for quantity in QUANTITIES)]
    return {name: read[name]({}) for name in plain}


def idle_options(run: Run, options: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The options that move nothing, each with its value and the others at which it was tried."""
    still = {name: values for name, value in options.items() if (values := _idle(run, name, value, {}))}
    beside: dict[str, Any] = {}
    for name, value in options.items() if still else ():
        for other in other_values(value):
            moved = _taken(run, {**beside, name: other})
            if moved is not None and np.isfinite(moved).all():
                beside[name] = other
                break
    apart = ({other: moved for other, moved in beside.items() if other != name} for name in still)
    return {
        name: (options[name], *values)
        for (name, values), others in zip(still.items(), apart, strict=True)
        if _idle(run, name, options[name], others)
    }


def _idle(run: Run, name: str, value: Any, others: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values with which the steps are the same beside others; none if one makes another step, or the code takes none."""
    still, same = _taken(run, others), []
    for other in other_values(value):
        moved = _taken(run, {**others, name: other})
        if still is None or (moved is not None and not np.array_equal(moved, still, equal_nan=True)):
            return ()
        if moved is not None:
            same.append(other)
    return tuple(same)


def told_of(idle: Mapping[str, tuple[Any, ...]], given: Collection[str]) -> tuple[str, bool]:
    """What is said of numbers that move nothing, and whether a user gave one of them."""
    numbers = {name: values for name, values in idle.items() if name in given or not _flag(values[0])}
    # What is given as an integer may count the data, of which a sum has one.
    told = [
        name for name, values in numbers.items() if name in given and isinstance(values[0], (float, bool))
    ]
    texts = [f"{name}={_either(values[:3])}" for name, values in numbers.items()]
    names = [f"{name}={_either(values[:1])}" if name in told else name for name, values in numbers.items()]
    said = f"move{'s' * (len(names) == 1)} nothing: steps are the same at {', at '.join(texts)}"
    return f"{_listed(names, 'and')} {said}" * bool(numbers), bool(told)


def untried(
    idle: Mapping[str, tuple[Any, ...]], options: Mapping[str, Any], noun: str = "options"
) -> Iterator[tuple[str, str]]:
    """The options that keep their defaults, and the flags that move nothing: they may choose how a step is computed."""
    moving = [f"{name}={value!r}" for name, value in options.items() if name not in idle]
    if moving:
        yield f"other {noun} than {', '.join(moving)}", f"--set adapter.map.{moving[0].partition('=')[0]}=..."
    flags = [f"{name}={idle[name][1]!r}" for name in options if name in idle and _flag(options[name])]
    if flags:
        yield (
            f"{_listed(flags, 'and')}, which move{'s' * (len(flags) == 1)} nothing at the settings tried",
            "",
        )


def _flag(value: Any) -> bool:
    return value is None or isinstance(value, bool)


def _either(values: Sequence[Any]) -> str:
    return _listed([f"{value:.3g}" if isinstance(value, float) else str(value) for value in values], "or")


def _listed(names: Sequence[str], word: str) -> str:
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _taken(run: Run, values: Mapping[str, Any]) -> np.ndarray | None:
    """The states in one row; None where the code raises with these values."""
    try:
        return np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in run(values)])
    except (Exception, SystemExit):
        return None

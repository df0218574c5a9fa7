"""A black box that is run as it is, its draws its own: what it draws, and what that depends on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from sgverify.samplers.intercepted.first_call import first_call, steady
from sgverify.samplers.intercepted.surroundings import changed, kept_shapes, surroundings

SEEDS = (20_101, 48_271)
"""Two seeds of torch's generator; any will do."""

SHOWN = 3
"""Places that a sentence names."""

CONTINUOUS = ("randn", "randn_like", "normal", "normal_", "rand", "rand_like", "uniform_", "exponential_")
"""Draws whose coincidence, in float32 of a single number, has a probability of 2^-23 at most."""


class Watch(TorchDispatchMode):
    """While it is entered, keeps what torch draws: all `draws` count, `values` are those of continuous laws."""

    def __init__(self) -> None:
        super().__init__()
        self.draws, self.numbers, self.shared = 0, 0, 0
        self.values: list[Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if torch.Tag.nondeterministic_seeded in func.tags and isinstance(result, Tensor):
            self.draws += 1
            self.numbers += result.numel()
            self.shared += not any(isinstance(v, torch.Generator) for v in (*args, *kwargs.values()))
            if func._schema.name.partition("::")[2] in CONTINUOUS and result.numel():
                self.values.append(result.detach().clone().reshape(-1))
        return result


@dataclass(frozen=True)
class RealCall:
    """One call: how often and how many numbers it drew, those of continuous laws, and torch's generator thereafter.

    `shared`: how many draws were from torch's global generator.
    """

    draws: int
    numbers: int
    shared: int
    values: tuple[Tensor, ...]
    generator: Tensor

    def same_noise(self, other: RealCall) -> bool:
        """Whether both drew the same numbers, and some of a continuous law among them."""
        pairs = zip(self.values, other.values, strict=False)
        alike = len(self.values) == len(other.values) and all(torch.equal(a, b) for a, b in pairs)
        return bool(self.values) and alike


def real_call(call: Callable[[], Any]) -> RealCall:
    """Run it as it is, from torch's generator as that is found."""
    with Watch() as watch:
        call()
    return RealCall(watch.draws, watch.numbers, watch.shared, tuple(watch.values), torch.get_rng_state())


def stale_noise(call: Callable[[], Any]) -> str:
    """Why all steps have the same noise, as a sentence; empty where they have not, or where nothing is drawn.

    Two calls in succession, and a third from another seed. The caller's generator is left as it was.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEEDS[0])
        before = torch.get_rng_state()
        first, second = real_call(call), real_call(call)
        torch.manual_seed(SEEDS[1])
        third = real_call(call)
    if first.same_noise(second):
        why = "two calls in succession draw the same numbers"
        if first.shared and torch.equal(first.generator, third.generator):
            why += ", for it seeds torch's generator anew"
        elif first.shared and torch.equal(first.generator, before):
            why += ", for it puts torch's generator back to where it was"
        return f"every step has the same noise: {why}"
    if first.same_noise(third):
        return "its noise does not depend on torch's generator: from two seeds it draws the same numbers"
    if first.shared and torch.equal(first.generator, third.generator):
        return "every step seeds torch's generator anew: from two seeds it leaves the generator in the same state"
    return ""


@dataclass(frozen=True)
class Debut:
    """The first call that a function ever had here: what repeats it, how many numbers it drew, and the shapes kept before it.

    `left`: what it leaves behind for later calls, as a sentence.
    """

    again: Callable[[Any], Any]
    numbers: int
    shapes: Mapping[str, tuple[int, ...]]
    left: str = ""


_DEBUTS: WeakKeyDictionary[Any, dict[CodeType | None, Debut]] = WeakKeyDictionary()


def keep_debut(function: Any, again: Callable[[Any], Any], other: Callable[[Any], Any]) -> None:
    """Make the first call of `function`, by `again(function)`, unless it has been made: nothing is warm yet.

    Kept is the number of its draws, and whether `other(function)`, from elsewhere, would have left it another result; a call that
    fails is left to the run proper.
    """
    try:
        known = _DEBUTS.setdefault(function, {})
    except TypeError:
        # Neither hashed nor referred to weakly.
        return
    code = _code(function)
    if code in known:
        return
    shapes = kept_shapes(function)
    told: list[str] = []

    def both() -> None:
        told.append(first_call(lambda: again(function), lambda: other(function))[1])

    before = surroundings(function)
    numbers = _numbers(both)
    if numbers is None:
        return
    places = changed(before, surroundings(function))
    left = "".join(told)
    if left and places:
        left += f"; what it leaves is in {', '.join(places[:SHOWN])}"
    known[code] = Debut(again, numbers, shapes, left)


def left_behind(function: Any) -> str:
    """What the first call of the function here left behind for later ones, as a sentence; empty for nothing."""
    debut = _debut(function)
    return "" if debut is None else debut.left


def shapes_before(function: Any) -> Mapping[str, tuple[int, ...]] | None:
    """The tensors that the function could reach before its first call here, by place; None where that is not known."""
    debut = _debut(function)
    return None if debut is None else debut.shapes


def kept_noise(function: Any) -> str:
    """Why noise is kept from call to call, as a sentence; empty where the first call draws what later ones do.

    All calls are alike, their draws too: a step that draws until it is content draws as often again.
    """
    debut = _debut(function)
    if debut is None:
        return ""
    later = [_numbers(lambda: steady(lambda: debut.again(function))) for _ in range(2)]
    if all(count in (None, debut.numbers) for count in later):
        return ""
    counts = ", ".join("none" if count is None else str(count) for count in later)
    return (
        f"it keeps noise from call to call: its first call drew {debut.numbers} random numbers, later ones from the same "
        f"state and the same generator {counts}"
    )


def _debut(function: Any) -> Debut | None:
    try:
        return _DEBUTS.get(function, {}).get(_code(function))
    except TypeError:
        return None


def _numbers(call: Callable[[], Any]) -> int | None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEEDS[0])
        try:
            return real_call(call).numbers
        except (Exception, SystemExit):
            return None


def _code(function: Any) -> CodeType | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code if isinstance(code, CodeType) else None


def copies(state: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """New tensors, so that nothing which a step does to its arguments reaches the next."""
    return tuple(value.clone() for value in state)


__all__ = ["copies", "keep_debut", "kept_noise", "left_behind", "shapes_before", "stale_noise"]

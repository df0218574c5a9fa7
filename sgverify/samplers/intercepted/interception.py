"""How are the random draws of torch code recorded, replayed, or replaced by given numbers while the code runs?

Every operation passes an `OperationMode`, below autograd and the Python interface, so that the spelling of a draw in the code
does not matter. Torch itself tags the operations that use a random number generator. `Handed` gives a vector of normal numbers,
in order, to the draws of a step; `Recording` keeps draws of any law, and `Replay` returns them again.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from sgverify.errors import SgverifyError, Unreached
from sgverify.samplers.intercepted.replacing import (
    NORMAL,
    Draw,
    DrawLaw,
    UnreadableDrawError,
    arguments_of,
    is_random,
    name_of,
    replacement,
)


class OperationMode(TorchDispatchMode):
    """A context in which `__torch_dispatch__` handles every operation, with torch's compiler kept out of the code within.

    torch itself wraps the handler of a mode so that its compiler does not compile it: 8 us an operation, more than most operations
    take, and more than a second for the compiler's import. Under a mode compiled functions run as they are written; if the compiler
    is loaded, that is told to it when the mode is entered instead.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __enter__(self) -> Any:
        found = super().__enter__()
        self._stances: list[AbstractContextManager[Any] | None] = [*getattr(self, "_stances", ()), _eager()]
        return found

    def __exit__(self, *raised: Any) -> None:
        stance = self._stances.pop()
        if stance is not None:
            stance.__exit__(*raised)
        super().__exit__(*raised)


def _eager() -> AbstractContextManager[Any] | None:
    """The compiler's stance by which compiled functions run as they are written, in force; None if it is not loaded."""
    if "torch._dynamo" not in sys.modules or not hasattr(torch.compiler, "set_stance"):
        return None
    # In force from its construction on.
    return torch.compiler.set_stance("force_eager")


MOST_DRAWS = 128
"""The most draws of one step."""

DEPENDENT = DrawLaw("of chances that differ from chain to chain")
"""The law of a draw whose probabilities differ between chains, since they depend on earlier draws."""


def check_count(draws: int) -> None:
    """Raise `Unreached` for more draws than one step may make; a loop without an end is found so."""
    if draws > MOST_DRAWS:
        raise Unreached(f"one step drew more than {MOST_DRAWS} times: does a loop wait for its draws?")


class Handed:
    """A vector z of normal numbers that is handed out, in order, in the shapes of the code's draws.

    `asked` records the shapes, `laws` the law of each number of one chain. With `rows`, z has shape (chains, m), and each draw
    has one row for each chain.
    """

    def __init__(self, values: Tensor | None, *, rows: bool = False) -> None:
        self._values, self._rows = values, rows
        self.asked: list[tuple[int, ...]] = []
        self.laws: list[DrawLaw] = []
        self._used = 0
        self._random: torch.Generator | None = None

    def __call__(
        self, shape: tuple[int, ...], law: DrawLaw = NORMAL, chances: Tensor | None = None
    ) -> Tensor:
        """The next numbers of z in this shape; generic numbers if there is no z, or if z is used up.

        `chances`, shape (*shape, n), are the probabilities of the n outcomes that each number will become.
        """
        self.asked.append(shape)
        check_count(len(self.asked))
        count = math.prod(shape[1:] if self._rows else shape)
        self.laws.extend([law] * count if chances is None else self._outcomes(shape, chances))
        if self._values is None:
            return self._spare(shape)
        taken = self._values[..., self._used : self._used + count]
        self._used += count
        if taken.numel() != math.prod(shape):
            return self._spare(shape)
        return taken.reshape(shape).clone()

    def _spare(self, shape: tuple[int, ...]) -> Tensor:
        if self._random is None:
            self._random = torch.Generator().manual_seed(0)
        return torch.empty(shape, dtype=torch.float64).normal_(generator=self._random)

    def _outcomes(self, shape: tuple[int, ...], chances: Tensor) -> list[DrawLaw]:
        given = chances.detach().to(torch.float64)
        rows = given.reshape(shape[0] if self._rows and shape else 1, -1, given.shape[-1])
        if not torch.equal(rows, rows[:1].expand_as(rows)):
            return [DEPENDENT] * rows.shape[1]
        return [DrawLaw("outcomes", tuple(row)) for row in rows[0].tolist()]

    @property
    def used(self) -> int:
        """The number of random numbers that one chain has drawn."""
        return self._used if self._values is not None else total(self.asked, self._rows)


def total(shapes: Iterable[tuple[int, ...]], rows: bool) -> int:
    """The number of random numbers of one chain in draws of these shapes; with `rows` the first axis counts chains."""
    return sum(math.prod(shape[1:] if rows else shape) for shape in shapes)


Witness = Callable[[Any, Any, Any], None]
"""A function that is called with each operation, its arguments (positional and by keyword) and its result."""


def show_foreign(operations: int, narrow: Sequence[Any] = (), met: Sequence[Any] = ()) -> None:
    """Tell the witness of the code that runs now what it does outside of torch, where no operation is seen.

    `operations` is the number of operations, `narrow` and `met` are as `DtypeAudit` collects them.
    """
    for mode in _get_current_dispatch_mode_stack():
        foreign = getattr(getattr(mode, "witness", None), "foreign", None)
        if foreign is not None:
            foreign(operations, narrow, met)


class Interception(OperationMode):
    """A context in which every random number of torch is made from normal numbers that `draw` provides.

    A draw N(mean, std^2) becomes mean + std z with z = draw(shape), a uniform draw becomes Phi(z), and so on (`laws`). A draw
    that cannot be made of normal numbers raises `UnreadableDrawError`, or comes from the generator `others` if it is given.
    `witness` is called with every operation.
    """

    def __init__(
        self, draw: Draw, *, others: torch.Generator | None = None, witness: Witness | None = None
    ) -> None:
        super().__init__()
        self._draw, self._others, self.witness = draw, others, witness
        self._paused = 0

    @contextmanager
    def paused(self) -> Any:
        """A context inside which draws are not replaced, for code of this package."""
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if self._paused:
            return func(*args, **kwargs)
        result = self._random(func, args, kwargs) if is_random(func) else func(*args, **kwargs)
        if self.witness is not None:
            self.witness(func, (args, kwargs), result)
        return result

    def _random(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        replace = replacement(func)
        try:
            if replace is None:
                raise UnreadableDrawError(name_of(func))
            return replace(self._draw, arguments_of(func, args, kwargs))
        except UnreadableDrawError:
            if self._others is None:
                raise
        return self._other(func, args, kwargs, self._others)

    def _other(self, func: Any, args: Any, kwargs: dict[str, Any], source: torch.Generator) -> Any:
        """A draw from the generator `source`, by way of torch's global one: not every operation takes a generator."""
        if kwargs.get("generator") is not None:
            kwargs["generator"] = source
            return func(*args, **kwargs)
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(source.get_state())
            result = func(*args, **kwargs)
            source.set_state(torch.get_rng_state())
        return result


STEADY = 65_537
"""The first of the seeds of draws that are equal at every call."""


class Steady(OperationMode):
    """A context in which torch's k-th draw comes from a generator with a seed that depends on k alone."""

    def __init__(self) -> None:
        super().__init__()
        self._number = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if not is_recorded(func):
            return func(*args, **kwargs)
        self._number += 1
        check_count(self._number)
        if kwargs.get("generator") is not None:
            kwargs["generator"] = torch.Generator().manual_seed(STEADY + self._number)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(STEADY + self._number)
            return func(*args, **kwargs)


class ReplayError(SgverifyError):
    """Raised if the recorded draws do not fit those of a replay; the message says how."""


class Recording(OperationMode):
    """A context that records the result of every random operation, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if is_recorded(func):
            self.values.append(_only(func, result).detach().clone())
        return result


class Replay(OperationMode):
    """A context in which every random operation runs, and its result is replaced by the next of `values`.

    The generator that the operation uses advances as usual. Raises `ReplayError` if the shapes differ, or if more is drawn than
    was recorded; `finish` raises it if less was drawn.
    """

    def __init__(self, values: Sequence[Tensor]) -> None:
        super().__init__()
        self._values, self._next = list(values), 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if is_recorded(func):
            drawn = _only(func, result)
            if self._next == len(self._values):
                raise ReplayError(f"it draws more than the {len(self._values)} times of before")
            value = self._values[self._next]
            if value.shape != drawn.shape:
                raise ReplayError(
                    f"it draws a tensor of shape {tuple(drawn.shape)} where it drew one of {tuple(value.shape)} before"
                )
            drawn.detach().copy_(value)
            self._next += 1
        return result

    def finish(self) -> None:
        """Raise `ReplayError` if some of the recorded values were not drawn again."""
        if self._next < len(self._values):
            raise ReplayError(f"it draws {self._next} times where it drew {len(self._values)} times before")


class RowReplay(OperationMode):
    """A context in which each row of a draw is replaced by the draw that one chain made when it ran alone.

    `alone[k]` are the draws of the k-th chain, in row 0; row i repeats the chain `rows[i]`. A draw that has neither one row for
    each chain, nor as many spare rows as a chain alone draws, is not replaced; its shape is kept in `odd`. `shapes` are those of
    all draws.
    """

    def __init__(self, alone: Sequence[Sequence[Tensor]], rows: Sequence[int]) -> None:
        super().__init__()
        self._alone, self._rows = alone, list(rows)
        self.shapes: list[tuple[int, ...]] = []
        self.odd: list[tuple[int, ...]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if is_recorded(func):
            drawn = _only(func, result)
            value = self._of_rows(len(self.shapes), tuple(drawn.shape))
            self.shapes.append(tuple(drawn.shape))
            if value is None:
                self.odd.append(tuple(drawn.shape))
            else:
                drawn.detach().copy_(value)
        return result

    def _of_rows(self, number: int, shape: tuple[int, ...]) -> Tensor | None:
        if any(number >= len(draws) for draws in self._alone):
            return None
        single = [draws[number] for draws in self._alone]
        if any(not value.ndim for value in single):
            return None
        own = torch.cat([value[:1] for value in single])[self._rows]
        if all(len(value) == 1 and shape == (len(own), *value.shape[1:]) for value in single):
            return own
        if all(len(value) > len(own) and shape == tuple(value.shape) for value in single):
            # The code draws for more chains than there are: chain i uses row i.
            return torch.cat([own, single[0][len(own) :]])
        return None


def is_recorded(func: Any) -> bool:
    """Does torch tag the operation as one that uses a random number generator?"""
    return torch.Tag.nondeterministic_seeded in func.tags


def _only(func: Any, result: Any) -> Tensor:
    if not isinstance(result, Tensor):
        raise ReplayError(f"it draws by torch's {func._schema.name}, whose result is more than one tensor")
    return result

"""How do the draws of numpy become draws of torch, which are recorded, replayed and handed out?

While a step runs, `np.random` and what is taken from it is replaced in the modules of its code by functions of the same laws that
draw by torch. A seed that is set stays one: `np.random.seed(0)` in a step is `torch.manual_seed(0)`, `default_rng(0)` has a
generator of torch's with this seed; generators that were made before draw on from torch's own, and those of them that stand at one
state, which give equal numbers, from generators with one seed.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from sgverify.code_files import is_own


class _Draws:
    """The laws of numpy's generators, drawn by torch: float64 arrays of shape `size`, and a number where it is None."""

    twin: torch.Generator | None = None

    def standard_normal(self, size: Any = None, dtype: Any = float, out: Any = None) -> Any:
        """N(0, 1)."""
        size = np.shape(out) if out is not None else size
        drawn = torch.randn(_shape(size), dtype=torch.float64, generator=self.twin)
        return _as_numpy(drawn, size, dtype, out)

    def random(self, size: Any = None, dtype: Any = float, out: Any = None) -> Any:
        """Uniform on (0, 1)."""
        size = np.shape(out) if out is not None else size
        drawn = torch.rand(_shape(size), dtype=torch.float64, generator=self.twin)
        return _as_numpy(drawn, size, dtype, out)

    def standard_exponential(
        self, size: Any = None, dtype: Any = float, method: str = "zig", out: Any = None
    ) -> Any:
        """The exponential law of mean 1."""
        size = np.shape(out) if out is not None else size
        drawn = torch.empty(_shape(size), dtype=torch.float64).exponential_(generator=self.twin)
        return _as_numpy(drawn, size, dtype, out)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """N(loc, scale^2)."""
        return loc + scale * self.standard_normal(_size(size, loc, scale))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Uniform on (low, high)."""
        return low + (high - low) * self.random(_size(size, low, high))

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """The exponential law of mean `scale`."""
        return scale * self.standard_exponential(_size(size, scale))

    def multivariate_normal(self, mean: Any, cov: Any, size: Any = None, **_: Any) -> Any:
        """N(mean, cov), by Cholesky's factor."""
        root = np.linalg.cholesky(np.asarray(cov, dtype=float))
        return mean + self.standard_normal((*_shape(size), len(root))) @ root.T

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        """Uniform among low, ..., high - 1 (`endpoint`: to high)."""
        first, last = (0, low) if high is None else (low, high)
        drawn = torch.randint(int(first), int(last) + endpoint, _shape(size), generator=self.twin)
        return _as_numpy(drawn, size)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        """Uniform among low, ..., high - 1."""
        return self.integers(low, high, size)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None, **_: Any) -> Any:
        """Entries of `a` (or of 0, ..., a - 1), with the probabilities p."""
        among = np.arange(a) if np.ndim(a) == 0 else np.asarray(a)
        if replace and p is None:
            return among[self.integers(len(among), size=size)]
        chances = torch.full((len(among),), 1 / len(among)) if p is None else torch.as_tensor(np.asarray(p))
        count = math.prod(_shape(size))
        drawn = torch.multinomial(chances.double(), count, replacement=replace, generator=self.twin)
        return among[int(drawn[0]) if size is None else drawn.numpy().reshape(_shape(size))]

    def permutation(self, x: Any, *_: Any) -> Any:
        """The entries of x (or 0, ..., x - 1) in a random order."""
        among = np.arange(x) if np.ndim(x) == 0 else np.asarray(x)
        return among[torch.randperm(len(among), generator=self.twin).numpy()]

    def shuffle(self, x: Any, *_: Any) -> None:
        """Put the entries of x in a random order."""
        x[:] = self.permutation(np.array(x))

    def randn(self, *shape: int) -> Any:
        """N(0, 1) in this shape."""
        return self.standard_normal(shape or None)

    def rand(self, *shape: int) -> Any:
        """Uniform on (0, 1) in this shape."""
        return self.random(shape or None)

    random_sample = sample = ranf = random

    def __deepcopy__(self, memo: Any) -> Any:
        made = type(self)()
        made.twin = None if self.twin is None else self.twin.clone_state()
        return made

    def __reduce__(self) -> Any:
        return type(self), ()


class TorchDrawn(_Draws, np.random.Generator):  # type: ignore[misc]
    """A generator of numpy's that draws by torch; laws that it has not are numpy's own."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(seed if isinstance(seed, np.random.BitGenerator) else np.random.PCG64(seed))
        self.twin = _twin(seed)

    def __repr__(self) -> str:
        return "np.random.default_rng()"


class TorchDrawnState(_Draws, np.random.RandomState):  # type: ignore[misc]
    """A generator of numpy's older kind that draws by torch."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(seed)
        self.twin = _twin(seed)

    def seed(self, seed: Any = None) -> None:
        """Begin anew."""
        super().seed(seed)
        self.twin = _twin(seed)


class NumpyDraws:
    """A context in which the modules of a user's that code lies in, and those whose code they name, draw by torch.

    `places` are the names there, each with what stands in its place; code that names nothing of numpy's has none. `drawn` says
    whether something was drawn within.
    """

    entered: ClassVar[list[NumpyDraws]] = []

    def __init__(self, code: Any) -> None:
        self.places = list(_places(code))
        self.drawn = False
        self._before: list[Any] = []
        self._depth = 0

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self.entered.append(self)
            self._before = [space[name] for space, name, _ in self.places]
            for space, name, value in self.places:
                space[name] = value

    def __exit__(self, *raised: object) -> None:
        self._depth -= 1
        if not self._depth:
            self.entered.remove(self)
        for (space, name, value), before in zip(self.places, self._before, strict=True):
            # What the code has put there itself stays.
            if not self._depth and space.get(name) is value:
                space[name] = before


def with_torch_draws(make: Callable[..., Any], code: Any) -> Callable[..., Any]:
    """A function that makes optimizers, of this code, which are made and step with numpy's draws by torch."""
    numpy = NumpyDraws(code)
    if not numpy.places:
        return make

    def within(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        with numpy:
            return function(*args, **options)

    def made(params: Any, **options: Any) -> Any:
        optimizer = within(make, params, **options)
        optimizer.step = functools.wraps(optimizer.step)(functools.partial(within, optimizer.step))
        return optimizer

    return made


def _places(code: Any) -> Iterator[tuple[dict[str, Any], str, Any]]:
    found = list(_named(code))
    made = {id(value): value for _, _, value in found if isinstance(value, GENERATORS)}
    states = {key: repr(_state(value)) for key, value in made.items()}
    drawing: dict[int, Any] = {}
    for key, value in made.items():
        kind = TorchDrawn if isinstance(value, np.random.Generator) else TorchDrawnState
        alike = list(states.values()).count(states[key]) > 1
        drawing[key] = kind()
        # Those at one state give equal numbers; apart, a stream is as good as torch's own.
        drawing[key].twin = _twin(list(states[key].encode())) if alike else None
    for space, name, value in found:
        yield space, name, drawing.get(id(value)) or _replacements()[id(value)]


def _named(code: Any) -> Iterator[tuple[dict[str, Any], str, Any]]:
    """The names of what draws, or may, each with its value."""
    seen: set[int] = set()
    spaces = [names for found in _functions(code) if (names := _own_names(found)) is not None]
    while spaces:
        space = spaces.pop()
        if id(space) in seen:
            continue
        seen.add(id(space))
        for name, value in list(space.items()):
            if _draws(value):
                yield space, name, value
            elif isinstance(value, ModuleType) or callable(value):
                further = _own_names(value)
                spaces += [] if further is None else [further]


def is_of_numpy(code: Any) -> bool:
    """Does code name numpy, or what is numpy's, and nothing of torch's?"""
    names = getattr(code, "__globals__", {})
    named = [names.get(name) for name in getattr(getattr(code, "__code__", None), "co_names", ())]
    libraries = {
        "numpy"
        if isinstance(getattr(value, "__self__", value), _Draws)
        else str(getattr(value, "__module__", None) or getattr(value, "__name__", "")).partition(".")[0]
        for value in named
        if value is not None
    }
    return "numpy" in libraries and "torch" not in libraries


def _functions(code: Any) -> Iterator[Any]:
    while isinstance(code, functools.partial):
        code = code.func
    yield from (
        (value for kind in inspect.getmro(code) for value in vars(kind).values())
        if isinstance(code, type)
        else (code, type(code))
    )


def _own_names(value: Any) -> dict[str, Any] | None:
    """The names of the module that a value is, or lies in, where it is of a user's."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    module = sys.modules.get(str(name))
    names = getattr(inspect.unwrap(value), "__globals__", None) if inspect.isfunction(value) else None
    names = vars(module) if names is None and module is not None else names
    file = str((names or {}).get("__file__") or "")
    return names if file and is_own(Path(file)) else None


GENERATORS = (np.random.Generator, np.random.RandomState)


def _state(generator: Any) -> Any:
    old = isinstance(generator, np.random.RandomState)
    return generator.get_state(legacy=False) if old else generator.bit_generator.state


def _draws(value: Any) -> bool:
    """Is a value numpy, its room of draws, one of its functions, or a generator that is not torch's already?"""
    if isinstance(value, (*GENERATORS, _Draws)):
        return not isinstance(value, _Draws)
    return (isinstance(value, ModuleType) or callable(value)) and id(value) in _replacements()


@functools.cache
def _replacements() -> dict[int, Any]:
    """numpy, np.random and its functions, by identity, with those that draw by torch."""
    own: Any = TorchDrawnState()
    functions = {
        name: getattr(own, name)
        for name in dir(_Draws)
        if not name.startswith("_") and name != "twin" and hasattr(np.random, name)
    }
    functions |= {"seed": _seed, "default_rng": _generator, "RandomState": TorchDrawnState}
    random, whole = ModuleType("numpy.random"), ModuleType("numpy")
    vars(random).update(vars(np.random) | functions)
    vars(whole).update(vars(np) | {"random": random})
    replaced: dict[int, Any] = {id(np): whole, id(np.random): random}
    return replaced | {id(getattr(np.random, name)): value for name, value in functions.items()}


def _seed(seed: Any = None) -> None:
    """Begin torch's own stream anew, as `np.random.seed` begins numpy's."""
    if seed is not None:
        torch.manual_seed(int(seed))


def _generator(seed: Any = None) -> Any:
    """`np.random.default_rng`."""
    if isinstance(seed, np.random.Generator):
        return seed if isinstance(seed, TorchDrawn) else TorchDrawn()
    return TorchDrawn(seed)


def _twin(seed: Any) -> torch.Generator | None:
    """A generator of torch's with a seed; None, its own, without one."""
    if seed is None:
        return None
    if isinstance(seed, np.random.BitGenerator):
        seed = list(repr(seed.state).encode())
    sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return torch.Generator().manual_seed(int(sequence.generate_state(1, np.uint64)[0]) % 2**63)


def _shape(size: Any) -> tuple[int, ...]:
    return () if size is None else (int(size),) if np.ndim(size) == 0 else tuple(map(int, size))


def _size(size: Any, *numbers: Any) -> Any:
    """The size of draws, by default that of the law's numbers."""
    return (np.broadcast_shapes(*map(np.shape, numbers)) or None) if size is None else size


def _as_numpy(drawn: Tensor, size: Any, dtype: Any = None, out: Any = None) -> Any:
    for context in NumpyDraws.entered:
        context.drawn = True
    if out is not None:
        out[...] = drawn.numpy()
        return out
    number = drawn.numpy() if dtype is None else drawn.numpy().astype(dtype, copy=False)
    return number[()].item() if size is None else number

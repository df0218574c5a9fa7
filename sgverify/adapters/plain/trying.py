"""In which form does plain code take its arguments, where in its result is the state, and what else does a step depend on?"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.adapters.optimizers.idle_options import idle_options
from sgverify.adapters.optimizers.kept_values import KeptValue, values_below
from sgverify.adapters.optimizers.step import apart
from sgverify.adapters.plain.calls import EMPTY, HANDED, ROLES, PlainCode, called, refused
from sgverify.errors import SgverifyError
from sgverify.samplers.intercepted.dtypes import default_dtype
from sgverify.samplers.intercepted.interception import Interception
from sgverify.samplers.intercepted.numpy_draws import NumpyDraws, TorchDrawn, is_of_numpy
from sgverify.schemes.adapting import Parameter, unmade
from sgverify.schemes.dynamics import Dynamics

RUN = 5000
"""The number of steps whose numbers are tried, that of the long run."""

MANY = 500
"""The number of steps of one call that are held against as many calls."""

H, SMALL = 2.0**-5, 2.0**-20
"""Step sizes at which code is tried; at the small one each part of a result is near the variable that it is."""


class PlainStep:
    """One step of plain code, with its arguments in one form."""

    def __init__(self, code: PlainCode, told: Mapping[str, Parameter], *, values: bool, numbers: str) -> None:
        """`values`: gradients as their values; `numbers`: "floats" or "tensors", or "arrays", of numpy, where the state is one."""
        self.code, self._told, self._values = code, told, values
        self._tensors, self.arrays = numbers == "tensors", numbers == "arrays"
        self.fixed: dict[str, Any] = {}
        self.needed: list[str] = []
        """The arguments of which nothing is told, although a step depends on them."""
        self.picks: tuple[int, ...] | None = None
        self._numpy = NumpyDraws(code.written)
        self._handed: dict[str, Any] = {}
        self._made: dict[Any, Any] = {}
        alone = bool(code.method) and not isinstance(code.found, type)
        self._fresh = [(code.found, _tensors(code.found))] if alone else []

    def __call__(self, *state: Tensor, **given: Any) -> tuple[Tensor, ...]:
        """The state after the step, where what the code makes is by default of the state's dtype."""
        with default_dtype(state[0].dtype):
            parts = self.parts(*state, **given)
        if self.picks is None:
            return tuple(parts)
        return tuple(parts[pick].reshape(value.shape) for pick, value in zip(self.picks, state, strict=True))

    def parts(self, *state: Tensor, **given: Any) -> list[Any]:
        """What may be a variable of the state in what the code returns, or the state itself where it returns nothing."""
        # Code that works in place, by its contract, gets tensors of its own.
        state = tuple(value.clone() for value in state)
        code, variables = self.code, dict(zip(self.code.state, state, strict=True))
        values = {
            name: self._value(role, variables, given) for name, role in code.roles.items() if role in ROLES
        }
        values |= {name: read({**given, "dim": float(given["dim"])}) for name, read in self._told.items()}
        values |= self.fixed | {name: self._own(variables[variable]) for variable, name in code.state.items()}
        # What is not finite is found in the result.
        with self._numpy, np.errstate(all="ignore"):
            result = self._function(values)(**{name: values[name] for name in code.inner if name in values})
        self._handed.clear()
        if result is None:
            return list(state)
        results = result if isinstance(result, tuple) else (result,)
        if self.arrays:
            results = tuple(_as_tensor(part, state[0].dtype) for part in results)
        shapes = dict.fromkeys([value.shape for value in state])
        if "xi" in variables:
            shapes[torch.Size([])] = None
        fitting = (
            (found for shape in shapes if (found := _last(part, shape)) is not None) for part in results
        )
        return [part for parts in fitting if (part := next(parts, None)) is not None]

    def _function(self, values: dict[str, Any]) -> Callable[..., Any]:
        code = self.code
        if not code.method:
            found: Callable[..., Any] = code.found
            return found
        if not isinstance(code.found, type):
            return getattr(code.found, code.method)
        # One object for each value of its numbers, so that what it keeps between its steps is seen.
        given = {name: values[name] for name in code.outer if name in values}
        handed = {name: value for name, value in given.items() if code.roles.get(name) in HANDED}
        numbers = {name: value for name, value in given.items() if name not in handed}
        key = tuple((name, float(value)) for name, value in numbers.items())
        self._handed.update(handed)
        if key not in self._made:
            later = {name: functools.partial(self._later, name) for name in handed}
            self._made[key] = code.found(**numbers, **later)
            self._fresh.append((self._made[key], _tensors(self._made[key])))
        return getattr(self._made[key], code.method)

    @property
    def kept(self) -> list[str]:
        """The attributes of its objects that hold another tensor now than before their first step."""
        return [
            name
            for made, fresh in self._fresh
            for name, value in _tensors(made).items()
            if name not in fresh or not torch.equal(value, fresh[name])
        ]

    def _later(self, name: str, *arguments: Any) -> Any:
        return self._handed[name](*arguments)

    def _value(self, role: str, variables: Mapping[str, Tensor], given: Mapping[str, Any]) -> Any:
        theta = variables["theta"]
        if role in ("grad", "score"):
            sign = 1.0 if role == "grad" else -1.0
            gradient = given["grad"]
            if self._values:
                return self._own(sign * gradient(theta.detach()))
            return lambda place, *_, **__: self._own(sign * gradient(self._tensor(place, theta)))
        if role in ("log_density", "potential"):
            sign, density = 1.0 if role == "log_density" else -1.0, given["log_density"]
            return lambda place, *_, **__: self._own(sign * density(self._tensor(place, theta)))
        number = {"steps": 1, "index": 0}.get(role)
        if number is not None:
            return number
        number = 1 / given["T"] if role == "beta" else given[role]
        return torch.tensor(number, dtype=theta.dtype) if self._tensors else number

    def _own(self, value: Tensor) -> Any:
        """A tensor as the code takes it."""
        return value.detach().numpy() if self.arrays else value

    def _tensor(self, place: Any, like: Tensor) -> Tensor:
        """A position of the code's as a tensor."""
        return torch.as_tensor(np.array(place), dtype=like.dtype) if self.arrays else place


def _as_tensor(part: Any, dtype: torch.dtype) -> Any:
    """An array, or a list of arrays, as a tensor of the state's dtype; anything else as it is."""
    if isinstance(part, list) and part and all(isinstance(item, np.ndarray) for item in part):
        part = part[-1]
    return torch.as_tensor(np.array(part), dtype=dtype) if isinstance(part, np.ndarray) else part


def _tensors(holder: Any) -> dict[str, Tensor]:
    """Copies of the tensors among the attributes of an object, and in lists and dictionaries there."""
    own = {n: [*v] if isinstance(v, tuple) else v for n, v in getattr(holder, "__dict__", {}).items()}
    held = values_below(KeptValue("self", 0, ()), own, {})
    return {place.name: value for place, value in held if isinstance(value, Tensor)}


def _last(part: Any, shape: torch.Size) -> Tensor | None:
    """A tensor of this shape, or the last one of a list or a stack of them."""
    if isinstance(part, list) and part:
        part = part[-1]
    if not isinstance(part, Tensor):
        return None
    if part.shape == shape:
        return part
    return part[-1] if part.ndim == len(shape) + 1 and len(part) and part.shape[1:] == shape else None


def tried(
    code: PlainCode, read: Mapping[str, Parameter], dynamics: Dynamics, told: str
) -> tuple[PlainStep, dict[str, Any]]:
    """The step in the first form in which it runs and returns a state, and what it was called with."""
    open_ones = [
        name
        for name, item in code.parameters.items()
        if item.default is EMPTY
        and item.kind not in (item.VAR_POSITIONAL, item.VAR_KEYWORD)
        and code.roles.get(name) not in (*ROLES, "told")
        and name not in code.state.values()
    ]
    at = {
        "dim": 3,
        "T": 1.0,
        "D": 1.25,
        "grad": lambda x: 1.3 * x + 0.2,
        "log_density": lambda x: -(0.65 * x * x + 0.2 * x).sum(),
    }
    why = ""
    forms = ["arrays", "floats", "tensors"] if is_of_numpy(code.written) else ["floats", "tensors", "arrays"]
    for numbers, values in itertools.product(forms, (False, True)):
        step = PlainStep(code, read, values=values, numbers=numbers)
        random = TorchDrawn() if step.arrays else torch.default_generator
        step.fixed = {name: random if code.roles.get(name) == "random" else 1 for name in open_ones}
        try:
            step.picks = _picks(step, at)
            if step.picks is not None:
                # Some count the start among the steps of a call.
                counts = [name for name, role in code.roles.items() if role == "steps"]
                if counts and all(torch.equal(a, b) for a, b in zip(_run(step, at), _STATE, strict=False)):
                    step.fixed[counts[0]] = 2
                break
            why = why or "returns no tensor of the shape of its state"
        except (Exception, SystemExit) as error:
            if isinstance(error, SgverifyError):
                raise
            why = why or f"raised {type(error).__name__}: {error}"
    else:
        raise refused(code, told, f"{why}, called as {called(code, step.fixed, {})}")
    step.needed = [name for name in open_ones if step.fixed[name] == 1 and _feels(step, at, name, (2,))]
    if step.kept:
        raise unmade(
            f"scheme={told!r}: keeps {step.kept[0]} from step to step, which decides its next one; expected it among the "
            "parameters and the results of a step, as theta is",
            told if ":" in told else "",
        )
    return step, at


_STATE = (
    torch.tensor([0.7, -0.4, 1.9], dtype=torch.float64),
    torch.tensor([-3.3, 4.9, 2.8], dtype=torch.float64),
    torch.tensor([1.3], dtype=torch.float64),
)


def _run(
    step: PlainStep,
    at: Mapping[str, Any],
    h: float = H,
    seed: int = 0,
    parts: bool = False,
    small: float = 1.0,
) -> list[Tensor]:
    # A momentum that is nearly 0 moves nothing, in whatever units it is.
    state = [value * scale for value, scale in zip(_STATE, (1.0, small, 1.0), strict=True)][
        : len(step.code.state)
    ]
    with apart():
        torch.default_generator.manual_seed(seed)
        found = step.parts(*state, h=h, **at) if parts else step(*state, h=h, **at)
    return [value.detach() for value in found]


def _picks(step: PlainStep, at: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Which parts of a result are the variables of the state: those near it at a small step, the one with noise before a mean."""
    near, other = (_run(step, at, SMALL, seed, True, SMALL) for seed in (0, 1))
    _run(step, at, parts=True)
    small = [value * scale for value, scale in zip(_STATE, (1.0, SMALL, 1.0), strict=True)]
    picks: list[int] = []
    for value in small[: len(step.code.state)]:
        fitting = [
            number
            for number, part in enumerate(near)
            if part.numel() == value.numel() and (part - value).abs().max() < 0.5 and number not in picks
        ]
        if not fitting:
            return None
        picks.append(max(fitting, key=lambda number: float((near[number] - other[number]).abs().max())))
    return tuple(picks)


def _feels(step: PlainStep, at: Mapping[str, Any], name: str, values: Iterable[Any]) -> bool:
    """Does a step depend on which of these values an argument has?"""
    before, plain = step.fixed, _run(step, at)
    with apart():
        for value in values:
            step.fixed = {**before, name: value}
            torch.default_generator.manual_seed(0)
            try:
                moved = step(*(part.clone() for part in _STATE[: len(plain)]), h=H, **at)
            except (Exception, SystemExit):
                return True
            finally:
                step.fixed = before
            if not all(map(torch.equal, moved, plain)):
                return True
    return False


def idle_of(step: PlainStep, at: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Those of its arguments, with their values, that move nothing."""
    before = step.fixed

    def taken_with(values: Mapping[str, Any]) -> list[Tensor]:
        step.fixed = {**before, **values}
        try:
            return _run(step, at)
        finally:
            step.fixed = before

    return idle_options(taken_with, options)


def _stream() -> Any:
    """Draws that are one sequence of numbers, however many are drawn at once."""
    numbers, used = torch.randn(8192, generator=torch.Generator().manual_seed(0), dtype=torch.float64), 0

    def put(shape: tuple[int, ...], law: Any = None, chances: Any = None) -> Tensor:
        nonlocal used
        count = math.prod(shape)
        places = torch.arange(used, used + count) % len(numbers)
        used += count
        return numbers[places].reshape(shape)

    return put


def held_of(step: PlainStep, at: Mapping[str, Any], code: PlainCode) -> Iterator[tuple[str, str]]:
    """What a step depends on beside its state: its number, or how many steps a call takes."""
    by_role = {role: name for name, role in code.roles.items()}
    texts = []
    if "index" in by_role and _feels(step, at, by_role["index"], range(1, RUN + 1)):
        texts.append(f"{by_role['index']} at 0")
    if "steps" in by_role:
        name = by_role["steps"]
        first, state = step.fixed.get(name, 1), [value.clone() for value in _STATE[: len(code.state)]]
        with apart(), Interception(_stream()):
            for _ in range(MANY):
                state = [value.detach().clone() for value in step(*state, h=H, **at)]
        before, step.fixed = step.fixed, {**step.fixed, name: first + MANY - 1}
        try:
            with apart(), Interception(_stream()):
                whole = step(*(value.clone() for value in _STATE[: len(code.state)]), h=H, **at)
        finally:
            step.fixed = before
        if not all(torch.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in zip(state, whole, strict=True)):
            texts.append(f"{name} at {first}: a call with {name}={first + MANY - 1} is not {MANY} calls")
    if texts:
        yield "options", " and ".join(texts)

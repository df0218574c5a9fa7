"""A plain function, module or class that is handed its position and a gradient, as a step.

The roles of its parameters follow from their names (`roles`). In which form it takes them, and where in its result the state is,
is tried: a gradient as a function or as its value, numbers as floats or as tensors, and a result among several. What a step may
depend on beside the state, such as its number or the number of steps of a call, is tried as well, and held where it does.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from sgverify.adapters.optimizers.step import apart
from sgverify.adapters.plain.calls import EMPTY, HANDED, ROLES, Code, called, refused
from sgverify.errors import SgverifyError
from sgverify.samplers.intercepted.dtypes import default_dtype
from sgverify.schemes.adapting import Adapter, AdapterSettings, Parameter, is_of
from sgverify.schemes.definition.declaration import Declaration
from sgverify.schemes.dynamics import Dynamics, kinetic, langevin
from sgverify.schemes.scheme import ClaimedOrders
from sgverify.schemes.tempering import is_tempered
from sgverify.schemes.torch_step import TorchStep, tempered

RUN = 5000
"""The number of steps whose numbers are tried, that of the long run."""

H, SMALL = 2.0**-5, 2.0**-20
"""Step sizes at which code is tried; at the small one each part of a result is near the variable that it is."""


def takes(found: Any) -> bool:
    """Is it a function, module or class of which a step takes a position, and which is handed a gradient or a density?"""
    if is_of(found, "torch.optim"):
        return False
    code = Code.of(found, {})
    if code is None or "theta" not in code.state or _of_jax(code.written):
        return False
    nameless = not code.method and any(item.kind is item.VAR_POSITIONAL for item in code.inner.values())
    return bool(code.handed) or nameless


def _of_jax(function: Any) -> bool:
    """Is a function written with JAX, whose arrays are no tensors?"""
    names = (getattr(value, "__name__", "") for value in getattr(function, "__globals__", {}).values())
    return any(str(name).partition(".")[0] == "jax" for name in names)


class PlainStep:
    """One step of plain code, with its arguments in one form."""

    def __init__(self, code: Code, told: Mapping[str, Parameter], *, values: bool, tensors: bool) -> None:
        """`values`: gradients as tensors; `tensors`: numbers as tensors."""
        self.code, self._told, self._values, self._tensors = code, told, values, tensors
        self.fixed: dict[str, Any] = {}
        self.picks: tuple[int, ...] | None = None
        self._handed: dict[str, Any] = {}
        self._made: dict[Any, Any] = {}

    def __call__(self, *state: Tensor, **given: Any) -> tuple[Tensor, ...]:
        """The state after the step, where what the code makes is by default of the state's dtype."""
        with default_dtype(state[0].dtype):
            parts = self.parts(*state, **given)
        if self.picks is None:
            return tuple(parts)
        return tuple(parts[pick] for pick in self.picks)

    def parts(self, *state: Tensor, **given: Any) -> list[Any]:
        """What may be a variable of the state in what the code returns, or the state itself where it returns nothing."""
        code, variables = self.code, dict(zip(self.code.state, state, strict=True))
        values = {
            name: self._value(role, variables, given) for name, role in code.roles.items() if role in ROLES
        }
        values |= {name: read({**given, "dim": float(given["dim"])}) for name, read in self._told.items()}
        values |= self.fixed | {name: variables[variable] for variable, name in code.state.items()}
        result = self._function(values)(**{name: values[name] for name in code.inner if name in values})
        self._handed.clear()
        if result is None:
            return list(state)
        shape = state[0].shape
        whole = isinstance(result, tuple)
        parts = [_last(part, shape) for part in result] if whole else [_last(result, shape)]
        return [part for part in parts if part is not None]

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
        return getattr(self._made[key], code.method)

    def _later(self, name: str, *arguments: Any) -> Any:
        return self._handed[name](*arguments)

    def _value(self, role: str, variables: Mapping[str, Tensor], given: Mapping[str, Any]) -> Any:
        theta = variables["theta"]
        if role in ("grad", "score"):
            sign = 1.0 if role == "grad" else -1.0
            gradient = given["grad"]
            return (
                sign * gradient(theta.detach())
                if self._values
                else lambda place, *_, **__: sign * gradient(place)
            )
        if role in ("log_density", "potential"):
            sign, density = 1.0 if role == "log_density" else -1.0, given["log_density"]
            return lambda place, *_, **__: sign * density(place)
        number = {"steps": 1, "index": 0}.get(role)
        if number is not None:
            return number
        number = 1 / given["T"] if role == "beta" else given[role]
        return torch.tensor(number, dtype=theta.dtype) if self._tensors else number


def _last(part: Any, shape: torch.Size) -> Tensor | None:
    """A tensor of this shape, or the last one of a list or a stack of them."""
    if isinstance(part, list) and part:
        part = part[-1]
    if not isinstance(part, Tensor):
        return None
    if part.shape == shape:
        return part
    return part[-1] if part.ndim == len(shape) + 1 and len(part) and part.shape[1:] == shape else None


def adapt(found: Any, settings: AdapterSettings, reference: str) -> Any:
    """The step that the code takes; raises `DefinitionError`, with a wrapper to paste, where it cannot be told how it is called."""
    code = Code.of(found, settings.map)
    assert code is not None
    told = reference or code.name
    if "noise" in code.roles.values() and not code.method:
        from sgverify.schemes.scheme import scheme

        return replace(scheme(kinetic if "p" in code.state else langevin)(found), reference=reference)
    dynamics = settings.dynamics_or(kinetic if "p" in code.state else langevin)
    if tuple(code.state) != dynamics.state:
        raise refused(
            code,
            told,
            f"takes ({', '.join(code.parameters)}), where {dynamics.name} has ({', '.join(dynamics.state)})",
        )
    if "h" not in code.roles.values() and not settings.map:
        raise refused(
            code, told, f"has no parameter that is the step size by its name ({', '.join(code.parameters)})"
        )
    if not code.handed:
        raise refused(code, told, "takes arguments without names")
    read = {name: settings.read(name, text) for name, text in settings.map.items()}
    step, at = _tried(code, read, dynamics, told)
    used = _ingredients(code, dynamics, settings)
    held = dict(_held(step, at, code))

    def run(*state: Tensor, **given: Any) -> tuple[Tensor, ...]:
        return step(*state, **given)

    run.__name__, run.__wrapped__ = code.name, code.written  # type: ignore[attr-defined]
    run.__signature__ = inspect.signature(PlainStep.__call__)  # type: ignore[attr-defined]
    claimed = ClaimedOrders.of(settings.order)
    left = [
        name for name, item in code.parameters.items() if item.default is not EMPTY and name not in code.roles
    ]
    made = TorchStep(
        name=code.name,
        dynamics=dynamics,
        function=run,
        declaration=Declaration(dynamics.state, used),
        order=claimed.finite_time,
        invariant_order=claimed.invariant,
        summary=(inspect.getdoc(found) or "").partition("\n")[0],
        reference=reference,
        conventions=called(code, step.fixed, settings.map),
        untried=((f"other {', '.join(left)} than by default", f"--set adapter.map.{left[0]}=..."),)
        if left
        else (),
        held=held,
    )
    return tempered(made) if is_tempered(dynamics, made.declaration) else made


def _ingredients(code: Code, dynamics: Dynamics, settings: AdapterSettings) -> tuple[str, ...]:
    from sgverify.adapters.optimizers.options import uses

    roles = {*code.roles.values()}
    wanted = ["h", "dim"]
    wanted += ["grad"] * bool({"grad", "score"} & roles) + ["log_density"] * bool(
        {"log_density", "potential"} & roles
    )
    for name in dynamics.parameters:
        also = name == "T" and "beta" in roles
        if name in roles or also or any(uses(text, name) for text in settings.map.values()):
            wanted.append(name)
    return tuple(wanted)


def _tried(
    code: Code, read: Mapping[str, Parameter], dynamics: Dynamics, told: str
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
    for values, tensors in itertools.product((False, True), repeat=2):
        step = PlainStep(code, read, values=values, tensors=tensors)
        step.fixed = {
            name: torch.default_generator if code.roles.get(name) == "random" else 1 for name in open_ones
        }
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
    felt = [name for name in open_ones if step.fixed[name] == 1 and _feels(step, at, name, (2,))]
    if felt:
        raise refused(code, told, f"needs {', '.join(felt)}, of which nothing is told")
    return step, at


_STATE = (
    torch.tensor([0.7, -0.4, 1.9], dtype=torch.float64),
    torch.tensor([-3.3, 4.9, 2.8], dtype=torch.float64),
)


def _run(
    step: PlainStep, at: Mapping[str, Any], h: float = H, seed: int = 0, parts: bool = False
) -> list[Tensor]:
    state = [value.clone() for value in _STATE[: len(step.code.state)]]
    with apart():
        torch.manual_seed(seed)
        found = step.parts(*state, h=h, **at) if parts else step(*state, h=h, **at)
    return [value.detach() for value in found]


def _picks(step: PlainStep, at: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Which parts of a result are the variables of the state: those near it at a small step, the one with noise before a mean."""
    near, other = (_run(step, at, SMALL, seed, parts=True) for seed in (0, 1))
    _run(step, at, parts=True)
    picks: list[int] = []
    for value in _STATE[: len(step.code.state)]:
        fitting = [
            number
            for number, part in enumerate(near)
            if (part - value).abs().max() < 0.5 and number not in picks
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
            torch.manual_seed(0)
            try:
                moved = step(*(part.clone() for part in _STATE[: len(plain)]), h=H, **at)
            except (Exception, SystemExit):
                return True
            finally:
                step.fixed = before
            if not all(map(torch.equal, moved, plain)):
                return True
    return False


def _held(step: PlainStep, at: Mapping[str, Any], code: Code) -> Iterator[tuple[str, str]]:
    """What a step depends on beside its state: its number, or how many steps a call takes."""
    by_role = {role: name for name, role in code.roles.items()}
    texts = []
    if "index" in by_role and _feels(step, at, by_role["index"], range(1, RUN + 1)):
        texts.append(f"{by_role['index']} at 0")
    if "steps" in by_role:
        name = by_role["steps"]
        with apart():
            state: Sequence[Tensor] = [value.clone() for value in _STATE[: len(code.state)]]
            for _ in range(3):
                state = [value.detach().clone() for value in step(*state, h=H, **at)]
        before = step.fixed
        step.fixed = {**before, name: before.get(name, 1) + 2}
        try:
            whole = _run(step, at)
        finally:
            step.fixed = before
        if not all(torch.allclose(a, b, rtol=1e-12, atol=1e-14) for a, b in zip(state, whole, strict=True)):
            texts.append(f"{name} at 1: a call with {name}=3 is not three calls")
    if texts:
        yield "options", " and ".join(texts)


ADAPTER = Adapter(
    name="plain",
    summary="a torch function, class or module step(theta, grad, h, ...) whose parameters say what they are",
    takes=takes,
    adapt=adapt,
)


__all__ = ["Code", "PlainStep", "adapt", "refused", "takes"]

"""An optimizer as networks have it, run as it is: with a matrix, vectors, a scalar and a long tensor, in groups of other options.

Nothing is written between its steps but gradients, and the options that a scheduler writes. A twin is held beside it: one step of
the twin from a given state, with given draws, is one step of the law that is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._utils import _flatten_dense_tensors

from sgverify.adapters.optimizers.kept_values import KeptValue, is_own
from sgverify.adapters.optimizers.options import Options, uses
from sgverify.adapters.optimizers.step import OptimizerStep, apart, closure_needed, unrecorded_step
from sgverify.errors import DefinitionError, SgverifyError, Unreached, UserError
from sgverify.samplers.intercepted.interception import Interception

Shapes = Sequence[Sequence[tuple[str, tuple[int, ...]]]]

NETWORK: Shapes = (
    (("a vector", (150,)), ("a second vector", (150,)), ("a matrix", (24, 25)), ("a scalar", ())),
    (("5,000 entries", (5000,)), ("a vector of another group", (150,))),
)
"""The parameters of each group, by name and shape. Two of one shape are in one group, and one of that shape in the other."""

LAYOUTS: Mapping[str, Shapes] = {
    "": NETWORK,
    "a scalar": tuple(tuple(item for item in group if item[1]) for group in NETWORK),
    "a matrix or a scalar": tuple(tuple(item for item in group if len(item[1]) == 1) for group in NETWORK),
    "several parameters": ((("5,000 entries", (5000,)),),),
}
"""What is run, by what it leaves out: the first that the code takes."""

GENERIC = {"h": 0.0937, "T": 1.317, "D": 1.519}
"""Numbers at which the value of an option is told from others."""


@dataclass(frozen=True)
class ParameterRun:
    """One parameter of the run, with the numbers of its group: h, T and D."""

    name: str
    shape: tuple[int, ...]
    group: int
    numbers: Mapping[str, float]

    @property
    def size(self) -> int:
        """The number of its entries."""
        return int(np.prod(self.shape, dtype=int))


class OptimizerRun:
    """A run from a fresh start on the Gaussian N(centre, T/rate) of independent entries, with its twin.

    Its state is flat: all entries of theta, then of p and of each buffer that has theta's shape, then what is kept otherwise.
    """

    def __init__(
        self,
        step: OptimizerStep,
        first: Mapping[str, float],
        second: Mapping[str, float],
        centre: float,
        rate: float | Tensor,
        *,
        dtype: torch.dtype = torch.float64,
        made_with: Mapping[str, Any] | None = None,
        several: bool | None = None,
        grid: Sequence[Mapping[str, float]] = (),
    ) -> None:
        """`first` and `second` are h, T and D of the groups, as far as its options can differ between groups.

        `several`: with several parameters, by default where what is kept is one value of each. `grid` are the numbers of as many
        groups, in the place of `first` and `second`, each of one parameter of two entries.
        """
        self._several = step.kept.split if several is None else several
        self._step, self._dtype, self._centre, self._rate = step, dtype, centre, rate
        options = step.options
        if made_with:
            told = {name: text for name, text in options.told.items() if name not in made_with}
            read = {name: text for name, text in options.read.items() if name not in made_with}
            make = options.make
            options = replace(
                options, told=told, read=read, make=lambda params, **o: make(params, **{**o, **made_with})
            )
        self._options = options
        self.in_groups = group_options(options, step.told)
        apart_ = {q for q in ("h", *options.dynamics.parameters) if self.varies(q)}
        numbers = [dict(first), {**first, **{name: second[name] for name in apart_}}]
        self.parts: tuple[ParameterRun, ...] = ()
        self.left_out = ""
        self._twin: tuple[Any, list[Tensor]] | None = None
        self.drawn, self._grid = 0, bool(grid)
        if grid:
            self._make([[("two entries", (2,))]] * len(grid), grid)
        else:
            self._start(numbers)

    def _start(self, numbers: Sequence[Mapping[str, float]]) -> None:
        """Make the optimizer of the first layout with which it takes two steps."""
        refused = None
        for left_out, shapes in LAYOUTS.items():
            if not self._several and len(shapes) > 1:
                continue
            self.left_out = left_out
            try:
                with apart():
                    self._make(shapes, numbers)
                    self.step()
                    self.step()
            except UserError as error:
                refused = refused or error
            else:
                self._make(shapes, numbers)
                return
        assert refused is not None
        raise refused

    def varies(self, quantity: str) -> bool:
        """Can each group have its own value: are all options that it enters those of groups?"""
        texts = {name: text for name, text in self._options.told.items() if uses(text, quantity)}
        if self._options.tempered and quantity == "T":
            return self.varies("h")
        return bool(texts) and set(texts) <= set(self.in_groups)

    def _make(self, shapes: Shapes, numbers: Sequence[Mapping[str, float]]) -> None:
        self.parts = tuple(
            ParameterRun(name, shape, group, numbers[group])
            for group, inner in enumerate(shapes)
            for name, shape in inner
        )
        self._set_numbers(numbers[: len(shapes)])
        self.optimizer, self.parameters = self._made()
        self._needed = closure_needed(self.optimizer.step)
        with torch.no_grad():
            for part, parameter in zip(self.parts, self.parameters, strict=True):
                spread = (part.numbers["T"] / self._rate) ** 0.5
                # Drawn as the code draws, from the seed of the run.
                parameter.copy_(self._centre + spread * torch.randn(part.shape, dtype=torch.float64))

    def _set_numbers(self, numbers: Sequence[Mapping[str, float]]) -> None:
        """Set h, T and D of each group, and what follows from them."""
        self.at = [self._options.at({**given, "dim": 3.0}) for given in numbers]
        here = [self.at[part.group] for part in self.parts]
        self._forces: list[Any] = [self._rate / at.temperature for at in here]
        self._priors = [at.prior for at in here] if any(at.prior for at in here) else []
        self._held = list(self._held_places())
        self._factors: np.ndarray | None = None

    def _made(self) -> tuple[Any, list[Tensor]]:
        parameters: list[Tensor] = [
            torch.nn.Parameter(torch.ones(part.shape, dtype=self._dtype)) for part in self.parts
        ]
        groups = []
        for number, at in enumerate(self.at):
            own = {key: at.values[name] for name, key in self.in_groups.items()}
            chosen = [p for part, p in zip(self.parts, parameters, strict=True) if part.group == number]
            groups.append({"params": chosen, **own})
        given: Any = groups if len(groups) > 1 else parameters
        try:
            optimizer = self._options.make(given, **self.at[0].values)
            # Some constructors write one value into all groups; a user then sets that of a group, as a scheduler does.
            for group, at in zip(optimizer.param_groups, self.at, strict=False):
                group.update({key: at.values[name] for name, key in self.in_groups.items()})
            return optimizer, parameters
        except SgverifyError:
            raise
        except (Exception, SystemExit) as error:
            raise UserError(f"{self._step.told}: raised {type(error).__name__}: {error}") from error

    @property
    def left(self) -> Mapping[str, Any]:
        """The options of which nothing is told, with their defaults."""
        return self._options.left

    @property
    def variables(self) -> int | None:
        """The number of values of each entry, if all that is kept has theta's shape."""
        kept = self._step.kept.buffers
        return 1 + len(kept) if all(buffer.by_parameter for buffer in kept) else None

    def schedule(self, factor: float) -> bool:
        """Do as a scheduler does: write the options that go with h, at h times a factor; False where no option is a group's."""
        moved = [name for name in self.in_groups if uses(self._options.told[name], "h")]
        if not moved or not self.varies("h"):
            return False
        self.parts = tuple(
            replace(part, numbers={**part.numbers, "h": part.numbers["h"] * factor}) for part in self.parts
        )
        self._twin = None
        numbers = {part.group: part.numbers for part in self.parts}
        self._set_numbers([numbers[group] for group in range(len(self.at))])
        for group, at in zip(self.optimizer.param_groups, self.at, strict=True):
            for name in moved:
                group[self.in_groups[name]] = at.values[name]
        return True

    def step(self) -> None:
        """One step of the optimizer as it is; raises `UserError` if it raises."""
        self._run(self.optimizer, self.parameters)

    def _run(self, optimizer: Any, parameters: Sequence[Tensor]) -> None:
        try:
            self._take(optimizer, parameters)
        except (Exception, SystemExit) as error:
            if isinstance(error, SgverifyError):
                raise
            raise UserError(
                f"{self._step.told}: a step of a run, with parameters of shapes "
                f"{', '.join(str(part.shape) for part in self.parts)}, raised {type(error).__name__}: {error}"
            ) from error

    def _take(self, optimizer: Any, parameters: Sequence[Tensor]) -> None:
        def differentiate() -> Tensor:
            with torch.no_grad():
                gradients = torch._foreach_sub(list(parameters), self._centre)
                torch._foreach_mul_(gradients, self._forces)
                if self._priors:
                    torch._foreach_sub_(gradients, torch._foreach_mul(list(parameters), self._priors))
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient
            return torch.full((), float("nan"), dtype=self._dtype)

        if self._needed:
            unrecorded_step(optimizer, differentiate)
        else:
            differentiate()
            unrecorded_step(optimizer)

    def flat(self) -> np.ndarray:
        """The state, shape (values,)."""
        return self._read(self.optimizer, self.parameters)

    @property
    def kept(self) -> bool:
        """Is all that the optimizer keeps there to be read? Some of it appears with the first step."""
        try:
            self.flat()
        except (KeyError, AttributeError, IndexError, TypeError):
            return False
        return True

    def _read(self, optimizer: Any, parameters: Sequence[Tensor]) -> np.ndarray:
        kept = [torch.as_tensor(place.read(optimizer, parameters)) for place, _ in self._held]
        values = (*parameters, *kept)
        with torch.no_grad():
            # Of one tensor it is that tensor itself, into which the next step writes.
            found = _flatten_dense_tensors(values) if len(values) > 1 else values[0].reshape(-1).clone()
        state = found.to(torch.float64).numpy()
        if self._factors is None:
            factors = [1.0] * len(parameters) + [factor for _, factor in self._held]
            self._factors = np.repeat(factors, [value.numel() for value in values])
            self._scaled = bool((self._factors != 1.0).any())
        return state * self._factors if self._scaled else state

    def held(self, state: np.ndarray, draw: float | Sequence[float]) -> np.ndarray:
        """The state after a step of the twin from a state, where every normal number behind its draws is `draw`, in turn."""
        if self._twin is None:
            with apart():
                optimizer, parameters = self._made()
                self._run(optimizer, parameters)
            self._twin = optimizer, parameters
        optimizer, parameters = self._twin
        kept = [torch.as_tensor(place.read(optimizer, parameters)) for place, _ in self._held]
        sizes = [old.numel() for old in (*parameters, *kept)]
        if sum(sizes) != len(state):
            raise Unreached(f"it keeps {sum(sizes)} values in these groups, and {len(state)} are given")
        values = torch.from_numpy(state).split(sizes)
        with torch.no_grad():
            for parameter, value in zip(parameters, values, strict=False):
                parameter.copy_(value.reshape(parameter.shape))
        for (place, factor), old, value in zip(self._held, kept, values[len(parameters) :], strict=True):
            place.write(optimizer, parameters, (value.reshape(old.shape) / factor).to(old.dtype))
        for place in self._step.kept.counters:
            for other in self._places(place):
                other.write(optimizer, parameters, self._step.kept.value_of(place), exact=True)
        for stock in self._step.kept.stocks:
            for place in self._places(stock):
                place.read(optimizer, parameters).clear()
        self.drawn = 0

        def put(shape: tuple[int, ...], law: Any = None, chances: Any = None) -> Tensor:
            self.drawn += int(np.prod(shape, dtype=int))
            return torch.from_numpy(np.resize(np.asarray(draw, dtype=float), shape))

        with apart(), Interception(put):
            self._run(optimizer, parameters)
        return self._read(optimizer, parameters)

    def _held_places(self) -> Iterator[tuple[KeptValue, float]]:
        """The places of all buffers, those of the momentum first, each with its factor."""
        named = {buffer.name: buffer for buffer in self._step.kept.buffers}
        variables = {variable.buffer: variable for variable in self._step.variables}
        for buffer in (*(named[name] for name in variables), *self._step.memory):
            apart_ = buffer.by_parameter or self._grid
            places = self._places(buffer.places[0]) if apart_ else buffer.places[:1]
            for place, part in zip(places, self.parts, strict=False):
                at = self.at[part.group]
                variable = variables.get(buffer.name)
                yield place, 1.0 if variable is None else variable.factor(at) * at.root

    def _places(self, place: KeptValue) -> list[KeptValue]:
        """The same place of every parameter or group."""
        if place.root in ("self", "outside") and not any(map(is_own, place.keys)):
            return [place]
        count = len(self.at) if place.root == "group" else len(self.parts)
        return [replace(place, number=number) for number in range(count)]


def group_options(options: Options, told: str) -> dict[str, str]:
    """The told options that a parameter group holds, each with its key there."""
    at = options.at({**GENERIC, "dim": 3.0})
    with apart():
        try:
            optimizer = options.make([torch.nn.Parameter(torch.ones(3, dtype=torch.float64))], **at.values)
        except (Exception, SystemExit) as error:
            raise DefinitionError(f"{told}: raised {type(error).__name__}: {error}") from error
    group = {key: value for key, value in optimizer.param_groups[0].items() if key != "params"}
    found = {}
    for name, value in at.values.items():
        keys = [name] if name in group else []
        keys += [key for key, other in group.items() if type(other) is type(value) and other == value]
        if keys and group[keys[0]] == value:
            found[name] = keys[0]
    return found

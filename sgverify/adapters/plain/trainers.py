"""Optimizers that are made already, their schedulers, and plain code that trains a model, as a function of params.

A loop, or a class around a model, gets a model of the given parameters, a loss, data and a loader of one minibatch. Where it
differentiates its loss, it is handed the gradient of U: U is what it differentiates, or N times that where N, of which it is told,
enters after the gradient.
"""

from __future__ import annotations

import copy
import functools
import inspect
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from sgverify.adapters.optimizers import adapter as optimizers
from sgverify.adapters.optimizers.options import CONVENTIONS
from sgverify.adapters.optimizers.step import apart, closure_needed
from sgverify.adapters.plain.calls import EMPTY, PlainCode, as_step, constructor, tensors_of
from sgverify.errors import DefinitionError
from sgverify.samplers.intercepted.dtypes import default_dtype
from sgverify.samplers.intercepted.numpy_draws import NumpyDraws
from sgverify.schemes.adapting import Adapter, AdapterSettings, is_of, unmade
from sgverify.schemes.torch_step import TorchStep

GIVEN = ("model", "params", "loss", "loader", "batch", "steps")
"""The roles of what a loop is given; a position among its parameters is data."""

DATA = 10
"""The number of data of which the code is told."""

FORMS = (
    (torch.ones(1, 1), torch.zeros(1, 1)),
    (torch.tensor([[1.0, 0.0]]), torch.zeros(1, dtype=torch.long)),
    (torch.ones(1), torch.zeros(1)),
)
"""What a model returns and what it is compared with: the first pair that the loss takes."""


def takes(found: Any) -> bool:
    """Is it an optimizer that is made, a scheduler, or code that trains a model or parameters that it is given?"""
    if is_of(found, "torch.optim"):
        return not isinstance(found, type)
    code = PlainCode.of(_kind(found), {})
    if code is None or code.handed:
        return False
    return "model" in code.roles.values() or (bool(code.method) and "params" in code.roles.values())


def _kind(found: Any) -> Any:
    """The function or class itself; of another object its class, which is made anew with what the object holds."""
    return found if isinstance(found, (type, functools.partial)) or inspect.isroutine(found) else type(found)


def adapt(found: Any, settings: AdapterSettings, reference: str) -> TorchStep:
    """The step that the optimizer, or one pass of the code over one minibatch, is."""
    if is_of(found, "torch.optim.lr_scheduler"):
        step = adapt(found.optimizer, settings, reference)
        apart_from = f"the schedule of {type(found).__name__}: h is the lr of one step"
        return replace(step, untried=(*step.untried, (apart_from, "")))
    if is_of(found, "torch.optim"):
        return optimizers.adapt(_again(found, reference), settings, reference)
    code = PlainCode.of(_kind(found), settings.map)
    assert code is not None
    loop = _Loop(code, {} if _kind(found) is found else vars(found), reference)
    own = {name: role for name, role in code.roles.items() if role in ("h", "T") and name not in CONVENTIONS}
    given = replace(settings, map={**own, **settings.map})
    step = optimizers.adapt(loop.make, given, reference)
    step = replace(step, conventions="; ".join(filter(None, (step.conventions, loop.told))))
    return replace(step, held={**step.held, "options": loop.carried}) if loop.carried else step


def _again(optimizer: Any, reference: str) -> Any:
    """A function that makes an optimizer like this one: by its class with what it holds, or a copy with other parameters."""
    kind, held = type(optimizer), {**vars(optimizer), **optimizer.defaults, **optimizer.param_groups[0]}
    wanted = list(inspect.signature(kind).parameters.values())[1:]
    if all(item.name in held or item.default is not EMPTY for item in wanted):
        own: dict[str, Any] = {
            item.name: held[item.name]
            for item in wanted
            if item.name in held and item.name not in CONVENTIONS
        }
        made: Any = kind
        return functools.partial(made, **own) if own else kind
    options = {name: value for name, value in optimizer.param_groups[0].items() if name != "params"}

    def make(params: Any, **given: Any) -> Any:
        other = copy.copy(optimizer)
        kept = {
            name: value for name, value in vars(optimizer).items() if name not in ("state", "param_groups")
        }
        vars(other).update(copy.deepcopy(kept), state=defaultdict(dict), param_groups=[])
        other.defaults = {**optimizer.defaults, **options, **given}
        vars(other).update({name: value for name, value in given.items() if name in kept})
        groups = list(params)
        for group in groups if groups and isinstance(groups[0], dict) else [{"params": groups}]:
            other.add_param_group(dict(group))
        return other

    numbers = {name: value for name, value in options.items() if isinstance(value, (bool, int, float))}
    parameter = torch.nn.Parameter(torch.ones(3))
    with apart():
        made = make([parameter])
        parameter.grad = torch.ones(3)
        made.step(*[lambda: torch.ones(())] * closure_needed(made.step))
    if torch.equal(parameter.detach(), torch.ones(3)):
        raise DefinitionError(
            f"scheme={reference!r}: is a {kind.__name__} of parameters that it keeps elsewhere too; expected its class; verify that"
        )
    return constructor(kind.__name__, make, numbers)


class TrainedModel(torch.nn.Module):
    """A model of these parameters, whose output is the same wherever they are."""

    def __init__(self, parameters: Sequence[Tensor], output: Tensor) -> None:
        super().__init__()
        self.own, self.output = torch.nn.ParameterList(parameters), output

    def forward(self, *_: Any, **__: Any) -> Tensor:
        """The output, by way of the parameters."""
        return self.output + 0.0 * self.own[0].sum()


class Loader(list[Any]):
    """Minibatches of a data set."""

    def __init__(self, batches: int, data: int, target: Tensor) -> None:
        super().__init__([(torch.zeros(1, 1), target)] * batches)
        self.dataset, self.batch_size = [None] * data, 1


class _Loop:
    """Code that trains, as optimizers of given parameters: in the first form in which it runs."""

    def __init__(self, code: PlainCode, held: Mapping[str, Any], reference: str) -> None:
        """`held` are values of its options where the user names an object that has them."""
        self.code, self._told, self._numpy = (
            code,
            f"scheme={reference or code.name!r}",
            NumpyDraws(code.found),
        )
        self._reference = reference
        self.options = {
            name: held.get(name, item.default)
            for name, item in code.parameters.items()
            if code.roles.get(name) in ("h", "T", "D", "N", "told", None)
            and not self._is_data(name)
            and item.kind in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY)
        }
        wrong = [
            name for name, role in code.roles.items() if role in ("index", "p", "beta", "noise", "random")
        ]
        if wrong:
            raise unmade(
                f"{self._told}: takes {wrong[0]}, which code that trains a model is not given here", reference
            )
        self.make = self._maker()
        self._find_form()

    def _is_data(self, name: str) -> bool:
        role, item = self.code.roles.get(name), self.code.parameters[name]
        return (
            bool(self.code.method)
            and name in self.code.inner
            and item.default is EMPTY
            and role in (None, "theta")
        )

    def _maker(self) -> Callable[..., Any]:
        return constructor(self.code.name, lambda params, **o: self.made(params, o), self.options)

    def made(
        self,
        params: Any,
        options: Mapping[str, Any],
        data: int = DATA,
        batches: int = 1,
        losses: list[float] | None = None,
    ) -> Any:
        """An object with a `step` that takes a closure, around the user's object or function."""
        code, factor = self.code, self._factor
        if self._in_loss:
            factor *= next(options.get(name, data) for name, role in code.roles.items() if role == "N")
        tensors = tensors_of(params)
        output, target = (
            item.to(tensors[0].dtype) if item.is_floating_point() else item for item in self._form
        )
        values = {name: value for name, value in self.options.items() if value is not EMPTY} | dict(options)
        for name, item in code.parameters.items():
            role = code.roles.get(name)
            if role in GIVEN:
                values[name] = {
                    "model": lambda: TrainedModel(tensors, output),
                    "params": lambda: tensors,
                    "loss": lambda: lambda found, *_: found.sum(),
                    "loader": lambda: Loader(batches, data, target),
                    "batch": lambda: target,
                    "steps": lambda: 1,
                }[role]()
            elif self._is_data(name) or (role == "theta" and item.default is EMPTY):
                values[name] = torch.zeros(1, 1)
        run: Callable[..., Any] = code.found
        loop = self
        shared: dict[str, Any] = {}
        if code.method:
            with self._numpy:
                instance = code.found(**{name: values[name] for name in code.outer if name in values})
            run, shared = getattr(instance, code.method), vars(instance)
        inner = {name: values[name] for name in code.inner if name in values}

        def step(self: Any, closure: Callable[[], Any]) -> None:
            with loop._numpy, default_dtype(tensors[0].dtype):
                if "model" not in code.roles.values():
                    closure()
                    run(**inner)
                    return
                with _handing(tensors, closure, factor, losses):
                    run(**inner)

        made = as_step(code, step)
        # What the user's object keeps is what this one keeps.
        made.__dict__ = shared
        made.param_groups, made.state = [{"params": tensors}], {}
        return made

    def _find_form(self) -> None:
        """The form in which the code runs, how N enters, and whether a pass over three minibatches is three passes."""
        why = ""
        self._factor, self._in_loss = 1.0, False
        for self._form in FORMS:
            try:
                values = [self._loss(data) for data in (DATA, 2 * DATA, 3 * DATA)]
                break
            except (Exception, SystemExit) as error:
                why = why or f"raised {type(error).__name__}: {error}"
        else:
            raise unmade(
                f"{self._told}: with a model, a loss and data of its own making it {why}", self._reference
            )
        self.told = "U is what it differentiates" if "model" in self.code.roles.values() else ""
        scaled = not math.isclose(values[1], values[0], rel_tol=1e-6)
        if scaled and not math.isclose(values[2] - values[1], values[1] - values[0], rel_tol=1e-4):
            raise unmade(
                f"{self._told}: differentiates a loss that is not linear in the number of data",
                self._reference,
            )
        if "N" in self.code.roles.values():
            # It is given the gradient of the mean loss, and multiplies its loss by N, or what follows from the gradient.
            self._in_loss, self.told = scaled, ""
        elif "loader" in self.code.roles.values():
            self.told += f", N = {DATA}"
            if not scaled and not torch.equal(self._moved(1, 1), self._moved(1, 1, 2 * DATA)):
                self._factor, self.told = 1.0 / DATA, f"U is N times what it differentiates, N = {DATA}"
        plain, self._form = self._moved(1, 1), (2.0 * self._form[0], self._form[1])
        if not torch.equal(plain, self._moved(1, 1)):
            raise unmade(f"{self._told}: its step depends on the value of its loss", self._reference)
        self.carried = ""
        if "loader" in self.code.roles.values() and not torch.allclose(
            self._moved(1, 3), self._moved(3, 1), rtol=1e-9, atol=1e-12
        ):
            self.carried = "a pass over one minibatch, which three minibatches are not three of"

    def _numbers(self, data: int = DATA) -> dict[str, float]:
        roles = self.code.roles
        numbers = {name: 0.01 for name, default in self.options.items() if default is EMPTY}
        return numbers | {name: data for name in self.options if roles.get(name) == "N"}

    def _loss(self, data: int) -> float:
        losses: list[float] = []
        with apart():
            parameter = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
            made = self.made([parameter], self._numbers(data), data=data, losses=losses)
            made.step(_closure([parameter]))
        return losses[0] if losses else 0.0

    def _moved(self, batches: int, calls: int, data: int = DATA) -> Tensor:
        with apart():
            parameter = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
            made = self.made([parameter], self._numbers(data), data=data, batches=batches)
            for _ in range(calls):
                made.step(_closure([parameter]))
        return parameter.detach()


def _closure(parameters: Sequence[Tensor]) -> Callable[[], None]:
    def differentiate() -> None:
        for parameter in parameters:
            parameter.grad = 0.7 * parameter.detach() + 0.1

    return differentiate


@contextmanager
def _handing(
    parameters: Sequence[Tensor], closure: Callable[[], Any], factor: float, losses: list[float] | None
) -> Iterator[None]:
    """A context in which torch differentiates nothing: parameters get the gradients that a closure puts there, times a factor."""

    def gradients(loss: Tensor) -> list[Tensor]:
        if losses is not None:
            losses.append(float(loss.detach().sum()))
        before = [parameter.grad for parameter in parameters]
        closure()
        found: list[Tensor] = [factor * parameter.grad for parameter in parameters]  # type: ignore[operator,misc]
        for parameter, old in zip(parameters, before, strict=True):
            parameter.grad = old
        return found

    def backward(loss: Tensor, *_: Any, **__: Any) -> None:
        for parameter, new in zip(parameters, gradients(loss), strict=True):
            parameter.grad = new if parameter.grad is None else parameter.grad + new

    def grad(outputs: Any, inputs: Any, *_: Any, **__: Any) -> tuple[Tensor, ...]:
        found = gradients(outputs[0] if isinstance(outputs, (list, tuple)) else outputs)
        by_id = {id(parameter): new for parameter, new in zip(parameters, found, strict=True)}
        return tuple(by_id[id(item)] for item in (inputs if not isinstance(inputs, Tensor) else [inputs]))

    for parameter in parameters:
        parameter.grad = None
    kept = torch.Tensor.backward, torch.autograd.grad
    torch.Tensor.backward, torch.autograd.grad = backward, grad  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        torch.Tensor.backward, torch.autograd.grad = kept  # type: ignore[method-assign]


ADAPTER = Adapter(
    name="trainers",
    summary="an optimizer that is made, a scheduler of one, or code that trains a model which it is given",
    takes=takes,
    adapt=adapt,
    conventions=CONVENTIONS,
    reads=("state",),
)

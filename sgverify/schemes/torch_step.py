"""Somebody else's torch code as a step, a plain function of tensors that draws its own noise from torch, and its life cycle."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.abstract import where
from sgverify.schemes.definition.declaration import Declaration, check_ingredients, check_state
from sgverify.schemes.dynamics import Dynamics, kinetic, langevin
from sgverify.schemes.memory import Axes, Given, Memory, read_memory, shaped, size_at
from sgverify.schemes.scheme import ClaimedOrders, Order
from sgverify.schemes.tempering import TOLD, is_tempered, with_mean_gradient, with_temperature


@dataclass(frozen=True)
class LifeCycle:
    """What was tried around a step, each as a clause, and a sentence for each fault."""

    tried: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class OwnLoss:
    """Code that brings its own loss and data: the number of its coordinates (0: as the density), and a reference to the density.

    The density is given apart from the code; without one (None) nothing is known that its prior and its data could be held
    against.
    """

    dim: int
    density: str | None


@dataclass(frozen=True)
class TorchStep:
    """One step X_{l-1} -> X_l of a black box that is said to discretise `dynamics`.

    `order` and `invariant_order` are its claims, or None.

    It is no `Scheme`: it runs on tensors only. With `chains` its tensors have the shapes (chains, dim) and
    (chains, 1), of vectors and scalars of the state; without, (dim,) and (). `memory` are the variables that it carries
    besides the dynamics' state.
    """

    name: str
    dynamics: Dynamics
    function: Callable[..., Any] = field(repr=False)
    declaration: Declaration = field(repr=False)
    order: int | None = None
    chains: bool = False
    summary: str = ""
    reference: str = ""
    invariant_order: int | None = None
    memory: tuple[Memory, ...] = ()
    life_cycle: Callable[[], LifeCycle] | None = field(default=None, repr=False)
    """Tries what a library does beside the step: starts of chains, and other ways to take a step."""
    conventions: str = ""
    """How an adapter calls a library's code: its parameters in h, T and D, as an answer prints them."""
    own_step: float | None = None
    """The step size h at which its options have their own defaults."""
    samples: str = ""
    """The density that it samples where it is right, and its scheme, in the words of the code: its options."""
    swap: Callable[..., Any] | None = field(default=None, repr=False)
    """Of replica code: how it exchanges the states of two replicas."""
    untried: tuple[tuple[str, str], ...] = ()
    """What an adapter leaves out, each with the setting that tries it ("" where none does)."""

    generator: str = ""
    """The generator in whose place torch draws, such as jax.random; "" where the code draws by torch itself."""

    reuses: Callable[[], bool] | None = field(default=None, repr=False)
    """Tries whether one random key serves two draws of a step; None where there are no keys."""

    held: Mapping[str, str] = field(default_factory=dict)
    """What an adapter holds although a step depends on it, by the axis of `Scope`: "time" for a counter, "options"."""

    idle: tuple[str, bool] = ("", False)
    """The options that move nothing, in words, and whether a user gave one of them a number: then nothing passes."""

    as_it_is: Callable[..., Any] | None = field(default=None, repr=False)
    """Makes a run of a library's code as it is, from a fresh start; None where the function itself is called in a row."""

    context: AbstractContextManager[None] | None = field(default=None, repr=False, compare=False)
    """The context in which the function runs, such as one in which it draws numpy's numbers by torch."""

    own_loss: OwnLoss | None = None
    """Given where the code takes no gradient, but differentiates a loss of its own on minibatches of its own."""

    word = None
    """A black box has no letters."""

    @property
    def tempered(self) -> bool:
        """Is it given U/T, for it takes no temperature?"""
        return TOLD in self.conventions or "no option is T" in self.conventions

    @property
    def state(self) -> tuple[str, ...]:
        """Names of the state variables, memory last."""
        return (*self.dynamics.state, *(item.name for item in self.memory))

    @property
    def shapes(self) -> dict[str, str | Axes]:
        """Shape of each state variable: "vector", "scalar", or a tuple for some memory (`sgverify.schemes.memory`)."""
        return {**self.dynamics.shapes, **{item.name: item.shape for item in self.memory}}

    def sizes(self, dim: int) -> tuple[int, ...]:
        """The number of coordinates of each state variable in this dimension."""
        return tuple(size_at(shape, dim) for shape in self.shapes.values())

    def tensors(self, coordinates: Any, dim: int, *, chains: bool | None = None) -> tuple[Any, ...]:
        """The state variables of all coordinates in one tensor, memory last.

        Coordinates of shape (size,) become the state of one chain, those of shape (rows, size) with `chains` that of many
        (default: as the step takes them).
        """
        chains = self.chains if chains is None else chains
        parts = coordinates.split(list(self.sizes(dim)), dim=-1)
        return tuple(
            shaped(part.contiguous(), shape, dim, chains=chains)
            for part, shape in zip(parts, self.shapes.values(), strict=True)
        )

    @property
    def parameters(self) -> tuple[str, ...]:
        """The dynamics' parameters that one step needs."""
        return self.declaration.parameters

    @property
    def place(self) -> str:
        """'file:line' of the function."""
        return where(inspect.unwrap(written(self.function)))

    def __call__(self, *state: Any, **ingredients: Any) -> Any:
        """The function itself."""
        return self.function(*state, **ingredients)

    def step(self, state: tuple[Any, ...], **ingredients: Any) -> tuple[Any, ...]:
        """Run the function with h, grad and every parameter by keyword; keywords that it does not take are left out."""
        with self.context or nullcontext():
            value = self.function(*state, **self.declaration.select(ingredients))
        return tuple(value) if isinstance(value, (tuple, list)) else (value,)

    def named(self, name: str, **changes: Any) -> TorchStep:
        """The same step under another name."""
        return replace(self, name=name, **changes)


def torch_step(
    dynamics: Dynamics,
    *,
    order: Order = None,
    chains: bool = False,
    memory: Given = (),
    swap: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], TorchStep]:
    """Declare a torch function as a step: its random draws are replaced by chosen ones when it is judged.

    The positional parameters are the state of the dynamics; the keywords are `h`, `grad` (theta -> the gradient of U
    at theta, a tensor of theta's shape; `grad.fresh()` is another minibatch's), `log_density` (theta -> -U(theta) up to a
    constant, of the same minibatch, of shape () or (chains,); torch differentiates it once), `dim` and the dynamics'
    parameters, as Python numbers; a step that takes no T is given the gradient of U/T. A keyword with a default may have any
    name and keeps its default. Noise is drawn within, by torch.randn, randn_like, normal, normal_ or torch.distributions. `order`
    is a claim as in `scheme`.

    `memory` names further variables that a step takes and returns after the state, such as the draw before or a second moment:
    `["v"]`, of theta's shape; `{"v": 0.0}` with its first value; `[Memory("n", shape="scalar")]` of another shape. One step then
    has no local order; the order that may be claimed is {"invariant": K}, which is judged by the invariant law.

    `swap` is the rule of replica code, judged beside the step: `swap(theta, other, *, U, U_other, T, T_other)` gets the states of
    two replicas, their energies (tensors) and temperatures, draws its own random number, and returns both states, exchanged or
    as they came.

    A torch step is judged in float64, at the configured dimension and step sizes, its local order in the dimension of proofs.
    Its behaviour in float32 and in other dimensions is not judged. Noise that is non-normal only beyond 6 standard deviations is
    not detected.

    >>> import torch
    >>> from sgverify.schemes import langevin
    >>> @torch_step(langevin, order=1)
    ... def sgld(theta, *, h, grad, T):
    ...     return theta - h * grad(theta) + (2 * T * h) ** 0.5 * torch.randn_like(theta)
    >>> sgld.order, sgld.parameters
    (1, ('T',))

    Raises `DefinitionError` (file, line, mend) where the signature is not one of a step.
    """
    if not isinstance(dynamics, Dynamics):
        raise DefinitionError(
            f"torch_step({dynamics!r}): expected a dynamics such as langevin or kinetic as first argument"
        )
    if dynamics.riemannian:
        raise DefinitionError(
            f"torch_step({dynamics.name}): expected a dynamics without a metric, which a black box is not given; write it "
            "as a @scheme"
        )
    claimed = ClaimedOrders.of(order)
    if not isinstance(chains, bool):
        raise DefinitionError(
            f"torch_step({dynamics.name}, chains={chains!r}): expected True, for tensors of shape (chains, dim), or False"
        )

    _check_swap(swap, dynamics)
    taken = ("h", "dim", "grad", "log_density", "noise", *dynamics.state, *dynamics.parameters)
    kept = read_memory(memory, f"torch_step({dynamics.name}", taken)
    names = tuple(item.name for item in kept)
    if kept and claimed.finite_time is not None:
        raise DefinitionError(
            f"torch_step({dynamics.name}, memory={names}, order={order!r}): with memory one step has no order of its own that "
            "could be measured; expected order={'invariant': K}, which the law of the chain has, or leave it out"
        )

    def decorate(function: Callable[..., Any]) -> TorchStep:
        name = getattr(function, "__name__", type(function).__name__)
        declaration = _declaration(function, name, dynamics, names)
        summary = (inspect.getdoc(function) or "").strip().split("\n")[0]
        made = TorchStep(name, dynamics, function, declaration, claimed.finite_time, chains, summary)
        made = replace(made, invariant_order=claimed.invariant, memory=kept, swap=swap)
        return tempered(made) if is_tempered(dynamics, declaration) else made

    return decorate


def tempered(step: TorchStep) -> TorchStep:
    """A step that takes no temperature as one that does (see `sgverify.schemes.tempering`)."""
    function, declaration = with_temperature(step.function, step.dynamics, step.declaration, math.sqrt)
    told = "; ".join(filter(None, (step.conventions, TOLD)))
    return replace(step, function=function, declaration=declaration, conventions=told)


def of_mean_gradient(step: Any, size: float, *, counted: bool) -> TorchStep:
    """A step of U, of one that takes the gradient of the mean loss of `size` data; `counted`: the number of data is told to it.

    Raises `DefinitionError` for other dynamics than langevin and kinetic, a memory, and code with a loss of its own.
    """
    if (
        not isinstance(step, TorchStep)
        or step.dynamics not in (langevin, kinetic)
        or step.memory
        or step.own_loss
    ):
        raise DefinitionError(
            f"scheme={step.reference or step.name!r}: adapter.gradient='mean': expected a step of langevin or kinetic in "
            "torch that is given a gradient, without memory; leave it out"
        )
    # A step with a temperature that knows of no N has it in the temperature.
    heat = 1.0 if counted or TOLD in step.conventions else 1 / size
    function = with_mean_gradient(step.function, step.dynamics, size, heat)
    told = f"the gradient of the mean loss, U/N with N = {size:g}" + ", and T/N as T" * (heat != 1.0)
    return replace(step, function=function, conventions="; ".join(filter(None, (step.conventions, told))))


def _check_swap(swap: Callable[..., Any] | None, dynamics: Dynamics) -> None:
    """Raise `DefinitionError` for a rule of swaps with another signature."""
    if swap is None:
        return
    try:
        inspect.signature(swap).bind(None, None, U=0.0, U_other=0.0, T=1.0, T_other=2.0)
    except (TypeError, ValueError) as error:
        raise DefinitionError(
            f"torch_step({dynamics.name}, swap={getattr(swap, '__name__', swap)!r}): {error}; expected a function "
            "swap(theta, other, *, U, U_other, T, T_other) that returns both states"
        ) from None


def written(function: Any) -> Any:
    """The function that holds the code of a step; for a torch module, whose call goes through hooks, its `forward`."""
    module = any(kind.__module__ == "torch.nn.modules.module" for kind in type(function).__mro__)
    return function.forward if module else function


def _declaration(
    function: Callable[..., Any], name: str, dynamics: Dynamics, memory: tuple[str, ...] = ()
) -> Declaration:
    if not callable(function):
        raise DefinitionError(f"torch_step: {function!r} cannot be called; expected a function of tensors")
    function = written(function)
    allowed = ("h", "dim", "grad", "log_density", *dynamics.parameters)
    state, ingredients = [], []
    for parameter in inspect.signature(function).parameters.values():
        known = parameter.name in allowed
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise DefinitionError(
                f"{where(function)}: `{name}` takes *{parameter.name}; expected named state and, after a bare *, named "
                "ingredients; spell them out."
            )
        if parameter.kind is parameter.KEYWORD_ONLY or known:
            if known or parameter.default is parameter.empty:
                ingredients.append(parameter.name)
        elif parameter.default is parameter.empty:
            state.append(parameter.name)
    if "noise" in ingredients:
        raise DefinitionError(
            f"{where(function)}: `{name}` asks for `noise`; a torch step draws its own, by torch.randn_like for one; "
            "draw it so, or write a definition under @scheme."
        )
    expected = (*dynamics.state, *memory)
    check_state(function, tuple(state), expected, dynamics.name, allowed, face="torch_step")
    check_ingredients(function, ingredients, allowed, "h")
    return Declaration(tuple(state), tuple(ingredients))

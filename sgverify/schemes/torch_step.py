"""Somebody else's torch code as a step: a plain function of tensors that draws its own noise from torch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.abstract import where
from sgverify.schemes.definition.abstract_value import VECTOR
from sgverify.schemes.definition.declaration import Declaration, check_ingredients, check_state
from sgverify.schemes.dynamics import Dynamics
from sgverify.schemes.scheme import ClaimedOrders, Order


@dataclass(frozen=True)
class TorchStep:
    """One step X_{l-1} -> X_l of a black box that is said to discretise `dynamics`.

    `order` and `invariant_order` are its claims, or None.

    It is no `Scheme`: it runs on tensors only. With `chains` its tensors have the shapes (chains, dim) and
    (chains, 1), of vectors and scalars of the state; without, (dim,) and (). `memory` names the variables that it carries
    besides the dynamics' state, each of theta's shape.
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
    memory: tuple[str, ...] = ()

    word = None
    """A black box has no letters."""

    @property
    def state(self) -> tuple[str, ...]:
        """Names of the state variables, memory last."""
        return (*self.dynamics.state, *self.memory)

    @property
    def shapes(self) -> dict[str, str]:
        """Shape of each state variable; memory is vector-shaped."""
        return {**self.dynamics.shapes, **dict.fromkeys(self.memory, VECTOR)}

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
        value = self.function(*state, **self.declaration.select(ingredients))
        return tuple(value) if isinstance(value, (tuple, list)) else (value,)

    def named(self, name: str, **changes: Any) -> TorchStep:
        """The same step under another name."""
        return replace(self, name=name, **changes)


def torch_step(
    dynamics: Dynamics, *, order: Order = None, chains: bool = False, memory: Iterable[str] = ()
) -> Callable[[Callable[..., Any]], TorchStep]:
    """Declare a torch function as a step: its random draws are replaced by chosen ones when it is judged.

    The positional parameters are the state of the dynamics; the keywords are `h`, `grad` (theta -> the gradient of U
    at theta, a tensor of theta's shape; `grad.fresh()` is another minibatch's), `dim` and the dynamics' parameters, as
    Python numbers. A keyword with a default may have any name and keeps its default. Noise is drawn within, by
    torch.randn, randn_like, normal, normal_ or torch.distributions. `order` is a claim as in `scheme`.

    `memory` names further variables that a step takes and returns after the state, each of theta's shape, such as the draw
    before or a second moment. One step then has no local order; the order that may be claimed is {"invariant": K}, which is
    judged by the invariant law, wherever the memory starts.

    A torch step is judged in float64, at the configured dimension and step sizes, its local order in the dimension of proofs.
    Its behaviour in float32 and in other dimensions is not judged. The checks `white-noise`, `independent-chains`, `moments`
    and `agreement` do not apply to it: they need a definition, or chains of the library's own sampler. Noise that is
    non-normal only beyond 6 standard deviations is not detected.

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

    kept = _memory(memory, dynamics)
    if kept and claimed.finite_time is not None:
        raise DefinitionError(
            f"torch_step({dynamics.name}, memory={kept}, order={order!r}): with memory one step has no order of its own that could "
            "be measured; expected order={'invariant': K}, which the law of the chain has, or leave it out"
        )

    def decorate(function: Callable[..., Any]) -> TorchStep:
        name = getattr(function, "__name__", type(function).__name__)
        declaration = _declaration(function, name, dynamics, kept)
        summary = (inspect.getdoc(function) or "").strip().split("\n")[0]
        made = TorchStep(name, dynamics, function, declaration, claimed.finite_time, chains, summary)
        return replace(made, invariant_order=claimed.invariant, memory=kept)

    return decorate


def written(function: Any) -> Any:
    """The function that holds the code of a step; for a torch module, whose call goes through hooks, its `forward`."""
    module = any(kind.__module__ == "torch.nn.modules.module" for kind in type(function).__mro__)
    return function.forward if module else function


def _memory(memory: Iterable[str], dynamics: Dynamics) -> tuple[str, ...]:
    given = () if isinstance(memory, str) else tuple(memory)
    right = all(isinstance(name, str) and name.isidentifier() for name in given) and len({*given}) == len(
        given
    )
    taken = {"h", "dim", "grad", "noise", *dynamics.state, *dynamics.parameters}
    if isinstance(memory, str) or not right or taken.intersection(given):
        raise DefinitionError(
            f"torch_step({dynamics.name}, memory={memory!r}): expected new names of positional parameters, such as memory=['v']"
        )
    return given


def _declaration(
    function: Callable[..., Any], name: str, dynamics: Dynamics, memory: tuple[str, ...] = ()
) -> Declaration:
    if not callable(function):
        raise DefinitionError(f"torch_step: {function!r} cannot be called; expected a function of tensors")
    function = written(function)
    allowed = ("h", "dim", "grad", *dynamics.parameters)
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

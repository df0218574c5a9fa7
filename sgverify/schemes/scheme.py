"""Schemes: one step of an integrator, defined once and well-formed by construction, with the orders that it claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sgverify.errors import DefinitionError, shown
from sgverify.schemes.definition.abstract import Census, check_returned, depends, run_abstractly, where
from sgverify.schemes.definition.abstract_value import VECTOR, Abstract
from sgverify.schemes.definition.declaration import (
    Declaration,
    check_ingredients,
    check_state,
    read_signature,
)
from sgverify.schemes.definition.foreign import in_own_terms
from sgverify.schemes.definition.mathematics import NoiseLaw
from sgverify.schemes.dynamics import Dynamics
from sgverify.schemes.numbers.constants import Constant, cut_to
from sgverify.schemes.tempering import TOLD, is_tempered, with_temperature

if TYPE_CHECKING:
    from sgverify.schemes.splittings import Word

KINDS = {
    "weak-finite-time": "E f(X_n) - E f(X(nh)) = O(h^K) at a fixed time nh, for every smooth f",
    "invariant": "the average of every smooth f under the invariant law, less that under rho, is O(h^K)",
}
"""The meaning of K in each kind. Without memory the first is the local order K, P_h f = exp(hL) f + O(h^(K+1))."""

Order = int | Mapping[str, int] | None
"""A claimed order as a definition writes it: a number is the weak order at finite times."""


@dataclass(frozen=True)
class ClaimedOrders:
    """The orders that a scheme claims by kind, None where it claims none of that kind.

    >>> ClaimedOrders.of({"weak-finite-time": 1, "invariant": 2})
    ClaimedOrders(finite_time=1, invariant=2)
    >>> ClaimedOrders.of(2)
    ClaimedOrders(finite_time=2, invariant=None)
    """

    finite_time: int | None = None
    invariant: int | None = None

    @staticmethod
    def of(order: Order) -> ClaimedOrders:
        """Read `order=` of a definition. Raises `DefinitionError` for another kind, or no positive whole number."""
        if not isinstance(order, Mapping):
            return ClaimedOrders(_checked(order, f"order={order!r}"))
        unknown = [kind for kind in order if kind not in KINDS]
        if unknown or not order:
            given = f"the kind {unknown[0]!r}" if unknown else "no kind"
            raise DefinitionError(
                f"order={dict(order)!r}: {given}; expected one of {', '.join(KINDS)}, as in order={{'weak-finite-time': 1, "
                "'invariant': 2}; a number alone is the weak order at finite times"
            )
        found = {kind: _checked(value, f"order[{kind!r}]={value!r}") for kind, value in order.items()}
        return ClaimedOrders(found.get("weak-finite-time"), found.get("invariant"))


def _checked(order: int | None, given: str) -> int | None:
    if order is not None and (isinstance(order, bool) or not isinstance(order, int) or order < 1):
        raise DefinitionError(
            f"{given}: expected a whole number of at least 1; leave it out if nothing is claimed"
        )
    return order


NOTHING = Census((), 0, 0)


@dataclass(frozen=True)
class Scheme:
    """One step X_{l-1} -> X_l of an integrator of `dynamics`.

    `order` is the claim: the local order K of chen2015 Definition 1, with memory the weak order at finite times, or None
    where nothing is claimed; `invariant_order` is the one that is claimed of the invariant law.
    `memory` names extra state that is carried between steps, each with the function that starts it; `starts`
    counts what these functions ask for together.
    """

    name: str
    dynamics: Dynamics
    function: Callable[..., Any] = field(repr=False)
    declaration: Declaration = field(repr=False)
    census: Census
    order: int | None = None
    word: Word | None = None
    memory: Mapping[str, Callable[..., Any]] = field(default_factory=dict, repr=False)
    starts: Census = NOTHING
    summary: str = ""
    source: str = ""
    reference: str = ""
    invariant_order: int | None = None

    @property
    def state(self) -> tuple[str, ...]:
        """Names of the state variables, memory last."""
        return (*self.dynamics.state, *self.memory)

    @property
    def shapes(self) -> dict[str, str]:
        """Shape of each state variable; memory is vector-shaped."""
        return {**self.dynamics.shapes, **dict.fromkeys(self.memory, VECTOR)}

    @property
    def asks_for_dimension(self) -> bool:
        """Whether `dim` is an ingredient of the step, of its dynamics or of the start of its memory."""
        starts = (read_signature(start, "memory") for start in self.memory.values())
        return any("dim" in d.ingredients for d in (self.declaration, self.dynamics.declaration, *starts))

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The numbers and matrices by which step, memory and dynamics tell coordinates apart."""
        return (*self.census.constants, *self.starts.constants, *self.dynamics.constants)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The dynamics' parameters that one step needs."""
        return self.declaration.parameters

    @property
    def draws(self) -> int:
        """Number of noise draws of a step."""
        return self.census.draws

    @property
    def laws(self) -> tuple[NoiseLaw, ...]:
        """The law of each noise draw of a step, in order."""
        return self.census.laws

    @property
    def gradients(self) -> int:
        """Number of gradient evaluations of a step."""
        return self.census.gradients

    @property
    def minibatches(self) -> int:
        """Number of different minibatches of a step."""
        return self.census.minibatches

    def step(self, state: tuple[Any, ...], **ingredients: Any) -> tuple[Any, ...]:
        """Run the definition on any carrier's values: h, grad, noise and every parameter by keyword."""
        value = self.function(*state, **self.declaration.select(ingredients))
        return value if isinstance(value, tuple) else (value,)

    def start_memory(self, state: tuple[Any, ...], **ingredients: Any) -> tuple[Any, ...]:
        """The whole state, with each memory started from the dynamics' state."""
        started = []
        for start in self.memory.values():
            started.append(start(*state, **read_signature(start, "memory").select(ingredients)))
        return (*state, *started)

    @cached_property
    def without_idle_memory(self) -> Scheme:
        """The step of the state, and of the memory that moves it: a memory that only counts has no part in any law."""
        shapes, asked = self.shapes, self.declaration.ingredients
        moved = {name: depends(self.function, shapes, asked, name) for name in self.memory}
        moving = set(self.dynamics.state)
        while more := {name for name in self.memory if name not in moving and moving & moved[name]}:
            moving |= more
        starts = {
            name: start
            for name, start in self.memory.items()
            if name not in moving and not read_signature(start, "memory").ingredients
        }
        if not starts:
            return self
        function, before = self.function, len(self.dynamics.state)
        kept = [name for name in self.state if name not in starts]

        def step(*state: Any, **ingredients: Any) -> tuple[Any, ...]:
            given = dict(zip(kept, state, strict=True))
            given |= {name: start(*state[:before]) for name, start in starts.items()}
            values = function(*(given[name] for name in self.state), **ingredients)
            return tuple(value for name, value in zip(self.state, values, strict=True) if name not in starts)

        memory = {name: start for name, start in self.memory.items() if name not in starts}
        return replace(
            self, function=step, memory=memory, declaration=replace(self.declaration, state=tuple(kept))
        )

    def cut(self, dim: int) -> Scheme:
        """The same step with constants of `dim` coordinates at most: itself where it has no longer ones."""
        if all(len(constant) <= dim for constant in self.census.constants):
            return self
        function = self.function

        def cut_step(*state: Any, **ingredients: Any) -> Any:
            with cut_to(dim):
                return function(*state, **ingredients)

        return replace(self, function=cut_step)

    def named(self, name: str, **changes: Any) -> Scheme:
        """The same scheme under another name (and summary, source, claimed order, reference)."""
        return replace(self, name=name, **changes)


def scheme(
    dynamics: Dynamics, *, order: Order = None, memory: Mapping[str, Callable[..., Any]] | None = None
) -> Callable[[Callable[..., Any]], Scheme]:
    """Declare a scheme: `@scheme(langevin, order=1)` over `def euler(theta, *, h, grad, noise, T)`.

    `order` is a claim: the weak order at finite times, or orders by kind, {"weak-finite-time": 1, "invariant": 2}. A scheme
    that claims an invariant order alone is held to its invariant law, and not to the path of its dynamics in time.

    The positional parameters are the state of the dynamics (then the memory), the keywords are
    ingredients: `h`, `grad`, `noise`, `dim` and the dynamics' parameters. A call of `noise()` is one draw,
    and so is one of `noise.three_point()` (see `LAWS`). A step that takes no T is given the gradient of U/T.
    Raises `DefinitionError` (file, line, mend) where the definition is not well-formed.
    """
    if not isinstance(dynamics, Dynamics):
        raise DefinitionError(
            f"scheme({dynamics!r}): expected a dynamics such as langevin or kinetic as first argument"
        )
    claimed = ClaimedOrders.of(order)

    def decorate(function: Callable[..., Any]) -> Scheme:
        made = make_scheme(function, dynamics, order=claimed.finite_time, memory=memory)
        if is_tempered(dynamics, made.declaration):
            tempered, _ = with_temperature(function, dynamics, made.declaration)
            made = make_scheme(tempered, dynamics, order=claimed.finite_time)
            made = made.named(made.name, summary=f"{made.summary or made.name}; with {TOLD}")
        return replace(made, invariant_order=claimed.invariant)

    return decorate


def make_scheme(
    function: Callable[..., Any],
    dynamics: Dynamics,
    *,
    order: int | None = None,
    memory: Mapping[str, Callable[..., Any]] | None = None,
    name: str | None = None,
    word: Word | None = None,
) -> Scheme:
    """Build a scheme from a step function and prove it well-formed by an abstract run."""
    function = in_own_terms(function)
    declaration = read_signature(function, "scheme")
    memory = _memory_of(memory)
    starts = NOTHING
    for item, start in memory.items():
        starts += _check_memory(item, start, dynamics)
    expected = (*dynamics.state, *memory)
    check_state(function, declaration.state, expected, dynamics.name, ("h", *dynamics.offered))
    check_ingredients(function, declaration.ingredients, ("h", *dynamics.offered), "h")
    shapes = {**dynamics.shapes, **dict.fromkeys(memory, VECTOR)}
    value, census = run_abstractly(function, shapes, declaration.ingredients)
    values = check_returned(function, value, shapes)
    if _has_noise(dynamics) and not any(isinstance(item, Abstract) and item.noisy for item in values):
        raise DefinitionError(
            f"{where(function)}: `{function.__name__}` draws no noise, or none reaches the state; `{dynamics.name}` "
            "has a diffusion; add the ingredient `noise` and a term such as sqrt(2*T*h)*noise()."
        )
    summary = (function.__doc__ or "").strip().split("\n")[0]
    return Scheme(
        name or function.__name__,
        dynamics,
        function,
        declaration,
        census,
        order,
        word,
        memory,
        starts,
        summary,
    )


def _memory_of(given: Any) -> dict[str, Callable[..., Any]]:
    if given is not None and not isinstance(given, Mapping):
        raise DefinitionError(
            f"memory={shown(given)}: expected each name with a function of the state that gives its first value, such as "
            'memory={"v": lambda theta: 0*theta}'
        )
    return {name: in_own_terms(start) for name, start in (given or {}).items()}


def _check_memory(name: str, start: Callable[..., Any], dynamics: Dynamics) -> Census:
    """What the start asks for; refuse one that is not a vector-valued function of the dynamics' state."""
    if name in dynamics.state:
        raise DefinitionError(
            f"memory={name!r}: `{dynamics.name}` has a state of this name; expected a new name"
        )
    declaration = read_signature(start, f"memory {name}")
    check_state(start, declaration.state, dynamics.state, dynamics.name)
    check_ingredients(start, declaration.ingredients, ("h", *dynamics.offered))
    value, census = run_abstractly(start, dynamics.shapes, declaration.ingredients)
    check_returned(start, value, {name: VECTOR})
    return census


def _has_noise(dynamics: Dynamics) -> bool:
    value, _ = run_abstractly(dynamics.function, dynamics.shapes, dynamics.declaration.ingredients)
    diffusion = value[1] if isinstance(value[1], tuple) else (value[1],)
    return any(isinstance(item, Abstract) or item != 0 for item in diffusion)

"""How is a jaxpr evaluated with its random numbers put in?

What follows from the key and from constants alone is computed at once, so that every key is known when numbers are drawn by it:
loops whose bodies draw are unrolled, and a choice between branches is made where what it depends on is known. The rest is left to
JAX as it stands.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from sgverify.adapters.jax_draws.numbers import UNIFORM, GivenNumbers, replaced
from sgverify.errors import Unreached

LONGEST = 1_000
"""The most rounds of a loop that draws."""

_CALLS = (
    "jit",
    "pjit",
    "closed_call",
    "core_call",
    "remat2",
    "checkpoint",
    "custom_jvp_call",
    "custom_vjp_call",
    "custom_lin",
)


@dataclass(frozen=True)
class Known:
    """A value that is known before any number is drawn; `keyed` if it follows from the key."""

    value: Any
    keyed: bool = False


def evaluate(closed: ClosedJaxpr, arguments: Sequence[Any], numbers: GivenNumbers) -> list[Any]:
    """The results of a jaxpr for arguments of which some are `Known`, the key among them."""
    return _run(closed.jaxpr, [Known(const) for const in closed.consts], arguments, numbers)


def draws(jaxpr: Any) -> bool:
    """Does a jaxpr ask for random bits, within its loops and calls too?"""
    return _draws(jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr)


@functools.cache
def _draws(jaxpr: Jaxpr) -> bool:
    return any(
        eqn.primitive.name in ("random_bits", "random_gamma_grad") or any(map(draws, inner_jaxprs(eqn)))
        for eqn in jaxpr.eqns
    )


def inner_jaxprs(eqn: Any) -> Iterator[Any]:
    """The jaxprs of the loops, branches and calls of an equation."""
    for value in eqn.params.values():
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, (ClosedJaxpr, Jaxpr)):
                yield part


def _run(jaxpr: Jaxpr, consts: Sequence[Any], arguments: Sequence[Any], numbers: GivenNumbers) -> list[Any]:
    held: dict[Any, Any] = {}

    def read(variable: Any) -> Any:
        return Known(variable.val) if isinstance(variable, Literal) else held[variable]

    held.update(zip(jaxpr.constvars, consts, strict=True))
    held.update(zip(jaxpr.invars, arguments, strict=True))
    for eqn in jaxpr.eqns:
        found = _equation(eqn, [read(variable) for variable in eqn.invars], numbers)
        held.update(zip(eqn.outvars, found, strict=True))
    return [read(variable) for variable in jaxpr.outvars]


def _equation(eqn: Any, given: list[Any], numbers: GivenNumbers) -> list[Any]:
    name = eqn.primitive.name
    known = all(isinstance(value, Known) for value in given)
    keyed = known and any(value.keyed for value in given)
    if name == "random_bits" and (keyed or not known):
        return [_bits(eqn, given[0], numbers)]
    # A call may be handed a key, and not draw by it.
    handed = name in _CALLS and not known and any(isinstance(value, Known) and value.keyed for value in given)
    if (known and not keyed) or not (handed or any(map(draws, inner_jaxprs(eqn)))):
        return _plainly(eqn, given, known, keyed)
    if name in _CALLS:
        if known and name in ("jit", "pjit"):
            key, *others = [value.value for value in given]
            # Arguments that follow from the key are no settings of a law.
            told = given[0].keyed and _is_key(key) and not any(value.keyed for value in given[1:])
            value = replaced(eqn, key, others, numbers) if told else None
            if value is not None:
                return [value]
        inner = eqn.params.get("jaxpr", eqn.params.get("call_jaxpr", eqn.params.get("fun_jaxpr")))
        if isinstance(inner, ClosedJaxpr):
            return _run(inner.jaxpr, [Known(const) for const in inner.consts], given, numbers)
        return _run(inner, [], given, numbers)
    if name == "scan":
        return _scan(eqn, given, numbers)
    if name == "while":
        return _while(eqn, given, numbers)
    if name == "cond":
        return _branches(eqn, given, numbers)
    raise Unreached(f"it draws random numbers within JAX's {name}, which is not taken apart")


def _plainly(eqn: Any, given: list[Any], known: bool, keyed: bool) -> list[Any]:
    """The equation as it stands; at once where everything is known."""
    values = [_value(value) for value in given]
    if known and not eqn.effects:
        with jax.ensure_compile_time_eval():
            return [Known(value, keyed) for value in _bound(eqn, values)]
    if any(isinstance(value, Known) and value.keyed for value in given):
        raise Unreached(
            f"it computes with its key as with a number ({eqn.primitive.name}); expected draws by jax.random"
        )
    return _bound(eqn, values)


def _bound(eqn: Any, values: list[Any]) -> list[Any]:
    made = eqn.primitive.get_bind_params(eqn.params)
    # Functions that are arguments stood apart from the parameters until JAX 0.7.
    functions, params = made if isinstance(made, tuple) else ((), made)
    with eqn.ctx.manager:
        found = eqn.primitive.bind(*functions, *values, **params)
    return list(found) if eqn.primitive.multiple_results else [found]


def _bits(eqn: Any, key: Any, numbers: GivenNumbers) -> Any:
    """The bits of uniform numbers, for the key's shape and that of the draw."""
    if not isinstance(key, Known):
        raise Unreached("the key of a draw depends on the state of the chain or on earlier draws")
    width, shape = eqn.params["bit_width"], tuple(eqn.params["shape"])
    with jax.ensure_compile_time_eval():
        data = np.asarray(jax.random.key_data(key.value))
    fronts = jnp.shape(key.value)
    rows = [
        numbers.take(row, width, shape, (UNIFORM, 0.0))
        for row in data.reshape(math.prod(fronts), data.shape[-1])
    ]
    uniform = jnp.stack(rows).reshape((*fronts, *shape))
    whole = eqn.outvars[0].aval.dtype
    return jnp.floor(uniform * 2.0**width).astype(whole)


def _is_key(value: Any) -> bool:
    return jnp.issubdtype(
        jnp.asarray(value).dtype if not hasattr(value, "dtype") else value.dtype, jax.dtypes.prng_key
    )


def _part(value: Any, place: int) -> Any:
    """One round's share of what a loop runs over."""
    if isinstance(value, Known):
        with jax.ensure_compile_time_eval():
            return Known(value.value[place], value.keyed)
    return value[place]


def _scan(eqn: Any, given: list[Any], numbers: GivenNumbers) -> list[Any]:
    params = eqn.params
    length, consts, carried = params["length"], params["num_consts"], params["num_carry"]
    if length > LONGEST:
        raise Unreached(f"a loop of {length} rounds draws random numbers; at most {LONGEST} are unrolled")
    fixed, state, over = given[:consts], given[consts : consts + carried], given[consts + carried :]
    collected: list[list[Any]] = []
    order = range(length - 1, -1, -1) if params["reverse"] else range(length)
    for place in order:
        found = evaluate(params["jaxpr"], [*fixed, *state, *(_part(value, place) for value in over)], numbers)
        state = found[:carried]
        collected.append(found[carried:])
    if params["reverse"]:
        collected.reverse()
    return [*state, *(_stacked(list(column)) for column in zip(*collected, strict=True))]


def _stacked(values: list[Any]) -> Any:
    if all(isinstance(value, Known) for value in values):
        with jax.ensure_compile_time_eval():
            return Known(jnp.stack([value.value for value in values]), any(value.keyed for value in values))
    return jnp.stack([_value(value) for value in values])


def _while(eqn: Any, given: list[Any], numbers: GivenNumbers) -> list[Any]:
    params = eqn.params
    tests, bodies = params["cond_nconsts"], params["body_nconsts"]
    of_test, of_body, state = given[:tests], given[tests : tests + bodies], given[tests + bodies :]
    for _ in range(LONGEST):
        (on,) = evaluate(params["cond_jaxpr"], [*of_test, *state], numbers)
        if not isinstance(on, Known):
            raise Unreached("it draws in a loop whose end depends on the state of the chain or on the draws")
        if not bool(on.value):
            return list(state)
        state = evaluate(params["body_jaxpr"], [*of_body, *state], numbers)
    raise Unreached(f"a loop of more than {LONGEST} rounds draws random numbers")


def _branches(eqn: Any, given: list[Any], numbers: GivenNumbers) -> list[Any]:
    """The branch that is taken; where that depends on the state or on draws, all of them, and of their results the one."""
    index, *arguments = given
    branches = eqn.params["branches"]
    if isinstance(index, Known):
        taken = min(max(int(index.value), 0), len(branches) - 1)
        return evaluate(branches[taken], arguments, numbers)
    found = [[_value(value) for value in evaluate(branch, arguments, numbers)] for branch in branches]
    which = jnp.clip(index, 0, len(branches) - 1)
    return [jax.lax.select_n(which, *column) for column in zip(*found, strict=True)]


def _value(value: Any) -> Any:
    return value.value if isinstance(value, Known) else value

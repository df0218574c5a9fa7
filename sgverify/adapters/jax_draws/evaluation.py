"""Which random numbers does a traced function draw, and by which of its keys?

Which random functions of JAX are replaced as a whole, and by which law?

A function is known by its name in the jaxpr, and is replaced only if its jaxpr is the one that the function of `jax.random` has;
anything else is evaluated from the random bits that it asks for.

How is a jaxpr evaluated with its random numbers put in?

What follows from the key and from constants alone is computed at once, so that every key is known when numbers are drawn by it:
loops whose bodies draw are unrolled, and a choice between branches is made where what it depends on is known. The rest is left to
JAX as it stands.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal
from jax.scipy.special import log_ndtr, ndtr, ndtri

from sgverify.errors import Unreached
from sgverify.samplers.intercepted.interception import MOST_DRAWS

NORMAL, UNIFORM, EXPONENTIAL, INTEGER, COIN = "normal", "uniform", "exponential", "integer", "coin"

Identity = tuple[Any, ...]
"""What makes a random number the same one: the key's bits, the width of the number, and its place in what the key gives."""


@dataclass
class RandomNumbers:
    """The random numbers of one call, in the order in which they are first asked for, each with the law that it was asked with.

    JAX makes the i-th number of a key from the key and i: two calls with one key share numbers, whatever their shapes. A number
    that is asked for as normal and as uniform is u and Phi^-1(u).
    """

    laws: list[tuple[str, float]] = field(default_factory=list)
    _places: dict[Identity, int] = field(default_factory=dict)

    def places(
        self, key: np.ndarray, width: int, shape: tuple[int, ...], law: tuple[str, float]
    ) -> np.ndarray:
        """The places of the numbers of this shape that a key gives; numbers that are new are appended with their law."""
        apart: Identity = () if jax.config.jax_threefry_partitionable else (shape,)
        kind = law if law[0] in (INTEGER, COIN) else ()
        found = []
        for i in range(math.prod(shape)):
            identity = (key.tobytes(), width, *apart, *kind, i)
            place = self._places.setdefault(identity, len(self.laws))
            if place == len(self.laws):
                self.laws.append(law)
            if place >= 10 * MOST_DRAWS:
                raise Unreached(f"one step draws more than {10 * MOST_DRAWS} random numbers")
            found.append(place)
        return np.array(found, dtype=np.int64).reshape(shape)


class GivenNumbers:
    """The numbers of a call as values: `values`, shape (m,), holds each under its own law; None stands for any values."""

    def __init__(self, table: RandomNumbers, values: Any) -> None:
        self._table, self._values = table, values

    def take(self, key: np.ndarray, width: int, shape: tuple[int, ...], law: tuple[str, float]) -> Any:
        """The numbers that a key gives, with the law that is asked for."""
        places = self._table.places(key, width, shape, law)
        if self._values is None:
            return jnp.full(shape, 0.5)
        own = {self._table.laws[k][0] for k in places.reshape(-1)}
        found = self._values[places]
        return _converted(found, own.pop(), law[0]) if own else found


def _converted(value: Any, kind: str, asked: str) -> Any:
    """Numbers of one law as those of another, by their probabilities."""
    if kind == asked:
        return value
    normal = {
        NORMAL: lambda: value,
        UNIFORM: lambda: ndtri(value),
        EXPONENTIAL: lambda: ndtri(-jnp.expm1(-value)),
    }[kind]()
    return {NORMAL: lambda: normal, UNIFORM: lambda: ndtr(normal), EXPONENTIAL: lambda: -log_ndtr(-normal)}[
        asked
    ]()


MOST_OUTCOMES = 5_040
"""The most outcomes of one whole number."""


def replaced(eqn: Any, key: Any, others: list[Any], numbers: GivenNumbers) -> Any:
    """What a jitted random function of JAX gives for these numbers; None if it is no such function.

    `key` is its key, `others` are its further arguments, all of them known.
    """
    name = eqn.params.get("name", "")
    aval = eqn.outvars[0].aval
    if name not in _LAWS or len(eqn.outvars) != 1 or any(jnp.shape(value) for value in others):
        return None
    genuine, kind = _LAWS[name]
    # Many keys give one row of numbers each.
    fronts = jnp.shape(key)
    own = tuple(aval.shape[len(fronts) :])
    if not _same_program(eqn, genuine, key, own, others):
        return None
    with jax.ensure_compile_time_eval():
        data = np.asarray(jax.random.key_data(key))
    try:
        rows = data.reshape(-1, data.shape[-1])
        values = [_put(kind, numbers, each, own, aval.dtype, others) for each in rows]
    except ValueError:
        return None
    return values[0] if not fronts else jnp.stack(values).reshape(aval.shape)


def _same_program(eqn: Any, genuine: Any, key: Any, shape: tuple[int, ...], others: list[Any]) -> bool:
    """Is the jaxpr of an equation the one that the function of `jax.random` has of its name?"""
    given, dtype = eqn.params["jaxpr"], eqn.outvars[0].aval.dtype

    def one(each: Any) -> Any:
        return genuine(each, shape, dtype, others)

    function = one
    for _ in jnp.shape(key):
        function = jax.vmap(function)
    try:
        made = jax.make_jaxpr(function)(key)
    except (TypeError, ValueError):
        return False
    return not given.consts and any(
        not other.consts and str(other) == str(given) for other in _named(made.jaxpr, eqn.params["name"])
    )


def _named(jaxpr: Any, name: str) -> Iterator[Any]:
    """The jaxprs of the calls of this name, within other calls too."""
    for eqn in jaxpr.eqns:
        inner = eqn.params.get("jaxpr")
        if eqn.params.get("name") == name:
            yield inner
        if inner is not None:
            yield from _named(getattr(inner, "jaxpr", inner), name)


def _put(
    kind: str, numbers: GivenNumbers, key: np.ndarray, shape: tuple[int, ...], dtype: Any, others: list[Any]
) -> Any:
    """The numbers of a law with these arguments; raises `ValueError` for whole numbers of too many outcomes."""
    size = (
        float(others[0]) if kind == COIN else float(others[1]) - float(others[0]) if kind == INTEGER else 0.0
    )
    if kind == INTEGER and not 1 <= size <= MOST_OUTCOMES:
        raise ValueError
    width = 1 if kind == COIN else int(jnp.dtype(dtype).itemsize * 8)
    found = numbers.take(key, width, shape, (kind, size)).astype(bool if kind == COIN else dtype)
    if kind == UNIFORM:
        low, high = (jnp.asarray(value, dtype) for value in others)
        return low + (high - low) * found
    return int(others[0]) + found if kind == INTEGER else found


_LAWS: dict[str, tuple[Any, str]] = {
    "_normal": (lambda key, shape, dtype, others: jax.random.normal(key, shape, dtype), NORMAL),
    "_normal_real": (lambda key, shape, dtype, others: jax.random.normal(key, shape, dtype), NORMAL),
    "_uniform": (lambda key, shape, dtype, others: jax.random.uniform(key, shape, dtype, *others), UNIFORM),
    "_exponential": (
        lambda key, shape, dtype, others: jax.random.exponential(key, shape, dtype),
        EXPONENTIAL,
    ),
    "_randint": (lambda key, shape, dtype, others: jax.random.randint(key, shape, *others, dtype), INTEGER),
    "_bernoulli": (lambda key, shape, dtype, others: jax.random.bernoulli(key, others[0], shape), COIN),
}


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
    with eqn.ctx.manager:
        found = eqn.primitive.bind(*values, **eqn.primitive.get_bind_params(eqn.params))
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

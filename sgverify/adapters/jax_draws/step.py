"""How does a JAX function of a key become a step on tensors, compiled for many chains, its draws and gradients handed in?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch import Tensor

from sgverify.adapters.jax_draws.evaluation import (
    COIN,
    EXPONENTIAL,
    INTEGER,
    NORMAL,
    UNIFORM,
    GivenNumbers,
    Known,
    RandomNumbers,
    evaluate,
    inner_jaxprs,
)
from sgverify.errors import DefinitionError, SgverifyError, Unreached
from sgverify.samplers.intercepted.dtypes import Narrow
from sgverify.samplers.intercepted.interception import show_foreign
from sgverify.schemes.adapting import Parameter
from sgverify.schemes.definition.abstract_value import VECTOR
from sgverify.schemes.dynamics import Dynamics

FEWEST = 4
"""The fewest chains of a compiled call; more are compiled for the next power of this number, so that few sizes occur."""

KEY = 7_919
"""The seed of the key that a function is traced with; its draws do not depend on it."""

_WHERE_NONE = "JAX itself"


@dataclass
class Handover:
    """What a library's call is given besides its key and state.

    `h` is the step size, `numbers` are T and D as far as the dynamics has them, and `settings` the library's own parameters, all
    JAX numbers; `grad(theta)` is the gradient of U at theta, with `grad.fresh()` on another minibatch.
    """

    h: Any
    numbers: Mapping[str, Any]
    settings: Mapping[str, Any]
    dim: int
    grad: GivenGradient

    def log_density(self, theta: Any) -> Any:
        """A number whose gradient in theta is -grad(theta), once; its value is NaN: a step that uses it is refused."""
        grad = self.grad

        @jax.custom_jvp
        def value(theta: Any) -> Any:
            return jnp.full((), jnp.nan, theta.dtype)

        @value.defjvp
        def derivative(at: Any, along: Any) -> Any:
            return value(at[0]), -jnp.sum(grad(at[0]) * along[0])

        return value(jnp.asarray(theta))


class GivenGradient:
    """The gradient of U at theta, shape (dim,), computed outside of JAX; `place` counts the minibatches of a step."""

    def __init__(self, asked: list[Any], counter: list[int] | None = None) -> None:
        self._asked, self._counter = asked, [0] if counter is None else counter
        self._place = self._counter[0]

    def __call__(self, theta: Any) -> Any:
        """The gradient of U at theta, in its shape and dtype."""
        theta = jnp.asarray(theta)
        shape = jax.ShapeDtypeStruct(theta.shape, theta.dtype)
        place, asked = self._place, self._asked

        def outside(at: Any) -> np.ndarray:
            return _asked_outside(asked, place, at)

        return jax.pure_callback(outside, shape, theta, vmap_method="expand_dims")

    def _times(self, other: Any) -> NoReturn:
        raise DefinitionError(
            "grad is a function of theta here, and was multiplied; expected grad(theta); write that"
        )

    __mul__ = __rmul__ = _times

    def fresh(self) -> GivenGradient:
        """The gradient on another minibatch of the same step."""
        self._counter[0] += 1
        return GivenGradient(self._asked, self._counter)


Call = Callable[[Any, tuple[Any, ...], Handover], Sequence[Any]]
"""One step of a library: (key, state of one chain, what is given) -> state. Vectors have the shape (dim,), numbers ()."""


@dataclass
class _Plan:
    """A call that is compiled for one dimension and dtype: its random numbers, its operations, and its narrow values."""

    run: Callable[..., Any]
    numbers: RandomNumbers
    operations: int
    narrow: tuple[Narrow, ...]
    met: tuple[Narrow, ...]


@dataclass(eq=False)
class JaxStep:
    """A step on tensors of shapes (chains, dim) and (chains, 1) that runs `call` of JAX for all chains together.

    The function is traced once for each dimension and dtype, with h, T, D and the settings that `read` computes of them as
    variables (as numbers where the code decides by them). Its draws are taken out; it is vectorised over chains and compiled. The
    draws are torch's, of the same laws; gradients are computed outside. A float64 state is moved with JAX's 64-bit numbers
    enabled, whatever the setting of the session, which is put back; with `wide` a float32 state is, too.
    """

    call: Call
    dynamics: Dynamics
    function: Callable[..., Any]
    name: str
    read: Mapping[str, Parameter] = field(default_factory=dict)
    wide: bool = False
    _plans: dict[Any, _Plan] = field(default_factory=dict)
    _gradients: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.__name__ = self.name
        self.__wrapped__ = self.function

    def __call__(self, *state: Tensor, h: float, grad: Any, dim: int, **numbers: float) -> tuple[Tensor, ...]:
        """The next state of all chains; h, T, D and the gradient of U by keyword."""
        wide = state[0].dtype == torch.float64
        settings = {name: read({"h": h, "dim": dim, **numbers}) for name, read in self.read.items()}
        moving: dict[tuple[str, ...], float] = {
            ("h",): float(h),
            **{("number", name): float(value) for name, value in numbers.items()},
            **{("setting", name): value for name, value in settings.items() if isinstance(value, float)},
        }
        still = {name: value for name, value in settings.items() if not isinstance(value, float)}
        with precision(wide or self.wide):
            plan = self._plan(dim, wide, moving, still)
            chains = len(state[0])
            padded = FEWEST ** max(1, math.ceil(math.log(chains, FEWEST) - 1e-9))
            given = _drawn(plan.numbers.laws, chains, state[0].dtype)
            arrays = [_padded(value.detach().numpy(), padded) for value in (*state, given)]
            show_foreign(plan.operations, plan.narrow, plan.met)
            self._gradients[:] = [grad, None]
            try:
                found = [np.asarray(value)[:chains] for value in plan.run(*arrays, *moving.values())]
                if self._gradients[1] is not None:
                    raise self._gradients[1]
            finally:
                self._gradients.clear()
        return tuple(
            torch.from_numpy(value.copy()).reshape(before.shape)
            for value, before in zip(found, state, strict=True)
        )

    def _plan(self, dim: int, wide: bool, moving: dict[Any, float], still: dict[str, Any]) -> _Plan:
        """The compiled call; traced with h, T and D as variables, or with these very numbers where the code needs them."""
        general = (dim, wide, *still.items())
        special = (*general, *moving.values())
        for key in (general, special):
            if key in self._plans:
                return self._plans[key]
        try:
            self._plans[general] = found = self._traced(dim, wide, list(moving), still)
        except (jax.errors.ConcretizationTypeError, jax.errors.TracerBoolConversionError):
            found = self._traced(dim, wide, list(moving), still, list(moving.values()))
            self._plans[special] = found
        return found

    def _traced(
        self, dim: int, wide: bool, names: list[Any], still: dict[str, Any], fixed: list[float] | None = None
    ) -> _Plan:
        kind = jnp.float64 if wide else jnp.float32
        shapes = [(dim,) if shape == VECTOR else () for shape in self.dynamics.shapes.values()]
        state = [jax.ShapeDtypeStruct(shape, kind) for shape in shapes]
        some = [0.1] * len(names)

        def once(key: Any, *arguments: Any) -> tuple[Any, ...]:
            values = dict(zip(names, fixed or arguments[len(state) :], strict=True))
            parts = {
                part: {k[1]: v for k, v in values.items() if k[0] == part} for part in ("number", "setting")
            }
            given = Handover(
                values["h",],
                parts["number"],
                {**still, **parts["setting"]},
                dim,
                GivenGradient(self._gradients),
            )
            found = tuple(self.call(key, arguments[: len(state)], given))
            self._check(found, shapes)
            return found

        key = jax.random.PRNGKey(KEY)
        closed = jax.make_jaxpr(once)(key, *state, *some)
        table = RandomNumbers()

        def moved(values: Any, *arguments: Any) -> list[Any]:
            found = evaluate(closed, [Known(key, keyed=True), *arguments], GivenNumbers(table, values))
            if any(isinstance(value, Known) and value.keyed for value in found):
                raise Unreached("what it returns as its state follows from its key alone")
            return [value.value if isinstance(value, Known) else value for value in found]

        jax.eval_shape(lambda *arguments: moved(None, *arguments), *state, *some)

        def many(*arguments: Any) -> list[Any]:
            own, given, quantities = (
                arguments[: len(state)],
                arguments[len(state)],
                arguments[len(state) + 1 :],
            )

            def one(given: Any, *own: Any) -> list[Any]:
                parts = [value.reshape(shape) for value, shape in zip(own, shapes, strict=True)]
                return moved(given, *parts, *quantities)

            return jax.vmap(one)(given, *own)

        operations, narrow, met = _audit(closed)
        return _Plan(jax.jit(many), table, operations, narrow if wide else (), met if wide else ())

    def _check(self, found: tuple[Any, ...], shapes: Sequence[tuple[int, ...]]) -> None:
        names = self.dynamics.state
        if len(found) != len(names):
            raise DefinitionError(
                f"{self.name}: returned {len(found)} values; expected the state ({', '.join(names)}), in this order"
            )
        for name, value, shape in zip(names, found, shapes, strict=True):
            if jnp.shape(value) != shape:
                raise DefinitionError(
                    f"{self.name}: returned an array of shape {jnp.shape(value)} for `{name}`; expected {shape}"
                )


def derivative_by_draws(function: Callable[[Any], Any]) -> list[float] | None:
    """The derivatives of a function of a key, with one number as its value, by its normal draws at 0; None if others are drawn."""
    with precision(True):
        key = jax.random.PRNGKey(KEY)
        closed, table = jax.make_jaxpr(function)(key), RandomNumbers()

        def value(draws: Any) -> Any:
            (found,) = evaluate(closed, [Known(key, keyed=True)], GivenNumbers(table, draws))
            return jnp.sum(found.value if isinstance(found, Known) else found)

        jax.eval_shape(lambda: value(None))
        if any(kind != NORMAL for kind, _ in table.laws):
            return None
        return [float(part) for part in np.asarray(jax.grad(value)(jnp.zeros(len(table.laws))))]


def _asked_outside(asked: list[Any], place: int, at: Any) -> np.ndarray:
    """The gradient on the minibatch `place` of the call in progress, of numpy arrays of shape (*chains, dim)."""
    theta = np.array(at)
    try:
        while len(asked) < place + 2:
            asked.append(asked[0].fresh())
        grad = asked[0] if place == 0 else asked[place + 1]
        rows = torch.from_numpy(theta.reshape(-1, theta.shape[-1]) if theta.ndim != 1 else theta)
        return np.asarray(grad(rows).detach().numpy(), dtype=theta.dtype).reshape(theta.shape)
    except SgverifyError as error:
        # JAX would print what is raised here, and raise an error of its own: it is raised when the call is back.
        asked[1] = error
        return np.full_like(theta, np.nan)


@contextmanager
def precision(wide: bool) -> Iterator[None]:
    """A context with JAX's 64-bit numbers on or off, for all threads; the session's setting is put back."""
    before = jax.config.jax_enable_x64
    if before == wide:
        yield
        return
    jax.config.update("jax_enable_x64", wide)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)


def _drawn(laws: Sequence[tuple[str, float]], chains: int, dtype: torch.dtype) -> Tensor:
    """Numbers of these laws for each chain, drawn by torch: shape (chains, m)."""
    drawn: dict[str, Callable[[tuple[int, ...], float], Tensor]] = {
        NORMAL: lambda shape, size: torch.randn(shape, dtype=dtype),
        UNIFORM: lambda shape, size: torch.rand(shape, dtype=dtype),
        EXPONENTIAL: lambda shape, size: torch.empty(shape, dtype=dtype).exponential_(),
        INTEGER: lambda shape, size: torch.randint(int(size), shape),
        COIN: lambda shape, size: torch.bernoulli(torch.full(shape, size, dtype=torch.float64)),
    }
    runs = [(kind, size, len(list(run))) for (kind, size), run in itertools.groupby(laws)]
    parts = [drawn[kind]((chains, count), size).to(dtype) for kind, size, count in runs]
    return torch.cat(parts, dim=1) if parts else torch.zeros((chains, 0), dtype=dtype)


def _padded(value: np.ndarray, rows: int) -> np.ndarray:
    """The rows, with the last one repeated up to this number."""
    return (
        value
        if len(value) == rows
        else np.concatenate([value, np.repeat(value[-1:], rows - len(value), axis=0)])
    )


def _audit(closed: Any) -> tuple[int, tuple[Narrow, ...], tuple[Narrow, ...]]:
    """The operations of a jaxpr, its values narrower than float64 by place, and those that meet float64 in one operation."""
    count = 0
    narrow: dict[tuple[str, str], Narrow] = {}
    met: dict[str, Narrow] = {}
    left = [closed.jaxpr]
    while left:
        for eqn in left.pop().eqns:
            inner = [getattr(part, "jaxpr", part) for part in inner_jaxprs(eqn)]
            count += eqn.params.get("length", 1) if eqn.primitive.name == "scan" else 1
            if inner:
                left += inner
                continue
            kinds = {
                variable.aval.dtype.name
                for variable in (*eqn.invars, *eqn.outvars)
                if hasattr(variable.aval, "dtype")
                and jnp.issubdtype(variable.aval.dtype, jnp.floating)
                # A constant that stands in the equation is exact in its dtype, or shows where it is made.
                and not (hasattr(variable, "val") and variable.aval.weak_type)
            }
            for kind in kinds - {"float64"}:
                seen = Narrow(f"jax.{kind}", eqn.primitive.name, _line(eqn))
                narrow.setdefault((kind, seen.line), seen)
                if "float64" in kinds:
                    met.setdefault(seen.line, seen)
    return count, tuple(narrow.values()), tuple(met.values())


def _line(eqn: Any) -> str:
    """FILE:LINE of the user's code that an equation comes from."""
    from jax._src import source_info_util

    frame = source_info_util.user_frame(eqn.source_info.traceback)
    return _WHERE_NONE if frame is None else f"{frame.file_name.rpartition('/')[2]}:{frame.start_line}"

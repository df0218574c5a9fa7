"""How does a scheme, a potential or a test function run on the state of all chains at once? The sampler's interpreter.

`Chains` wraps a torch tensor for three reasons. Exact numbers of a definition (1/3, sqrt(2)) and constants are converted to the
tensor's dtype. Operations that are no function of the state are not offered. And every operation rounds each chain separately,
in an order that depends on the dimension alone, so that a chain's bits do not depend on its batch; matrix products, reductions
and elementary functions of torch do not guarantee this. Test functions are evaluated in float64 for every dtype of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function

from sgverify.errors import ConfigurationError, DefinitionError, Unreached
from sgverify.samplers.reading import elementary
from sgverify.samplers.reading.arithmetic import root
from sgverify.samplers.reading.constants import EXACT, Clock, Constant, lasting
from sgverify.samplers.reading.tape import Tape, record
from sgverify.schemes.definition.abstract_value import SCALAR, VECTOR
from sgverify.schemes.definition.binding import Arithmetic
from sgverify.schemes.definition.mathematics import dot, first_entry, power, register, sqrt
from sgverify.schemes.definition.reverse_mode import Tracked, assembled, kind_of
from sgverify.schemes.numbers.constants import constants_like, linear_image, repeated, repeated_rows
from sgverify.targets.potential import Matrix, Vector, constant, coordinate

# Tensors made of a potential's constants, cached by identity since every gradient uses them.
_CONSTANTS: WeakKeyDictionary[Vector | Matrix, dict[Any, Any]] = WeakKeyDictionary()


class Chains(Arithmetic):
    """A state variable of every chain: shape (S, C, d) for a vector, (S, C, 1) for a scalar.

    Further leading axes are allowed, so that a block of steps or of data can be evaluated at once.
    """

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def _meet(self, other: Any) -> Any:
        kind = type(other)
        if kind is Chains:
            return other.tensor
        if kind is Constant:
            return other.meet(self.tensor)
        return float(other) if isinstance(other, EXACT) else None

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        value = self._meet(other)
        return NotImplemented if value is None else Chains(operation(self.tensor, value))

    __radd__, __rmul__ = Arithmetic.__add__, Arithmetic.__mul__

    def __pow__(self, exponent: Any) -> Any:
        # By products: a library's power may round differently by an entry's position in the tensor.
        if not isinstance(exponent, int):
            return power(self, exponent) if isinstance(exponent, EXACT) else NotImplemented
        if exponent <= 0:
            return 1 / self**-exponent if exponent else Chains(torch.ones_like(self.tensor))
        root = self ** (exponent // 2) if exponent > 1 else None
        even = self if root is None else root * root
        return even * self if exponent > 1 and exponent % 2 else even

    def __neg__(self) -> Chains:
        return Chains(-self.tensor)

    def __matmul__(self, matrix: Any) -> Any:
        return Chains(product(self.tensor, matrix.tensor)) if type(matrix) is Chains else NotImplemented

    def __getitem__(self, place: Any) -> Chains:
        return Chains(self.tensor[place])

    def __repr__(self) -> str:
        return f"Chains(shape={tuple(self.tensor.shape)}, dtype={self.tensor.dtype})"


def put_together(like: Tensor, whole: Tensor | None, places: tuple[int, ...], *values: Any) -> Tensor:
    """The vector `whole`, or 0, plus one number at each of the places; `like` has the vector's shape, (*batch, d).

    The numbers are tensors of shape (*batch, 1) or Python numbers; a tape records this function as one operation.
    """
    tensors = [part for part in (like, whole, *values) if isinstance(part, Tensor)]
    if has_torch_function(tuple(tensors)):
        found: Tensor = handle_torch_function(put_together, tuple(tensors), like, whole, places, *values)
        return found
    lead = torch.broadcast_shapes(*(part.shape[:-1] for part in tensors))
    result = like.new_zeros((*lead, like.shape[-1]))
    if whole is not None:
        result += whole
    for place, value in zip(places, values, strict=True):
        if whole is None:
            result[..., place : place + 1] = value
        else:
            result[..., place : place + 1] += value
    return result


def product(rows: Tensor, matrix: Tensor) -> Tensor:
    """rows @ matrix for shapes (*batch, d) and (d, e), summed over k = 0, 1, ... in this order; shape (*batch, e).

    Raises `DefinitionError` for rows of another length.
    """
    if rows.shape[-1] != len(matrix):
        raise DefinitionError(
            f"{rows.shape[-1]} coordinates times a matrix of {len(matrix)} rows; expected as many"
        )
    total = rows[..., :1] * matrix[0]
    for k in range(1, len(matrix)):
        total = total + rows[..., k : k + 1] * matrix[k]
    return total


@dot.register
def _(left: Chains, right: Any) -> Any:
    if isinstance(right, Tracked):
        return dot(right, left)
    terms = left.tensor * right.tensor
    total = terms[..., :1]
    for k in range(1, terms.shape[-1]):
        total = total + terms[..., k : k + 1]
    return Chains(total)


def _evaluated(function: Any, value: Chains) -> Chains:
    return Chains(getattr(elementary, function.__name__)(value.tensor))


register(Chains, _evaluated)


@sqrt.register
def _(value: Chains) -> Chains:
    return Chains(root(value.tensor))


@constants_like.register
def _(like: Chains, numbers: tuple[Any, ...]) -> Chains:
    return Chains(_made(repeated(numbers, like.tensor.shape[-1]), like.tensor.dtype, like.tensor.device))


@linear_image.register
def _(vector: Chains, rows: tuple[Any, ...]) -> Chains:
    tensor = vector.tensor
    columns = tuple(zip(*repeated_rows(rows, tensor.shape[-1]), strict=True))
    return Chains(product(tensor, _made(columns, tensor.dtype, tensor.device)))


@lru_cache(maxsize=64)
def _made(numbers: tuple[Any, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Exact numbers as a tensor, each rounded to float64 and then to the dtype of the state."""
    values = [[float(n) for n in row] if isinstance(row, tuple) else float(row) for row in numbers]
    return lasting(torch.tensor(values, dtype=torch.float64, device=device).to(dtype))


@constant.register
def _(like: Chains, value: Vector | Matrix) -> Chains:
    made = _CONSTANTS.setdefault(value, {})
    kind = (like.tensor.dtype, like.tensor.device)
    if kind not in made:
        made[kind] = Chains(lasting(torch.tensor(value.float64(), dtype=torch.float64).to(like.tensor)))
    return made[kind]


@coordinate.register
def _(vector: Chains, place: int) -> Chains:
    return Chains(vector.tensor[..., place : place + 1])


@kind_of.register
def _(value: Chains) -> str:
    return VECTOR if value.tensor.shape[-1] > 1 else SCALAR


@assembled.register
def _(like: Chains, whole: Any, coordinates: Mapping[int, Any]) -> Chains:
    values = [part.tensor if isinstance(part, Chains) else part for part in coordinates.values()]
    if whole is not None and not isinstance(whole, Chains):
        whole = Chains(like.tensor * 0 + whole)
    if whole is not None and whole.tensor.shape[-1] != like.tensor.shape[-1]:
        raise DefinitionError(
            f"a derivative of {whole.tensor.shape[-1]} coordinates by a vector of {like.tensor.shape[-1]}; expected as many"
        )
    return Chains(
        put_together(like.tensor, None if whole is None else whole.tensor, tuple(coordinates), *values)
    )


@first_entry.register
def _(draw: Chains) -> Chains:
    return Chains(draw.tensor[..., :1])


class Widened(Chains):
    """A state variable converted to float64 on demand: `theta[..., 0]` converts one coordinate only."""

    __slots__ = ("_state", "_whole")

    def __init__(self, state: Tensor) -> None:
        self._state = state
        self._whole: Tensor | None = None

    @property
    def tensor(self) -> Tensor:  # type: ignore[override]
        """The whole variable in float64."""
        if self._whole is None:
            self._whole = _widened(self._state)
        return self._whole

    def __getitem__(self, place: Any) -> Chains:
        return Chains(_widened(self._state[place]))


@dataclass(frozen=True)
class ObservedFunctions:
    """Test functions, and the names of the variables of a state.

    A test function with an attribute `variables` is called with the variables of these names, any other one with theta and, if
    the state has a momentum, p.
    """

    observables: Sequence[Callable[..., Any]]
    variables: tuple[str, ...]

    def evaluate(self, state: Sequence[Tensor]) -> list[Tensor]:
        """The value of each test function at a state, shape (S, C). Raises `ConfigurationError` for another shape."""
        named = {name: Widened(tensor) for name, tensor in zip(self.variables, state, strict=True)}
        usual = [self.variables[0], *(["p"] if "p" in self.variables[1:] else [])]
        results = []
        for observable in self.observables:
            names = getattr(observable, "variables", None)
            value = observable(*(named[name] for name in (usual if names is None else names)))
            expected = state[0].shape[:-1]
            found = tuple(value.tensor.shape) if isinstance(value, Chains) else type(value).__name__
            if found != tuple(expected):
                raise ConfigurationError(
                    f"observable {observable}: returned {found} for a state of shape {tuple(state[0].shape)}; expected "
                    "one number for each chain, e.g. theta[..., 0]**2"
                )
            results.append(value.tensor)
        return results


def _widened(tensor: Tensor) -> Tensor:
    return tensor if tensor.dtype == torch.float64 else tensor.to(torch.float64)


class Observation:
    """The test functions on states of one shape: evaluated at the first state, recorded at the second, then played."""

    def __init__(self, asked: ObservedFunctions) -> None:
        self._asked = asked
        self._seen = 0
        self.tape: Tape | None = None

    def __call__(self, state: tuple[Tensor, ...]) -> Sequence[Tensor]:
        """The values of the test functions at a state, each float64 of shape (S, C)."""
        self._seen += 1
        if self.tape is not None:
            return self.tape.play(state, (), ())
        if self._seen != 2:
            return self._asked.evaluate(state)
        try:
            self.tape, values = record(lambda: self._asked.evaluate(state), state, (), Clock())
        except Unreached:
            return self._asked.evaluate(state)
        return values

"""Abstract values: shapes without numbers, on which a definition is executed to check and count it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isfinite
from typing import Any, NoReturn

from sgverify.errors import SgverifyError, shown
from sgverify.schemes.definition.mathematics import FUNCTIONS, dot, first_entry, register
from sgverify.schemes.numbers.algebraic import Algebraic
from sgverify.schemes.numbers.constants import constants_like, linear_image
from sgverify.schemes.numbers.rounded import Rounded

NUMBER, SCALAR, VECTOR, MATRIX = "number", "scalar", "vector", "matrix"
RANK = {NUMBER: 0, SCALAR: 1, VECTOR: 2, MATRIX: 3}

METRIC = ("root", "transposed", "inverse", "divergence", "root_divergence", "diffusion")
"""The methods of the metric ingredient: the first three take (theta, v), the others theta."""


class Refused(SgverifyError):
    """Raised inside a definition; becomes a DefinitionError once file and line are known."""


def _operation(symbol: str) -> Callable[[Abstract, object], Any]:
    def combine(self: Abstract, other: object) -> Any:
        if isinstance(other, Abstract):
            _check_matrices(self, other, symbol)
            wider = self if RANK[self.kind] >= RANK[other.kind] else other
            return Abstract(wider.kind, self.noisy or other.noisy, (symbol, self.mark, other.mark))
        return self.mapped(symbol, _constant(other)) if is_exact(other) else NotImplemented

    return combine


LARGEST, HIGHEST_POWER = 10**100, 64
"""The largest constant and the highest power of a definition: float64 holds their products."""


def _constant(value: Any) -> str:
    """A constant as text; refuses what no exact reading holds: NaN, infinity and numbers that float64 cannot follow."""
    if isinstance(value, float) and not isfinite(value):
        raise Refused(f"the number {value!r}; only finite numbers have an exact reading")
    if isinstance(value, int | float | Fraction) and not -LARGEST <= value <= LARGEST:
        raise Refused(f"the number {shown(value)}; only numbers up to 1e100 are followed by float64")
    return repr(value)


def _check_matrices(left: Abstract, right: Abstract, symbol: str) -> None:
    """Refuse products of matrices, and sums with vectors: a matrix is added to a matrix and multiplied by a number only."""
    kinds = {left.kind, right.kind}
    if MATRIX in kinds and kinds & ({NUMBER, SCALAR, VECTOR} if symbol[-1] in "+-" else {VECTOR}):
        raise Refused(
            "arithmetic of a matrix with something else; apply it to a vector by metric.root(theta, v), "
            "metric.transposed(theta, v) or metric.inverse(theta, v)"
        )
    if kinds == {MATRIX} and symbol[-1] in "*/":
        raise Refused("a product of matrices; use what the metric offers")


class Abstract:
    """A value without a number: its shape, and whether noise has entered it.

    `mark` is a hash of the formula that led here, constants included: two runs of one formula agree in it.
    """

    __slots__ = ("drawn", "kind", "mark", "noisy")

    def __init__(
        self, kind: str, noisy: bool = False, formula: tuple[Any, ...] = (), *, drawn: bool = False
    ) -> None:
        self.kind = kind
        self.drawn = drawn
        self.noisy = noisy
        self.mark = hash(formula)

    def mapped(self, symbol: str, constant: str = "") -> Abstract:
        """A value of the same shape: the result of a function, or of an operation with a constant, on this one."""
        return Abstract(self.kind, self.noisy, (symbol, self.mark, constant))

    __add__, __radd__ = _operation("+"), _operation("r+")
    __sub__, __rsub__ = _operation("-"), _operation("r-")
    __mul__, __rmul__ = _operation("*"), _operation("r*")
    __truediv__, __rtruediv__ = _operation("/"), _operation("r/")

    def __neg__(self) -> Abstract:
        return self.mapped("neg")

    def __pos__(self) -> Abstract:
        return self

    def __pow__(self, exponent: object) -> Abstract:
        if isinstance(exponent, bool) or not is_exact(exponent):
            raise Refused(
                f"a power with exponent {shown(exponent)}; only numbers are exponents; write exp(a*log(x))"
            )
        if not abs(float(exponent)) <= HIGHEST_POWER:  # type: ignore[arg-type]
            raise Refused(f"the power {shown(exponent)}; only powers up to {HIGHEST_POWER} are followed")
        return self.mapped("**", repr(exponent))

    def __rpow__(self, base: object) -> NoReturn:
        raise Refused(f"a power {base!r}**x of an unknown exponent; write exp(c*x) with a constant c")

    def _in_place(self, *_: object) -> NoReturn:
        raise Refused(
            "an in-place write; write x = x + y instead of x += y, so that no caller's state is changed"
        )

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ipow__ = __setitem__ = _in_place

    def _branch(self, *_: object) -> NoReturn:
        raise Refused(
            "a branch on, or a comparison of, the state or an ingredient; a step is one formula for all"
        )

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = _branch

    def __eq__(self, other: object) -> bool:
        return self._branch()

    __hash__ = object.__hash__

    def _as_number(self) -> NoReturn:
        raise Refused(f"a foreign function that wants a plain number; use sgverify's {OURS}")

    __float__ = __int__ = __index__ = __complex__ = __round__ = __floor__ = __ceil__ = _as_number

    def __abs__(self) -> NoReturn:
        raise Refused("abs(), which is not smooth; a step must have a power series")

    def __matmul__(self, other: object) -> NoReturn:
        raise Refused(
            "a matrix product; use dot(x, y) for scalar products, grad for what the target supplies"
        )

    __rmatmul__ = __matmul__

    def __getitem__(self, key: object) -> NoReturn:
        raise Refused(f"an index [{key!r}]; a definition holds for every dimension and names no coordinate")

    def __iter__(self) -> NoReturn:
        raise Refused(
            "a loop over, or unpacking of, a state variable; a definition holds for every dimension"
        )

    def __len__(self) -> NoReturn:
        raise Refused("len() of a state variable; declare the keyword `dim` instead")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Refused(f"the attribute .{name} of a state variable; use the functions {OURS}")

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> NoReturn:
        raise Refused(f"the foreign function torch.{getattr(func, '__name__', func)}; use sgverify's {OURS}")

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> NoReturn:
        raise Refused(f"the foreign function numpy.{ufunc.__name__}; use sgverify's {OURS}")

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> NoReturn:
        raise Refused(f"the foreign function numpy.{func.__name__}; use sgverify's {OURS}")


OURS = ", ".join([*(function.__name__ for function in FUNCTIONS), "dot and arithmetic"])
"""The functions of definitions as a list of words."""


register(Abstract, lambda function, value: value.mapped(function.__name__))


@dot.register
def _(left: Abstract, right: Any) -> Abstract:
    if not isinstance(right, Abstract) or left.kind != VECTOR or right.kind != VECTOR:
        raise Refused("dot() of something that is not a vector; both arguments must be vectors of the state")
    return Abstract(SCALAR, left.noisy or right.noisy, ("dot", left.mark, right.mark))


@first_entry.register
def _(draw: Abstract) -> Abstract:
    if not draw.drawn:
        raise Refused("a single coordinate of a vector; only a draw has one, noise.scalar()")
    return Abstract(SCALAR, True, ("first_entry", draw.mark))


@constants_like.register
def _(like: Abstract, numbers: tuple[Any, ...]) -> Abstract:
    _check_vector("constants", like)
    return Abstract(VECTOR, False, ("constants", repr(numbers)))


@linear_image.register
def _(vector: Abstract, rows: tuple[Any, ...]) -> Abstract:
    _check_vector("linear", vector)
    return vector.mapped("linear", repr(rows))


def _check_vector(name: str, value: Abstract) -> None:
    if value.kind != VECTOR:
        raise Refused(f"{name}() with a {value.kind}; expected a vector of the state, a gradient or a draw")


def is_exact(value: object) -> bool:
    """Whether `value` is an exact Python number; a subclass, such as numpy's scalars, is not."""
    return type(value) in (int, float, Fraction, Algebraic, Rounded)

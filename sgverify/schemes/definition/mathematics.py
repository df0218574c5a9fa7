"""The mathematical functions that definitions may call; each is dispatched on the type of its argument.

A carrier registers its own types, e.g. `exp.register(TruncatedSeries)`; nothing here knows tensors or power series.

The laws of noise that a definition can ask for, each declared once by its atoms or its edge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial, singledispatch
from typing import Any

from sgverify.errors import DefinitionError, UnknownNameError
from sgverify.schemes.numbers.algebraic import Algebraic, Irrational, sqrt_of_rational
from sgverify.schemes.numbers.rounded import literal


@singledispatch
def exp(value: Any) -> Any:
    """e**value."""
    raise _foreign("exp", value)


@singledispatch
def expm1(value: Any) -> Any:
    """e**value - 1, accurate where value is small."""
    raise _foreign("expm1", value)


@singledispatch
def sqrt(value: Any) -> Any:
    """The non-negative square root; exact for exact numbers (`sqrt(2)` is an `Algebraic`)."""
    raise _foreign("sqrt", value)


@singledispatch
def dot(left: Any, right: Any) -> Any:
    """The scalar product of two vectors of the state, sum_i left_i right_i."""
    raise _foreign("dot", left)


@singledispatch
def log(value: Any) -> Any:
    """The natural logarithm."""
    raise _foreign("log", value)


@singledispatch
def sin(value: Any) -> Any:
    """The sine."""
    raise _foreign("sin", value)


@singledispatch
def cos(value: Any) -> Any:
    """The cosine."""
    raise _foreign("cos", value)


@singledispatch
def erf(value: Any) -> Any:
    """The error function, 2/sqrt(pi) times the integral of e^(-t^2) from 0 to value."""
    raise _foreign("erf", value)


@singledispatch
def logistic(value: Any) -> Any:
    """1/(1 + exp(-value)), the derivative of `softplus`; also called the sigmoid."""
    return 1 / (1 + exp(-value))


@singledispatch
def tanh(value: Any) -> Any:
    """The hyperbolic tangent."""
    return 2 * logistic(2 * value) - 1


@singledispatch
def softplus(value: Any) -> Any:
    """log(1 + exp(value)), without overflow at either end; log(e^a + e^b) is a + softplus(b - a)."""
    return log(1 + exp(value))


def power(base: Any, exponent: Any) -> Any:
    """base**exponent for any exact exponent: by products and a square root where these do, else e^(exponent log base)."""
    number = literal(exponent)
    if isinstance(number, Fraction) and (2 * number).denominator == 1:
        whole = number.denominator == 1
        return base ** int(number) if whole else sqrt(base) ** int(2 * number)
    return exp(exponent * log(base))


@singledispatch
def first_entry(draw: Any) -> Any:
    """The first coordinate of a draw, as one number. `noise.scalar()` is the first entry of `noise()`; the others go unused."""
    raise _foreign("first_entry", draw)


def magnitude(value: Any) -> Any:
    """|value|, entry by entry, in every interpreter that knows a square root.

    In binary floating point sqrt(fl(x x)) is |x| to the bit wherever x x neither overflows nor is subnormal.
    """
    return sqrt(value * value)


def _foreign(name: str, value: Any) -> DefinitionError:
    return DefinitionError(
        f"{name}({type(value).__name__}) was called in a definition; expected a number, the state or an "
        "ingredient such as h or D; pass one of these, or register "
        f"{type(value).__name__} with sgverify.schemes.definition.mathematics.{name}"
    )


TWO_BY_ROOT_PI = 2 / math.sqrt(math.pi)
"""The slope of the error function at 0."""

FUNCTIONS: tuple[Any, ...] = (exp, expm1, sqrt, log, sin, cos, erf, logistic, tanh, softplus)
"""The functions of one value, entry by entry."""


def register(kind: type, apply: Callable[[Any, Any], Any], functions: Iterable[Any] = FUNCTIONS) -> None:
    """Let `functions` of values of a carrier's type be apply(function, value)."""
    for function in functions:
        function.register(kind, partial(apply, function))


def _logistic(number: float) -> float:
    return 1 / (1 + math.exp(-number)) if number >= 0 else math.exp(number) / (1 + math.exp(number))


PLAIN: dict[Any, Callable[[float], float]] = {
    **{f: getattr(math, f.__name__) for f in FUNCTIONS if hasattr(math, f.__name__)},
    logistic: _logistic,
    softplus: lambda number: max(number, 0.0) + math.log1p(math.exp(-abs(number))),
}
"""The functions on Python's floats."""

_WHOLE = {(exp, 0): 1, (expm1, 0): 0, (log, 1): 0, (sin, 0): 0, (cos, 0): 1, (erf, 0): 0, (tanh, 0): 0}


def _of_number(function: Any, value: Any) -> Any:
    exact = _WHOLE.get((function, value)) if value in (0, 1) else None
    return PLAIN[function](float(value)) if exact is None else exact


for _kind in (int, Fraction, float, Irrational):
    register(_kind, _of_number)


@sqrt.register(int)
@sqrt.register(Fraction)
def _(value: Any) -> Any:
    return sqrt_of_rational(value)


@sqrt.register(float)
def _(value: float) -> Any:
    # A literal such as sqrt(0.5) stays exact: it is the decimal that was written.
    number = literal(value)
    return sqrt(number) if isinstance(number, Irrational) else sqrt_of_rational(number)


@first_entry.register
def _(draw: float) -> float:
    return draw


Atoms = tuple[tuple[int | Fraction | Algebraic, Fraction], ...]


@dataclass(frozen=True)
class NoiseLaw:
    """The law of one coordinate of a draw; coordinates and draws are independent, with mean 0 and variance 1.

    `atoms` are pairs (value, probability) with exact values and rational probabilities; empty for the standard
    normal law and, where there is an `edge`, for the uniform law from -edge to edge. Everything else (moments,
    cumulants, the rule by which it is sampled) is derived from them.
    Raises `DefinitionError` where the probabilities do not sum to 1, or mean and variance are not 0 and 1.
    """

    name: str
    atoms: Atoms = ()
    edge: int | Fraction | Algebraic | None = None

    def __post_init__(self) -> None:
        wrong = [
            f"E z^{k} = {self.moment(k)}" for k, is_ in ((0, 1), (1, 0), (2, 1)) if self.moment(k) != is_
        ]
        if wrong:
            raise DefinitionError(
                f"noise law {self.name!r}: {', '.join(wrong)}; expected probabilities that sum to 1, mean 0 and "
                "variance 1, so that sqrt(2*T*h) in front of a draw means what it says"
            )

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    @property
    def normal(self) -> bool:
        """Whether this is the standard normal law."""
        return not self.atoms and self.edge is None

    @property
    def largest(self) -> float:
        """The supremum of |z| over all draws z; infinite for the normal law."""
        if self.normal:
            return math.inf
        return (
            float(self.edge) if self.edge is not None else max(abs(float(value)) for value, _ in self.atoms)
        )

    def moment(self, power: int) -> Fraction:
        """E z^power of even powers: (power - 1)!! for a normal draw, edge^power/(power + 1) for a uniform one; and of a
        discrete one sum_i w_i x_i^power.
        """
        return _moment(self.atoms, self.edge, power)

    def cumulant(self, order: int) -> Fraction:
        """kappa_order = m_order - sum_{k < order} binom(order - 1, k - 1) kappa_k m_(order - k)."""
        return _cumulant(self.atoms, self.edge, order)

    @property
    def symmetric(self) -> bool:
        """Whether -z has the law of z, so that odd moments vanish."""
        return sorted((float(x), w) for x, w in self.atoms) == sorted((-float(x), w) for x, w in self.atoms)

    @property
    def table(self) -> tuple[int | Fraction | Algebraic, ...]:
        """The values, each repeated in proportion to its probability: an entry drawn uniformly has the law.

        >>> THREE_POINT.table
        (-3^(1/2), 0, 0, 0, 0, 3^(1/2))
        """
        size = math.lcm(*(weight.denominator for _, weight in self.atoms))
        return tuple(value for value, weight in self.atoms for _ in range(int(weight * size)))


class Noise:
    """The ingredient `noise`: `noise()` is a standard normal draw, `noise.three_point()` one of that law.

    `noise.scalar()` and `noise.scalar.three_point()` are one number for all coordinates. A carrier hands over one
    function of the law that is asked for; every law of `LAWS` is a method by its name.
    """

    __slots__ = ("_draw",)

    def __init__(self, draw: Callable[[NoiseLaw], Any]) -> None:
        self._draw = draw

    def __call__(self) -> Any:
        """A standard normal draw."""
        return self._draw(NORMAL)

    @property
    def scalar(self) -> Noise:
        """Draws of one number each, for a scalar of the state or for all coordinates alike: `noise.scalar()`."""
        return Noise(lambda law: first_entry(self._draw(law)))

    def __getattr__(self, name: str) -> Callable[[], Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        law = LAWS.get(name)
        if law is None or law.normal:
            raise UnknownNameError(
                "noise law",
                name,
                [law.name for law in LAWS.values() if not law.normal],
                "noise() is a normal draw.",
            )
        return lambda: self._draw(law)


def _discrete(name: str, *atoms: tuple[int | Fraction | Algebraic, Fraction]) -> NoiseLaw:
    return NoiseLaw(name, atoms)


@cache
def _cumulant(atoms: Atoms, edge: int | Fraction | Algebraic | None, order: int) -> Fraction:
    total = _moment(atoms, edge, order)
    for k in range(1, order):
        total -= math.comb(order - 1, k - 1) * _cumulant(atoms, edge, k) * _moment(atoms, edge, order - k)
    return total


@cache
def _moment(atoms: Atoms, edge: int | Fraction | Algebraic | None, power: int) -> Fraction:
    total: Any
    if edge is not None:
        total = Fraction(0) if power % 2 else edge**power * Fraction(1, power + 1)
    elif not atoms:
        return Fraction(0 if power % 2 else math.prod(range(1, power, 2)))
    else:
        total = sum((weight * value**power for value, weight in atoms), Fraction(0))
    if not isinstance(total, Fraction):
        raise DefinitionError(f"a noise law with E z^{power} = {total}: expected rational moments")
    return total


_ROOT3 = Algebraic({((3, Fraction(1, 2)),): Fraction(1)})
"""sqrt(3), written down: nothing is factored where the package is imported."""

NORMAL = NoiseLaw("normal")
"""N(0, 1)."""

THREE_POINT = _discrete(
    "three_point", (-_ROOT3, Fraction(1, 6)), (0, Fraction(2, 3)), (_ROOT3, Fraction(1, 6))
)
"""+-sqrt(3) with probability 1/6 each, else 0: enough for weak order 2 (Milstein and Tretyakov 2004, section 2.1)."""

TWO_POINT = _discrete("two_point", (-1, Fraction(1, 2)), (1, Fraction(1, 2)))
"""+-1 with probability 1/2 each: enough for weak order 1 (Milstein and Tretyakov 2004, section 2.1)."""

UNIFORM = NoiseLaw("uniform", edge=_ROOT3)
"""Uniform from -sqrt(3) to sqrt(3): a number that is uniform from 0 to 1 is (1 + noise.uniform()/sqrt(3))/2."""

LAWS: dict[str, NoiseLaw] = {law.name: law for law in (NORMAL, THREE_POINT, TWO_POINT, UNIFORM)}
"""Every law that a definition can ask for; a new one is one entry."""

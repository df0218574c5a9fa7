"""The affine reading: on a quadratic potential one step is X_1 = M X_0 + c + sum_k B_k (noise)_k.

The gradient of a quadratic potential is grad(v) = P (v - mu) + g with the precision P, the mean mu and the
minibatch noise g. Since a definition knows vectors, scalars and grad only, every block of M, B and c is a
*polynomial in P* with scalar coefficients. A scheme is therefore read once, for every dimension and target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sgverify.errors import DefinitionError, Unreached
from sgverify.exact.affine.field import Scalar
from sgverify.schemes import Scheme, dot
from sgverify.schemes.definition.binding import Carrier, GradientIngredient, State, bind
from sgverify.schemes.definition.declaration import read_signature
from sgverify.schemes.definition.mathematics import NoiseLaw, first_entry, register
from sgverify.schemes.numbers.constants import constants_like, linear_image
from sgverify.schemes.numbers.rounded import literal

Base = tuple[str, Any]
"""The base that a block multiplies: ('state', name), ('noise', k), ('gradient', k), ('mean', 0), ('ones', 0) or ('value', k)."""

Polynomial = tuple[Any, ...]
"""Coefficients (c_0, c_1, ...) of c_0 + c_1 P + c_2 P^2 + ..."""


class AffineValue:
    """A vector that is affine in the bases: {base: polynomial in P}."""

    __slots__ = ("blocks",)

    def __init__(self, blocks: dict[Base, Polynomial]) -> None:
        self.blocks = blocks

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, AffineValue):
            other = AffineValue({("ones", 0): (_exact(other),)})
        blocks = dict(self.blocks)
        for base, polynomial in other.blocks.items():
            blocks[base] = _add(blocks[base], polynomial) if base in blocks else polynomial
        return AffineValue(blocks)

    __radd__ = __add__

    def __neg__(self) -> AffineValue:
        return self._map(lambda c: -c)

    def __pos__(self) -> AffineValue:
        return self

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> AffineValue:
        if isinstance(other, AffineValue):
            raise Unreached("a product of two state-dependent quantities")
        factor = _exact(other)
        return self._map(lambda c: c * factor)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> AffineValue:
        if isinstance(other, AffineValue):
            raise Unreached("a quotient by a state-dependent quantity")
        divisor = _exact(other)
        return self._map(lambda c: c / divisor)

    def __rtruediv__(self, other: Any) -> AffineValue:
        raise Unreached("a quotient by a state-dependent quantity")

    def __pow__(self, exponent: int) -> AffineValue:
        if exponent == 1:
            return self
        raise Unreached("a power of a state-dependent quantity")

    def _map(self, function: Callable[[Any], Any]) -> AffineValue:
        return AffineValue(
            {base: tuple(function(c) for c in polynomial) for base, polynomial in self.blocks.items()}
        )

    def times_precision(self) -> AffineValue:
        """P times the vector."""
        return AffineValue({base: (0, *polynomial) for base, polynomial in self.blocks.items()})


def _exact(value: Any) -> Any:
    """A literal as an exact number, so that no product or quotient falls back to floats."""
    return literal(value) if isinstance(value, int | float) else value


def _add(left: Polynomial, right: Polynomial) -> Polynomial:
    longest = max(len(left), len(right))
    padded = [(*p, *([0] * (longest - len(p)))) for p in (left, right)]
    return tuple(a + b for a, b in zip(*padded, strict=True))


def _refused(function: Any, value: AffineValue) -> Any:
    raise Unreached("a nonlinear function of a state-dependent quantity")


register(AffineValue, _refused)


@dot.register
def _(left: AffineValue, right: Any) -> Any:
    raise Unreached("a scalar product of state-dependent vectors")


@constants_like.register
def _(like: AffineValue, numbers: tuple[Any, ...]) -> Any:
    # A number in the place of a vector of equal coordinates: it meets vectors and scalars alike.
    if any(number != numbers[0] for number in numbers):
        raise Unreached(_TELLS_APART)
    return numbers[0]


@linear_image.register
def _(vector: AffineValue, rows: tuple[tuple[Any, ...], ...]) -> Any:
    size = range(len(rows))
    if any(rows[i][j] != (rows[0][0] if i == j else 0) for i in size for j in size):
        raise Unreached(_TELLS_APART)
    return vector * rows[0][0]


@first_entry.register
def _(draw: AffineValue) -> Any:
    raise Unreached(
        "one draw for all coordinates, which its affine reading, one for all dimensions, does not hold"
    )


_TELLS_APART = "constants that tell coordinates apart, and its affine reading beyond dimension 1 is one for all dimensions"


@dataclass(frozen=True)
class AffineStep:
    """One step read as an affine map: for every state variable, its blocks.

    `laws` are those of the draws ('noise', k), `gradients` counts the noises ('gradient', k); all are independent.
    """

    rows: dict[str, dict[Base, Polynomial]]
    laws: tuple[NoiseLaw, ...]
    gradients: int

    @property
    def draws(self) -> int:
        """Number of draws."""
        return len(self.laws)


class AffineGradient(GradientIngredient):
    """The ingredient `grad` of one step: P (v - mu) + g, with g the noise of its minibatch."""

    def __init__(self, each_evaluation: bool = False) -> None:
        super().__init__()
        self.each_evaluation = each_evaluation

    def evaluate(self, place: AffineValue, minibatch: int) -> AffineValue:
        """The gradient at `place` with the noise of this number."""
        centred = place - AffineValue({("mean", 0): (1,)})
        return centred.times_precision() + AffineValue({("gradient", minibatch): (1,)})

    def hessian(self, place: AffineValue, vector: Any) -> AffineValue:
        """P v: the Hessian of a quadratic potential, to which added noise does not contribute."""
        minibatch = 0 if self.each_evaluation else self.minibatch()
        return self.bend(vector if isinstance(vector, AffineValue) else 0 * place + vector, minibatch)

    def bend(self, vector: AffineValue, minibatch: int) -> AffineValue:
        """The Hessian of the minibatch of this number, times a vector."""
        return vector.times_precision()

    def prior(self, place: AffineValue) -> AffineValue:
        """Raises `Unreached`: the prior's gradient depends on the target (`sgverify.schemes.definition.binding`)."""
        raise Unreached(
            "the gradients of prior and likelihood apart, on a target whose prior is no multiple of one precision"
        )

    likelihood = prior


class _FullGradient(AffineGradient):
    """P (v - mu)."""

    def evaluate(self, place: AffineValue, minibatch: int) -> AffineValue:
        return (place - AffineValue({("mean", 0): (1,)})).times_precision()


VALUE = "value"
"""The base ('value', k): the value of the k-th gradient, or of the k-th Hessian times a vector."""


@dataclass(frozen=True)
class GradientCall:
    """One evaluation of the gradient: at which place, on which minibatch; of the Hessian, times which vector."""

    place: AffineValue
    minibatch: int
    vector: AffineValue | None = None


class GradientLetters(AffineGradient):
    """The ingredient `grad` whose every value is a base of its own, whatever the potential; the calls are added to `calls`."""

    def __init__(self, each_evaluation: bool, calls: list[GradientCall]) -> None:
        super().__init__(each_evaluation)
        self._calls = calls

    def evaluate(self, place: AffineValue, minibatch: int) -> AffineValue:
        """The letter of this call."""
        return self._letter(GradientCall(place, minibatch))

    def hessian(self, place: AffineValue, vector: Any) -> AffineValue:
        """The letter of the Hessian at the place times the vector."""
        minibatch = 0 if self.each_evaluation else self.minibatch()
        return self._letter(GradientCall(place, minibatch, 0 * place + vector))

    def _letter(self, call: GradientCall) -> AffineValue:
        self._calls.append(call)
        return AffineValue({(VALUE, len(self._calls) - 1): (1,)})


def read_affine(
    scheme: Scheme,
    ingredients: dict[str, Any],
    *,
    each_evaluation: bool = False,
    gradient: Callable[[bool], AffineGradient] = AffineGradient,
) -> AffineStep:
    """Read one step of `scheme` as an affine map; `ingredients` holds h and the parameters as scalars.

    `each_evaluation` gives every gradient evaluation noise of its own (the `additive` estimator) instead of
    one noise per minibatch; `gradient` is passed as `grad`. Raises `Unreached` where the step is not affine.
    """
    if any(shape != "vector" for shape in scheme.shapes.values()):
        raise Unreached(f"`{scheme.name}` carries a scalar state, which its flow multiplies with the rest")
    _check_ingredients(scheme)
    grad, laws, rows = gradient(each_evaluation), list[NoiseLaw](), {}
    state = tuple(AffineValue({("state", name): (1,)}) for name in scheme.state)
    for name, value in zip(
        scheme.state, _followed(scheme, "step", state, ingredients, grad, laws), strict=True
    ):
        if not isinstance(value, AffineValue):
            raise Unreached(f"`{scheme.name}` sets `{name}` to a constant")
        rows[name] = {base: tuple(_plain(c) for c in polynomial) for base, polynomial in value.blocks.items()}
    return AffineStep(rows, tuple(laws), grad.asked.minibatches)


def read_start(scheme: Scheme, ingredients: dict[str, Any]) -> AffineStep:
    """Read the start of the memory as an affine map of (theta, p), full gradients, with draws of its own.

    `ingredients` holds the parameters as scalars, and h where it is known. Raises `Unreached` where the start is
    not affine, or asks for h and there is none.
    """
    if "h" not in ingredients and "h" in start_ingredients(scheme):
        raise Unreached(
            f"the memory of `{scheme.name}` starts from `h`, and where steps differ there is no one h"
        )
    state, laws = (
        tuple(AffineValue({("state", name): (1,)}) for name in scheme.dynamics.state),
        list[NoiseLaw](),
    )
    values = _followed(scheme, "start", state, ingredients, _FullGradient(), laws)
    rows = {
        name: {
            base: tuple(_plain(c) for c in polynomial)
            for base, polynomial in (0 * state[0] + value).blocks.items()
        }
        for name, value in zip(scheme.state, values, strict=True)
    }
    return AffineStep(rows, tuple(laws), 0)


def _followed(
    scheme: Scheme,
    asked: Literal["step", "start"],
    state: tuple[AffineValue, ...],
    ingredients: Mapping[str, Any],
    grad: AffineGradient,
    laws: list[NoiseLaw],
) -> State:
    """Run a definition and return its new state; raises `Unreached` for a function that is not affine.

    A constant vector with equal coordinates is a number here; its scalar product needs the dimension, and is refused.
    """

    def draw(law: NoiseLaw) -> AffineValue:
        laws.append(law)
        return AffineValue({("noise", len(laws) - 1): (1,)})

    numbers = {name: number for name, number in ingredients.items() if name != "h"}
    bound = bind(scheme, Carrier(), numbers, dim=None)
    try:
        return getattr(bound, asked)(state, h=ingredients.get("h"), grad=grad, draw=draw)
    except DefinitionError as error:
        raise Unreached(f"what an affine reading for all dimensions does not hold: {error}") from None


def start_ingredients(scheme: Scheme) -> frozenset[str]:
    """The ingredients of the functions that start the memory."""
    starts = scheme.memory.items()
    return frozenset(i for name, start in starts for i in read_signature(start, f"memory {name}").ingredients)


def _check_ingredients(scheme: Scheme) -> None:
    """Raise `Unreached` where the step or the start of its memory asks for `dim`, or the dynamics for a metric."""
    if "dim" in scheme.declaration.ingredients:
        raise Unreached(f"`{scheme.name}` asks for `dim`, and its affine reading is one for all dimensions")
    if scheme.dynamics.riemannian:
        raise Unreached(f"`{scheme.name}` asks for a metric, which moves with the state")
    if "dim" in start_ingredients(scheme):
        raise Unreached(
            f"the memory of `{scheme.name}` starts from `dim`, and its affine reading is one for all dimensions"
        )


def _plain(value: Any) -> Any:
    """A scalar without its wrapper."""
    return value.value if isinstance(value, Scalar) else value

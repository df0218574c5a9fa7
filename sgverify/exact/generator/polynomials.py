"""Values of a dynamics as polynomials in its state, over the rationals and opaque constants; the gradient of a polynomial U."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from flint import fmpq_mpoly_ctx

from sgverify.errors import DefinitionError, Unreached
from sgverify.exact.numbers.entrywise import EntrywiseVector, coordinate_keys, coordinates_of, state_of
from sgverify.exact.rings.functions import Opaque
from sgverify.exact.rings.polynomials import Polynomial, polynomials_in, to_fmpq, to_fraction
from sgverify.exact.rings.ring import Ring
from sgverify.schemes import dot
from sgverify.schemes.definition.binding import FullGradientIngredient, LiftedArithmetic
from sgverify.schemes.definition.mathematics import cos, erf, exp, log, power, register, sin, sqrt
from sgverify.schemes.numbers.algebraic import Irrational, sqrt_of_rational
from sgverify.targets import Target
from sgverify.targets.form import read_form


def state_ring(shapes: Mapping[str, str], dim: int, draws: int) -> Ring:
    """Q[state, sqrt(h), constants, draws].

    Roots are reduced by their squares. Other relations between constants are not used, so that a coefficient which vanishes
    by one of them counts as non-zero.
    """
    return Ring(dim, shapes, ("h",), depth=0, draws=draws, minibatches=1, cap=1)


class PolynomialValue(LiftedArithmetic):
    """One entry: a polynomial of the ring."""

    __slots__ = ("ring", "value")

    def __init__(self, ring: Ring, value: Polynomial) -> None:
        self.ring = ring
        self.value = value

    @classmethod
    def step_size(cls, ring: Ring) -> PolynomialValue:
        """h, the square of the ring's symbol."""
        return cls(ring, ring.generator("root", "h") ** 2)

    @classmethod
    def of(cls, ring: Ring, value: Any) -> PolynomialValue:
        """An exact number as an element of the ring; an element is itself."""
        if isinstance(value, PolynomialValue):
            return value
        if not isinstance(value, int | float | Fraction | Irrational):
            raise Unreached(f"a {type(value).__name__} is not read in moments")
        return cls(ring, ring.constant(value))

    def lift(self, value: Any) -> PolynomialValue | None:
        """A number as an element of the ring."""
        return None if isinstance(value, EntrywiseVector) else PolynomialValue.of(self.ring, value)

    def _plus(self, right: PolynomialValue) -> PolynomialValue:
        return PolynomialValue(self.ring, self.value + right.value)

    def _times(self, right: PolynomialValue) -> PolynomialValue:
        return PolynomialValue(self.ring, self.ring.carried_out(self.value * right.value))

    def _over(self, right: PolynomialValue) -> PolynomialValue:
        return PolynomialValue(self.ring, self.value * right.inverse())

    def __neg__(self) -> PolynomialValue:
        return PolynomialValue(self.ring, -self.value)

    def __pow__(self, exponent: Any) -> PolynomialValue:
        if not isinstance(exponent, int):
            return power(self, exponent)
        if exponent < 0:
            return PolynomialValue(self.ring, self.inverse()) ** -exponent
        return PolynomialValue(self.ring, self.ring.carried_out(self.value**exponent))

    def inverse(self) -> Polynomial:
        """1/value of a constant."""
        value, ring = self.constant("quotient"), self.ring
        if not value:
            raise Unreached("one step divides by zero")
        if value.is_constant():
            return ring.context.constant(1 / value.leading_coefficient())
        what = Opaque("reciprocal", f"1/({ring.text(value)})", argument=value)
        return ring.slot(("reciprocal", str(value)), what)

    def root(self) -> Polynomial:
        """The root of a constant; that of a number times a power of h is one of the ring."""
        value, ring = self.constant("square root"), self.ring
        at, terms = ring.position("root", "h"), value.to_dict()
        if len(terms) == 1:
            ((exponents, factor),) = terms.items()
            power = exponents[at]
            if factor > 0 and power % 2 == 0 and sum(exponents) == power:
                return ring.constant(sqrt_of_rational(to_fraction(factor))) * ring.generator_at(at) ** int(
                    power // 2
                )
        return ring.opaque_root(value) if terms else value

    def constant(self, what: str) -> Polynomial:
        """The value, without state and draws; raises `Unreached` where they occur."""
        if not self.ring.depends_only_on_parameters(self.value):
            names = coordinate_names(self.ring.shapes, self.ring.dim)
            used = [name for name, power in zip(names, self.value.degrees(), strict=False) if power]
            raise Unreached(
                f"one step takes the {what} of {', '.join(used) or 'a draw'}, so it is no polynomial in the state"
            )
        return self.value


def coordinate_names(shapes: Mapping[str, str], dim: int) -> list[str]:
    """theta[0], theta[1], ... in order; the variable's own name in dimension 1, and of a scalar."""
    return [
        name if dim == 1 or shapes[name] != "vector" else f"{name}[{i}]"
        for name, i in coordinate_keys(shapes, dim)
    ]


def symbols_of(ring: Ring) -> tuple[Any, ...]:
    """The state as the ring's own symbols."""
    return state_of(ring.shapes, ring.dim, lambda name, i: PolynomialValue(ring, ring.coordinate(name, i)))


def polynomials_of(values: Iterable[Any], ring: Ring) -> list[Polynomial]:
    """The coordinates of a state as polynomials of the ring."""
    return [PolynomialValue.of(ring, entry).value for entry in coordinates_of(values, ring.shapes, ring.dim)]


def _evaluated(function: Any, value: PolynomialValue) -> PolynomialValue:
    ring, constant = value.ring, value.constant(function.__name__)
    return PolynomialValue(
        ring, ring.function(function.__name__, constant) if constant else ring.constant(function(0))
    )


register(PolynomialValue, _evaluated, (exp, log, sin, cos, erf))


@sqrt.register
def _(value: PolynomialValue) -> PolynomialValue:
    return PolynomialValue(value.ring, value.root())


Monomial = tuple[int, ...]


def monomial_text(monomial: Monomial, names: list[str]) -> str:
    """'theta**2*p' and the like."""
    factors = [
        name if power == 1 else f"{name}**{power}"
        for name, power in zip(names, monomial, strict=True)
        if power
    ]
    return "*".join(factors) or "1"


def polynomial_gradient(target: Target) -> FullGradientIngredient:
    """grad U of all data, for a polynomial U."""
    gradients = _gradients(target)

    def at(place: EntrywiseVector, polynomials: list[Polynomial]) -> EntrywiseVector:
        return EntrywiseVector([_at_place(f, place.entries) for f in polynomials])

    def hessian(place: EntrywiseVector, vector: EntrywiseVector) -> EntrywiseVector:
        rows = ([gradient.derivative(j) for j in range(len(gradients))] for gradient in gradients)
        return EntrywiseVector([dot(at(place, row), vector) for row in rows])

    return FullGradientIngredient(
        lambda place: at(place, gradients),
        prior=lambda place: at(place, _gradients(replace(target, likelihood=None, data=None))),
        hessian=hessian,
    )


def _gradients(target: Target) -> list[Polynomial]:
    """The partial derivatives of U as polynomials in the coordinates."""
    dim = target.dim
    if target.quadratic:
        zero = target.gradient([Fraction(0)] * dim)
        context = form_context(dim)
        entries = [
            sum((context.gen(j) * to_fmpq(p) for j, p in enumerate(row)), context.constant(0))
            for row in target.precision
        ]
        return [entry + to_fmpq(c) for entry, c in zip(entries, zero, strict=True)]
    if target.data is not None:
        raise Unreached(f"the potential of target.name={target.name!r} is no polynomial")
    try:
        potential = form_context(dim).from_dict(read_form(target.prior, dim))
    except DefinitionError:
        raise Unreached(f"the potential of target.name={target.name!r} is no polynomial") from None
    return [potential.derivative(i) for i in range(dim)]


def form_context(variables: int) -> fmpq_mpoly_ctx:
    """The polynomials in the coordinates of a state, or of theta."""
    return polynomials_in([f"x{i}" for i in range(variables)])


def _at_place(gradient: Polynomial, place: list[PolynomialValue]) -> PolynomialValue:
    ring = place[0].ring
    value = gradient.compose(*(entry.value for entry in place), ctx=ring.context)
    return PolynomialValue(ring, ring.carried_out(value))

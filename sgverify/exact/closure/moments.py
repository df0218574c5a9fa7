"""Whether the moments of a chain close: f -> E[f(X_1) | X_0] on polynomials, iterated from the test function.

One step is run on polynomials, so that the image of a monomial is exact for every h. The monomials that occur are
followed until no new one appears: then they span an invariant space, and E f(X_L) is a matrix power for any L. Otherwise
the degree grows with every step, and no finite set of moments is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from flint import arb, arb_mat, fmpq

from sgverify.errors import DefinitionError, Unreached
from sgverify.exact.closure.carrier import (
    MomentRing,
    PolynomialValue,
    coordinate_names,
    in_ring,
    polynomials_of,
    symbols_of,
)
from sgverify.exact.numbers.entrywise import EntrywiseVector
from sgverify.exact.rings.polynomials import Polynomial, evaluate, to_fmpq
from sgverify.schemes import Scheme, dot
from sgverify.schemes.definition.binding import Carrier, bind
from sgverify.schemes.definition.gradient import FullGradientIngredient
from sgverify.schemes.definition.mathematics import NoiseLaw
from sgverify.targets import Observable, Target
from sgverify.targets.form import Form, read_form

MOST_MOMENTS = 120
MOST_TERMS = 20_000
HIGHEST_DEGREE = 48
"""The highest degree of moments that are formed: a step of degree 3 leads from theta**2 to degrees 6, 18, 54, ..."""

Monomial = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ClosedMoments:
    """The monomials of an invariant space, the constant 1 last, and their images under one step.

    E m_i(X_1) = sum_j A_ij(h) m_j(X_0); `observable` holds the test function's coefficients.
    """

    ring: MomentRing
    monomials: tuple[Monomial, ...]
    images: tuple[dict[Monomial, Polynomial], ...]
    observable: dict[Monomial, Fraction]

    def matrix(self, step: arb) -> arb_mat:
        """A at this step size, at the working precision."""
        given, size = self.ring.numbers(step), len(self.monomials)
        rows = [
            [self.ring.value(image[m], given) if m in image else arb(0) for m in self.monomials]
            for image in self.images
        ]
        return arb_mat(size, size, [entry for row in rows for entry in row])

    def texts(self) -> list[str]:
        """The moments by name."""
        return [monomial_text(m, self.ring.coordinates) for m in self.monomials]


def close_moments(
    scheme: Scheme, target: Target, observable: Observable, parameters: dict[str, Fraction]
) -> ClosedMoments:
    """The invariant space of moments that the observable needs, full gradients taken.

    Raises `Unreached` where the moments do not close, with the moments that show it, or where the step is no polynomial.
    """
    if scheme.memory:
        raise Unreached(f"the memory of `{scheme.name}` is not followed by moments")
    coordinates = coordinate_names(scheme.shapes, target.dim)
    ring, laws, after = _read_step(scheme, target, coordinates, parameters)
    given = _terms_of(observable, len(coordinates))
    degree = max(sum(value.degrees()[ring.first_state : ring.first_draw], 0) for value in after)
    one = (0,) * len(coordinates)
    images: dict[Monomial, dict[Monomial, Polynomial]] = {one: {one: ring.context.constant(1)}}
    pending = [m for m in given if any(m)]
    grown = [max(pending, key=sum)] if pending else []
    while pending:
        found: list[Monomial] = []
        for monomial in pending:
            if sum(monomial) * degree > HIGHEST_DEGREE or len(images) >= MOST_MOMENTS:
                raise Unreached(_growth(str(observable), grown, coordinates))
            image = images[monomial] = _image(ring, laws, after, monomial)
            found += [m for m in image if m not in images and m not in pending and m not in found]
        pending = found
        if found:
            grown.append(max(found, key=sum))
    monomials = tuple(sorted(images, key=lambda m: (-sum(m), m)))
    return ClosedMoments(ring, monomials, tuple(images[m] for m in monomials), given)


def monomial_text(monomial: Monomial, names: list[str]) -> str:
    """'theta**2*p' and the like."""
    factors = [
        name if power == 1 else f"{name}**{power}"
        for name, power in zip(names, monomial, strict=True)
        if power
    ]
    return "*".join(factors) or "1"


def _growth(observable: str, grown: list[Monomial], names: list[str]) -> str:
    steps = [
        f"{monomial_text(m, names)} after {k} step{'s' if k > 1 else ''}"
        for k, m in enumerate(grown[1:], start=1)
    ]
    needs = f": E[{observable}] needs " + ", then ".join(steps) if steps else ""
    return (
        f"the moments do not close up to degree {HIGHEST_DEGREE}{needs}"
        if steps
        else "the moments are of too high a degree to be followed"
    )


def _image(
    ring: MomentRing, laws: list[NoiseLaw], after: list[Polynomial], monomial: Monomial
) -> dict[Monomial, Polynomial]:
    """E[monomial(X_1) | X_0], by monomial of X_0."""
    value = ring.context.constant(1)
    for power, entry in zip(monomial, after, strict=True):
        for _ in range(power):
            value = ring.reduce(value * entry)
            if len(value) > MOST_TERMS:
                raise Unreached(
                    f"E[{monomial_text(monomial, ring.coordinates)}] of one step has too many terms to be followed"
                )
    sums: dict[Monomial, dict[Monomial, Any]] = {}
    blank = (0,) * (len(value.degrees()) - ring.first_state)
    for exponents, factor in value.to_dict().items():
        weight = fmpq(1)
        for law, power in zip(laws, exponents[ring.first_draw :], strict=True):
            moment = law.moment(int(power))
            weight = weight * to_fmpq(moment)
        if weight:
            state = tuple(int(e) for e in exponents[ring.first_state : ring.first_draw])
            key = (*exponents[: ring.first_state], *blank)
            kept = sums.setdefault(state, {})
            kept[key] = kept.get(key, 0) + factor * weight
    made = {m: ring.context.from_dict({k: c for k, c in kept.items() if c}) for m, kept in sums.items()}
    return {m: polynomial for m, polynomial in made.items() if polynomial}


def _read_step(
    scheme: Scheme, target: Target, coordinates: list[str], parameters: dict[str, Fraction]
) -> tuple[MomentRing, list[NoiseLaw], list[Polynomial]]:
    if scheme.dynamics.riemannian:
        raise Unreached("the moments of a step with a metric are not followed")
    dim = target.dim
    ring = MomentRing(coordinates, scheme.draws * dim)
    laws: list[NoiseLaw] = []
    state = symbols_of(ring, scheme.shapes, dim)

    def draw(law: NoiseLaw) -> EntrywiseVector:
        first = ring.first_draw + len(laws)
        laws.extend([law] * dim)
        return EntrywiseVector([PolynomialValue(ring, g) for g in ring.generators[first : first + dim]])

    carrier = Carrier(
        number=lambda value: value if isinstance(value, PolynomialValue) else in_ring(ring, value)
    )
    bound = bind(scheme, carrier, parameters, dim=Fraction(dim))
    h = PolynomialValue(ring, ring.generators[0])
    values = bound.step(state, h=h, grad=polynomial_gradient(target), draw=draw)
    return ring, laws, [ring.reduce(value) for value in polynomials_of(values, ring, scheme.shapes, dim)]


def polynomial_gradient(target: Target) -> FullGradientIngredient:
    """grad U of all data, for a polynomial U."""
    gradients = _gradients(target)

    def at(place: EntrywiseVector, forms: list[Form]) -> EntrywiseVector:
        return EntrywiseVector([_evaluated(form, place.entries) for form in forms])

    def hessian(place: EntrywiseVector, vector: EntrywiseVector) -> EntrywiseVector:
        rows = ([derivative(gradient, j) for j in range(len(gradients))] for gradient in gradients)
        return EntrywiseVector([dot(at(place, row), vector) for row in rows])

    return FullGradientIngredient(
        lambda place: at(place, gradients),
        prior=lambda place: at(place, _gradients(replace(target, likelihood=None, data=None))),
        hessian=hessian,
    )


def _gradients(target: Target) -> list[Form]:
    """The partial derivatives of U as polynomials."""
    dim = target.dim
    if target.quadratic:
        zero = target.gradient([Fraction(0)] * dim)
        lines = []
        for i in range(dim):
            line = {tuple(int(k == j) for k in range(dim)): target.precision[i][j] for j in range(dim)}
            line[(0,) * dim] = zero[i]
            lines.append({m: to_fmpq(c) for m, c in line.items() if c})
        return lines
    if target.data is not None:
        raise Unreached(f"the potential of target.name={target.name!r} is no polynomial")
    try:
        form = read_form(target.prior, dim)
    except DefinitionError:
        raise Unreached(f"the potential of target.name={target.name!r} is no polynomial") from None
    return [derivative(form, i) for i in range(dim)]


def derivative(form: Form, i: int) -> Form:
    """The derivative by the i-th coordinate."""
    return {(*m[:i], m[i] - 1, *m[i + 1 :]): c * m[i] for m, c in form.items() if m[i]}


def _evaluated(gradient: Form, place: list[PolynomialValue]) -> PolynomialValue:
    ring = place[0].ring
    found: PolynomialValue = evaluate(
        gradient, place.__getitem__, lambda c: PolynomialValue(ring, ring.context.constant(c))
    )
    return found


def _terms_of(observable: Observable, size: int) -> dict[Monomial, Fraction]:
    return {(*m, *(0,) * (size - len(m))): c for m, c in observable.terms.items()}

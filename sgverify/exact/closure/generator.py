"""The generator of a dynamics on polynomials: L f = F . grad f + a : Hess f, F and a polynomials in the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import fmpq, fmpq_mat

from sgverify.errors import OutOfReachError
from sgverify.exact.closure.carrier import MomentRing, coordinate_names, in_ring, polynomials_of, symbols_of
from sgverify.exact.closure.moments import Monomial, PolynomialGradient, derivative, monomial_text
from sgverify.schemes import Dynamics
from sgverify.schemes.binding import Carrier, bind
from sgverify.targets import Target
from sgverify.targets.form import Form


@dataclass(frozen=True)
class Generator:
    """Drift and half squared diffusion, its diagonal, coordinate by coordinate, as polynomials in the state."""

    coordinates: tuple[str, ...]
    drift: tuple[Form, ...]
    diffusion: tuple[Form, ...]

    @property
    def size(self) -> int:
        """The coordinates of the state."""
        return len(self.coordinates)

    @property
    def degree(self) -> int:
        """The degree of the drift."""
        return max((sum(m) for form in self.drift for m in form), default=0)

    @property
    def affine(self) -> bool:
        """Whether the drift is affine and the noise does not depend on the state, so that X_t is Gaussian."""
        return self.degree <= 1 and not any(any(m) for form in self.diffusion for m in form)

    def matrices(self) -> tuple[fmpq_mat, fmpq_mat, fmpq_mat]:
        """A, b and 2 a of dX = (A X + b) dt + sigma dW, of an affine dynamics."""
        n = self.size
        units = [tuple(int(i == j) for j in range(n)) for i in range(n)]
        zero = fmpq(0)
        a = fmpq_mat(n, n, [form.get(unit, zero) for form in self.drift for unit in units])
        b = fmpq_mat(n, 1, [form.get((0,) * n, zero) for form in self.drift])
        spread = fmpq_mat(n, n)
        for i, form in enumerate(self.diffusion):
            spread[i, i] = 2 * form.get((0,) * n, zero)
        return a, b, spread

    def __call__(self, f: Form) -> Form:
        """L f."""
        found: Form = {}
        for i in range(self.size):
            once = derivative(f, i)
            for factor, part in ((self.drift[i], once), (self.diffusion[i], derivative(once, i))):
                add_product(found, factor, part)
        return {m: c for m, c in found.items() if c}

    def text(self, form: Form) -> str:
        """A polynomial by the names of the coordinates."""
        names = list(self.coordinates)
        terms = [
            f"{c} {monomial_text(m, names)}" if any(m) else str(c)
            for m, c in sorted(form.items(), reverse=True)
        ]
        return " + ".join(terms) or "0"


def read_generator(dynamics: Dynamics, target: Target, parameters: Mapping[str, Fraction]) -> Generator:
    """The generator on this target; raises `OutOfReachError` where drift or noise is no polynomial that is read."""
    if dynamics.riemannian:
        raise OutOfReachError("the generator of a dynamics with a metric is not followed")
    dim = target.dim
    coordinates = coordinate_names(dynamics.shapes, dim)
    ring = MomentRing(coordinates, 0)
    numbers = {name: parameters[name] for name in dynamics.parameters}
    bound = bind(dynamics, Carrier(number=lambda value: in_ring(ring, value)), numbers, dim=Fraction(dim))
    read = bound.coefficients(symbols_of(ring, dynamics.shapes, dim), grad=PolynomialGradient(target))
    drift, diffusion = (_forms(part, dynamics.shapes, dim, ring) for part in read)
    return Generator(tuple(coordinates), drift, diffusion)


def add_product(total: Form, left: Form, right: Form) -> None:
    """Add the product of two polynomials to `total`."""
    for m, c in left.items():
        for k, d in right.items():
            power: Monomial = tuple(i + j for i, j in zip(m, k, strict=True))
            total[power] = total.get(power, fmpq(0)) + c * d


def _forms(
    values: tuple[Any, ...], shapes: Mapping[str, str], dim: int, ring: MomentRing
) -> tuple[Form, ...]:
    found = []
    for polynomial in polynomials_of(values, ring, shapes, dim):
        form: Form = {}
        for exponents, c in polynomial.to_dict().items():
            if any(exponents[: ring.first_state]):
                raise OutOfReachError("a constant of the dynamics has no fraction")
            form[tuple(int(e) for e in exponents[ring.first_state : ring.first_draw])] = c
        found.append(form)
    return tuple(found)

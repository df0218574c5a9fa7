"""Posterior averages of polynomials, derived by sympy from the potential: no formula is typed in.

Under exp(-(U + p.p/2)/T) partial integration gives, for every polynomial f and coordinate x_i,

    E[d_i f] = E[f d_i H] / T,    H = U(theta) + p.p/2,

and where d_i H is linear, d_i H = sum_j K_ij (x_j - m_j), solving for E[f (x_i - m_i)] leaves

    E[x_i f] = m_i E[f] + T sum_j (K^-1)_ij E[d_j f],

which lowers the degree until E[1] = 1 is left. K and m come from differentiating H, and H is what the
target's own prior and likelihood return on polynomials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import sympy
from sympy.polys.domains import QQ
from sympy.polys.matrices import DomainMatrix
from sympy.polys.rings import PolyElement, ring

from sgverify.errors import ConfigurationError, DefinitionError, UnknownNameError
from sgverify.targets import TARGETS, Matrix, Observable, Target, Vector, constant, kinetic_energy
from sgverify.targets.constants import read_number
from sgverify.targets.kind import MATRIX
from sgverify.targets.potential import PairPotential, Potential

_LAWS: WeakKeyDictionary[Target, _Law] = WeakKeyDictionary()


def posterior_average(target: Target, observable: Observable, temperature: Any) -> Fraction:
    """E[phi(theta, p)] under exp(-(U(theta) + p.p/2)/T), exactly.

    `temperature` is T > 0; a float is read as the decimal that it prints as. Raises `ConfigurationError`
    for another temperature, or an observable of another dimension.
    """
    warmth = read_number("temperature", temperature)
    if warmth <= 0:
        raise ConfigurationError(
            f"temperature={temperature!r}: expected a number above 0; write e.g. temperature=1.0"
        )
    if observable.dim != target.dim:
        raise ConfigurationError(
            f"test_function={str(observable)!r} has dim={observable.dim} and the target {target.name!r} has "
            f"dim={target.dim}; expected the same; parse the test function with the target's dim"
        )
    if target not in _LAWS:
        _LAWS[target] = _derive_numbers(target)
    average = _average(observable, _LAWS[target].of(observable), _element(warmth, QQ))
    return Fraction(int(average.numerator), int(average.denominator))


def posterior_formula(name: str, observable: Observable, **constants: Any) -> sympy.Expr:
    """E[phi] as an expression in the target's constants, in T and, for a target with data, in N and xbar.

    `name` is that of a target. A constant is a number (for a precision: the same for every coordinate) that
    is given here, or else a symbol called after its key. For dim > 1 the average of the data is xbar_0, ...
    and so are the vector constants that stay symbols. Raises `UnknownNameError` for the names and
    `ConfigurationError` for constants that are not numbers.
    """
    if name not in TARGETS:
        raise UnknownNameError("target", name, TARGETS)
    kind, dim = TARGETS[name], observable.dim
    for key in constants:
        if key not in kind.constants:
            raise UnknownNameError(f"constant of the target {name!r}", key, kind.constants)
    shapes = {key: shape for key, (shape, _) in kind.constants.items()}
    names = {
        key: [key] if shape == MATRIX else _indexed(key, dim)
        for key, shape in shapes.items()
        if key not in constants
    }
    averages = _indexed("xbar", dim) if kind.has_data else []
    data_names = ["N", *averages] if kind.has_data else []
    field_names = [*(part for parts in names.values() for part in parts), *data_names, "T"]
    domain = QQ.frac_field(*(sympy.Symbol(part, **_assumptions(part)) for part in field_names))
    generators = dict(zip(field_names, domain.gens, strict=True))
    bound: dict[str, Matrix | Vector] = {}
    for key, shape in shapes.items():
        parts = (
            [generators[part] for part in names[key]]
            if key in names
            else [_element(read_number(key, constants[key]), domain)]
        )
        entries = parts * dim if len(parts) == 1 else parts
        bound[key] = Matrix.diagonal(entries) if shape == MATRIX else Vector(entries)
    sums = [generators["N"] * generators[part] for part in averages]
    law = _derive(*kind.potential(**bound), dim, domain, generators.get("N"), sums)
    average = _average(observable, law.of(observable), generators["T"])
    return _by_powers_of(sympy.Symbol("T", positive=True), domain.to_sympy(domain.convert(average)))


@dataclass(frozen=True, eq=False)
class _Law:
    """A Gaussian law at T = 1 over a field of sympy's: mean m and covariance K^-1."""

    domain: Any
    mean: tuple[Any, ...]
    covariance: tuple[tuple[Any, ...], ...]

    def of(self, observable: Observable) -> _Law:
        """The law of the coordinates that the observable reads: theta, or theta and p."""
        return self.with_momentum if observable.uses_momentum else self

    @cached_property
    def with_momentum(self) -> _Law:
        """The joint law of (theta, p), which are independent because H has no term in both."""
        momentum = _derive_momentum(len(self.mean), self.domain)
        zeros = (self.domain.zero,) * len(self.mean)
        upper, lower = (
            [(*row, *zeros) for row in self.covariance],
            [(*zeros, *row) for row in momentum.covariance],
        )
        return _Law(self.domain, self.mean + momentum.mean, (*upper, *lower))


class _Polynomials(Vector):
    """The carrier of this reading: vectors of sympy's polynomials, in theta and x, over a field."""


@constant.register
def _(like: _Polynomials, value: Vector | Matrix) -> Any:
    ring_of = like.entries[0].ring

    def entry(number: Any) -> PolyElement:
        rational = isinstance(number, int | Fraction)
        return ring_of.ground_new(_element(number, ring_of.domain) if rational else number)

    if isinstance(value, Matrix):
        return Matrix([entry(number) for number in row] for row in value.rows)
    return _Polynomials(entry(number) for number in value.entries)


def _derive_numbers(target: Target) -> _Law:
    """The law of a target with its numbers and data; data enter through N and their exact sum."""
    sums = [_element(total, QQ) for total in target.data_sum]
    return _derive(target.prior, target.likelihood, target.dim, QQ, target.size, sums)


@lru_cache(maxsize=64)
def _derive_momentum(dim: int, domain: Any) -> _Law:
    return _derive(kinetic_energy, None, dim, domain, None, [])


def _derive(
    prior: Potential, likelihood: PairPotential | None, dim: int, domain: Any, size: Any, sums: Sequence[Any]
) -> _Law:
    """Differentiate H = prior + sum_i likelihood(., x_i); solve grad H = 0; invert its Hessian."""
    names = [f"theta_{i}" for i in range(dim)] + ([f"x_{i}" for i in range(dim)] if likelihood else [])
    polynomials, *generators = ring(names, domain)
    theta = _Polynomials(generators[:dim])
    whole = _as_polynomial(prior(theta), polynomials)
    if likelihood is not None:
        one = _as_polynomial(likelihood(theta, _Polynomials(generators[dim:])), polynomials)
        whole += _summed_over_data(one, dim, domain.convert(size), sums)
    slopes = [whole.diff(generator) for generator in generators[:dim]]
    curve = [[_number(slope.diff(generator)) for generator in generators[:dim]] for slope in slopes]
    inverse = DomainMatrix(curve, (dim, dim), domain).inv().to_list()
    at_zero = [slope.coeff(1) for slope in slopes]
    mean = tuple(-sum((c * g for c, g in zip(row, at_zero, strict=True)), domain.zero) for row in inverse)
    return _Law(domain, mean, tuple(tuple(row) for row in inverse))


def _summed_over_data(one: PolyElement, dim: int, size: Any, sums: Sequence[Any]) -> PolyElement:
    """sum_i likelihood(theta, x_i): a monomial in x becomes its sum over the data.

    Terms without theta are left out, because every average divides them away; so N and sum_i x_i are all
    that a likelihood quadratic in (theta, x) asks of the data.
    """
    total = one.ring.zero
    for monomial, coefficient in one.terms():
        of_theta, of_x = monomial[:dim], monomial[dim:]
        if not any(of_theta):
            continue
        if sum(of_x) > 1:
            raise DefinitionError(
                "the likelihood is not quadratic in (theta, x); no exact average is derived for it"
            )
        power_sum = sums[of_x.index(1)] if any(of_x) else size
        total += one.ring.term_new((*of_theta, *(0,) * dim), coefficient * power_sum)
    return total


def _average(observable: Observable, law: _Law, warmth: Any) -> Any:
    found: dict[tuple[int, ...], Any] = {}
    count = len(law.mean)

    def moment(exponents: tuple[int, ...]) -> Any:
        if not any(exponents):
            return law.domain.one
        if exponents not in found:
            i = next(k for k, power in enumerate(exponents) if power)
            rest = _lowered(exponents, i)
            total = law.mean[i] * moment(rest)
            for j, power in enumerate(rest):
                if power and law.covariance[i][j]:
                    total = total + warmth * power * law.covariance[i][j] * moment(_lowered(rest, j))
            found[exponents] = total
        return found[exponents]

    terms = (_element(c, law.domain) * moment(e[:count]) for e, c in observable.terms.items())
    return sum(terms, law.domain.zero)


def _lowered(exponents: tuple[int, ...], place: int) -> tuple[int, ...]:
    return (*exponents[:place], exponents[place] - 1, *exponents[place + 1 :])


def _by_powers_of(symbol: sympy.Symbol, expression: sympy.Expr) -> sympy.Expr:
    """The same expression as sum_k T^k times a factored coefficient, which is how it reads best."""
    coefficients = sympy.Poly(sympy.together(expression), symbol, domain="EX").as_dict()
    return sympy.Add(*(sympy.factor(value) * symbol ** power[0] for power, value in coefficients.items()))


def _as_polynomial(value: Any, polynomials: Any) -> PolyElement:
    return value if isinstance(value, PolyElement) else polynomials(value)


def _number(slope: PolyElement) -> Any:
    if not slope.is_ground:
        raise DefinitionError("the potential is not quadratic; no exact average is derived for it")
    return slope.coeff(1)


def _indexed(name: str, dim: int) -> list[str]:
    return [name] if dim == 1 else [f"{name}_{i}" for i in range(dim)]


def _assumptions(name: str) -> dict[str, bool]:
    if name == "N":
        return {"positive": True, "integer": True}
    return {"positive": True} if name == "T" or name.endswith("precision") else {"real": True}


def _element(number: Fraction | int, domain: Any) -> Any:
    return domain.convert_from(QQ(number.numerator, number.denominator), QQ)

"""Posterior averages of polynomials under Gaussian laws, derived by sympy from the potential.

Under exp(-(U + p.p/2)/T) partial integration gives, for every polynomial f and coordinate x_i,

    E[d_i f] = E[f d_i H] / T,    H = U(theta) + p.p/2,

and where d_i H is linear, d_i H = sum_j K_ij (x_j - m_j), solving for E[f (x_i - m_i)] leaves

    E[x_i f] = m_i E[f] + T sum_j (K^-1)_ij E[d_j f],

which lowers the degree until E[1] = 1 is left. K and m come from differentiating H, and H is what the
target's own prior and likelihood return on polynomials.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import combinations_with_replacement
from typing import Any

import sympy
from sympy.polys.domains import QQ
from sympy.polys.matrices import DomainMatrix
from sympy.polys.rings import PolyElement, ring

from sgverify.errors import ConfigurationError, DefinitionError, UnknownNameError
from sgverify.targets import TARGETS, Matrix, Observable, Target, Vector, constant
from sgverify.targets.constants import read_number
from sgverify.targets.form import Monomial
from sgverify.targets.kind import MATRIX, POSITIVE, VECTOR, DataLayout
from sgverify.targets.potential import PairPotential, Potential


def posterior_average(target: Target, observable: Observable, temperature: Any) -> Fraction:
    """E[phi(theta, p)] under exp(-(U(theta) + p.p/2)/T), exactly.

    `temperature` is T > 0; a float is read as the decimal that it prints as. Raises `ConfigurationError`
    for another temperature, or an observable of another dimension.
    """
    T = read_number("temperature", temperature)
    if T <= 0:
        raise ConfigurationError(
            f"temperature={temperature!r}: expected a number above 0; write e.g. temperature=1.0"
        )
    if observable.dim != target.dim:
        raise ConfigurationError(
            f"test_function={str(observable)!r} has dim={observable.dim} and the target {target.name!r} has "
            f"dim={target.dim}; expected the same; parse the test function with the target's dim"
        )
    _ = target.precision  # names the target where it is not quadratic
    return Fraction(_average(observable, target.mean.__getitem__, target.covariance_row, T, Fraction))


def posterior_formula(name: str, observable: Observable, **constants: Any) -> sympy.Expr:
    """E[phi] as an expression in the target's constants, in T and, for a target with data, in N and averages of them.

    `name` is that of a target. A constant is a number (for a precision: the same for every coordinate) that is
    given here, or else a symbol called after its key. The average of the data is xbar, or xbar_0, ... for dim > 1,
    as the vector constants that stay symbols are; for a regression the averages are mean(x*y) and the like.
    Raises `UnknownNameError` for the names and `ConfigurationError` for constants that are not numbers.
    """
    if name not in TARGETS:
        raise UnknownNameError("target", name, TARGETS)
    kind, dim = TARGETS[name], observable.dim
    for key in constants:
        if key not in kind.constants:
            raise UnknownNameError(f"constant of the target {name!r}", key, kind.constants)
    shapes = {key: shape for key, (shape, _) in kind.constants.items()}
    names = {
        key: _indexed(key, dim) if shape == VECTOR else [key]
        for key, shape in shapes.items()
        if key not in constants
    }
    averages = _data_averages(kind.data, dim) if kind.data is not None else {}
    data_names = ["N", *averages.values()] if kind.has_data else []
    field_names = [*(part for parts in names.values() for part in parts), *data_names, "T"]
    domain = QQ.frac_field(*(sympy.Symbol(part, **_assumptions(part)) for part in field_names))
    width = len(kind.data.columns(dim)) if kind.data is not None else 0
    generators = dict(zip(field_names, domain.gens, strict=True))
    bound: dict[str, Matrix | Vector] = {}
    for key, shape in shapes.items():
        parts = (
            [generators[part] for part in names[key]]
            if key in names
            else [_element(read_number(key, constants[key]), domain)]
        )
        entries = parts * dim if len(parts) == 1 and shape != POSITIVE else parts
        bound[key] = Matrix.diagonal(entries) if shape == MATRIX else Vector(entries)
    sums = {
        (0,) * width: generators.get("N"),
        **{monomial: generators["N"] * generators[part] for monomial, part in averages.items()},
    }
    mean, rows = _derive(*kind.potential(**bound), dim, domain, width, sums.__getitem__)
    average = _average(
        observable, mean.__getitem__, rows.__getitem__, generators["T"], partial(_element, domain=domain)
    )
    return _by_powers_of(sympy.Symbol("T", positive=True), domain.to_sympy(domain.convert(average)))


class _Polynomials(Vector):
    """Vectors of sympy's polynomials in theta and x over a field, on which a potential is evaluated."""


@constant.register
def _(like: _Polynomials, value: Vector | Matrix) -> Any:
    ring_of = like.entries[0].ring

    def entry(number: Any) -> PolyElement:
        rational = isinstance(number, int | Fraction)
        return ring_of.ground_new(_element(number, ring_of.domain) if rational else number)

    if isinstance(value, Matrix):
        return Matrix([entry(number) for number in row] for row in value.rows)
    return _Polynomials(entry(number) for number in value.entries)


def _derive(
    prior: Potential, likelihood: PairPotential | None, dim: int, domain: Any, width: int, power_sum: Any
) -> tuple[list[Any], list[list[Any]]]:
    """m and K^-1 at T = 1: differentiate H = prior + sum_i likelihood(., x_i); solve grad H = 0; invert its Hessian.

    `power_sum` gives the sum over the data, of `width` numbers each, of a monomial in them.
    """
    names = [f"theta_{i}" for i in range(dim)] + ([f"x_{i}" for i in range(width)] if likelihood else [])
    polynomials, *generators = ring(names, domain)
    theta = _Polynomials(generators[:dim])
    whole = _as_polynomial(_evaluated(prior, theta), polynomials)
    if likelihood is not None:
        one = _as_polynomial(_evaluated(likelihood, theta, _Polynomials(generators[dim:])), polynomials)
        whole += _summed_over_data(one, dim, power_sum)
    gradients = [whole.diff(generator) for generator in generators[:dim]]
    curve = [[_number(gradient.diff(generator)) for generator in generators[:dim]] for gradient in gradients]
    inverse = DomainMatrix(curve, (dim, dim), domain).inv().to_list()
    at_zero = [gradient.coeff(1) for gradient in gradients]
    return [-sum((c * g for c, g in zip(row, at_zero, strict=True)), domain.zero) for row in inverse], inverse


def _evaluated(potential: Any, *arguments: _Polynomials) -> Any:
    try:
        return potential(*arguments)
    except DefinitionError as error:
        raise DefinitionError(
            f"the potential is not quadratic; no exact average is derived for it ({error})"
        ) from None


def _summed_over_data(one: PolyElement, dim: int, power_sum: Any) -> PolyElement:
    """sum_i likelihood(theta, x_i): a monomial in x becomes its sum over the data.

    Terms without theta are left out, because every average divides them away.
    """
    total = one.ring.zero
    width = len(one.ring.gens) - dim
    for monomial, coefficient in one.terms():
        of_theta, of_x = monomial[:dim], monomial[dim:]
        if not any(of_theta):
            continue
        if sum(of_theta) > 2:
            raise DefinitionError(
                "the likelihood is not quadratic in theta; no exact average is derived for it"
            )
        total += one.ring.term_new((*of_theta, *(0,) * width), coefficient * power_sum(of_x))
    return total


def _data_averages(layout: DataLayout, dim: int) -> dict[Monomial, str]:
    """The averages over the data that enter a likelihood of this layout, as {monomial: the symbol's name}."""
    if layout.degree is None:
        raise DefinitionError("the likelihood is no polynomial; no exact average is derived for it")
    columns = layout.columns(dim)
    found = {}
    for degree in range(1, layout.degree + 1):
        for places in combinations_with_replacement(range(len(columns)), degree):
            monomial = tuple(places.count(k) for k in range(len(columns)))
            powers = [(columns[k], power) for k, power in enumerate(monomial) if power]
            product = "*".join(name if power == 1 else f"{name}**{power}" for name, power in powers)
            found[monomial] = product.replace("x", "xbar", 1) if layout.degree == 1 else f"mean({product})"
    return found


def _average(
    observable: Observable,
    mean: Callable[[int], Any],
    covariance: Callable[[int], Sequence[Any]],
    T: Any,
    number: Callable[[Fraction], Any],
) -> Any:
    """E[phi] by the mean and the rows of the covariance at T = 1; p is N(0, T 1), and independent of theta.

    A row is asked for where it is needed: a test function of few coordinates needs no inverse of the precision.
    """
    dim, rows, zero = observable.dim, cache(covariance), number(Fraction(0))
    found: dict[tuple[int, ...], Any] = {(0,) * (2 * dim): number(Fraction(1))}

    def moment(exponents: tuple[int, ...]) -> Any:
        if exponents not in found:
            i = next(k for k, power in enumerate(exponents) if power)
            rest = _lowered(exponents, i)
            total = mean(i) * moment(rest) if i < dim else zero
            for j, power in enumerate(rest):
                if not power:
                    continue
                shared = rows(i)[j] if max(i, j) < dim else int(i == j)
                if shared:
                    total = total + T * power * shared * moment(_lowered(rest, j))
            found[exponents] = total
        return found[exponents]

    padded = {(*e[: 2 * dim], *(0,) * (2 * dim - len(e))): c for e, c in observable.terms.items()}
    return sum((number(c) * moment(e) for e, c in padded.items()), zero)


def _lowered(exponents: tuple[int, ...], place: int) -> tuple[int, ...]:
    return (*exponents[:place], exponents[place] - 1, *exponents[place + 1 :])


def _by_powers_of(symbol: sympy.Symbol, expression: sympy.Expr) -> sympy.Expr:
    """The same expression as sum_k T^k times a factored coefficient, for legibility."""
    coefficients = sympy.Poly(sympy.together(expression), symbol, domain="EX").as_dict()
    return sympy.Add(*(sympy.factor(value) * symbol ** power[0] for power, value in coefficients.items()))


def _as_polynomial(value: Any, polynomials: Any) -> PolyElement:
    return value if isinstance(value, PolyElement) else polynomials(value)


def _number(gradient: PolyElement) -> Any:
    if not gradient.is_ground:
        raise DefinitionError("the potential is not quadratic; no exact average is derived for it")
    return gradient.coeff(1)


def _indexed(name: str, dim: int) -> list[str]:
    return [name] if dim == 1 else [f"{name}_{i}" for i in range(dim)]


def _assumptions(name: str) -> dict[str, bool]:
    if name == "N":
        return {"positive": True, "integer": True}
    return {"positive": True} if name == "T" or name.endswith("precision") else {"real": True}


def _element(number: Fraction | int, domain: Any) -> Any:
    return domain.convert_from(QQ(number.numerator, number.denominator), QQ)

"""Conjugate posteriors that are not Gaussian, recognised by sympy from the potential: no posterior is typed in.

The potential is evaluated at theta_j = log r_j with symbols r_j > 0. Where U/T has the form

    U/T = sum_j (B_j r_j - A_j log r_j) + sum_P S_P log P,    P = 1 + sum_(j in J) r_j,

its sufficient statistics name the law: r_j ~ Gamma(A_j, B_j) where r_j is in no P, and for each P the shares r_j/P and
1/P ~ Dirichlet(A_j.., S_P - sum A_j), a beta law for one r_j. Where P is R = sum_(j in J) r_j, without the 1, and all B_j with
j in J are one B, then R ~ Gamma(sum A_j - S_R, B), independent of the shares r_j/R ~ Dirichlet(A_j..). A potential on theta > 0 is
evaluated at theta_j = r_j, with the T log r_j of d theta = r d log r added to U. The density of log r is exp(A . log r) times a
function of log r alone, so with the normaliser Z(A), a product of gamma functions,

    E r^k = Z(A + k)/Z(A),    the cumulants of log r are the derivatives of log Z in A: polygamma functions,

and moments of theta = log r follow from cumulants, E theta_i f = sum_m binomial(f, m) kappa(m + e_i) E theta^(f - m); on theta > 0,
theta = r, the moments are the ratios of Z.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any
from weakref import WeakKeyDictionary

import flint
import sympy
from flint import acb, arb

from sgverify.errors import DefinitionError
from sgverify.exact.posterior.panels import as_ball
from sgverify.schemes.definition.mathematics import exp, log, softplus
from sgverify.targets import Matrix, Target, Vector, constant
from sgverify.targets.constants import read_number

BITS = 128
Powers = tuple[int, ...]

_READ: WeakKeyDictionary[Target, sympy.Expr | None] = WeakKeyDictionary()


@dataclass(frozen=True)
class ConjugateLaw:
    """The law of theta = log r, or of a `positive` theta = r; `laws` are the factors as text, `log_normaliser` is log Z in the
    symbols `natural`.

    `values` gives A_j for each symbol of `natural`, and the numbers B_j and S_P. `shares` are the groups of
    coordinates that are log ratios of the shares of one Dirichlet law.
    """

    laws: tuple[str, ...]
    natural: tuple[sympy.Symbol, ...] = field(repr=False)
    log_normaliser: sympy.Expr = field(repr=False)
    values: Mapping[sympy.Symbol, sympy.Expr] = field(repr=False)
    shares: tuple[tuple[frozenset[int], sympy.Symbol], ...] = field(repr=False)
    positive: bool = False

    def average(self, terms: Mapping[Powers, Fraction]) -> arb:
        """sum_a terms[a] E prod_j theta_j^(a_j), from its formula in gamma or polygamma functions, enclosed."""
        with flint.ctx.workprec(BITS):
            # Moments have whole coefficients in gamma functions of symbols: Python rounds nothing.
            given = [
                as_ball(Fraction(int(v.p), int(v.q))) for v in map(sympy.nsimplify, self.values.values())
            ]
            total = arb(0)
            for powers, coefficient in terms.items():
                evaluate = sympy.lambdify(
                    list(self.values), self._moment(powers), modules=[_ON_BALLS], cse=True
                )
                total = total + as_ball(coefficient) * evaluate(*given)
            return total

    def _moment(self, powers: Powers) -> sympy.Expr:
        if not any(powers):
            return sympy.S.One
        if self.positive:
            later = {a: a + power for a, power in zip(self.natural, powers, strict=True)}
            return sympy.exp(self.log_normaliser.subs(later, simultaneous=True) - self.log_normaliser)
        if powers not in self._moments:
            i = next(k for k, power in enumerate(powers) if power)
            rest = _with(powers, i, powers[i] - 1)
            total = sympy.S.Zero
            for taken in product(*(range(n + 1) for n in rest)):
                ways = math.prod(math.comb(n, m) for n, m in zip(rest, taken, strict=True))
                left = tuple(n - m for n, m in zip(rest, taken, strict=True))
                total += ways * self._cumulant(_with(taken, i, taken[i] + 1)) * self._moment(left)
            self._moments[powers] = total
        return self._moments[powers]

    def _cumulant(self, powers: Powers) -> sympy.Expr:
        if powers not in self._cumulants:
            places = [(a, n) for a, n in zip(self.natural, powers, strict=True) if n]
            self._cumulants[powers] = sympy.diff(self.log_normaliser, *places)
        return self._cumulants[powers]

    @cached_property
    def _moments(self) -> dict[Powers, sympy.Expr]:
        return {}

    @cached_property
    def _cumulants(self) -> dict[Powers, sympy.Expr]:
        return {}


def conjugate_law(target: Target, temperature: Any = 1) -> ConjugateLaw | None:
    """The law of exp(-U/T) where it belongs to one of the conjugate families, else None."""
    if target not in _READ:
        _READ[target] = _read_target(target)
    energy, T = _READ[target], read_number("temperature", temperature)
    if energy is None or T <= 0:
        return None
    energy = energy / sympy.Rational(T.numerator, T.denominator)
    if not target.positive:
        return _recognised(energy, target.dim)
    _, rates = _coordinates(target.dim)
    # The density of log r is that of r times r.
    found = _recognised(energy - sum(sympy.log(r) for r in rates), target.dim)
    return None if found is None else replace(found, positive=True)


class _Symbols(Vector):
    """Vectors of sympy's expressions, on which a potential is evaluated."""


@constant.register
def _(like: _Symbols, value: Vector | Matrix) -> Any:
    if isinstance(value, Matrix):
        return Matrix([_rational(entry) for entry in row] for row in value.rows)
    return _Symbols(_rational(entry) for entry in value.entries)


@exp.register(sympy.Expr)
def _(value: sympy.Expr) -> sympy.Expr:
    return sympy.exp(value)


@log.register(sympy.Expr)
def _(value: sympy.Expr) -> sympy.Expr:
    return sympy.log(value)


@softplus.register(sympy.Expr)
def _(value: sympy.Expr) -> sympy.Expr:
    above, below = sympy.fraction(sympy.together(1 + sympy.exp(value)))
    return sympy.log(above) - sympy.log(below)


def _read_target(target: Target) -> sympy.Expr | None:
    """U in the symbols r_j, with the data summed; None where sympy cannot evaluate it."""
    if target.components or (target.data is None and target.independent):
        return None
    theta, rates = _coordinates(target.dim)
    if target.positive:
        theta = _Symbols(rates)
    try:
        energy = target.prior(theta)
        if target.data is not None:
            assert target.likelihood is not None
            energy += _summed(target, theta)
    except (DefinitionError, sympy.PolynomialError):
        return None
    return sympy.sympify(energy, strict=True)


def _summed(target: Target, theta: _Symbols) -> sympy.Expr:
    assert target.data is not None and target.likelihood is not None
    width = target.data.shape[1]
    data = sympy.symbols(f"x_:{width}", real=True)
    one = sympy.Poly(sympy.expand(target.likelihood(theta, _Symbols(data))), *data, domain="EX")
    return sum((c.as_expr() * _rational(target.power_sum(m)) for m, c in one.terms()), sympy.S.Zero)


def _recognised(energy: sympy.Expr, dim: int) -> ConjugateLaw | None:
    """The law of the density e^(-energy) of theta, from the sufficient statistics that occur."""
    _, rates = _coordinates(dim)
    terms = sympy.Add.make_args(sympy.expand(energy))
    found: dict[sympy.Expr, sympy.Expr] = {}
    for term in terms:
        coefficient, statistic = term.as_independent(*rates, as_Add=False)
        found[statistic] = found.get(statistic, 0) + coefficient
    found = {statistic: c for statistic, c in found.items() if statistic != 1 and sympy.simplify(c) != 0}
    shapes = [-found.pop(sympy.log(r), sympy.S.Zero) for r in rates]
    natural = tuple(sympy.Symbol(f"A_{j}", positive=True) for j in range(dim))
    values: dict[sympy.Symbol, sympy.Expr] = dict(zip(natural, shapes, strict=True))
    normaliser, laws, shares = sympy.S.Zero, [], []
    seen: set[int] = set()
    for number, (statistic, coefficient) in enumerate(list(found.items())):
        if _is_sum(statistic, rates):
            members = {j for j, r in enumerate(rates) if statistic.has(r)}
            each = {found.get(rates[j], sympy.S.Zero) for j in members}
            if len(each) > 1:
                return None
            total, rate = sympy.Symbol(f"S_{number}"), sympy.Symbol(f"B_{number}", positive=True)
            values |= {total: coefficient, rate: each.pop()}
            whole = sum(natural[j] for j in members)
            normaliser += sum(sympy.loggamma(natural[j]) for j in members) - sympy.loggamma(whole)
            normaliser += sympy.loggamma(whole - total) - (whole - total) * sympy.log(rate)
            size = sympy.expand((whole - total).subs(values))
            laws.append(f"Dirichlet({', '.join(str(shapes[j]) for j in sorted(members))})")
            laws.append(f"their sum ~ Gamma({size}, {values[rate]})")
            positive = [*(shapes[j] for j in members), size, values[rate]]
        elif statistic in rates and any(_is_sum(other, rates) and other.has(statistic) for other in found):
            continue
        elif statistic in rates:
            j = rates.index(statistic)
            members = {j}
            rate = sympy.Symbol(f"B_{j}", positive=True)
            values[rate] = coefficient
            normaliser += sympy.loggamma(natural[j]) - natural[j] * sympy.log(rate)
            laws.append(f"exp(theta_{j}) ~ Gamma({shapes[j]}, {coefficient})")
            positive = [shapes[j], coefficient]
        elif isinstance(statistic, sympy.log):
            inside = statistic.args[0]
            members = {j for j, r in enumerate(rates) if inside.has(r)}
            if sympy.expand(inside - 1 - sum(rates[j] for j in members)) != 0:
                return None
            total = sympy.Symbol(f"S_{number}", positive=True)
            values[total] = coefficient
            last = total - sum(natural[j] for j in members)
            normaliser += (
                sum(sympy.loggamma(natural[j]) for j in members)
                + sympy.loggamma(last)
                - sympy.loggamma(total)
            )
            parameters = [*(shapes[j] for j in sorted(members)), sympy.expand(last.subs(values))]
            laws.append(f"{'Beta' if len(members) == 1 else 'Dirichlet'}({', '.join(map(str, parameters))})")
            shares.append((frozenset(members), total))
            positive = parameters
        else:
            return None
        if members & seen or any(value.is_number and not value > 0 for value in positive):
            return None
        seen |= members
    if seen != set(range(dim)):
        return None
    return ConjugateLaw(tuple(laws), natural, normaliser, values, tuple(shares))


def _is_sum(statistic: sympy.Expr, rates: list[sympy.Symbol]) -> bool:
    """Is it log sum_j r_j over some j?"""
    if not isinstance(statistic, sympy.log):
        return False
    inside = statistic.args[0]
    return bool(sympy.expand(inside - sum(r for r in rates if inside.has(r))) == 0)


def _coordinates(dim: int) -> tuple[_Symbols, list[sympy.Symbol]]:
    """theta = log r, and r."""
    rates = list(sympy.symbols(f"r_:{dim}", positive=True))
    return _Symbols(sympy.log(r) for r in rates), rates


def _rational(number: Any) -> sympy.Expr:
    return (
        sympy.Rational(number.numerator, number.denominator) if isinstance(number, int | Fraction) else number
    )


def _with(powers: Powers, place: int, power: int) -> Powers:
    return (*powers[:place], power, *powers[place + 1 :])


def _polygamma(order: int, value: Any) -> arb:
    return acb(as_ball(value)).polygamma(acb(order)).real if order else arb(as_ball(value)).digamma()


_ON_BALLS = {
    "polygamma": _polygamma,
    "loggamma": lambda value: arb(as_ball(value)).lgamma(),
    "log": lambda value: arb(as_ball(value)).log(),
    "exp": lambda value: arb(as_ball(value)).exp(),
}

"""Leading defects in dimensions 2 to 4 against E f(X_1) for one random polynomial potential at one random point.

Nothing of the reading is used but the operator that it found: the steps are written again as series in s and the
draws with number coefficients, L^k f is differentiated out by sympy's polynomials, and the symbols U_a of the
defect are given the derivatives of that potential.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from math import factorial, prod
from typing import Any

import pytest
from sympy import QQ, ring

from sgverify.exact.rings import context
from sgverify.exact.series import carrier
from sgverify.exact.series import operators as transition
from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.orders import LocalOrder
from sgverify.schemes import find_scheme
from sgverify.schemes.definition.mathematics import LAWS

# 2 D T is a square, so that the amplitude sqrt(2 D T h) is rational in s.
D, T = QQ(3, 2), QQ(3, 4)
HIGHEST = 6


class Case:
    """A potential, a state (theta, p, xi) and a test function, all random and rational."""

    def __init__(self, dim: int, seed: int) -> None:
        draw = random.Random(seed)
        self.dim = dim
        self.polynomials, *x = ring([f"x{i}" for i in range(2 * dim + 1)], QQ)
        self.theta, self.p, self.xi = x[:dim], x[dim : 2 * dim], x[-1]
        self.potential = self._polynomial(draw, self.theta, degree=4, terms=4 * dim)
        self.function = self._polynomial(draw, x[:-1], degree=3, terms=3 * dim) + self.xi**2 * self.p[0]
        self.function += self.p[0] ** 2 * self.p[-1] ** 2
        self.point = [QQ(draw.randint(-9, 9), draw.randint(1, 4)) for _ in x]
        self.series, self.s, *self.z = ring(["s", *(f"z{i}" for i in range(dim))], QQ)

    def _polynomial(self, draw: random.Random, x: list[Any], degree: int, terms: int) -> Any:
        picked = (prod(draw.choices(x, k=draw.randint(1, degree))) for _ in range(terms))
        return sum((draw.randint(1, 5) * monomial for monomial in picked), self.polynomials.zero)

    def times(self, a: Any, b: Any) -> Any:
        """The product through s^6."""
        by_power: dict[int, list[Any]] = {}
        for monomial, c in b.items():
            by_power.setdefault(monomial[0], []).append((monomial, c))
        total: dict[Any, Any] = {}
        for monomial, c in a.items():
            for power in range(HIGHEST - monomial[0] + 1):
                for other, d in by_power.get(power, ()):
                    key = tuple(map(sum, zip(monomial, other, strict=True)))
                    total[key] = total.get(key, 0) + c * d
        return self.series.from_dict({m: c for m, c in total.items() if c})

    def at(self, polynomial: Any, values: list[Any]) -> Any:
        """A polynomial of theta, p, xi at a point that is a series."""
        total = self.series.zero
        for exponents, c in polynomial.items():
            factors = [value for value, n in zip(values, exponents, strict=True) for _ in range(n)]
            total += reduce(self.times, factors, self.series.ground_new(c))
        return total

    def gradient(self, theta: list[Any]) -> list[Any]:
        filled = theta + [self.series.zero] * (self.dim + 1)
        return [self.at(self.potential.diff(x), filled) for x in self.theta]

    def exp(self, value: Any) -> Any:
        """exp of O(s)."""
        total, power = self.series.one, self.series.one
        for k in range(1, HIGHEST + 1):
            power = self.times(power, value)
            total += power * QQ(1, factorial(k))
        return total

    def generator(self, f: Any, thermostat: bool) -> Any:
        total = self.polynomials.zero
        friction = self.xi if thermostat else self.polynomials.ground_new(D)
        for x, p in zip(self.theta, self.p, strict=True):
            total += p * f.diff(x) - (self.potential.diff(x) + friction * p) * f.diff(p)
            total += D * T * f.diff(p).diff(p)
        if thermostat:
            total += (sum(p**2 for p in self.p) * QQ(1, self.dim) - T) * f.diff(self.xi)
        return total

    def defect(self, step: Callable[[Case], list[Any]], thermostat: bool) -> list[Any]:
        """The coefficients of s^0 .. s^6 of E f(X_1) - exp(hL) f at the point."""
        found = [QQ(0)] * (HIGHEST + 1)
        for (power, *draws), c in self.at(self.function, step(self)).items():
            if not any(n % 2 for n in draws):
                found[power] += c * prod(prod(range(1, n, 2)) for n in draws)
        term = self.function
        for k in range(HIGHEST // 2 + 1):
            found[2 * k] -= term.evaluate(list(zip(term.ring.gens, self.point, strict=True))) / factorial(k)
            term = self.generator(term, thermostat)
        return found

    def applied(self, found: LocalOrder, thermostat: bool) -> Any:
        """The operator that was found, on the same function at the same point."""
        names = {f"theta{i + 1}": self.point[i] for i in range(self.dim)}
        names |= {f"p{i + 1}": self.point[self.dim + i] for i in range(self.dim)}
        squares, total = {"root_T": T, "root_D": D}, QQ(0)
        coordinates = [*self.theta, *self.p, *([self.xi] if thermostat else [])]
        assert found.given_minibatch is not None
        for index, coefficient in found.given_minibatch.operator.items():
            outer = self._value(
                self.function, [x for x, n in zip(coordinates, index, strict=True) for _ in range(n)]
            )
            for exponents, factor in coefficient.to_dict().items():
                term = outer * QQ(int(factor.p), int(factor.q))
                for name, n in zip(coefficient.context().names(), map(int, exponents), strict=True):
                    if n and name in squares:
                        term *= squares[name] ** (n // 2)
                    elif n and name == "xi":
                        term *= self.point[-1] ** n
                    elif n and name.startswith("U0_"):
                        orders = map(int, name.split("_")[1:])
                        along = [x for x, m in zip(self.theta, orders, strict=True) for _ in range(m)]
                        term *= self._value(self.potential, along) ** n
                    elif n:
                        term *= names[name] ** n
                total += term
        return total

    def _value(self, polynomial: Any, along: list[Any]) -> Any:
        for x in along:
            polynomial = polynomial.diff(x)
        return polynomial.evaluate(list(zip(polynomial.ring.gens, self.point, strict=True)))


def start(case: Case) -> tuple[list[Any], list[Any], Any]:
    x = [case.series.ground_new(c) for c in case.point]
    return x[: case.dim], x[case.dim : -1], x[-1]


def aboba(case: Case) -> list[Any]:
    theta, p, xi = start(case)
    h = case.s**2
    damping = case.exp(-D / 2 * h)
    theta = [x + h * v * QQ(1, 2) for x, v in zip(theta, p, strict=True)]
    kicked = zip(p, case.gradient(theta), case.z, strict=True)
    p = [case.times(damping, v) - case.times(h, g) + QQ(3, 2) * case.s * z for v, g, z in kicked]
    p = [case.times(damping, v) for v in p]
    return [x + case.times(h, v) * QQ(1, 2) for x, v in zip(theta, p, strict=True)] + p + [xi]


def baoab(case: Case) -> list[Any]:
    theta, p, xi = start(case)
    h = case.s**2
    p = [v - case.times(h, g) * QQ(1, 2) for v, g in zip(p, case.gradient(theta), strict=True)]
    theta = [x + case.times(h, v) * QQ(1, 2) for x, v in zip(theta, p, strict=True)]
    # sqrt(T (1 - exp(-2 D h))) = sqrt(2 D T h) (1 - D h / 2 + 5 D^2 h^2 / 24 + O(h^3)).
    spread = QQ(3, 2) * case.s * (1 - D * h * QQ(1, 2) + D**2 * h**2 * QQ(5, 24))
    damping = case.exp(-D * h)
    p = [case.times(damping, v) + spread * z for v, z in zip(p, case.z, strict=True)]
    theta = [x + case.times(h, v) * QQ(1, 2) for x, v in zip(theta, p, strict=True)]
    p = [v - case.times(h, g) * QQ(1, 2) for v, g in zip(p, case.gradient(theta), strict=True)]
    return theta + p + [xi]


def nose_aboba(case: Case) -> list[Any]:
    theta, p, xi = start(case)
    h = case.s**2

    def drifted(theta: list[Any], p: list[Any], xi: Any) -> tuple[list[Any], Any]:
        energy = sum((case.times(v, v) for v in p), case.series.zero) * QQ(1, case.dim) - T
        moved = [x + case.times(h, v) * QQ(1, 2) for x, v in zip(theta, p, strict=True)]
        return moved, xi + case.times(h, energy) * QQ(1, 2)

    theta, xi = drifted(theta, p, xi)
    damping = case.exp(case.times(-h, xi) * QQ(1, 2))
    kicked = zip(p, case.gradient(theta), case.z, strict=True)
    p = [case.times(damping, v) - case.times(h, g) + QQ(3, 2) * case.s * z for v, g, z in kicked]
    p = [case.times(damping, v) for v in p]
    theta, xi = drifted(theta, p, xi)
    return theta + p + [xi]


def agree(name: str, step: Callable[[Case], list[Any]], dim: int) -> bool:
    """Whether both find nothing below h^3 and the same at h^3."""
    thermostat = "xi" in find_scheme(name).state
    case = Case(dim, seed=7 + dim)
    *below, leading = case.defect(step, thermostat)
    found = local_order(find_scheme(name), dim)
    assert found.given_minibatch is not None and leading != 0 and not any(below)
    return found.given_minibatch.power == 3 and case.applied(found, thermostat) == leading


@pytest.mark.parametrize("dim", [2, 3, 4])
@pytest.mark.parametrize(
    ("name", "step"), [("sghmc-aboba", aboba), ("sghmc-baoab", baoab), ("sgnht-aboba", nose_aboba)]
)
def test_the_leading_defect(name: str, step: Callable[[Case], list[Any]], dim: int) -> None:
    assert agree(name, step, dim)


def test_a_wrong_weight_of_mixed_derivatives_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: Taylor's formula divides by |a|! instead of a!, which one dimension cannot tell."""
    monkeypatch.setattr(carrier, "inverse_factorial", lambda index: Fraction(1, factorial(sum(index))))
    assert not agree("sghmc-aboba", aboba, 2)


def test_a_chain_rule_along_the_wrong_coordinate_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = context.raised
    monkeypatch.setattr(context, "raised", lambda index, i: right(index, 0))
    assert not agree("sghmc-aboba", aboba, 2)


def test_draws_of_a_wrong_fourth_moment_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: draws of two values, E z^2 = E z^4 = 1."""
    right = transition.expect
    two = LAWS["two_point"]
    monkeypatch.setattr(transition, "expect", lambda value, ring, laws: right(value, ring, [two] * len(laws)))
    assert not agree("sghmc-aboba", aboba, 2)

"""The peer of the local order: E f(X_1) expanded in powers of h with plain sympy, in one dimension."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import reduce
from itertools import product
from math import factorial
from typing import Any

import sympy as sp

from sgverify.schemes import Scheme
from sgverify.schemes.definition.mathematics import exp, expm1, sqrt

exp.register(sp.Expr, sp.exp)
expm1.register(sp.Expr, lambda value: sp.exp(value) - 1)
sqrt.register(sp.Expr, sp.sqrt)

s, D, T = sp.symbols("s D T", positive=True)
h = s**2
theta, p = sp.symbols("theta p", real=True)
U = sp.Function("U")


def order_by_sympy(scheme: Scheme, highest: int) -> int:
    """The local order K of a kinetic scheme in dimension 1 with full gradients, or `highest` where it is more.

    E f(X_1) = sum_(a, b) E[dtheta^a dp^b] / (a! b!) d_theta^a d_p^b f is compared power by power with
    exp(hL) f = sum_k h^k L^k f / k!, coefficient by coefficient of the derivatives of f.
    """
    degree = 2 * (highest + 1)
    draws = [sp.Symbol(f"xi{k}", real=True) for k in range(scheme.draws)]
    fresh = iter(draws)
    moved = scheme.step(
        (theta, p), h=h, grad=lambda at: _gradient(at, degree), noise=lambda: next(fresh), D=D, T=T
    )
    increments = [_series(new - old, degree) for new, old in zip(moved, (theta, p), strict=True)]
    found: dict[tuple[int, int], Any] = {}
    for a, b in _indices(degree):
        moment = reduce(
            lambda x, y: _cut(x * y, degree), [increments[0]] * a + [increments[1]] * b, sp.Integer(1)
        )
        found[a, b] = _averaged(moment, draws) / (factorial(a) * factorial(b))
    for k in range(1, highest + 2):
        expected = _generator_power(k)
        for index in _indices(degree):
            for power in (2 * k - 1, 2 * k):
                wanted = expected.get(index, 0) / factorial(k) if power == 2 * k else 0
                if sp.expand(found[index].coeff(s, power) - wanted) != 0:
                    return k - 1
    return highest


def _gradient(at: Any, degree: int) -> Any:
    """U'(at), expanded about theta; at - theta is O(s)."""
    offset = _series(at - theta, degree)
    powers = [sp.Integer(1)]
    for _ in range(degree):
        powers.append(_cut(powers[-1] * offset, degree))
    return sum(sp.diff(U(theta), theta, k + 1) * powers[k] / factorial(k) for k in range(degree + 1))


def _series(value: Any, degree: int) -> Any:
    """The polynomial in s of degree `degree` that `value` is up to higher powers."""
    exponentials = {
        e: sum(e.args[0] ** k / factorial(k) for k in range(degree + 1)) for e in value.atoms(sp.exp)
    }
    return _cut(value.subs(exponentials) if exponentials else value, degree)


def _cut(value: Any, degree: int) -> Any:
    polynomial = sp.Poly(sp.expand(value), s)
    return sum(c * s**power for (power,), c in polynomial.terms() if power <= degree)


def _averaged(value: Any, draws: list[Any]) -> Any:
    """E over independent standard normal draws: E xi^k = (k - 1)!! for even k, else 0."""
    if not draws:
        return sp.expand(value)
    polynomial = sp.Poly(sp.expand(value), *draws)
    return sp.expand(
        sum(
            c * sp.prod([sp.factorial2(k - 1) if k else 1 for k in powers])
            for powers, c in polynomial.terms()
            if not any(k % 2 for k in powers)
        )
    )


def _generator_power(k: int) -> dict[tuple[int, int], Any]:
    """L^k f, collected by the derivatives of f: L = p d_theta - (U' + D p) d_p + D T d_p^2."""
    f = sp.Function("f")(theta, p)
    value = f
    for _ in range(k):
        value = (
            p * sp.diff(value, theta)
            - (sp.diff(U(theta), theta) + D * p) * sp.diff(value, p)
            + D * T * sp.diff(value, p, 2)
        )
    value = sp.expand(value)
    found: dict[tuple[int, int], Any] = defaultdict(lambda: sp.Integer(0))
    # Not looked up by name: sympy keeps d_theta d_p f and d_p d_theta f apart.
    for derivative in value.atoms(sp.Derivative):
        if derivative.expr == f:
            orders = dict(derivative.variable_count)
            found[int(orders.get(theta, 0)), int(orders.get(p, 0))] += value.coeff(derivative)
    return found


def _indices(degree: int) -> Iterator[tuple[int, int]]:
    return ((a, b) for a, b in product(range(degree + 1), repeat=2) if 0 < a + b <= degree)

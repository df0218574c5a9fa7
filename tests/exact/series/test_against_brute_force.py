"""Orders and leading defects against E f(X_1) for U = theta^4/4 + theta^2/2, multiplied out by sympy.

Nothing is shared with the package but the fmpq_mpoly that holds a defect: the steps are written again here, as
polynomials in s = sqrt(h), and the draws are averaged by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import factorial

import pytest
import sympy
from sympy.polys.rings import PolyElement, ring

from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.orders import LocalOrder
from sgverify.schemes import Scheme, find_scheme
from tests.zoo.schemes import heun

# 2 D T is a square, so that the noise amplitude sqrt(2 D T h) is rational in s.
D, T = Fraction(3, 2), Fraction(3, 4)
RING, S, THETA, P, Z = ring("s,theta,p,z", sympy.QQ)
HIGHEST = 6

MONOMIALS = [
    (1, 0),
    (2, 0),
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (0, 1),
    (0, 2),
    (0, 3),
    (1, 1),
    (2, 1),
    (1, 2),
    (3, 3),
    (2, 4),
]


def q(value: Fraction) -> sympy.Rational:
    return sympy.QQ(value.numerator, value.denominator)


def cut(value: PolyElement) -> PolyElement:
    return RING.from_dict({m: c for m, c in value.items() if m[0] <= HIGHEST})


def times(a: PolyElement, b: PolyElement) -> PolyElement:
    return cut(a * b)


def power(a: PolyElement, n: int) -> PolyElement:
    result = RING.one
    for _ in range(n):
        result = times(result, a)
    return result


def gradient(x: PolyElement) -> PolyElement:
    return power(x, 3) + x


def decay(rate: Fraction) -> PolyElement:
    """exp(-rate h), cut."""
    return sum((q((-rate) ** k / factorial(k)) * S ** (2 * k) for k in range(HIGHEST // 2 + 1)), RING.zero)


def diffused(t: Fraction) -> PolyElement:
    """sqrt(T (1 - exp(-2 D t h))) = s sqrt(2 D T t) sqrt(1 - x/2! + x^2/3! - ...), x = 2 D t h."""
    amplitude = sympy.sqrt(sympy.Rational(2 * D * T * t))
    assert amplitude.is_Rational, "choose D, T so that 2 D T t is a square"
    h = sympy.Symbol("h")
    x = 2 * sympy.Rational(D) * sympy.Rational(t) * h
    inside = sum((-x) ** k / sympy.factorial(k + 1) for k in range(HIGHEST))
    series = sympy.Poly(sympy.series(sympy.sqrt(inside), h, 0, HIGHEST).removeO(), h)
    found = sum((sympy.QQ(c.p, c.q) * S ** (2 * m[0]) for m, c in series.terms()), RING.zero)
    return cut(sympy.QQ(amplitude.p, amplitude.q) * S * found)


def langevin_euler() -> tuple[PolyElement, ...]:
    # 2 T = 3/2 is no square: D and T above serve the kinetic schemes; here the draw is scaled so that T = 1/2.
    return (THETA - times(S**2, gradient(THETA)) + S * Z,)


def langevin_heun() -> tuple[PolyElement, ...]:
    (guess,) = langevin_euler()
    return (THETA - times(S**2, gradient(THETA) + gradient(guess)) * sympy.QQ(1, 2) + S * Z,)


def kinetic_euler() -> tuple[PolyElement, ...]:
    p = P - S**2 * gradient(THETA) - q(D) * S**2 * P + q(Fraction(3, 2)) * S * Z
    return THETA + times(S**2, p), p


def kinetic_euler_explicit() -> tuple[PolyElement, ...]:
    return THETA + S**2 * P, kinetic_euler()[1]


def aboba() -> tuple[PolyElement, ...]:
    half = sympy.QQ(1, 2)
    damped = decay(D / 2)
    theta = THETA + half * S**2 * P
    p = times(damped, P)
    p = p - times(S**2, gradient(theta)) + q(Fraction(3, 2)) * S * Z
    p = times(damped, p)
    return theta + half * times(S**2, p), p


def baoab() -> tuple[PolyElement, ...]:
    half = sympy.QQ(1, 2)
    p = P - half * S**2 * gradient(THETA)
    theta = THETA + half * times(S**2, p)
    p = times(decay(D), p) + times(diffused(Fraction(1)), Z)
    theta = theta + half * times(S**2, p)
    return theta, p - half * times(S**2, gradient(theta))


def average(value: PolyElement) -> PolyElement:
    """Over the one standard normal draw z."""
    total: dict[tuple[int, ...], object] = {}
    for (s, theta, p, z), c in value.items():
        if z % 2 == 0:
            key = (s, theta, p, 0)
            total[key] = total.get(key, 0) + c * sympy.factorial2(z - 1)
    return RING.from_dict({m: sympy.QQ.convert(c) for m, c in total.items() if c})


def generator(f: PolyElement, kinetic: bool) -> PolyElement:
    if not kinetic:
        return -gradient(THETA) * f.diff(THETA) + sympy.QQ(1, 2) * f.diff(THETA).diff(THETA)
    momentum = f.diff(P)
    return P * f.diff(THETA) - (gradient(THETA) + q(D) * P) * momentum + q(D * T) * momentum.diff(P)


def differences(step: tuple[PolyElement, ...], f: tuple[int, int]) -> PolyElement:
    """E f(X_1) - sum_k h^k L^k f / k!, through s^6."""
    kinetic = len(step) == 2
    landed = times(power(step[0], f[0]), power(step[-1], f[1])) if kinetic else power(step[0], f[0])
    left = average(landed)
    term = THETA ** f[0] * P ** f[1]
    for k in range(HIGHEST // 2 + 1):
        left = left - S ** (2 * k) * term * sympy.QQ(1, factorial(k))
        term = generator(term, kinetic)
    return cut(left)


def applied(found: LocalOrder, f: tuple[int, int], temperature: Fraction, friction: Fraction) -> PolyElement:
    """The defect operator on theta^a p^b, its symbols replaced by the potential's derivatives."""
    theta = THETA
    values = {
        "theta": theta,
        "p": P,
        "U0_1": gradient(theta),
        "U0_2": 3 * theta**2 + 1,
        "U0_3": 6 * theta,
        "U0_4": 6 * RING.one,
    }
    squares = {"root_T": temperature, "root_D": friction}
    assert found.given_minibatch is not None
    total = RING.zero
    for index, coefficient in found.given_minibatch.operator.items():
        term = theta ** f[0] * P ** f[1]
        for variable, times_ in zip((theta, P), index, strict=False):
            for _ in range(times_):
                term = term.diff(variable)
        names = coefficient.context().names()
        for exponents, factor in coefficient.to_dict().items():
            product = term * sympy.QQ(int(factor.p), int(factor.q))
            for name, e in zip(names, map(int, exponents), strict=True):
                if e and name in squares:
                    assert e % 2 == 0, "every even order in s has whole powers of T and D"
                    product = product * q(squares[name]) ** (e // 2)
                elif e:
                    product = product * values.get(name, RING.zero) ** e
            total = total + product
    return total


@pytest.mark.parametrize(
    ("scheme", "step"),
    [
        (find_scheme("sgld-euler"), langevin_euler),
        (heun, langevin_heun),
        (find_scheme("sghmc-euler"), kinetic_euler),
        (find_scheme("sghmc-euler-explicit"), kinetic_euler_explicit),
        (find_scheme("sghmc-aboba"), aboba),
        (find_scheme("sghmc-baoab"), baoab),
    ],
    ids=lambda item: getattr(item, "name", ""),
)
def test_order_and_leading_defect(scheme: Scheme, step: Callable[[], tuple[PolyElement, ...]]) -> None:
    found = local_order(scheme, 1)
    assert found.given_minibatch is not None
    leading = int(2 * found.given_minibatch.power)
    image = step()
    seen = False
    for f in MONOMIALS:
        if len(image) == 1 and f[1]:
            continue
        left = differences(image, f)
        temperature, friction = (Fraction(1, 2), D) if len(image) == 1 else (T, D)
        expected = applied(found, f, temperature, friction)
        assert RING.from_dict({m: c for m, c in left.items() if m[0] < leading}) == 0
        assert RING.from_dict({(0, *m[1:]): c for m, c in left.items() if m[0] == leading}) == expected
        seen = seen or expected != 0
    assert seen

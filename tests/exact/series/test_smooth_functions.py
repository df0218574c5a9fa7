"""Functions of the state in a step and its dynamics, against sympy's own series on a random quartic."""

from __future__ import annotations

from fractions import Fraction
from math import factorial
from random import Random

import pytest
import sympy

from sgverify import dynamics, scheme, sqrt
from sgverify.errors import NotExpandableError
from sgverify.exact.rings.evaluation import BALLS, Values, by_key
from sgverify.exact.series.dimensions import prove_order
from sgverify.exact.series.invariant_order import invariant_order
from sgverify.exact.series.local_order import expand_step, local_order
from sgverify.exact.stationarity.fokker_planck import stationarity_residual
from sgverify.schemes import dot
from sgverify.schemes.loading import load_scheme
from sgverify.schemes.mathematics import tanh

H, X, P, Z, T, D = sympy.symbols("h theta p z T D")
RANDOM = Random(38)
QUARTIC = sum(sympy.Rational(RANDOM.randint(-9, 9), 7) * X**n for n in range(1, 4)) + X**4 / 3


def slope(place):
    return sympy.diff(QUARTIC, X).subs(X, place)


def relativistic_density(theta, p, *, U, T):
    return -(U(theta) + dot(sqrt(1 + p * p), 1 + 0 * p)) / T


@dynamics(theta="vector", p="vector", density=relativistic_density)
def relativistic(theta, p, *, grad, D, T):
    velocity = p / sqrt(1 + p * p)
    return (velocity, -grad(theta) - D * velocity), (0, D * T)


@dynamics(theta="vector", p="vector", density=relativistic_density)
def linear_friction(theta, p, *, grad, D, T):
    return (p / sqrt(1 + p * p), -grad(theta) - D * p), (0, D * T)


@scheme(relativistic, order=1)
def relativistic_euler(theta, p, *, h, grad, noise, D, T):
    p = p - h * grad(theta) - h * D * p / sqrt(1 + p * p) + sqrt(2 * D * T * h) * noise()
    return theta + h * p / sqrt(1 + p * p), p


@dynamics(theta="vector")
def bounded(theta, *, grad, T):
    d = 1 / (1 + theta * theta)
    return -d * grad(theta) - 2 * T * theta * d * d, T * d


@scheme(bounded, order=1)
def bounded_euler(theta, *, h, grad, noise, T):
    d = 1 / (1 + theta * theta)
    return theta - h * (d * grad(theta) + 2 * T * theta * d * d) + sqrt(2 * T * h * d) * noise()


@scheme(bounded, order=1)
def without_gamma(theta, *, h, grad, noise, T):
    d = 1 / (1 + theta * theta)
    return theta - h * d * grad(theta) + sqrt(2 * T * h * d) * noise()


@dynamics(theta="vector")
def steep(theta, *, grad, T):
    d = 2 + tanh(theta)
    return -d * grad(theta) + T * (1 - tanh(theta) ** 2), T * d


@scheme(steep, order=1)
def steep_euler(theta, *, h, grad, noise, T):
    d = 2 + tanh(theta)
    return theta - h * (d * grad(theta) - T * (1 - tanh(theta) ** 2)) + sqrt(2 * T * h * d) * noise()


@scheme(steep, order=1)
def stratonovich(theta, *, h, grad, noise, T):
    z, d = noise(), 2 + tanh(theta)
    guess = theta + sqrt(2 * T * d * h) * z
    mean = (sqrt(d) + sqrt(2 + tanh(guess))) / 2
    return theta - h * (d * grad(theta) - T * (1 - tanh(theta) ** 2)) + sqrt(2 * T * h) * mean * z


def of_relativity(friction=1):
    p = P - H * slope(X) - friction * H * D * P / sympy.sqrt(1 + P**2) + sympy.sqrt(2 * D * T * H) * Z
    return X + H * p / sympy.sqrt(1 + p**2), p


def of_bounded(gamma):
    d = 1 / (1 + X**2)
    return (X - H * (d * slope(X) + gamma * T * X * d**2) + sympy.sqrt(2 * T * H * d) * Z,)


def of_tanh(corrected):
    d, s = 2 + sympy.tanh(X), sympy.sqrt(2 * T * H)
    noise = s * sympy.sqrt(d) * Z
    if not corrected:
        noise = s * (sympy.sqrt(d) + sympy.sqrt(2 + sympy.tanh(X + noise))) / 2 * Z
    return (X - H * (d * slope(X) - T * (1 - sympy.tanh(X) ** 2)) + noise,)


def average(step, f, power, at):
    """The coefficient of h^power in E f(X_1) at a point, Z of N(0, 1)."""
    s = sympy.Symbol("s")
    value = f.subs({X: step[0], **({P: step[1]} if len(step) > 1 else {})}, simultaneous=True)
    moved = value.subs(H, s**2).subs(at)
    moved = moved.replace(lambda e: e == sympy.sqrt(s**2), lambda e: s)
    term = (sympy.diff(moved, s, 2 * power) / factorial(2 * power)).subs(s, 0)
    found = sympy.Poly(sympy.expand(term), Z)
    moments = sum(c * (sympy.factorial2(n - 1) if n % 2 == 0 else 0) for (n,), c in found.terms())
    return sympy.N(moments, 30)


@pytest.mark.by_default("bounded_euler-", "without_gamma-")
@pytest.mark.parametrize(
    ("made", "step"),
    [
        (relativistic_euler, of_relativity()),
        (bounded_euler, of_bounded(2)),
        (without_gamma, of_bounded(0)),
        (steep_euler, of_tanh(True)),
        (stratonovich, of_tanh(False)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_coefficients_of_a_step_are_sympys(made, step):
    at = {X: sympy.Rational(2, 3), P: sympy.Rational(-3, 4), T: sympy.Rational(9, 4), D: sympy.Rational(4)}
    positive = {s: sympy.Symbol(s.name, positive=True) for s in (H,)}
    step = tuple(part.subs(positive) for part in step)
    ring, transition, _ = expand_step(made, 1, 4)

    def number(key):
        if key[0] == "root":
            return BALLS.number(Fraction({"T": "3/2", "D": "2"}[key[1]]))
        if key[0] == "U":
            return BALLS.number(Fraction(str(sympy.diff(QUARTIC, X, key[2][0]).subs(at))))
        return BALLS.number(Fraction(str(at[X if key[0] == "theta" else P])))

    values = Values(ring, by_key(ring, number))
    for power in (1, 2):
        operator = transition.at(2 * power)
        for f in (X**2 + X**3,) if len(step) == 1 else (X**2 * P + P**3,):
            found = sum(
                float(values(c)) * float(_derivative(f, index).subs(at)) for index, c in operator.items()
            )
            expected = average([part.subs(positive[H], H) for part in step], f, power, at)
            assert found == pytest.approx(float(expected), rel=1e-9)


def _derivative(f, index):
    for symbol, times in zip((X, P), index, strict=False):
        f = sympy.diff(f, symbol, times)
    return f


def test_orders_and_dynamics_with_functions_are_proved_in_every_dimension():
    for made in (relativistic_euler, bounded_euler, steep_euler):
        proof = prove_order(made, 1, 1)
        assert (proof.order.order, proof.every) == (1, True)
        assert invariant_order(made, 2).order == 1
        residual = stationarity_residual(made.dynamics, dim=3)
        assert residual.zero and residual.integrable and residual.crowd == 1
    for wrong in (without_gamma, stratonovich):
        assert prove_order(wrong, 1, 1).order.order == 0
    assert not stationarity_residual(linear_friction, dim=2).zero


def test_a_pole_is_refused_since_a_current_may_have_its_source_there():
    @dynamics(theta="vector")
    def drained(theta, *, grad, T):
        return -grad(theta) + theta / dot(theta, theta), T

    with pytest.raises(NotExpandableError, match="which is not a polynomial"):
        stationarity_residual(drained, lambda theta, *, U, T: -U(theta) / T)


@pytest.mark.parametrize("order", [3, 4])
def test_geometric_langevin_has_the_order_of_its_symplectic_part(order):
    found = load_scheme(f"sghmc-gla{order}")
    proof = invariant_order(found, 1, 4)
    assert (proof.order, proof.mixes, local_order(found, 1).order) == (order, True, 1)
    # Independent: the energy of the symplectic part, whose volume is kept, changes by O(h^(order + 1)) on a quartic.
    energy = sympy.lambdify((X, P), P**2 / 2 + QUARTIC)
    force = sympy.lambdify(X, -slope(X))

    def gained(h):
        x, p = 0.7, -0.4
        for letter, share in zip(found.word.text[:-1], found.word.shares, strict=False):
            time = h * float(share)
            x, p = (x + time * p, p) if letter == "A" else (x, p + time * force(x))
        return energy(x, p) - energy(0.7, -0.4)

    assert 2 ** (order + 0.6) < abs(gained(0.02) / gained(0.01)) < 2 ** (order + 1.4)

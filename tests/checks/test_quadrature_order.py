"""The order of a black box: that of the proof for every scheme of the catalogue, and every bug's is seen."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch

from sgverify import rate, torch_step, verify
from sgverify.checks.quadrature_order import PARAMETERS, measure_order
from sgverify.exact.formula import plant
from sgverify.exact.series import local_order
from sgverify.exact.series.operators import ring_of
from sgverify.exact.series.probe import generic_potential, generic_state
from sgverify.exact.series.values import _Known
from sgverify.schemes import find_scheme, kinetic, langevin, thermostat
from tests.checks.torch_code import as_torch

CATALOGUE = ("sgld-euler", "sghmc-euler", "sghmc-euler-explicit", "sghmc-aboba", "sghmc-baoab", "sghmc-obabo",
             "sgnht-euler", "sgnht-aboba", "sghmc-oabao")  # fmt: skip


def proved_coefficient(scheme, index) -> float:
    """What the proved defect says that the moment of `index` is off by, at the state where it is measured."""
    defect = local_order(scheme, 2).given_minibatch
    state, potential = generic_state(scheme.shapes, 2), generic_potential(2)
    coefficient = defect.operator[index]
    # The proof's ring has other generators: its symbols are found by their names.
    names = coefficient.context().names()
    squares = {"root_T": PARAMETERS["T"], "root_D": PARAMETERS["D"]}
    theta = [state["theta", i] for i in range(2)]
    values = {}
    for (name, i), value in state.items():
        values[name if scheme.shapes[name] == "scalar" else f"{name}{i + 1}"] = value
    total = Fraction(0)
    for exponents, factor in coefficient.to_dict().items():
        term = Fraction(int(factor.p), int(factor.q))
        for name, n in zip(names, map(int, exponents), strict=True):
            if n and name in squares:
                term *= squares[name] ** (n // 2)
            elif n and name.startswith("U0_"):
                term *= potential.derivative(tuple(map(int, name.split("_")[1:])), theta) ** n
            elif n:
                term *= values[name] ** n
        total += term
    return float(total * math.prod(map(math.factorial, index)))


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_catalogue_run_as_torch_code_has_the_order_and_the_defect_of_the_proof(name):
    scheme = find_scheme(name)
    measured = measure_order(as_torch(scheme))
    proof = local_order(scheme, 2)
    assert (measured.order, measured.at_least) == (proof.order, False)
    assert measured.resolution < 1e-3
    expected = proved_coefficient(scheme, measured.index)
    assert abs(expected) > 1e-2
    assert abs(measured.value - expected) <= measured.bound
    assert measured.bound < 1e-2 * abs(expected)


BUGS = {
    "half the noise": ("sghmc-aboba", "sqrt(2*D*T*h)", "sqrt(D*T*h)", 0),
    "temperature outside the root": ("sghmc-aboba", "sqrt(2*D*T*h)", "T*sqrt(2*D*h)", 0),
    "temperature missing": ("sgld-euler", "sqrt(2*T*h)", "sqrt(2*h)", 0),
    "noise of the wrong power": ("sgld-euler", "sqrt(2*T*h)", "sqrt(2*T)*h", 0),
    "the square of the step in the drift": (
        "sgld-euler",
        "theta - h*grad(theta)",
        "theta - h*h*grad(theta)",
        0,
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_planted_in_a_formula_is_seen_at_its_order(bug):
    name, was, now, order = BUGS[bug]
    scheme = plant(find_scheme(name), was, now)
    assert measure_order(as_torch(scheme)).order == order == local_order(scheme, 2).order


def leapt(theta, p, h, g, D, T):
    p = p - h * (g + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * p, p


def rubbed(theta, p, xi, h, g, D, T):
    p = p - h * (g + xi * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * p, p


def still(theta, p, *, h, grad, D, T):
    return theta, leapt(theta, p, h, grad(theta), D, T)[1]


def own_temperature(theta, p, *, h, grad, D, T):
    # The momentum is drawn anew inside, at T = 1 whatever T is.
    return leapt(theta, torch.randn_like(p), h, grad(theta), D, T)


def no_dimension(theta, p, xi, *, h, grad, D, T):
    theta, p = rubbed(theta, p, xi, h, grad(theta), D, T)
    return theta, p, xi + h * (p @ p - T)


def norm_for_square(theta, p, xi, *, h, grad, dim, D, T):
    theta, p = rubbed(theta, p, xi, h, grad(theta), D, T)
    return theta, p, xi + h * (p.norm() / dim - T)


def half_power(theta, *, h, grad, T):
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta) + h**1.5


FOREIGN = {
    "theta never moves": (still, kinetic, 0),
    "the momentum drawn at T = 1": (own_temperature, kinetic, -1),
    "a thermostat without its 1/dim": (no_dimension, thermostat, 0),
    "a norm where its square is meant": (norm_for_square, thermostat, 0),
    "half a power of h": (half_power, langevin, Fraction(1, 2)),
}


@pytest.mark.parametrize("bug", FOREIGN)
def test_a_bug_of_a_published_library_violates_the_least_order(bug):
    function, dynamics, order = FOREIGN[bug]
    (found,) = verify(torch_step(dynamics)(function), checks=["local-order"])
    assert (found.verdict, found.method) == ("violates", "quadrature")
    assert found.found.exponent == order
    assert "differ at h^" in found.reason


def test_a_stated_order_is_held_and_a_sharp_one_said():
    def leap(theta, p, *, h, grad, D, T):
        return leapt(theta, p, h, grad(theta), D, T)

    (found,) = verify(torch_step(kinetic, order=1)(leap), checks=["local-order"])
    assert (found.verdict, found.sharp, found.predicted.exponent) == ("conforms", True, 1)
    (found,) = verify(torch_step(kinetic, order=2)(leap), checks=["local-order"])
    assert (found.verdict, found.predicted.exponent) == ("violates", 2)
    assert rate(torch_step(kinetic)(leap), quantity="local-order").found.exponent == 1


def test_one_chain_at_a_time_and_all_in_one_tensor_are_read_alike():
    def mixed(theta, p, xi, *, h, grad, dim, D, T):
        theta, p = rubbed(theta, p, xi, h, grad(theta), D, T)
        return theta, p, xi + h * (p @ p / dim - T)

    def by_chain(theta, p, xi, *, h, grad, dim, D, T):
        theta, p = rubbed(theta, p, xi, h, grad(theta), D, T)
        return theta, p, xi + h * ((p * p).sum(-1, keepdim=True) / dim - T)

    alone = measure_order(torch_step(thermostat)(mixed))
    together = measure_order(torch_step(thermostat, chains=True)(by_chain))
    assert (alone.order, alone.where, alone.nodes) == (together.order, together.where, together.nodes)
    assert alone.value == pytest.approx(together.value, abs=alone.bound)


def test_float32_in_every_draw_is_inconclusive_and_no_order():
    def step(theta, *, h, grad, T):
        noise = torch.randn(theta.shape, dtype=torch.float32)
        return theta - h * grad(theta) + math.sqrt(2 * T * h) * noise

    (found,) = verify(torch_step(langevin)(step), checks=["local-order"])
    assert found.verdict == "inconclusive" and "rounds more than float64" in found.reason


@pytest.mark.parametrize(
    "draw, named",
    [
        (lambda: torch.rand(2, dtype=torch.float64), "torch's rand,"),
        (lambda: 2 * torch.bernoulli(torch.full((2,), 0.5, dtype=torch.float64)) - 1, "torch's bernoulli,"),
        (
            lambda: torch.as_tensor(__import__("numpy").random.randn(2)),
            "random although every torch draw was put in",
        ),
    ],
)
def test_what_no_quadrature_stands_for_is_inconclusive_by_name(draw, named):
    def step(theta, *, h, grad, T):
        return theta - h * grad(theta) + math.sqrt(2 * T * h) * draw()

    (found,) = verify(torch_step(langevin)(step), checks=["local-order"])
    assert found.verdict == "inconclusive" and named in found.reason


def test_what_is_read_off_definitions_is_not_asked_of_torch_code():
    step = torch_step(langevin)(half_power)
    found = verify(step)
    assert {item.check for item in found} <= {
        "local-order",
        "pure-step",
        "dtype",
        "settings",
        "stationary-bias",
    }
    (asked,) = verify(step, checks=["agreement"])
    assert asked.verdict == "not-applicable" and "is torch code" in asked.reason


def test_the_symbols_of_the_series_have_values():
    ring = ring_of(kinetic, 1, depth=3, cap=1)
    known = _Known(ring, {("theta", 0): 2, ("p", 0): 3}, {"T": 5, "D": 7}, lambda index: 10 * index[0])
    p, root = ring.coordinate("p", 0), ring.generator("root", "D")
    assert known.value(p**2 * root**4 + ring.generator("U", 0, (2,))) == 9 * 49 + 20

"""The order of a black box: that of the proof for every scheme of the catalogue, and every bug's is seen."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch

from sgverify import rate, torch_step, verify
from sgverify.checks.registry import CHECKS
from sgverify.exact.readings.formula import plant
from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.operators import ring_of
from sgverify.exact.series.probe import generic_potential, generic_state, values_at
from sgverify.law.measured_order import PARAMETERS, measure_order
from sgverify.schemes import find_scheme, kinetic, langevin, thermostat
from tests.zoo.torch_code import as_torch

CATALOGUE = ("sgld-euler", "sghmc-euler", "sghmc-euler-explicit", "sghmc-aboba", "sghmc-baoab", "sghmc-obabo",
             "sgnht-euler", "sgnht-aboba", "sghmc-oabao")  # fmt: skip


def proved_coefficient(scheme, defect, index) -> float:
    """What the proved defect says that the moment of `index` is off by, at the state where it is measured."""
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


@pytest.mark.by_default("sgld-euler", "sghmc-baoab")
@pytest.mark.parametrize("name", CATALOGUE)
def test_the_catalogue_run_as_torch_code_has_the_order_and_the_defect_of_the_proof(name):
    scheme = find_scheme(name)
    measured = measure_order(as_torch(scheme))
    proof = local_order(scheme, 2)
    assert (measured.order, measured.at_least) == (proof.order, False)
    assert measured.resolution < 1e-3
    expected = proved_coefficient(scheme, proof.given_minibatch, measured.index)
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


@pytest.mark.by_default(
    "temperature missing", "noise of the wrong power", "the square of the step in the drift"
)
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


@pytest.mark.by_default("half a power of h")
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


@pytest.mark.power  # 0.7 s
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
        (lambda: torch.empty(2, dtype=torch.float64).cauchy_(), "torch's cauchy_, a law without moments"),
        (lambda: torch.poisson(torch.ones(2, dtype=torch.float64)) - 1, "torch's poisson;"),
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


@pytest.mark.power  # 1.3 s
def test_what_is_read_off_definitions_is_not_asked_of_torch_code():
    step = torch_step(langevin)(half_power)
    asked = {item.check for item in verify(step)}
    assert {"local-order", "pure-step", "settings"} <= asked <= {n for n, c in CHECKS.items() if c.black_box}
    assert not asked & {"gradient-bias", "stationarity", "own-gradient"}
    (asked,) = verify(step, checks=["own-gradient"])
    assert asked.verdict == "not-applicable" and "is torch code" in asked.reason


def test_the_symbols_of_the_series_have_values():
    ring = ring_of(kinetic, 1, depth=3, cap=1)
    known = values_at(ring, {("theta", 0): 2, ("p", 0): 3}, {"T": 5, "D": 7}, lambda index: 10 * index[0])
    p, root = ring.coordinate("p", 0), ring.generator("root", "D")
    assert known(p**2 * root**4 + ring.generator("U", 0, (2,))) == 9 * 49 + 20


def sgld_of(noise):
    def step(theta, *, h, grad, T):
        return theta - h * grad(theta) + math.sqrt(2 * T * h) * noise(theta)

    return torch_step(langevin, order=1)(step)


def normal_kept(kept):
    return lambda t: (z := torch.randn_like(t)) * kept(z)


LAWS = {
    "signs": (lambda t: torch.sign(torch.randn_like(t)), 1),
    "a threshold off the middle": (
        lambda t: torch.where(torch.randn_like(t) > 0.3, 1.0, -1.0),
        Fraction(-1, 2),
    ),
    "a clamp at 5": (lambda t: torch.randn_like(t).clamp(-5, 5), 0),
    "uniform": (lambda t: 12**0.5 * (torch.rand_like(t) - 0.5), 1),
    "uniform of the wrong width": (lambda t: 3**0.5 * (torch.rand_like(t) - 0.5), 0),
    "made normal by its quantiles": (lambda t: torch.special.ndtri(torch.rand_like(t)), 1),
    "uniform of a normal": (lambda t: 12**0.5 * (torch.special.ndtr(torch.randn_like(t)) - 0.5), 1),
    "coins": (lambda t: 2 * torch.bernoulli(torch.full_like(t, 0.5)) - 1, 1),
    "a coin that is not fair": (lambda t: 2 * torch.bernoulli(torch.full_like(t, 0.4)) - 1, Fraction(-1, 2)),
    "Laplace": (lambda t: torch.distributions.Laplace(0 * t, 0 * t + 0.5**0.5).sample(), 1),
    # Its third moment is 2: a term of h^(3/2), which exp(hL) has not.
    "exponential": (lambda t: torch.empty_like(t).exponential_() - 1, Fraction(1, 2)),
    "a normal with its sign by a coin": (
        lambda t: torch.randn_like(t).abs() * (2 * torch.randint(2, t.shape).to(t) - 1),
        1,
    ),
}


@pytest.mark.by_default(
    "a clamp at 5", "uniform", "uniform of the wrong width", "a coin that is not fair", "exponential"
)
@pytest.mark.parametrize("law", LAWS)
def test_draws_of_other_laws_and_with_thresholds_have_the_order_of_their_moments(law):
    noise, order = LAWS[law]
    measured = measure_order(sgld_of(noise))
    assert measured.order == order and not measured.at_least and measured.resolved
    assert abs(measured.value) > 2 * measured.bound


@pytest.mark.by_default("2.0-0")
@pytest.mark.parametrize(("share", "order"), [(1.0, 1), (2.0, 0)])
def test_a_threshold_that_moves_with_the_step_size_is_followed(share, order):
    """A lattice random walk: each coordinate moves by +-sqrt(2Th), up with the probability that gives the drift."""

    @torch_step(langevin, chains=True)
    def walk(theta, *, h, grad, T):
        size = math.sqrt(2 * T * h)
        up = torch.rand_like(theta) < (1 - share * h * grad(theta) / size) / 2
        return theta + size * torch.where(up, 1.0, -1.0)

    found = measure_order(walk)
    assert found.order == order and not found.at_least
    if order:
        # E dtheta^4 is (2Th)^2, and of the diffusion it is 3 (2Th)^2.
        assert found.value == pytest.approx(-8 * float(PARAMETERS["T"]) ** 2, abs=found.bound)


@pytest.mark.power  # 1.9 s
@pytest.mark.parametrize("away", [3.0, 5.0])
def test_draws_that_are_thrown_away_are_seen_by_what_the_variance_lacks(away):
    measured = measure_order(sgld_of(normal_kept(lambda z: z.abs() < away)))
    tail = math.erfc(away / 2**0.5) + 2 * away * math.exp(-(away**2) / 2) / math.sqrt(2 * math.pi)
    assert measured.order == 0 and sum(measured.index) == 2
    # 2 T h (1 - tail) for 2 T h.
    assert abs(measured.value + 2 * float(PARAMETERS["T"]) * tail) <= measured.bound < 1e-3 * tail


def test_draws_that_jump_together_are_refused_and_a_quadrature_that_fails_is_in_the_bound():
    (found,) = verify(sgld_of(normal_kept(lambda z: z[..., :1] > z[..., 1:])), checks=["local-order"])
    assert found.verdict == "inconclusive" and "draw" in found.reason and "depends on" in found.reason

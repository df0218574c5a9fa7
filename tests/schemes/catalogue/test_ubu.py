"""UBU: its free flow against the covariance of the process itself, its order, and three ways to get it wrong."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from sgverify.exact.affine.carrier import read_affine
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import QuadraticAnswers, answers_for
from sgverify.exact.series.letters import prove_alphabet
from sgverify.exact.series.local_order import local_order
from sgverify.samplers.reading.constants import Clock, Constant
from sgverify.schemes import Alphabet, expm1, find_scheme, kinetic, sqrt
from sgverify.schemes.catalogue.kinetic import UBU as ALPHABET
from sgverify.schemes.catalogue.kinetic import free_flow, kick
from tests.self_checks.registry import self_check
from tests.zoo.affine_models import gaussian, model_of


def opposite(theta, p, *, t, noise, D, T):
    """The covariance of theta and p with its sign wrong."""
    a = -expm1(-D * t)
    pushed = sqrt(T * a * (2 - a)) * noise()
    own = sqrt(2 * T * (D * t - 2 * a / (2 - a))) / D * noise()
    return theta + a / D * p - a / (2 - a) / D * pushed + own, (1 - a) * p + pushed


def independent(theta, p, *, t, noise, D, T):
    """Both variances right, and no covariance."""
    a = -expm1(-D * t)
    own = sqrt(T * (2 * (D * t - a) - a * a)) / D * noise()
    return theta + a / D * p + own, (1 - a) * p + sqrt(T * a * (2 - a)) * noise()


def one_draw(theta, p, *, t, noise, D, T):
    """The part of theta's own forgotten: wrong at t^3 alone."""
    a = -expm1(-D * t)
    pushed = sqrt(T * a * (2 - a)) * noise()
    return theta + a / D * p + a / (2 - a) / D * pushed, (1 - a) * p + pushed


def covariances(D: Any, T: Any, t: Any) -> tuple[Any, Any, Any]:
    """Var theta, Cov, Var p after time t from a point: the integrals of the process' own kernels."""
    with mpmath.workdps(30):
        decay, drift = lambda s: mpmath.exp(-D * s), lambda s: (1 - mpmath.exp(-D * s)) / D
        pairs = ((drift, drift), (drift, decay), (decay, decay))
        return tuple(2 * D * T * mpmath.quad(lambda s, f=f, g=g: f(s) * g(s), [0, t]) for f, g in pairs)  # type: ignore[return-value]


class Numbers:
    """A linear function of the two draws, in float64; it meets the sampler's own constants."""

    def __init__(self, first: Any, second: Any) -> None:
        self.parts = (first, second)

    def __add__(self, other: Any) -> Numbers:
        return Numbers(*(a + b for a, b in zip(self.parts, other.parts, strict=True)))

    def __sub__(self, other: Any) -> Numbers:
        return Numbers(*(a - b for a, b in zip(self.parts, other.parts, strict=True)))

    def __mul__(self, factor: Any) -> Numbers:
        return Numbers(*(a * float(factor.value.item()) for a in self.parts))

    __rmul__ = __mul__


def flowed(flow: Any, D: float, T: float, t: float) -> tuple[float, float, float]:
    """The same three by the definition in float64."""
    draws = iter([Numbers(1.0, 0.0), Numbers(0.0, 1.0)])
    zero, clock = Numbers(0.0, 0.0), Clock()
    given = {name: Constant(np.array([[value]]), clock) for name, value in (("t", t), ("D", D), ("T", T))}
    theta, p = (value.parts for value in flow(zero, zero, noise=lambda: next(draws), **given))
    return tuple(
        sum(a * b for a, b in zip(x, y, strict=True)) for x, y in ((theta, theta), (theta, p), (p, p))
    )  # type: ignore[return-value]


@pytest.mark.parametrize("t", [2.0, 0.25, 0.01, 0.0005])
@pytest.mark.parametrize(("D", "T"), [(0.5, 1.0), (2.0, 0.75)])
def test_the_free_flow_has_the_covariance_of_the_process(D: float, T: float, t: float) -> None:
    found, due = flowed(free_flow, D, T, t), covariances(D, T, t)
    x = D * t
    # Three quarters of Var theta are a product; what is left of it is a difference that loses 12/x^2 roundings.
    bounds = [2.0**-50 * (1 + 12 / x**2), 2.0**-50, 2.0**-50]
    for mine, exact, bound in zip(found, due, bounds, strict=True):
        assert abs(mine - exact) <= bound * exact
    for wrong in (opposite, independent):
        assert any(
            abs(mine - exact) > bound * exact
            for mine, exact, bound in zip(flowed(wrong, D, T, t), due, bounds, strict=True)
        )


@pytest.mark.parametrize("dim", [1, 2])
def test_every_letter_is_the_exact_flow_of_its_generator(dim: int) -> None:
    assert prove_alphabet(ALPHABET, dim).proved


@pytest.mark.parametrize(("wrong", "power"), [(opposite, "t^2"), (independent, "t^2"), (one_draw, "t^3")])
def test_a_wrong_covariance_is_no_flow(wrong: Any, power: str) -> None:
    proof = prove_alphabet(Alphabet("wrong", kinetic, U=wrong, B=kick), dim=1)
    assert len(proof.faults) == 1
    assert proof.faults[0].startswith("letter U") and f"at {power} " in proof.faults[0]


@pytest.mark.parametrize("dim", [1, 2])
def test_the_order_is_two_given_the_minibatch_and_one_on_average(dim: int) -> None:
    found = local_order(find_scheme("sghmc-ubu"), dim)
    assert (found.order, found.averaged_order) == (2, 1)
    assert local_order(find_scheme("sghmc-ubu-bub"), dim).order == 2
    assert local_order(find_scheme("sghmc-ubu-ub"), dim).order == 1
    word = Alphabet("wrong", kinetic, U=opposite, B=kick).word("UBU", order=2)
    assert local_order(word, dim).order == 1


def test_its_bias_in_theta_is_of_order_two_on_a_gaussian_target() -> None:
    """X' = M X + noise by hand: P = U flow, kick, U flow; b_2 from the stationary equation at two small steps."""
    model = model_of("sghmc-ubu", target=gaussian(1.5), test_function="theta**2", friction=2.0)
    answers = answers_for(model)
    assert isinstance(answers, QuadraticAnswers)
    zeroth, first, second = (float(c) for c in answers.expansion.values[:3])
    assert zeroth == first == 0 != second
    D, T, precision = mpmath.mpf(2), mpmath.mpf(1), mpmath.mpf(3) / 2
    with mpmath.workdps(40):
        for h in (mpmath.mpf(1) / 64, mpmath.mpf(1) / 256):
            exact = by_hand(D, T, precision, h) - T / precision
            value = answers.stationary_bias(fixed_step(Fraction(1, int(1 / h)))).value
            assert abs(value - exact) < 1e-14 * abs(exact) + 1e-17
            # The next term is h^4: the step is palindromic.
            assert abs(exact / h**2 - second) < 10 * abs(second) * h**2


def by_hand(D: Any, T: Any, precision: Any, h: Any) -> Any:
    """Var theta of the stationary chain, from its own 2 x 2 matrices."""
    t = h / 2
    a = 1 - mpmath.exp(-D * t)
    u = mpmath.matrix([[1, a / D], [0, 1 - a]])
    b = mpmath.matrix([[1, 0], [-h * precision, 1]])
    vtheta, cross, vp = covariances(D, T, t)
    q = mpmath.matrix([[vtheta, cross], [cross, vp]])
    m, noise = u * b * u, u * b * q * b.T * u.T + q
    # vec(S) = (I - M x M)^-1 vec(Q)
    system = mpmath.matrix(4, 4)
    for i in range(2):
        for j in range(2):
            for k in range(2):
                for n in range(2):
                    system[2 * i + j, 2 * k + n] = int((i, j) == (k, n)) - m[i, k] * m[j, n]
    right = mpmath.matrix([noise[0, 0], noise[0, 1], noise[1, 0], noise[1, 1]])
    return mpmath.lu_solve(system, right)[0]


def test_the_four_draws_of_a_step_are_independent_of_one_another() -> None:
    read = read_affine(find_scheme("sghmc-ubu"), {"h": Fraction(1, 8), "D": Fraction(2), "T": Fraction(1)})
    assert read.draws == 4 and read.gradients == 1


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_sampler_agrees_with_the_exact_law(dtype: str) -> None:
    torch.set_num_threads(1)
    evidence = self_check(
        "agreement",
        "sghmc-ubu",
        target={"size": 10},
        gradient={"kind": "iid", "batch": 5},
        test_function="theta**2 + theta*p",
        steps=100,
        chains=256,
        dtype=dtype,
    )
    assert evidence.verdict == "conforms", evidence.reason

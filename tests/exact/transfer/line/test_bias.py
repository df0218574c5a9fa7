"""The bias at a step size against the exact Gaussian law, against a Nystrom matrix, and in mpmath."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from sgverify.errors import Unreached
from sgverify.exact.numbers.quadrature import EXTENDED, normal_quadrature
from sgverify.exact.transfer.line.bias import LineAnswers
from sgverify.exact.transfer.line.operator import GridOperator, StepMap, collocate, stationary
from sgverify.schemes import Scheme, dot, find_scheme, langevin, sqrt
from sgverify.schemes.scheme import make_scheme
from sgverify.targets import TARGETS, Target, build_target, parse_observable
from tests.zoo.schemes import half_kicks, heun, planted_drift

EULER = find_scheme("sgld-euler")


class Settings:
    """What `build_target` reads."""

    def __init__(self, **given: Any) -> None:
        vars(self).update(given)


def build(name: str, **given: Any) -> Target:
    return build_target(Settings(name=name, **given))


def answers(
    scheme: Scheme, target: Target, text: str = "theta**2", temperature: Fraction = Fraction(1)
) -> LineAnswers:
    return LineAnswers(scheme, target, parse_observable(text, 1, ("theta",)), temperature, Fraction(2))


def nystrom(
    slope: Any, energy: Any, step: float, temperature: float, phi: Any, interval: tuple[float, float]
) -> float:
    """Euler's bias from the Gaussian kernel by the trapezoid rule, another discretisation: float64, dense, forward."""
    sigma = math.sqrt(2 * temperature * step)
    count = int((interval[1] - interval[0]) / sigma * 6)
    x = np.linspace(*interval, count)
    spacing = x[1] - x[0]
    mean = x - step * slope(x)
    kernel = (
        np.exp(-((x[None, :] - mean[:, None]) ** 2) / (2 * sigma**2))
        / (sigma * math.sqrt(2 * math.pi))
        * spacing
    )
    system = kernel.T - np.eye(count)
    system[count // 2] = 1.0
    right = np.zeros(count)
    right[count // 2] = 1.0
    law = np.linalg.solve(system, right)
    density = np.exp(-(energy(x) - energy(x).min()) / temperature)
    return float(law @ phi(x) - density @ phi(x) / density.sum())


@pytest.mark.parametrize("step", [0.5, 0.1, 0.01])
def test_euler_on_a_gaussian_has_the_variance_that_is_known_exactly(step: float) -> None:
    """X' = (1 - h) X + sqrt(2h) z has the variance 1/(1 - h/2)."""
    found = answers(EULER, build("gaussian")).stationary_bias(step)
    exact = 1 / (1 - step / 2) - 1
    assert found.value is not None
    assert abs(found.value - exact) <= found.error_bound < 1e-12


def test_heun_on_a_gaussian_has_the_fourth_moment_that_is_known_exactly() -> None:
    """X' = a X + s z with a = 1 - h + h^2/2, s = (1 - h/2) sqrt(2 h T): a Gaussian law."""
    h, T = Fraction(1, 10), Fraction(1, 2)
    a, s2 = 1 - h + h**2 / 2, (1 - h / 2) ** 2 * 2 * h * T
    variance = s2 / (1 - a**2)
    found = answers(heun, build("gaussian"), "theta**4", T).stationary_bias(0.1)
    assert found.value is not None
    assert abs(found.value - float(3 * variance**2 - 3 * T**2)) <= found.error_bound < 1e-12


@pytest.mark.parametrize("step", [0.03, 0.02])
def test_euler_on_a_double_well_agrees_with_a_nystrom_matrix(step: float) -> None:
    target = build("double-well", height=1.5, width=1.0, tilt=0.25)
    found = answers(EULER, target).stationary_bias(step)
    other = nystrom(
        lambda x: 6 * x * (x**2 - 1) + 0.25,
        lambda x: 1.5 * (x**2 - 1) ** 2 + 0.25 * x,
        step,
        1.0,
        lambda x: x**2,
        (-3.3, 3.3),
    )
    assert found.value is not None
    assert found.value == pytest.approx(other, abs=1e-12)
    assert "escape" in found.note


def test_a_planted_drift_in_the_oracle_is_told_apart() -> None:
    """The comparison can fail: with the sign of the tilt wrong in the oracle, or its noise a millionth too strong."""
    target = build("quartic", strength=1.0, tilt=0.5)
    found = answers(EULER, target).stationary_bias(0.05).value

    def other(tilt: float, T: float) -> float:
        return nystrom(
            lambda x: x**3 + tilt, lambda x: x**4 / 4 + tilt * x, 0.05, T, lambda x: x, (-3.9, 3.9)
        )

    assert found is not None
    odd = answers(EULER, target, "theta").stationary_bias(0.05).value
    assert odd == pytest.approx(other(0.5, 1.0), abs=1e-12)
    assert abs(other(-0.5, 1.0) - odd) > 1e-3
    assert abs(other(0.5, 1.0 + 1e-6) - odd) > 1e-10


@pytest.mark.power  # 1.0 s
def test_a_coarse_kernel_agrees_with_mpmath() -> None:
    """Euler on U = log cosh-like softplus terms, by quadrature of the kernel in 30 digits at a large step."""
    target = build("mixture", weights=[1, 1], means=[-1, 1], scales=[1])
    found = answers(EULER, target, "theta**2").stationary_bias(0.5)
    with mpmath.workdps(30):
        h, spacing = mpf(1) / 2, mpf(1) / 4
        points = [spacing * k for k in range(-38, 39)]
        # U = x^2/2 - log cosh x, so that U' = x - tanh x.
        means = [x - h * (x - mpmath.tanh(x)) for x in points]
        kernel = [[mpmath.npdf(y, m, mpmath.sqrt(2 * h)) * spacing for y in points] for m in means]
        n = len(points)
        system = mpmath.matrix(n, n)
        for i in range(n):
            for j in range(n):
                system[j, i] = kernel[i][j] - (1 if i == j else 0)
        right = mpmath.matrix(n, 1)
        for i in range(n):
            system[n // 2, i] = 1
        right[n // 2] = 1
        law = mpmath.lu_solve(system, right)
        weights = [mpmath.exp(-(x**2) / 2) * mpmath.cosh(x) for x in points]
        truth = mpmath.fsum(w * x**2 for w, x in zip(weights, points, strict=True)) / mpmath.fsum(weights)
        bias = mpmath.fsum(law[i] * points[i] ** 2 for i in range(n)) - truth
    assert found.value is not None
    assert abs(found.value - float(bias)) <= max(found.error_bound, 1e-13)


def test_two_draws_are_as_good_as_the_one_that_they_make_up() -> None:
    """With a drift that is linear two half kicks are one Gaussian kick: (1 - h)^2 T h + T h of variance."""
    h = 0.1
    variance = (h * (1 - h) ** 2 + h) / (1 - (1 - h) ** 2)
    found = answers(half_kicks, build("gaussian")).stationary_bias(h)
    assert found.value is not None
    assert abs(found.value - (variance - 1)) <= found.error_bound < 1e-12


def test_the_stated_error_holds_against_finer_grids() -> None:
    """A bound of what is left: grids of twice the points and more nodes stay within it."""
    target = build("mixture")
    found = answers(EULER, target)
    coarse = found.stationary_bias(0.02)
    interval = tuple(coarse.grid["wider_domain"])
    fine = found._solve(0.02, interval, (interval[1] - interval[0]) / 1200, 60)
    assert abs(fine.value - coarse.value) <= coarse.error_bound
    assert coarse.error_bound < 1e-6 * abs(coarse.value)


def test_escape_is_named_and_its_leak_grows_with_the_step() -> None:
    """Euler on a quartic: |x - h x^3| > |x| beyond sqrt(2/h), from where nothing comes back."""
    found = answers(EULER, build("quartic", tilt=0.0))
    leaks = []
    for step in (0.02, 0.2, 0.3):
        point = found.stationary_bias(step)
        assert point.escape is not None
        low, high = point.escape.edges
        assert high == -low == pytest.approx(math.sqrt(2 / step), rel=0.04)
        assert "transient" in point.note
        assert "quasi-stationary" in point.note
        leaks.append(point.escape.leak)
    assert leaks[0] == 0
    assert 0 < leaks[1] < leaks[2] / 5
    lost = found.stationary_bias(1.0)
    assert lost.value is None
    assert "no law" in lost.note


def test_the_leak_is_that_of_a_chain_that_is_killed_at_the_edges() -> None:
    """Against the leading eigenvalue of the Nystrom matrix between the same edges."""
    found = answers(EULER, build("quartic", tilt=0.0))
    point = found.stationary_bias(0.4)
    assert point.escape is not None
    low, high = (1.03 * edge for edge in point.escape.edges)
    x, weights = np.polynomial.legendre.leggauss(400)
    x, weights = x * high, weights * high
    sigma = math.sqrt(0.8)
    mean = x - 0.4 * x**3
    kernel = (
        np.exp(-((x[None, :] - mean[:, None]) ** 2) / (2 * sigma**2))
        / (sigma * math.sqrt(2 * math.pi))
        * weights
    )
    leak = 1 - np.abs(np.linalg.eigvals(kernel)).max()
    assert low < 0
    assert point.escape.leak == pytest.approx(leak, rel=0.1)


def test_no_escape_where_the_drift_grows_no_faster_than_the_state() -> None:
    for name in ("mixture", "logistic-regression", "gaussian"):
        found = answers(EULER, build(name)).stationary_bias(0.01)
        assert found.escape is None, name
        assert found.note == ""


def test_a_step_beyond_the_stability_limit_has_no_law() -> None:
    found = answers(EULER, build("gaussian")).stationary_bias(2.5)
    assert found.value is None
    assert "transient" in found.note


@pytest.mark.parametrize(
    ("scheme", "target", "why"),
    [
        (find_scheme("sghmc-aboba"), build("quartic"), "no point of the line"),
        (EULER, build("quartic", dim=2), "dim=2"),
    ],
)
def test_what_is_out_of_reach_is_named(scheme: Scheme, target: Target, why: str) -> None:
    state = scheme.dynamics.state
    with pytest.raises(Unreached, match=why):
        LineAnswers(
            scheme,
            target,
            parse_observable("theta**2" if target.dim == 1 else "theta[0]**2", target.dim, state),
            Fraction(1),
            Fraction(2),
        )


def test_the_quadrature_of_normal_noise_has_its_moments_in_long_double() -> None:
    z, weights = normal_quadrature(24)
    for power in range(0, 47, 2):
        exact = math.prod(range(1, power, 2))
        assert abs(weights @ z**power / EXTENDED(exact) - 1) < 100 * np.finfo(EXTENDED).eps


def test_collocation_moves_polynomials_exactly() -> None:
    """P x^k is E X_1^k for k < 16, and what leaves the grid is accounted for."""
    x = np.linspace(EXTENDED(-1), EXTENDED(1), 40)
    moved = np.stack([0.9 * x - 0.05, 0.9 * x + 0.05], axis=1)
    operator = collocate(x, moved, np.array([0.25, 0.75], dtype=EXTENDED))
    for k in (0, 1, 5, 15):
        exact = 0.25 * moved[:, 0] ** k + 0.75 * moved[:, 1] ** k
        assert np.abs(operator.matrix @ x**k - exact).max() < 1e-14
    outside = collocate(x, moved + 0.3, np.array([0.25, 0.75], dtype=EXTENDED))
    assert outside.leaving[-1] == 1
    assert outside.defect < 1e-17


def test_a_stationary_law_of_two_states_is_the_one_that_is_known() -> None:
    """Not only for grids: mu P = mu for P = [[1 - a, a], [b, 1 - b]] has mu = (b, a)/(a + b)."""
    a, b = 0.25, 0.125
    matrix = np.array([[1 - a, a], [b, 1 - b]], dtype=EXTENDED)
    law = stationary(
        GridOperator(matrix, np.zeros(2, dtype=EXTENDED)),
        1.0,
        np.full(2, EXTENDED(0.5)),
        np.array([0.0, 1.0]),
    )
    assert np.abs(law.weights - np.array([b, a], dtype=EXTENDED) / EXTENDED(a + b)).max() < 1e-18
    assert abs(law.leak) < 1e-18


def test_a_planted_weight_moves_the_bias_beyond_its_bound() -> None:
    """Heun with its halves at 0.51 and 0.49 is told from Heun."""
    target = build("double-well")
    right, wrong = (answers(scheme, target).stationary_bias(0.01) for scheme in (heun, planted_drift))
    assert right.value is not None
    assert wrong.value is not None
    assert abs(right.value - wrong.value) > 1e6 * (right.error_bound + wrong.error_bound)


@pytest.mark.power  # fifteen seconds of grids, each of which other tests ask for singly
def test_every_target_of_the_catalogue_on_the_line_is_reached_or_refused_by_name() -> None:
    for name in TARGETS:
        target = build(name, **({"size": 5} if TARGETS[name].data is not None else {}))
        try:
            found = answers(EULER, target).stationary_bias(0.01 * target.curvature_float64(1.0) ** -1)
        except Unreached as error:
            assert str(error)
            continue
        assert found.value is not None
        assert math.isfinite(found.error_bound)


def test_a_scalar_product_moves_the_points_of_the_line_one_by_one() -> None:
    """A state of one coordinate is a vector all the same: dot(g, g) is a number for each point and each node."""

    def step(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
        g = grad(theta)
        return theta - h * g / (1 + h * sqrt(dot(g, g))) + sqrt(2 * T * h) * noise()

    motion = StepMap(make_scheme(step, langevin, order=1), build("gaussian", precision=4, mean=3), {"T": 1.0})
    x = np.array([0.0, 3.0, 5.0], dtype=EXTENDED)
    slope = 4 * (x - 3)
    mean = x - slope / 10 / (1 + np.abs(slope) / 10)
    moved, weights = motion.after(x, 0.1, 5)
    assert moved.shape == (3, 5) and weights.shape == (5,)
    assert np.abs(moved @ weights - mean).max() < 1e-15
    assert np.abs(motion.without_noise(x, 0.1) - mean).max() < 1e-15

"""The multimodal functions: formulas against mpmath's, laws, derivatives, enclosures."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from flint import acb, arb, arb_poly, arb_series
from mpmath import cos, exp, mpf, pi, sin, sqrt
from scipy import integrate

from sgverify.errors import ConfigurationError
from sgverify.exact.numbers.jets import derivatives_of
from sgverify.exact.posterior.reference import reference_average
from sgverify.exact.posterior.tails import exactly
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.reading.carrier import Chains
from sgverify.schemes.definition.mathematics import cos as face_cos
from sgverify.schemes.definition.mathematics import sin as face_sin
from sgverify.targets import Target, build_target, multimodal, parse_observable
from sgverify.targets.multimodal import FUNCTIONS
from tests.tables import each_row

NAMES = list(FUNCTIONS)
LINE = [name for name in NAMES if not FUNCTIONS[name].dims]


def target(name: str, **keys: Any) -> Target:
    return build_target(SimpleNamespace(name=name, **keys))


def dims_of(name: str) -> list[int]:
    return [(FUNCTIONS[name].dims or (3,))[0]]


def printed(name: str, x: list[Any]) -> Any:
    """The functions as Jamil and Yang 2013 print them, in mpmath."""
    d = len(x)
    a, b = x[0], x[-1]
    match name:
        case "griewank":
            return (
                sum(v**2 for v in x) / 4000 - mpmath.fprod(cos(v / sqrt(i)) for i, v in enumerate(x, 1)) + 1
            )
        case "rastrigin":
            return 10 * d + sum(v**2 - 10 * cos(2 * pi * v) for v in x)
        case "ackley":
            waves = exp(sum(cos(2 * pi * v) for v in x) / d)
            return -20 * exp(-mpf(1) / 5 * sqrt(sum(v**2 for v in x) / d)) - waves + 20 + mpmath.e
        case "levy":
            w = [1 + (v - 1) / 4 for v in x]
            middle = sum((v - 1) ** 2 * (1 + 10 * sin(pi * v + 1) ** 2) for v in w[:-1])
            return sin(pi * w[0]) ** 2 + middle + (w[-1] - 1) ** 2 * (1 + sin(2 * pi * w[-1]) ** 2)
        case "rosenbrock":
            return sum(100 * (x[i + 1] - x[i] ** 2) ** 2 + (x[i] - 1) ** 2 for i in range(d - 1))
        case "styblinski-tang":
            return sum(v**4 - 16 * v**2 + 5 * v for v in x) / 2
        case "michalewicz":
            return -sum(sin(v) * sin(i * v**2 / pi) ** 20 for i, v in enumerate(x, 1))
        case "himmelblau":
            return (a**2 + b - 11) ** 2 + (a + b**2 - 7) ** 2
        case "six-hump-camel":
            return (4 - mpf("2.1") * a**2 + a**4 / 3) * a**2 + a * b + (-4 + 4 * b**2) * b**2
        case "goldstein-price":
            one = 1 + (a + b + 1) ** 2 * (19 - 14 * a + 3 * a**2 - 14 * b + 6 * a * b + 3 * b**2)
            two = 30 + (2 * a - 3 * b) ** 2 * (18 - 32 * a + 12 * a**2 + 48 * b - 36 * a * b + 27 * b**2)
            return one * two
        case "branin":
            bend = b - mpf("5.1") / (4 * pi**2) * a**2 + 5 / pi * a - 6
            return bend**2 + 10 * (1 - 1 / (8 * pi)) * cos(a) + 10
        case "easom":
            return -cos(a) * cos(b) * exp(-((a - pi) ** 2) - (b - pi) ** 2)
        case "drop-wave":
            return -(1 + cos(12 * sqrt(a**2 + b**2))) / ((a**2 + b**2) / 2 + 2)
        case "shubert":
            return mpmath.fprod(sum(i * cos((i + 1) * v + i) for i in range(1, 6)) for v in (a, b))
    raise AssertionError(name)


def places(name: str, dim: int, count: int = 5) -> np.ndarray:
    box = FUNCTIONS[name].box(dim)
    share = np.random.default_rng(3).uniform(0.05, 0.95, (count, dim))
    return np.asarray(box[:, 0] + share * (box[:, 1] - box[:, 0]))


def wall(name: str, x: np.ndarray) -> np.ndarray:
    """The wall as the docstring has it."""
    if not FUNCTIONS[name].bounded:
        return np.zeros(len(x))
    low, high = FUNCTIONS[name].box(x.shape[1]).T
    width = (high - low) / 40
    sides = np.logaddexp(0, (x - high) / width - 4) ** 2 + np.logaddexp(0, (low - x) / width - 4) ** 2
    return np.asarray(sides.sum(1))


@each_row("name", NAMES)
def test_the_value_is_the_printed_one_and_the_wall_that_of_the_docstring(name: str) -> None:
    for dim in dims_of(name):
        x = places(name, dim)
        wanted = np.array([float(printed(name, [mpf(float(v)) for v in row])) for row in x])
        # Powers up to the sixth, and waves of arguments up to 600: some hundred units in the last place.
        size = 1 + np.abs(x).max() ** 2
        np.testing.assert_allclose(FUNCTIONS[name].value(x), wanted, rtol=1e-12, atol=1e-14 * size)
        np.testing.assert_allclose(
            target(name, dim=dim).energy_float64(x), wanted + wall(name, x), rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("name", NAMES)
def test_autograd_is_mpmaths_derivative(name: str) -> None:
    (dim,) = dims_of(name)
    x = places(name, dim, 2)
    found = (
        Potential(target(name, dim=dim), dtype=torch.float64, device="cpu")
        .full(torch.tensor(x)[None])[0]
        .numpy()
    )
    for row, slopes in zip(x, found, strict=True):
        for k in range(dim):

            def along(v: Any, row: np.ndarray = row, k: int = k) -> Any:
                return printed(name, [v if i == k else mpf(float(e)) for i, e in enumerate(row)])

            with mpmath.workdps(30):
                wanted = float(mpmath.diff(along, mpf(float(row[k]))))
            shift = 1e-5 * np.eye(dim)[k]
            walls = (wall(name, (row + shift)[None]) - wall(name, (row - shift)[None]))[0] / 2e-5
            assert slopes[k] == pytest.approx(wanted + walls, rel=1e-9, abs=1e-8)


@each_row("name", NAMES)
def test_the_energy_outgrows_every_logarithm_so_that_there_is_a_law(name: str) -> None:
    (dim,) = dims_of(name)
    box = FUNCTIONS[name].box(dim)
    directions = np.random.default_rng(1).standard_normal((200, dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    far = 100 * np.abs(box).max()
    energy = target(name, dim=dim).energy_float64
    near, beyond = energy(far * directions), energy(4 * far * directions)
    # r^2 gives 16 times as much, and Levy's waves change a part of it by a factor of up to 11.
    assert (beyond > 16 / 11.1 * near).all()
    assert (near > 50 * dim).all()


@each_row("name", [name for name in NAMES if FUNCTIONS[name].bounded])
def test_without_a_wall_there_would_be_none(name: str) -> None:
    (dim,) = dims_of(name)
    x = np.linspace(-1e3, 1e3, 2001)
    # The bottom of Branin's valley; anywhere does for the others.
    valley = 5.1 * x**2 / (4 * math.pi**2) - 5 * x / math.pi + 6
    values = FUNCTIONS[name].value(np.stack([x, valley, valley][:dim], -1))
    assert values.max() < 200


@pytest.mark.parametrize("name", LINE)
@pytest.mark.parametrize("temperature", [1, 4])
def test_averages_on_the_line_agree_with_scipy(name: str, temperature: int) -> None:
    made = target(name)
    found = reference_average(made, parse_observable("theta**2", 1), temperature)
    box = FUNCTIONS[name].box(1)[0]
    low, high = (
        (-1500.0, 1500.0) if name in ("griewank", "levy") else (2 * box[0] - box[1], 2 * box[1] - box[0])
    )
    # The trapezoid rule on a fine grid: exponentially accurate for what is smooth and vanishes at both ends.
    x = np.linspace(low, high, 400_001)
    energies = made.energy_float64(x[:, None])
    weights = np.exp((energies.min() - energies) / temperature)
    wanted = integrate.trapezoid(x**2 * weights, x) / integrate.trapezoid(weights, x)
    # Ackley's kink leaves the grid an error of the order of its spacing's square, 2e-7, over that of the peak.
    assert float(found) == pytest.approx(float(wanted), rel=3e-6 if name == "ackley" else 1e-10)
    assert found.method == (
        "quadrature" if FUNCTIONS[name].bounded else "certified" if name != "levy" else found.method
    )


def test_other_averages_are_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match="'griewank'.*neither exact nor within the reach"):
        reference_average(target("griewank", dim=2), parse_observable("theta[0]**2", 2), 1)


@pytest.mark.parametrize("wrong", ["sum for product", "sqrt(i) forgotten"])
def test_a_wrong_griewank_is_seen(wrong: str) -> None:
    x = places("griewank", 2)
    waves = np.cos(x / (1 if wrong == "sqrt(i) forgotten" else np.sqrt([1, 2])))
    value = (x**2).sum(1) / 4000 - (waves.sum(1) if wrong == "sum for product" else waves.prod(1)) + 1
    wanted = [float(printed("griewank", [mpf(float(v)) for v in row])) for row in x]
    assert np.abs(value - wanted).max() > 0.1
    assert np.abs(multimodal.griewank(list(x.T)) - wanted).max() < 1e-12


def test_derivatives_of_sine_and_cosine_by_taylor_polynomials() -> None:
    made = target("rastrigin")
    x = np.array([0.3, -2.2])
    found = derivatives_of(made, x, 4)
    two_pi = 2 * math.pi
    np.testing.assert_allclose(found[1], 2 * x + 10 * two_pi * np.sin(two_pi * x), rtol=1e-12)
    np.testing.assert_allclose(found[4], -10 * two_pi**4 * np.cos(two_pi * x), rtol=1e-12)


@pytest.mark.parametrize(("function", "plain"), [(face_sin, mpmath.sin), (face_cos, mpmath.cos)])
def test_balls_enclose_sine_and_cosine(function: Callable[[Any], Any], plain: Callable[[Any], Any]) -> None:
    assert float(function(arb(0.7)).mid()) == pytest.approx(float(plain(0.7)), rel=1e-15)
    box = function(acb(arb(0.7, 0.1), arb(0.3, 0.1)))
    for point in (0.65 + 0.25j, 0.75 + 0.35j):
        assert box.contains(acb(complex(plain(point))))
    series = function(arb_series([arb(0.7), 1], 3))
    assert float(series[1].mid()) == pytest.approx(float(mpmath.diff(plain, 0.7)), rel=1e-12)
    bounds = function(exactly(arb_poly([arb(0.7), 1])))
    assert bounds.upper is not None
    assert float(bounds.lower[0].mid()) == -1.0
    assert float(bounds.upper[0].mid()) == 1.0
    assert function(0) == (0 if plain is mpmath.sin else 1)
    tensor = torch.linspace(-3, 3, 37, dtype=torch.float64)[:, None]
    whole = function(Chains(tensor)).tensor
    assert torch.equal(whole[5:6], function(Chains(tensor[5:6])).tensor)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"name": "himmelblau", "dim": 3}, "has dimension 2"),
        ({"name": "rosenbrock", "dim": 1}, "has dimension 2 to 1000"),
        ({"name": "easom", "confinement": 0}, "expected a number above 0"),
        ({"name": "griewank", "confinement": 1}, "does not belong to target.name='griewank'"),
    ],
)
def test_wrong_keys_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build_target(SimpleNamespace(**keys))
